//! Captures pages and decodes their screenshots.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::time::Duration;

use edgezoom_codecs::Layout;
use edgezoom_codecs::formats::screenshot::header;
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_text::Text;
use edgezoom_tiler::browser::{OpenPage, PageError, PageSettings, Pages};

use edgezoom_test_support::Picture;

/// Screenshot of a page, in RGB.
pub struct Screenshot {
    pub title: String,
    pub url: String,
    pub width: usize,
    pub height: usize,
    pub text: Option<Text>,
    pixels: Vec<u8>,
}

/// Returns settings with a policy that permits only 127.0.0.2, where the tests serve their pages.
pub fn settings() -> PageSettings {
    let policy = AddressPolicy::allowing("127.0.0.2/32").unwrap();
    let mut settings = PageSettings::new(policy, std::env::temp_dir());
    settings.supervisor = env!("CARGO_BIN_EXE_tiler").into();
    settings.limits.settle = Duration::from_secs(20);
    settings.limits.nice = 0; // other tests run beside this one
    settings.limits.without_sandbox = true; // tests without namespaces may run as root
    settings
}

pub async fn capture(settings: PageSettings, url: &str) -> Result<Screenshot, PageError> {
    let url = SourceUrl::parse(url).unwrap();
    Screenshot::of(Pages::new(settings).open(&url, None).await?).await
}

/// Writes the screenshot stream of a page to a temporary file, positioned at its start.
pub async fn stream_to_file(page: OpenPage) -> Result<File, PageError> {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().unwrap());
    page.write_screenshot(&mut file).await?;
    let mut file = file.into_std().await;
    file.rewind().unwrap();
    Ok(file)
}

/// Captures a page with the default settings of the tests. Panics if that fails.
pub async fn capture_url(url: &str) -> Screenshot {
    capture(settings(), url).await.unwrap()
}

impl Screenshot {
    pub async fn of(page: OpenPage) -> Result<Self, PageError> {
        let title = page.title().map(ToString::to_string).unwrap_or_default();
        let (size, url) = (page.size(), page.url().to_owned());
        let mut file = BufReader::new(stream_to_file(page).await?);
        let mut stream_header = [0; 20];
        file.read_exact(&mut stream_header).unwrap();
        let mut json = vec![0; u32::from_le_bytes(stream_header[16..].try_into().unwrap()) as usize];
        file.read_exact(&mut json).unwrap();
        assert_eq!(stream_header, header(size, &json));
        let text = Text::from_json(&json);
        let (width, height) = (size.width as usize, size.height as usize);
        let mut pixels = Vec::new();
        while let Some(length) = strip_length(&mut file) {
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
        Ok(Self { title, url, width, height, text, pixels })
    }

    /// Returns the whole screenshot.
    pub fn picture(self) -> Picture {
        let Self { width, height, pixels, .. } = self;
        Picture { width: width as u32, height: height as u32, layout: Layout::Rgb, pixels }
    }

    /// Returns the colour of a pixel.
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let pixel = (y * self.width + x) * 3;
        self.pixels[pixel..pixel + 3].try_into().unwrap()
    }

    /// Returns the number of pixels of a colour.
    pub fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.chunks_exact(3).filter(|pixel| *pixel == colour).count()
    }
}

fn strip_length(file: &mut impl Read) -> Option<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).ok()?;
    Some(u32::from_le_bytes(bytes))
}
