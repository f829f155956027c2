//! Looking at a captured page: pages to capture with, and the picture put together from its strips.

use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

use edgezoom_codecs::Layout;
use edgezoom_codecs::formats::screenshot;
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::browser::{CapturedPage, PageError, PageSettings, Pages};

use edgezoom_test_support::Picture;

/// A page's picture, RGB.
pub struct View {
    pub title: String,
    pub url: String,
    pub width: usize,
    pub height: usize,
    pixels: Vec<u8>,
}

/// Settings under which only 127.0.0.2 is reachable, where the tests serve their pages.
pub fn settings() -> PageSettings {
    let policy = AddressPolicy::allowing("127.0.0.2/32").unwrap();
    let mut settings = PageSettings::new(policy, std::env::temp_dir());
    settings.cell = Some(Path::new(env!("CARGO_BIN_EXE_tiler")).to_owned());
    settings.limits.settle = Duration::from_secs(20);
    settings
}

pub async fn capture(settings: PageSettings, url: &str) -> Result<View, PageError> {
    let url = SourceUrl::parse(url).unwrap();
    Ok(View::read(Pages::new(settings).unwrap().capture(&url, |_| {}).await?))
}

/// The capture of a page that must succeed.
pub async fn see(url: &str) -> View {
    capture(settings(), url).await.unwrap()
}

impl View {
    pub fn read(page: CapturedPage) -> Self {
        let mut file = BufReader::new(page.file);
        let mut magic = [0; 8];
        file.read_exact(&mut magic).unwrap();
        assert_eq!(magic, screenshot::MAGIC);
        let (width, height) = (number(&mut file).unwrap() as usize, number(&mut file).unwrap() as usize);
        assert_eq!((width, height), (page.size.width as usize, page.size.height as usize));
        let mut pixels = Vec::new();
        while let Some(length) = number(&mut file) {
            let mut png = vec![0; length as usize];
            file.read_exact(&mut png).unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
            assert_eq!(reader.info().width as usize, width);
            let mut strip = vec![0; reader.output_buffer_size().unwrap()];
            let frame = reader.next_frame(&mut strip).unwrap();
            assert_eq!((frame.color_type, frame.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
            pixels.extend(strip);
        }
        assert_eq!(pixels.len(), width * height * 3);
        Self {
            title: page.title.map(|title| title.to_string()).unwrap_or_default(),
            url: page.url,
            width,
            height,
            pixels,
        }
    }

    /// All of it.
    pub fn picture(self) -> Picture {
        let Self { width, height, pixels, .. } = self;
        Picture { width: width as u32, height: height as u32, layout: Layout::Rgb, pixels }
    }

    /// The colour at a place, in device pixels.
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let pixel = (y * self.width + x) * 3;
        self.pixels[pixel..pixel + 3].try_into().unwrap()
    }

    /// How many pixels have this colour.
    pub fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.chunks_exact(3).filter(|pixel| *pixel == colour).count()
    }
}

fn number(file: &mut impl Read) -> Option<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).ok()?;
    Some(u32::from_le_bytes(bytes))
}
