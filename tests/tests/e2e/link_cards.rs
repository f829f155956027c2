//! Sites that show a card for a link to a place read Open Graph's tags, and get a picture of that place.

use anyhow::{Context, Result};
use edgezoom_tests::picture::compared::{cut, decibels, mean_square};
use edgezoom_tests::{Client, Source, SourceServer, System, picture, programs};
use image::DynamicImage;
use image::imageops::{FilterType, resize, rotate90};
use serde_json::json;

const WIDTH: u32 = 2700;
const HEIGHT: u32 = 2100;
/// Minimum likeness of a card and the scaled place in the source.
const LEAST_DB: f64 = 30.0;

#[tokio::test(flavor = "multi_thread")]
async fn a_scraper_finds_a_picture_of_the_place_that_a_link_names() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let photograph = picture::photograph(WIDTH, HEIGHT, 7);
    let file = sources.serve("place.jpg", Source::file("image/jpeg", picture::jpeg(&photograph)?));
    let course = client.convert(&file).await?;
    let id = course.ready()?["id"].as_str().context("no id")?;
    let photograph = DynamicImage::ImageRgb8(photograph).to_rgba8();

    for (x, y, zoom, is_turned) in [(700.0, 1500.0, 3.0, false), (1900.0, 640.0, 4.0, true)] {
        let turn = if is_turned { ",90" } else { "" };
        let link = format!("{}/{id}?at={x},{y},{zoom}{turn}", system.url());
        let found = programs::run_script("scraper.mjs", json!({ "link": link })).await?;
        assert_eq!(found["ogUrl"], link, "{found}");
        let card = &found["ogImage"][0];
        assert_eq!((&card["width"], &card["height"]), (&json!("1200"), &json!("630")), "{found}");
        assert_eq!(found["twitterImage"][0]["url"], card["url"], "{found}");

        // The card of a grid's nearest place, which its address names.
        let address = card["url"].as_str().context("no picture")?;
        let (_, place) = address.split_once("/at/").context(address.to_owned())?;
        let place: Vec<f64> =
            place.trim_end_matches(".jpg").split(',').map(str::parse).collect::<Result<_, _>>()?;
        let &[card_x, card_y, card_zoom, ..] = place.as_slice() else { panic!("{address}") };
        let view = f64::from(WIDTH) / card_zoom;
        assert!((card_zoom / zoom).log2().abs() < 0.13, "{address}");
        assert!((card_x - x).abs() < view / 16.0 && (card_y - y).abs() < view / 16.0, "{address}");

        let answer = client.get(address).await?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let shown = image::load_from_memory(&answer.body)?.to_rgba8();
        assert_eq!(shown.dimensions(), (1200, 630));
        let (across, down) = (view.round(), (view * 630.0 / 1200.0).round());
        let (width, height) = if is_turned { (down, across) } else { (across, down) };
        let from = ((card_x - width / 2.0).round() as u32, (card_y - height / 2.0).round() as u32);
        let likeness = |from| {
            let region = cut(&photograph, from, (width as u32, height as u32));
            let region = if is_turned { rotate90(&region) } else { region };
            let expected = resize(&region, 1200, 630, FilterType::Lanczos3);
            decibels(mean_square(&shown, &expected, (0, 0)))
        };
        let (of_place, of_corner) = (likeness(from), likeness((0, 0)));
        assert!(of_place >= LEAST_DB && of_corner < 20.0, "{address}: {of_place:.1} dB, {of_corner:.1} dB");
    }
    Ok(())
}
