//! The main use: a client asks for a URL, and gets a pyramid that equals the source.

use anyhow::Result;
use edgezoom_tests::picture;
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Source, SourceServer, System};
use image::{DynamicImage, RgbaImage};
use serde_json::Value;

#[tokio::test]
async fn a_new_url_is_answered_immediately_and_becomes_a_pyramid() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let photograph = picture::photograph(3000, 2100, 1);
    let (file, gate) = Source::file("image/jpeg", picture::jpeg(&photograph)?).held(4);
    let source = sources.serve("photograph.jpg", file);

    let answer = client.ask(&source).await?;
    assert_eq!(answer.status, 301, "{}", answer.text());
    assert!(answer.header("content-type").starts_with("application/json"), "{:?}", answer.headers);
    let content = answer.json()?;
    let id = content["id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        answer.header("location"),
        format!("{}/v1/content/{id}", system.url()),
        "Location is absolute"
    );
    assert_eq!(content["url"], source.as_str());
    assert_eq!((&content["ready"], &content["failed"]), (&Value::Bool(false), &Value::Bool(false)));

    let mut course = client.begin(&source).await?;
    assert_eq!(course.id()?, id, "the same URL has the same id");
    client.follow_until(&mut course, |content| content["stage"] == "downloading").await?;
    client.follow_parts(&mut course, &gate).await?;
    let content = course.ready()?;
    assert_eq!(content["progress"], 1.0);
    check(&system, &client, content, &DynamicImage::from(photograph).into_rgba8(), 32.0).await?;
    assert_eq!(sources.hits(&source), 1, "the source is fetched once");
    Ok(())
}

#[tokio::test]
async fn a_png_with_transparency_is_rebuilt_exactly() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let cutout = picture::cutout(1201, 799, 2);
    let source = sources.serve("cutout.png", Source::file("image/png", picture::png(&cutout)?));
    let course = client.convert(&source).await?;
    assert_eq!(course.ready()?["dzi"]["tileFormat"], "png");
    let pyramid = check(&system, &client, course.ready()?, &cutout, 0.0).await?;
    assert!(pyramid.picture() == cutout, "a pixel differs");
    Ok(())
}

#[tokio::test]
async fn pictures_at_the_limits_of_the_tile_grid_are_complete() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    for (width, height) in [(1, 1), (512, 512), (513, 511), (1025, 3), (7, 1537)] {
        let picture = picture::photograph(width, height, 3);
        let source = sources.serve("odd.jpg", Source::file("image/jpeg", picture::jpeg(&picture)?));
        let course = client.convert(&source).await?;
        let picture = DynamicImage::from(picture).into_rgba8();
        check(&system, &client, course.ready()?, &picture, 28.0).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_wrapped_form_has_status_and_location_in_its_body() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let picture = picture::jpeg(&picture::photograph(200, 100, 4))?;
    let source = sources.serve("wrapped.jpg", Source::file("image/jpeg", picture));
    let asked = client.get(&format!("/v1/content/?format=json&url={source}")).await?;
    assert_eq!((asked.status.as_u16(), asked.header("location")), (200, ""));
    let response = asked.json()?;
    let id = response["content"]["id"].as_str().unwrap_or_default();
    assert_eq!((&response["status"], &response["statusText"]), (&301.into(), &"Moved Permanently".into()));
    assert_eq!(response["redirectLocation"], format!("{}/v1/content/{id}", system.url()));
    assert_eq!(response.get("error"), None);

    client.convert(&source).await?.ready()?;
    let known = client.get(&format!("/v1/content/{id}?format=json")).await?.json()?;
    assert_eq!((&known["status"], &known["content"]["ready"]), (&200.into(), &true.into()));
    assert_eq!((known.get("redirectLocation"), known.get("error")), (None, None));

    let unknown = client.get("/v1/content/00000000000?format=json").await?;
    assert_eq!(unknown.status, 200);
    let unknown = unknown.json()?;
    assert_eq!((&unknown["status"], &unknown["statusText"]), (&404.into(), &"Not Found".into()));
    assert!(unknown["error"].is_string() && unknown.get("content").is_none(), "{unknown}");
    Ok(())
}

/// Checks everything that is served and stored for a ready content.
async fn check(
    system: &System,
    client: &Client,
    content: &Value,
    source: &RgbaImage,
    psnr: f64,
) -> Result<Pyramid> {
    let pyramid = Pyramid::fetch(client, content).await?;
    if psnr > 0.0 {
        pyramid.equals(source, psnr)?;
    }
    let id = content["id"].as_str().unwrap_or_default();
    let stored = system.stored(&format!("{id}/")).await?;
    assert_eq!(stored, [format!("{id}/1.szi")], "only the pyramid is stored");
    for most in [u32::MAX, 320] {
        small_picture(client, content, most).await?;
    }
    Ok(pyramid)
}

/// Checks that the preview image has the announced size and the picture's aspect ratio.
async fn small_picture(client: &Client, content: &Value, most: u32) -> Result<()> {
    let share = content["shareUrl"].as_str().unwrap_or_default();
    let oembed =
        client.get(&format!("/oembed?url={share}&maxwidth={most}&maxheight={most}")).await?.json()?;
    let address = oembed["thumbnail_url"].as_str().unwrap_or_default();
    let side = |name: &str| content["dzi"][name].as_u64().unwrap_or_default();
    let longest = side("width").max(side("height"));
    // Of a small picture, both previews have its own size.
    let name = if most == 320 && longest > 320 { "/thumbnail.jpg" } else { "/preview.jpg" };
    assert!(address.ends_with(name), "{oembed}");
    let file = client.get(address).await?;
    let shown = image::load_from_memory(&file.body)?;
    let told = [&oembed["thumbnail_width"], &oembed["thumbnail_height"]];
    assert_eq!(told, [&Value::from(shown.width()), &Value::from(shown.height())]);
    assert_eq!(u64::from(shown.width().max(shown.height())), longest.min(u64::from(most.min(1200))));
    Ok(())
}
