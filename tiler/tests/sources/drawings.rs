//! SVGs that a browser draws: feature by feature as Chromium shows them, without network and scripts, and in pieces.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use edgezoom_content::{Dzi, Size, TileFormat};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::decode;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{read_folder, rebuilt};
use edgezoom_test_support::reference::{Detail, Judge};
use edgezoom_text::{Rect, Text};

use crate::chromium;
use crate::site::{Reply, Site};

/// Chromium beside resvg. Where the browser makes both pictures, they are compared without a reference.
const CHROMIUM: Judge = Judge { set: "drawings", version: chromium::version };

/// Returns a drawing of 400×200 with this content.
fn svg(content: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='400' height='200' \
         viewBox='0 0 400 200'>{content}</svg>"
    )
}

fn convert(folder: &Path, source: &str, side: u32, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).args(["convert", "--output=out", "--format=png"]).args(args).arg(source);
    command.arg(format!("--svg-side={side}"));
    command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true"); // tests without namespaces may run as root
    command.env("EDGEZOOM_ALLOW_NETWORKS", "127.0.0.2/32").output().unwrap()
}

/// Converts a drawing and returns its picture.
fn drawn(svg: &str, side: u32, size: (u32, u32)) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("drawing.svg"), svg).unwrap();
    let output = convert(folder.path(), "drawing.svg", side, &[]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("need a browser"), "{said}");
    let size = Size { width: size.0, height: size.1 };
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Png };
    let picture = rebuilt(&read_folder(&folder.path().join("out_files"), &dzi), &dzi);
    Picture::without_opacity(picture.width, picture.height, picture.layout.channels(), &picture.pixels)
}

/// Takes a screenshot of a drawing of 400×200 with Chromium's command line, in its own size: at another device scale
/// factor, Chromium rounds line heights otherwise than at an emulated one.
fn by_chromium(svg: &str) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    let (file, source) = (folder.path().join("page.png"), folder.path().join("drawing.svg"));
    fs::write(&source, svg).unwrap();
    let mut command = Command::new(chromium::executable());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text"]);
    command.args([
        "--font-render-hinting=none",
        "--force-color-profile=srgb",
        "--force-device-scale-factor=1",
    ]);
    command.args(["--window-size=400,200", "--virtual-time-budget=60000"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--screenshot={}", file.display())).arg(source);
    assert!(command.output().unwrap().status.success());
    let whole = decode(&fs::read(file).unwrap()).unwrap();
    Picture::without_opacity(whole.width, whole.height, whole.layout.channels(), &whole.pixels)
}

/// Converts a drawing of 400×200 and compares it with Chromium's screenshot. That is taken again if it differs: on a busy
/// machine it may show an animation before its end.
fn assert_looks_as_in_chromium(svg: &str) {
    let ours = drawn(svg, 400, (400, 200));
    let compared = || compare(&ours, &by_chromium(svg), Tolerance::up_to(3));
    compared().or_else(|_| compared()).or_else(|_| compared()).unwrap_or_else(|why| panic!("{svg}: {why}"));
}

const AVIF: &[u8] = include_bytes!("../corpus/photo.avif");

#[test]
fn each_feature_looks_as_chromium_shows_it() {
    let avif =
        format!("<image width='200' height='200' href='data:image/avif;base64,{}'/>", STANDARD.encode(AVIF));
    for content in [
        "<rect width='400' height='200' fill='#eef'/><foreignObject x='20' y='20' width='360' height='160'>\
         <div xmlns='http://www.w3.org/1999/xhtml' style='font:30px serif;color:red'>Label <b>of</b> HTML</div></foreignObject>",
        "<style>:root{--a:#dc1e1e}.b{fill:var(--a)}.c{fill:var(--no,#1eb428)}</style><rect class='b' width='200' height='200'/>\
         <rect class='c' x='200' width='200' height='200'/>",
        "<style>g{fill:red;&amp; .d{fill:blue}}</style><g><rect width='90' height='90'/><rect class='d' x='99' width='9' height='9'/></g>",
        "<style>rect:nth-child(odd){fill:lime}</style><rect width='90' height='90'/><rect x='99' width='90' height='90'/>",
        "<style>@media (min-width: 300px){rect{fill:purple}} @media (min-width: 500px){rect{fill:red}}</style><rect width='200' height='99'/>",
        "<style>.r{x:10px;y:10px;width:180px;height:50%}</style><rect class='r'/><circle style='cx:300px;cy:100px;r:80px'/>",
        "<rect width='50' height='50' style='transform:translate(100px,20px) rotate(30deg)'/>\
         <rect x='200' y='50' width='50' height='50' style='transform-box:fill-box;transform-origin:center;rotate:45deg'/>",
        "<rect width='90' height='90' fill='oklch(0.7 0.2 30)'/><rect x='99' width='90' height='90' style='fill:rgb(9 200 99 / 50%)'/>\
         <rect x='199' width='90' height='90' fill='color-mix(in srgb, red, blue)'/>",
        &avif,
        "<rect width='90' height='90' opacity='0'><animate attributeName='opacity' from='0' to='1' dur='1s' fill='freeze'/></rect>\
         <style>.f{opacity:0;animation:f 2s 1s forwards}@keyframes f{to{opacity:1}}</style><rect class='f' x='99' width='90' height='90'/>",
        "<rect width='200' height='200' style='clip-path:circle(40%)'/>",
        "<g transform='scale(10)'><path d='M1 1L30 15' stroke='red' stroke-width='3' vector-effect='non-scaling-stroke'/></g>",
        "<text x='20' y='90' font-size='50' style='text-transform:uppercase;text-shadow:3px 3px 2px red'>shadow</text>",
        "<style>svg{background:linear-gradient(90deg,red,blue)}</style><circle cx='200' cy='100' r='50'/>",
    ] {
        let svg = svg(content);
        assert_looks_as_in_chromium(&svg);
    }
}

#[test]
fn what_resvg_reads_after_a_small_change_looks_as_chromium_shows_it() {
    for (name, content) in [
        (
            "light-dark",
            "<rect width='180' height='180' fill='red' style='fill:light-dark(#dae8fc, var(--x, #121212))'/>",
        ),
        ("cmyk", "<rect width='180' height='180' fill='teal' style='fill:cmyk(0,1,1,0)'/>"),
        ("unknown", "<style>rect{fill:green;fill:foo(1)}</style><rect width='180' height='180'/>"),
    ] {
        let svg = svg(&format!("<path fill='white' d='M0 0H400V200H0z'/>{content}"));
        let shown = CHROMIUM.picture(name, Detail::Lattice, || Some(by_chromium(&svg))).unwrap();
        let compared = shown.compare(&drawn(&svg, 400, (400, 200)), Tolerance::up_to(3));
        compared.unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn a_drawing_in_the_browser_has_no_network_and_no_scripts() {
    let site = Site::serve("127.0.0.2", |_| Reply::of_type("text/css", "*{fill:black;background:black}"));
    let at = |path: &str| site.url(path);
    let hostile = svg(&format!(
        "<style>@import url('{css}');@font-face{{font-family:A;src:url('{font}')}}:root{{--a:#0f0}}</style>\
         <rect width='400' height='200' fill='var(--a)'/><image width='400' height='200' href='{image}'/>\
         <script>document.documentElement.innerHTML=''</script><script href='{script}'/>\
         <use href='{image}#a'/><text font-family='A' fill='#0f0'>a</text>\
         <foreignObject width='400' height='200'><div xmlns='http://www.w3.org/1999/xhtml'><img src='{image}'/>\
         <iframe src='{frame}' style='border:0;width:1px;height:1px'/><link rel='stylesheet' href='{css}'/>\
         <meta http-equiv='refresh' content='0;url={frame}'/><img src='x' onerror='document.body.remove()'/></div></foreignObject>",
        css = at("/a.css"),
        font = at("/a.woff"),
        image = at("/a.png"),
        script = at("/a.js"),
        frame = at("/frame"),
    ));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("drawing.svg"), hostile).unwrap();
    let output = convert(folder.path(), "drawing.svg", 800, &[]);
    assert!(output.status.success(), "{output:?}");
    let dzi = Dzi {
        size: Size { width: 800, height: 400 },
        tile_size: 512,
        tile_overlap: 0,
        tile_format: TileFormat::Png,
    };
    let picture = rebuilt(&read_folder(&folder.path().join("out_files"), &dzi), &dzi);
    assert_eq!(picture.at(700, 300), [0, 255, 0]);
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[test]
fn the_words_of_a_drawing_in_the_browser_are_where_they_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let content = "<text x='40' y='60' font-size='20'>High tide</text>\
        <foreignObject x='200' y='100' width='190' height='90'><p xmlns='http://www.w3.org/1999/xhtml' \
        style='margin:0;font:20px serif'>in a <a href='https://example.com/'>label</a></p></foreignObject>";
    fs::write(folder.path().join("drawing.svg"), svg(content)).unwrap();
    let output = convert(folder.path(), "drawing.svg", 1600, &["--text"]);
    assert!(output.status.success(), "{output:?}");
    let text = Text::from_json(&fs::read(folder.path().join("out.text.json")).unwrap()).unwrap();
    let [page] = text.pages.as_slice() else { panic!("{text:?}") };
    assert_eq!(page.at, Rect::new(0, 0, 1600, 800));
    let lines: Vec<_> = page.blocks.iter().flat_map(|block| &block.lines).collect();
    let seen: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(seen, ["High tide", "in a label"]);
    for (line, (left, top)) in lines.iter().zip([(160, 170), (800, 400)]) {
        let Rect { left: x, top: y, width, height } = line.at;
        assert!(x.abs_diff(left) < 12 && y.abs_diff(top) < 40, "{line:?}");
        assert!((240..600).contains(&width) && (60..130).contains(&height), "{line:?}");
    }
    assert_eq!(page.links.len(), 1, "{page:?}");
}

#[test]
fn a_wide_drawing_is_captured_in_pieces_without_a_seam() {
    let stripes: String = (0..400).step_by(2).map(|x| format!("<path d='M{x} 0h1v8h-1z'/>")).collect();
    let wide = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='8'><style>:root{{--a:#f00}}</style><g fill='var(--a)'>{stripes}</g></svg>"
    );
    let picture = drawn(&wide, 19_000, (19_000, 380)); // 47.5 pixels for each
    for x in 0..19_000 {
        let inside = (x as f64 + 0.5) / 47.5 % 2.0;
        let expected = if inside < 1.0 { [255, 0, 0] } else { [255; 3] };
        let is_edge = inside.fract() < 0.03 || inside.fract() > 0.97;
        assert!(
            is_edge || picture.at(x, 0) == expected && picture.at(x, 379) == expected,
            "{x}: {:?}",
            picture.at(x, 0)
        );
    }
}

#[test]
fn without_a_browser_a_warning_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("drawing.svg"), svg("<rect width='9' height='9' fill='var(--a)'/>"))
        .unwrap();
    let output = convert(folder.path(), "drawing.svg", 800, &["--chromium=/nowhere"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("need a browser and may be missing: CSS variables."), "{said}");
}
