//! Converts a web page 40,000 pixels tall. Rendering must overlap with the browser's captures.

use std::path::Path;
use std::time::Instant;

use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::browser::{PageSettings, Pages};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};

use super::site::Site;
use super::{Bound, Figure, RUNS, middle};

pub fn measure() -> Figure {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (alone, whole) = runtime.block_on(times());
    println!("web page: captures alone {alone:.2} s, captured and tiled {whole:.2} s");
    Figure {
        what: "a tall page captured and tiled, beside its captures",
        value: whole / alone,
        unit: " times as long",
        bound: Bound::AtMost(1.3),
    }
}

/// Returns the time of the captures alone, and of captures and tiles, in seconds.
async fn times() -> (f64, f64) {
    let site = Site::page(&tall());
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let policy = AddressPolicy::allowing("127.0.0.2/32").unwrap();
    let settings = PageSettings {
        supervisor: program.to_owned(),
        browser: std::env::var_os("EDGEZOOM_CHROMIUM").map(Into::into),
        ..PageSettings::new(policy, std::env::temp_dir())
    };
    let pages = Pages::new(settings);
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let page = pages.open(&url, None).await.unwrap();
        assert_eq!(page.size().height, 40_000);
        let begun = Instant::now();
        page.write_screenshot(&mut tokio::io::sink()).await.unwrap();
        alone.push(begun.elapsed().as_secs_f64());

        let page = pages.open(&url, None).await.unwrap();
        let begun = Instant::now();
        let (strips, _capturing) = page.stream().unwrap();
        let (options, limits) = (RenderOptions::default(), Limits::default());
        let mut renderer = Renderer::start(program, strips, &options, &limits).unwrap();
        while !matches!(renderer.next().await.unwrap(), Output::Finished { .. }) {}
        whole.push(begun.elapsed().as_secs_f64());
    }
    (middle(alone), middle(whole))
}

/// 20,000 CSS pixels of text, colours and gradients.
fn tall() -> String {
    let section = |n: u32| {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(60);
        format!(
            "<section style='height:500px;overflow:hidden;background:linear-gradient({n}0deg,hsl({n}0,70%,80%),#fff)'>
             <h2>{n}</h2><p>{text}</section>"
        )
    };
    let sections: String = (0..40).map(section).collect();
    format!(
        "<!doctype html><style>body{{margin:0}} section{{box-sizing:border-box;padding:1px}}</style>{sections}"
    )
}
