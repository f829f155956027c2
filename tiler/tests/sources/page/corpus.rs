//! A corpus of small pages, each of a kind that is easily captured wrong: unfinished, in the wrong place, or in part.
//!
//! To add a page, put `corpus/<name>.html` into the folder beside this file, and its name into the list below. Its
//! reference is a plain page that looks the same, without scripts and without sizes that depend on the window: the page
//! that `<link rel=match href=…>` names, otherwise `corpus/<name>.ref.html`. These are reftests, as in
//! [web-platform-tests](https://web-platform-tests.org/writing-tests/reftests.html). A page without a reference is its
//! own: it must look as Chromium shows it when it has loaded. References are captured by Chromium's command line, once
//! for all pages that share one. Pages may ask their server for:
//!
//! | path | response |
//! |---|---|
//! | `/<name>.html` | another page of the folder |
//! | `/colour/<name>.svg` | a picture of 100 × 100 pixels in this colour |
//! | `/download` | a ZIP that is to be stored |
//! | `/text` | a few letters |
//! | `/never` | nothing |
//! | `/after/<ms>/<path>` | the response of the other path, after this time |
//!
//! The pictures of a page that fails are written to the folder that the message names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use edgezoom_content::{Size, SourceUrl};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::png;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_tiler::browser::Pages;
use tokio::sync::OnceCell;

use crate::chromium;
use crate::screenshot::{Screenshot, settings};
use crate::site::{Reply, Site};

/// Reports the size of a reference, which the height of the window does not change, to the server.
const REPORT_SIZE: &str = "<script>addEventListener('load', () => {
    const all = [...document.querySelectorAll('*')].map((element) => element.getBoundingClientRect());
    const most = (side, least) => Math.round(all.reduce((most, box) => Math.max(most, box[side]), least));
    const request = new XMLHttpRequest();
    request.open('GET', `/size/${most('right', 1280)}x${most('bottom', 800)}${location.pathname}`, false);
    request.send();
})</script>";

/// The browsers, the server and the references that the tests of all pages share.
struct Corpus {
    site: Site,
    pages: Pages,
    /// The references, each as captured in a window of this size.
    references: Mutex<References>,
}

type References = HashMap<(String, Size), Arc<OnceCell<Reference>>>;

struct Reference {
    picture: Picture,
    /// Its own size, if it is not the page itself.
    size: Option<String>,
}

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let mut settings = settings();
    // At a device scale factor of 2, Chromium rounds line heights differently than with an emulated one.
    settings.limits.scale = 1;
    Corpus {
        site: Site::serve("127.0.0.2", reply),
        pages: Pages::new(settings),
        references: Mutex::default(),
    }
});

macro_rules! pages {
    ($($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            CORPUS.test(&stringify!($name).replace('_', "-")).await;
        })*

        #[test]
        fn each_page_of_the_folder_is_tested() {
            let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut pages: Vec<String> = files
                .filter_map(|file| file.to_str()?.strip_suffix(".html").map(|name| name.replace('-', "_")))
                .filter(|name| !name.ends_with(".ref"))
                .collect();
            pages.sort();
            assert_eq!(pages, [$(stringify!($name)),*]);
        }
    };
}

pages! {
    animation_without_end
    application_computes_before_it_draws
    application_draws_after_a_chain_of_requests
    application_draws_after_a_dialog
    application_draws_from_nested_timers
    application_draws_what_a_worker_computes
    application_draws_when_idle
    application_waits_for_a_worker_with_a_timer
    chart_begins_in_view
    chart_begins_in_view_by_the_clock
    chart_begins_late
    chart_by_counted_frames
    chart_by_the_clock
    chart_by_the_time_of_frames
    chart_that_ignores_late_frames
    consent_button_has_a_role
    consent_button_is_a_div_with_a_listener
    consent_button_is_a_span
    consent_continues
    consent_has_only_a_cross
    consent_has_only_a_cross_with_a_label
    consent_in_a_frame
    consent_in_a_shadow_tree
    consent_is_not_a_cart
    consent_is_not_a_cart_without_fields
    consent_is_not_a_header
    consent_is_not_a_login
    consent_is_not_a_newsletter_in_the_page
    consent_is_not_a_video
    consent_locks_a_wrapper
    consent_locks_the_page
    content_appears_in_view_and_stays
    content_fades_in_late
    content_slides_in_by_a_transition
    content_visibility_below
    content_visibility_hidden_stays
    decorations_beside_the_window_are_not_content
    download_after_a_while
    download_by_a_frame
    download_by_a_link
    download_by_a_refresh
    download_while_parsed
    elements_are_defined_by_a_late_script
    elements_are_hidden_until_defined
    feed_that_grows
    fonts_hide_the_page_for_three_seconds
    fonts_show_the_page_when_ready
    frame_below_a_header
    frame_in_a_frame_is_the_page
    frame_in_a_frameset
    frame_is_an_object
    frame_is_the_page
    frame_of_another_origin_is_the_page
    frame_whose_first_section_is_as_high_as_its_window
    frame_with_a_box_that_scrolls
    frames_without_end
    hidden_map_tiles_stay
    hidden_menus_stay
    hidden_slides_stay
    hidden_text_stays
    lazy_after_a_while_in_view
    lazy_by_a_chain_of_requests
    lazy_by_an_interval
    lazy_by_debounced_scrolling
    lazy_by_throttled_scrolling
    lazy_pictures
    mail_while_parsed
    menu_beside_the_window_is_not_content
    menu_moved_beside_the_window_is_not_content
    messages_without_end
    noscript_stays_hidden
    other_program_by_a_frame
    other_program_by_a_refresh
    phone_number_after_a_while
    preloader_faded_by_an_interval
    preloader_faded_by_frames
    preloader_of_css_alone
    preloader_removed_after_four_seconds
    preloader_removed_after_half_a_second
    preloader_removed_when_its_transition_ends
    preloader_with_a_spinner_waits_for_a_picture
    redirect_by_a_refresh
    redirect_by_a_script
    redirect_to_a_page_that_draws_late
    redirect_to_a_slow_page
    redirect_twice
    refreshes_itself_after_ten_seconds
    refreshes_itself_every_two_seconds
    request_that_is_never_answered
    requests_one_after_the_other_without_end
    requests_without_end
    right_to_left_and_wide
    right_to_left_beside_a_menu
    right_to_left_beside_text_for_screen_readers
    right_to_left_body_beside_a_menu
    right_to_left_with_hidden_overflow
    scroll_body_below_a_locked_root
    scroll_body_fixed
    scroll_body_hidden_auto
    scroll_body_in_quirks_mode
    scroll_body_of_height_100
    scroll_body_right_to_left
    scroll_box_around_a_slot_of_a_closed_shadow_tree
    scroll_box_as_high_as_the_page_allows
    scroll_box_by_a_script
    scroll_box_by_a_transform
    scroll_box_in_a_closed_shadow_tree
    scroll_box_in_a_flex_column
    scroll_box_in_a_grid_of_fixed_rows
    scroll_box_in_a_shadow_tree
    scroll_box_in_boxes
    scroll_box_that_follows_the_page
    scroll_box_with_snapping
    scroll_wrapper_fixed
    scroll_wrapper_of_window_height
    slides_beside_the_window_are_not_content
    socket_that_never_opens
    still
    stream_of_events_that_never_ends
    vertical_text
    vertical_text_of_the_body
    webgl
    wide
    wide_body_that_scrolls
    wide_by_mistake
    wide_drawing_of_boxes
    wide_in_quirks_mode
    wide_text_that_does_not_wrap
}

impl Corpus {
    /// Captures a page and compares it with its reference.
    async fn test(&self, name: &str) {
        let url = SourceUrl::parse(&self.site.url(&format!("/{name}.html"))).unwrap();
        let ours = Screenshot::of(self.pages.open(&url, None).await.unwrap()).await.unwrap().picture();
        let path = format!("/{}", reference_of(name));
        let cell =
            Arc::clone(self.references.lock().unwrap().entry((path.clone(), ours.size())).or_default());
        let reference = cell.get_or_init(|| self.reference(path, ours.size())).await;
        let size = format!("{}x{}", ours.width, ours.height);
        let compared = match &reference.size {
            Some(expected) if *expected != size => {
                Err(format!("its size is {size} and should be {expected}"))
            }
            _ => compare(&ours, &reference.picture, Tolerance::up_to(1)),
        };
        if let Err(error) = compared {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
            fs::create_dir_all(&folder).unwrap();
            for (kind, picture) in [("ours", &ours), ("reference", &reference.picture)] {
                fs::write(folder.join(format!("{name}.{kind}.png")), png(picture, |_| {})).unwrap();
            }
            panic!("{error} ({})", folder.display());
        }
    }

    async fn reference(&self, path: String, size: Size) -> Reference {
        let url = self.site.url(&path);
        let picture = move || chromium::screenshot(&url, size.width, size.height);
        let picture = tokio::task::spawn_blocking(picture).await.unwrap();
        let requests = self.site.requests();
        let size = requests.iter().rev().find_map(|it| it.strip_prefix("/size/")?.strip_suffix(&path));
        Reference { picture, size: size.map(str::to_owned) }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/page/corpus")
}

/// Returns the file name of a page's reference.
fn reference_of(name: &str) -> String {
    let html = fs::read_to_string(folder().join(format!("{name}.html"))).unwrap();
    let named = html.split_once("<link rel=match href=").and_then(|(_, rest)| rest.split_once('>'));
    let own = format!("{name}.ref.html");
    match named {
        Some((named, _)) => named.trim_matches(['"', '\'', ' ']).to_owned(),
        None if folder().join(&own).exists() => own,
        None => format!("{name}.html"),
    }
}

fn reply(path: &str) -> Reply {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["after", time, ..] => {
            thread::sleep(Duration::from_millis(time.parse().unwrap()));
            reply(&format!("/{}?{query}", parts[2..].join("/")))
        }
        ["colour", name] => Reply::of_type(
            "image/svg+xml",
            format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'><path fill='{}' d='M0 0h100v100H0z'/></svg>",
                name.trim_end_matches(".svg")
            ),
        ),
        ["download"] => Reply::Raw(
            200,
            "Content-Type: application/zip\r\nContent-Disposition: attachment; filename=a.zip\r\n".to_owned(),
            b"PK\x05\x06".to_vec(),
        ),
        ["text"] => Reply::of_type("text/plain", "text"),
        ["never"] => Reply::Silence,
        [name] if name.ends_with(".html") => match fs::read_to_string(folder().join(name)) {
            Ok(html) if name.ends_with(".ref.html") => Reply::Html(html + REPORT_SIZE),
            Ok(html) => Reply::Html(html),
            Err(_) => Reply::status(404),
        },
        _ => Reply::status(404),
    }
}
