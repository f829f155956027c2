//! The words of a frozen page or drawing, in its frames too: `script/words.js` reads each document.

use std::time::Duration;

use edgezoom_content::Size;
use edgezoom_text::{Block, Line, Link, Page, Rect, Role, Target, Text};
use serde::Deserialize;
use serde_json::json;
use tracing::debug;

use super::error::PageError;
use super::fair_clock::FairInstant;
use super::layout::{PageLayout, parsed, script};

/// Time for the words of a page. 20,000 take most of a second.
const TIME: Duration = Duration::from_secs(4);
/// Maximum number of links of a document.
const MAX_LINKS: usize = 2000;
/// Maximum number of frames that are read.
const MAX_FRAMES: u32 = 20;
/// Maximum depth of frames within frames.
const MAX_DEPTH: usize = 3;

/// The result of `words.js`. Lengths are CSS pixels from the top left of the document's window.
#[derive(Debug, Deserialize)]
struct Words {
    language: Option<String>,
    blocks: Vec<Read>,
    links: Vec<ReadLink>,
    frames: u32,
    /// Number of elements that may have a closed shadow tree.
    hosts: u32,
}

/// A block, or a frame.
#[derive(Debug, Deserialize)]
struct Read {
    role: Option<Role>,
    lines: Option<Vec<ReadLine>>,
    at: Option<[f64; 4]>,
    alternative: Option<String>,
    frame: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct ReadLine {
    text: String,
    at: [f64; 4],
    /// Beginning and end of each word, from the line's beginning.
    spans: Vec<f64>,
    /// Clockwise, in degrees.
    angle: u16,
    rtl: bool,
}

#[derive(Debug, Deserialize)]
struct ReadLink {
    at: [f64; 4],
    to: String,
}

/// The conversion to pixels of the screenshot.
#[derive(Clone, Copy)]
struct ToPixels {
    left: f64,
    top: f64,
    scale: f64,
}

/// Collects the words of a page's documents.
struct Collector<'a, 'b> {
    layout: &'a mut PageLayout<'b>,
    deadline: FairInstant,
    words: usize,
    frames: u32,
    page: Page,
}

/// Returns the words of a page whose screenshot has this size, at `scale` device pixels for each CSS pixel. `left` and
/// `top` are the screenshot's corner, in CSS pixels from the window's. `None`: they are not wanted, or could not be read
/// in time.
pub(super) async fn read(
    layout: &mut PageLayout<'_>,
    size: Size,
    (left, top): (f64, f64),
    scale: f64,
) -> Option<Text> {
    if layout.limits.words == 0 {
        return None;
    }
    let main = layout.tab.main_frame().to_owned();
    let page = Page::new(Rect::new(0, 0, size.width, size.height));
    let deadline = layout.tab.now() + TIME;
    let mut collector = Collector { layout, deadline, words: 0, frames: 0, page };
    let to_pixels = ToPixels { left: -left, top: -top, scale };
    let read = collector.read(&main, to_pixels, 0).await;
    let Collector { layout, page, .. } = collector;
    match read {
        Ok(language) => {
            let text = Text { language, total: 1, pages: vec![page], ..Text::default() };
            Some(text.bounded(size)).filter(|text| !text.is_empty())
        }
        Err(error) => {
            debug!(%error, "the words of a page were not read");
            // A script that goes on would keep the page from being drawn.
            let _ = layout.tab.command("Runtime.terminateExecution", json!({})).await;
            None
        }
    }
}

impl Collector<'_, '_> {
    /// Reads a document and its frames. Returns its language.
    async fn read(
        &mut self,
        frame: &str,
        to_pixels: ToPixels,
        depth: usize,
    ) -> Result<Option<String>, PageError> {
        let mut words = self.words_of(frame).await?;
        if self.layout.open_shadow_trees(frame, words.hosts).await? {
            words = self.words_of(frame).await?;
        }
        let Words { language, blocks, links, frames, .. } = words;
        // Before they are replaced by those of another document.
        let mut inner = Vec::new();
        for index in 0..frames.min(MAX_FRAMES) {
            inner.push(self.layout.frame_of(frame, &format!("frames[{index}]")).await?);
        }
        self.page.links.extend(
            links.into_iter().map(|link| Link { at: to_pixels.rect(link.at), to: Target::Url(link.to) }),
        );
        for block in blocks {
            if let (Some(index), Some(at)) = (block.frame, block.at) {
                let Some(Some(inner)) = inner.get(index as usize) else { continue };
                if depth >= MAX_DEPTH || self.frames >= MAX_FRAMES {
                    continue;
                }
                self.frames += 1;
                let within = to_pixels.within(at);
                // A frame that is going away has no words.
                if let Err(
                    error @ (PageError::Crashed | PageError::BrowserGone | PageError::NeverLoaded(_)),
                ) = Box::pin(self.read(inner, within, depth + 1)).await
                {
                    return Err(error);
                }
                continue;
            }
            let lines = block.lines.unwrap_or_default().into_iter().map(|line| to_pixels.line(line));
            let lines: Vec<Line> = lines.collect();
            self.words += lines.iter().map(|line| line.text.split(' ').count()).sum::<usize>();
            let role = block.role.unwrap_or(Role::P);
            let at = block.at.map(|at| to_pixels.rect(at));
            self.page.blocks.push(Block { role, lines, at, alternative: block.alternative });
        }
        Ok(language)
    }

    async fn words_of(&mut self, frame: &str) -> Result<Words, PageError> {
        let words = self.layout.limits.words.saturating_sub(self.words);
        let function = script!("words.js", "lines.js", "written.js");
        let argument = json!({ "words": words, "links": MAX_LINKS });
        parsed(self.layout.tab.call_function_in(frame, function, argument, self.deadline).await?)
    }
}

impl ToPixels {
    /// Returns the conversion for a frame at this place.
    fn within(self, [left, top, ..]: [f64; 4]) -> Self {
        Self { left: self.left + left, top: self.top + top, ..self }
    }

    fn rect(self, [left, top, width, height]: [f64; 4]) -> Rect {
        let pixels = |length: f64| (length.max(0.0) * self.scale).round() as u32;
        let (left, top) = (left + self.left, top + self.top);
        let side =
            |from: f64, length: f64| (pixels(from), pixels(from + length).saturating_sub(pixels(from)));
        let ((left, width), (top, height)) = (side(left, width), side(top, height));
        Rect { left, top, width, height }
    }

    fn line(self, line: ReadLine) -> Line {
        let mut before = 0;
        let spans = line.spans.chunks_exact(2).flat_map(|span| {
            let [start, end] = [span[0], span[1]].map(|at| (at * self.scale).round() as i32);
            let gap = start.saturating_sub(before);
            before = end;
            [gap, end.saturating_sub(start)]
        });
        let spans = spans.collect();
        Line { angle: line.angle, rtl: line.rtl, ..Line::new(self.rect(line.at), line.text, spans) }
    }
}
