//! Memory that the tiler itself uses for a page, measured in the test's own process. The browser has a separate limit.

use edgezoom_content::SourceUrl;
use edgezoom_tiler::browser::Pages;

use crate::screenshot::settings;
use crate::site::Site;

/// Maximum memory, in KiB.
const MAX_MEMORY: u64 = 300 << 10;

#[tokio::test]
#[ignore = "measures the whole process: cargo xtask test"]
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
    let page = Pages::new(settings()).open(&url, None).await.unwrap();
    page.write_screenshot(&mut tokio::io::sink()).await.unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("peak {} MiB", peak >> 10);
    assert!(peak < MAX_MEMORY);
}
