//! How long a tall page takes, next to what the browser's captures alone take. Run by hand, on an idle machine:
//! `cargo test --release -p edgezoom-tiler --test page speed -- --ignored --nocapture`.

use std::path::Path;
use std::time::Instant;

use edgezoom_content::SourceUrl;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::page::Pages;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};

use crate::site::Site;
use crate::view::settings;

/// 40,000 px of text, colours and gradients.
fn tall() -> String {
    let section = |n: u32| {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(60);
        format!(
            "<section style='height:500px;overflow:hidden;background:linear-gradient({n}0deg,hsl({n}0,70%,80%),#fff)'>
             <h2>{n}</h2><p>{text}</section>"
        )
    };
    let sections: String = (0..40).map(section).collect();
    format!("<!doctype html><style>body{{margin:0}} section{{padding:1px}}</style>{sections}<p>")
}

/// What our process may use for a page, in KiB: 300 MiB.
const MEMORY: u64 = 300 << 10;

#[tokio::test]
#[ignore = "measures"]
async fn a_page_of_noise_takes_bounded_memory() {
    let site = Site::page(
        "<!doctype html><style>body{margin:0} canvas{display:block}</style><script>
         for (let n = 0; n < 2; n++) {
           const canvas = document.createElement('canvas'); document.body ?? document.write('<body>');
           canvas.width = 2560; canvas.height = 8192; canvas.style.width = '1280px';
           const context = canvas.getContext('2d'), noise = context.createImageData(2560, 8192);
           const words = new Uint32Array(noise.data.buffer);
           let seed = 1; for (let i = 0; i < words.length; i++) {
             seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; words[i] = seed | 0xff000000 }
           context.putImageData(noise, 0, 0); document.body.append(canvas) }</script>",
    );
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    let page = Pages::new(settings()).unwrap().open(&url).await.unwrap();
    page.write_strips(&mut tokio::io::sink(), |_| {}).await.unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("peak {} MiB", peak >> 10);
    assert!(peak < MEMORY);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn a_tall_page_takes_little_longer_than_its_captures() {
    let site = Site::page(&tall());
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    let pages = Pages::new(settings()).unwrap();
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let begun = Instant::now();
        let page = pages.open(&url).await.unwrap();
        let opened = begun.elapsed();
        let size = page.size();
        let begun = Instant::now();
        page.write_strips(&mut tokio::io::sink(), |_| {}).await.unwrap();
        alone.push(begun.elapsed());

        let page = pages.open(&url).await.unwrap();
        let begun = Instant::now();
        let (strips, _capturing) = page.stream().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
        let limits = Limits::default();
        let mut renderer = Renderer::start_as(program, strips, &RenderOptions::default(), &limits).unwrap();
        while !matches!(renderer.next().await.unwrap(), Output::Finished(_)) {}
        whole.push(begun.elapsed());
        println!(
            "{size:?}: opened in {opened:.2?}; captures alone {:.2?}; captured and tiled {:.2?}",
            alone.last().unwrap(),
            whole.last().unwrap()
        );
    }
    let best = |times: &[std::time::Duration]| times.iter().min().unwrap().as_secs_f64();
    let ratio = best(&whole) / best(&alone);
    println!("captured and tiled takes {ratio:.2} times the captures alone");
    assert!(ratio <= 1.3);
}
