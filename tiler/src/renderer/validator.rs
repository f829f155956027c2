//! Checks the frames of a renderer process. A hostile picture may have taken over the process, so each frame is
//! compared with the request and with the frames before it. Frames that pass could have come from an honest process.

use std::str;

use bytes::{Bytes, BytesMut};
use edgezoom_codecs::{Damage, PixelsOnly};
use edgezoom_content::{Credits, Dzi, Failure, PreviewKind, Size, TileFormat, Title};
use edgezoom_pyramid::{Built, Tile, TileCoord};

use super::Output;
use super::error::RenderError;
use super::protocol::{Ending, Frame, ProtocolError, read_frame};
use super::request::{RenderOptions, RenderRequest};
use super::text;
use super::vectors::{self, MAX_DOCUMENT_BYTES};

/// Maximum number of characters passed on from a failure's message.
const MESSAGE_CHARACTERS: usize = 300;

/// Maximum length of the reason why a page has no vectors.
const MAX_REASON_BYTES: usize = 100;

/// Checks the frames of one process.
pub struct FrameValidator {
    request: RenderRequest,
    pyramid: Option<ReceivedTiles>,
}

/// The tiles received for a pyramid.
struct ReceivedTiles {
    dzi: Dzi,
    /// For each level from the smallest on, one bit for each tile, row by row: 1 if it was received.
    received: Vec<Vec<u64>>,
    /// Number of the smallest level.
    first: u32,
    missing: u64,
    /// True if blank tiles are left out: any tile may be missing at the end.
    skips: bool,
    /// Previews that were not received.
    missing_previews: Vec<PreviewKind>,
    has_text: bool,
    has_title: bool,
    has_credits: bool,
    /// True if a page without vectors needs more pixels, from the last frame of the pyramid on.
    halved: bool,
    /// Number of pages that have not sent vectors. It is known from the first one that has.
    missing_vectors: Option<u32>,
    /// Number of the page from which vectors may come, and the bytes that they may have.
    next_vectors: u32,
    vector_bytes: usize,
}

impl FrameValidator {
    pub fn new(request: RenderRequest) -> Self {
        Self { request, pyramid: None }
    }

    /// Takes the next frame from the buffer. Returns `None` while it is incomplete.
    ///
    /// # Errors
    /// The process reports a failure, or breaks the protocol.
    pub fn next(&mut self, received: &mut BytesMut) -> Result<Option<Output>, RenderError> {
        let frame = read_frame(received, self.request.max_tile_bytes())?;
        frame.map(|frame| self.accept(frame)).transpose()
    }

    fn accept(&mut self, frame: Frame) -> Result<Output, RenderError> {
        match frame {
            Frame::Begin(dzi) => Ok(self.begin(dzi)?),
            Frame::Progress(rows) => {
                let height = self.pyramid()?.dzi.size.height;
                Ok(Output::Progress(f64::from(rows.min(height)) / f64::from(height)))
            }
            Frame::Tile(coord, bytes) => Ok(Output::Tile(self.pyramid()?.receive(coord, bytes)?)),
            Frame::Preview(kind, bytes) => {
                self.pyramid()?.receive_preview(kind, &bytes)?;
                Ok(Output::Preview(kind, bytes))
            }
            Frame::Coarse(bytes) => {
                let is_requested = self.request.options.coarse_every.is_some();
                if !is_requested || !has_signature(TileFormat::Jpg, &bytes) {
                    return Err(ProtocolError::Unexpected("a coarse picture that was not requested").into());
                }
                Ok(Output::Coarse(bytes))
            }
            Frame::Text(packed) => Ok(self.text(&packed)?),
            Frame::Title(text) => Ok(Output::Title(self.pyramid()?.title(&text)?)),
            Frame::Credits(json) => Ok(Output::Credits(self.pyramid()?.credits(&json)?)),
            Frame::Finished(ending) => Ok(self.finish(ending)?),
            Frame::Vectors(frame) => Ok(self.vectors(frame)?),
            Frame::PixelsOnly(page) => self.pixels_only(page),
            Frame::NeedsBrowser(drawing) => {
                let Size { width, height } = drawing.size;
                let is_within = width > 0 && height > 0;
                if self.pyramid.is_some() || !self.request.options.drawing.to_browser || !is_within {
                    return Err(ProtocolError::Unexpected("a drawing that is not left to a browser").into());
                }
                Err(RenderError::NeedsBrowser(drawing))
            }
            Frame::Failed(failure) => Err(RenderError::Reported(sanitized(&failure))),
        }
    }

    fn text(&mut self, packed: &[u8]) -> Result<Output, ProtocolError> {
        let is_requested = self.request.options.drawing.text;
        let pyramid = self.pyramid()?;
        let unpacked = text::unpack(packed, pyramid.dzi.size);
        let text = unpacked.filter(|_| is_requested && !pyramid.has_text);
        pyramid.has_text |= text.is_some();
        text.map(Output::Text).ok_or(ProtocolError::Unexpected("words that no picture has"))
    }

    fn finish(&mut self, Ending { damage, scale, halved }: Ending) -> Result<Output, ProtocolError> {
        let is_requested = self.request.options.drawing.halved;
        let pyramid = self.pyramid()?;
        let is_incomplete = pyramid.missing > 0 && !pyramid.skips;
        if is_incomplete || !pyramid.missing_previews.is_empty() {
            return Err(ProtocolError::Unexpected("the last frame before all tiles"));
        }
        let dzi = pyramid.dzi;
        if damage.is_some_and(|damage| !can_have(dzi.size, damage)) {
            return Err(ProtocolError::Unexpected("damage that the picture cannot have"));
        }
        if scale.is_some_and(|scale| !scale.is_valid()) {
            return Err(ProtocolError::Unexpected("a scale that no file states"));
        }
        if halved && !is_requested {
            return Err(ProtocolError::Unexpected("fewer pixels than requested"));
        }
        pyramid.halved = halved;
        Ok(Output::Finished(Built { dzi, damage, scale }))
    }

    fn vectors(&mut self, frame: Bytes) -> Result<Output, ProtocolError> {
        let is_requested = self.request.options.drawing.vectors;
        let max_pages = self.request.bounds.pdf_pages.get();
        let pyramid = self.pyramid()?;
        let page = if is_requested { vectors::read(frame, pyramid.dzi.size) } else { None };
        let page = page.filter(|page| page.page >= pyramid.next_vectors && page.pages as usize <= max_pages);
        let left = page.as_ref().and_then(|page| pyramid.vector_bytes.checked_sub(page.svg.len()));
        let (Some(page), Some(left)) = (page, left) else {
            return Err(ProtocolError::Unexpected("vectors that no page has"));
        };
        (pyramid.next_vectors, pyramid.vector_bytes) = (page.page + 1, left);
        let missing = pyramid.missing_vectors.unwrap_or(page.pages);
        pyramid.missing_vectors = Some(missing.saturating_sub(1));
        Ok(Output::Vectors(page))
    }

    fn pixels_only(&mut self, page: PixelsOnly) -> Result<Output, RenderError> {
        let PixelsOnly { page: number, reason } = &page;
        let is_requested = self.request.options.drawing.vectors;
        let max_pages = self.request.bounds.pdf_pages.get();
        let pyramid = self.pyramid()?;
        let is_next = *number >= pyramid.next_vectors && (*number as usize) < max_pages;
        // It is for the log, so it has neither lines nor escapes.
        let is_plain = reason.bytes().all(|byte| byte.is_ascii_lowercase() || b" ',".contains(&byte));
        if !(is_requested && is_next && is_plain && reason.len() <= MAX_REASON_BYTES) {
            return Err(ProtocolError::Unexpected("a reason that no page has").into());
        }
        pyramid.next_vectors = number + 1;
        if pyramid.halved { Err(RenderError::NeedsPixels) } else { Ok(Output::PixelsOnly(page)) }
    }

    /// Returns true if the pyramid has too few pixels for the vectors that have come.
    pub fn needs_pixels(&self) -> bool {
        self.pyramid.as_ref().is_some_and(|pyramid| pyramid.halved && pyramid.missing_vectors != Some(0))
    }

    fn pyramid(&mut self) -> Result<&mut ReceivedTiles, ProtocolError> {
        self.pyramid.as_mut().ok_or(ProtocolError::Unexpected("a frame before the first one"))
    }

    fn begin(&mut self, dzi: Dzi) -> Result<Output, ProtocolError> {
        let RenderRequest { ref options, ref bounds, .. } = self.request;
        let size = dzi.size;
        let matches_request = dzi == options.dzi(size, dzi.tile_format)
            && options.format.is_none_or(|format| format == dzi.tile_format);
        let is_within = size.width > 0 && size.height > 0 && size.width.max(size.height) <= bounds.side;
        if self.pyramid.is_some() || !matches_request || !is_within || size.pixels() > bounds.pixels {
            return Err(ProtocolError::Unexpected("a pyramid that was not requested"));
        }
        self.pyramid = Some(ReceivedTiles::new(dzi, options));
        Ok(Output::Started(dzi))
    }
}

impl ReceivedTiles {
    fn new(dzi: Dzi, options: &RenderOptions) -> Self {
        let first = options.depth.first_level(&dzi);
        let tiles = (first..=dzi.max_level()).map(|level| {
            let (columns, rows) = dzi.grid(level);
            u64::from(columns) * u64::from(rows)
        });
        let received = tiles.clone().map(|tiles| vec![0; tiles.div_ceil(64) as usize]).collect();
        let missing_previews = if options.previews { PreviewKind::ALL.to_vec() } else { vec![] };
        let skips = options.skip_blanks.is_some();
        Self {
            dzi,
            received,
            first,
            missing: tiles.sum(),
            skips,
            missing_previews,
            has_text: false,
            has_title: false,
            has_credits: false,
            halved: false,
            missing_vectors: None,
            next_vectors: 0,
            vector_bytes: MAX_DOCUMENT_BYTES,
        }
    }

    fn title(&mut self, text: &[u8]) -> Result<Title, ProtocolError> {
        let title = str::from_utf8(text).ok().and_then(Title::of_document);
        let title = title.filter(|title| title.as_str().as_bytes() == text && !self.has_title);
        self.has_title |= title.is_some();
        title.ok_or(ProtocolError::Unexpected("a title that no file has"))
    }

    fn credits(&mut self, json: &[u8]) -> Result<Credits, ProtocolError> {
        // Parsing cleans the texts, so others do not come back.
        let credits = serde_json::from_slice(json).ok().and_then(Credits::some);
        let is_clean = |credits: &Credits| serde_json::to_vec(credits).is_ok_and(|clean| clean == json);
        let credits = credits.filter(|credits| is_clean(credits) && !self.has_credits);
        self.has_credits |= credits.is_some();
        credits.ok_or(ProtocolError::Unexpected("credits that no file has"))
    }

    fn receive_preview(&mut self, kind: PreviewKind, bytes: &[u8]) -> Result<(), ProtocolError> {
        let Some(at) = self.missing_previews.iter().position(|missing| *missing == kind) else {
            return Err(ProtocolError::Unexpected("a preview that was not requested, or a second one"));
        };
        if !has_signature(TileFormat::Jpg, bytes) {
            return Err(ProtocolError::Unexpected("a preview that is no JPEG"));
        }
        self.missing_previews.remove(at);
        Ok(())
    }

    fn receive(&mut self, coord: TileCoord, bytes: Bytes) -> Result<Tile, ProtocolError> {
        let TileCoord { level, column, row } = coord;
        let index = level.checked_sub(self.first).map(|index| index as usize);
        let received = index
            .and_then(|index| self.received.get_mut(index))
            .ok_or(ProtocolError::Unexpected("a tile of no level"))?;
        let (columns, rows) = self.dzi.grid(level);
        if column >= columns || row >= rows {
            return Err(ProtocolError::Unexpected("a tile outside its level"));
        }
        let index = u64::from(row) * u64::from(columns) + u64::from(column);
        let (word, bit) = ((index / 64) as usize, 1 << (index % 64));
        if received[word] & bit != 0 {
            return Err(ProtocolError::Unexpected("a tile for the second time"));
        }
        if !has_signature(self.dzi.tile_format, &bytes) {
            return Err(ProtocolError::Unexpected("a tile of another format"));
        }
        received[word] |= bit;
        self.missing -= 1;
        Ok(Tile { level, column, row, bytes })
    }
}

/// Returns true if a picture of this size can have this damage: its file has as many rows, or columns if it is turned.
fn can_have(Size { width, height }: Size, damage: Damage) -> bool {
    match damage {
        Damage::FromRow { row, rows } => row < rows && (rows == height || rows == width),
        Damage::MorePages { shown, total } => 0 < shown && shown < total,
        Damage::Partial | Damage::NotDrawn(_) => true,
        // Only the pipeline knows what a description states.
        Damage::Smaller(_) => false,
    }
}

/// Returns true if a file has the signature of its format, so that nothing else is ever served under its media type.
fn has_signature(format: TileFormat, file: &[u8]) -> bool {
    match format {
        TileFormat::Jpg => file.starts_with(&[0xff, 0xd8, 0xff]), // SOI and the next marker: ITU-T T.81, B.1.1
        TileFormat::Png => file.starts_with(b"\x89PNG\r\n\x1a\n"), // PNG specification, 5.2
        TileFormat::Webp => matches!(file, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]), // RFC 9649, 2.4
    }
}

/// Returns the failure with its message as one line of bounded length.
pub(super) fn sanitized(failure: &Failure) -> Failure {
    let message: String = failure
        .message
        .chars()
        .filter(|character| !character.is_control())
        .take(MESSAGE_CHARACTERS)
        .collect();
    Failure::new(failure.code, message)
}

#[cfg(test)]
mod tests {
    use edgezoom_codecs::{BrowserDrawing, DrawingFeatures};
    use edgezoom_content::{FailureCode, Scale, ScaleBasis, ScaleUnit};
    use edgezoom_pyramid::Depth;
    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limits;

    const SIZE: Size = Size { width: 700, height: 300 };

    fn request() -> RenderRequest {
        let limits = Limits { side: 1000, ..Limits::default() };
        RenderRequest::new(&RenderOptions::default(), &limits, None).unwrap()
    }

    fn tile(level: u32, column: u32, row: u32) -> Frame {
        Frame::Tile(TileCoord { level, column, row }, Bytes::from_static(&[0xff, 0xd8, 0xff, 0xe0]))
    }

    fn started() -> (FrameValidator, Dzi) {
        let dzi = request().options.dzi(SIZE, TileFormat::Jpg);
        let mut validator = FrameValidator::new(request());
        assert_eq!(validator.accept(Frame::Begin(dzi)).unwrap(), Output::Started(dzi));
        (validator, dzi)
    }

    fn assert_refused(validator: &mut FrameValidator, frame: Frame) {
        let result = validator.accept(frame.clone());
        assert!(matches!(result, Err(RenderError::Protocol(ProtocolError::Unexpected(_)))), "{frame:?}");
    }

    #[test]
    fn all_tiles_and_the_last_frame_pass() {
        let (mut validator, dzi) = started();
        for level in 0..=dzi.max_level() {
            let (columns, rows) = dzi.grid(level);
            for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
                assert_refused(&mut validator, Frame::Finished(Ending::default()));
                assert!(matches!(validator.accept(tile(level, column, row)), Ok(Output::Tile(_))));
                assert_refused(&mut validator, tile(level, column, row));
            }
        }
        for (row, rows) in [(0, 0), (300, 300), (0, 301), (u32::MAX, u32::MAX)] {
            let damage = Some(Damage::FromRow { row, rows });
            assert_refused(&mut validator, Frame::Finished(Ending { damage, ..Ending::default() }));
        }
        let invalid = r#"{"significand":0,"exponent":0,"unit":"metre","basis":"ome"}"#;
        let scale = Some(serde_json::from_str(invalid).unwrap());
        assert_refused(&mut validator, Frame::Finished(Ending { scale, ..Ending::default() }));
        let scale = Scale::new(2.5e-7, 2.5e-7, ScaleUnit::Metre, ScaleBasis::Aperio);
        for damage in [None, Some(Damage::Partial), Some(Damage::FromRow { row: 299, rows: 300 })] {
            let finished = Output::Finished(Built { dzi, damage, scale });
            assert_eq!(
                validator.accept(Frame::Finished(Ending { damage, scale, halved: false })).unwrap(),
                finished
            );
        }
    }

    #[test]
    fn tiles_may_be_missing_only_where_the_options_leave_them_out() {
        let limits = Limits::default();
        let options = RenderOptions { depth: Depth::One, ..RenderOptions::default() };
        let dzi = options.dzi(SIZE, TileFormat::Jpg);
        for skip_blanks in [None, Some(5)] {
            let request =
                RenderRequest::new(&RenderOptions { skip_blanks, ..options }, &limits, None).unwrap();
            let mut validator = FrameValidator::new(request);
            validator.accept(Frame::Begin(dzi)).unwrap();
            assert_refused(&mut validator, tile(9, 0, 0));
            assert!(matches!(validator.accept(tile(10, 0, 0)), Ok(Output::Tile(_))));
            if skip_blanks.is_none() {
                assert_refused(&mut validator, Frame::Finished(Ending::default()));
                assert!(matches!(validator.accept(tile(10, 1, 0)), Ok(Output::Tile(_))));
            }
            assert!(matches!(validator.accept(Frame::Finished(Ending::default())), Ok(Output::Finished(_))));
        }
    }

    #[test]
    fn tiles_that_do_not_exist_are_refused() {
        let (mut validator, _) = started();
        for (level, column, row) in
            [(11, 0, 0), (10, 2, 0), (10, 0, 1), (0, 1, 0), (u32::MAX, u32::MAX, u32::MAX)]
        {
            assert_refused(&mut validator, tile(level, column, row));
        }
        let html = Bytes::from_static(b"<html>");
        assert_refused(&mut validator, Frame::Tile(TileCoord { level: 10, column: 0, row: 0 }, html));
    }

    #[test]
    fn previews_pass_once_and_only_if_they_were_requested() {
        let preview = |kind| Frame::Preview(kind, Bytes::from_static(&[0xff, 0xd8, 0xff, 0xe0]));
        let (mut validator, _) = started();
        assert_refused(&mut validator, preview(PreviewKind::Large));

        let options = RenderOptions { previews: true, ..RenderOptions::default() };
        let mut validator =
            FrameValidator::new(RenderRequest::new(&options, &Limits::default(), None).unwrap());
        let dzi = options.dzi(Size { width: 1, height: 1 }, TileFormat::Jpg);
        validator.accept(Frame::Begin(dzi)).unwrap();
        validator.accept(tile(0, 0, 0)).unwrap();
        let html = Frame::Preview(PreviewKind::Large, Bytes::from_static(b"<html>"));
        assert_refused(&mut validator, html);
        for kind in PreviewKind::ALL {
            assert_refused(&mut validator, Frame::Finished(Ending::default()));
            assert!(matches!(validator.accept(preview(kind)), Ok(Output::Preview(..))));
            assert_refused(&mut validator, preview(kind));
        }
        assert!(matches!(validator.accept(Frame::Finished(Ending::default())), Ok(Output::Finished { .. })));
    }

    #[test]
    fn words_pass_once_and_only_if_they_were_requested() {
        let page = edgezoom_text::Page::new(edgezoom_text::Rect::new(0, 0, 10, 10));
        let words = edgezoom_text::Text {
            pages: vec![page.clone(), page],
            total: 2,
            ..edgezoom_text::Text::default()
        };
        let words = Frame::Text(text::pack(&words).unwrap().unwrap().into());
        let (mut validator, dzi) = started();
        assert_refused(&mut validator, words.clone());
        let mut asked = request();
        asked.options.drawing.text = true;
        let mut validator = FrameValidator::new(asked);
        assert_refused(&mut validator, words.clone());
        validator.accept(Frame::Begin(dzi)).unwrap();
        assert_refused(&mut validator, Frame::Text(Bytes::from_static(b"words")));
        assert!(matches!(validator.accept(words.clone()), Ok(Output::Text(text)) if text.pages.len() == 2));
        assert_refused(&mut validator, words);
    }

    #[test]
    fn vectors_pass_in_order_and_only_if_they_were_requested() {
        let at = edgezoom_text::Rect::new(0, 0, 10, 10);
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"/>"#;
        let vectors = |page, pages| {
            let page = edgezoom_codecs::PageVectors { page, pages, at, svg: root.to_owned() };
            Frame::Vectors([&vectors::head(&page), root.as_bytes()].concat().into())
        };
        assert_refused(&mut started().0, vectors(0, 1));
        let mut asked = request();
        asked.options.drawing.vectors = true;
        asked.bounds.pdf_pages = std::num::NonZeroUsize::new(5).unwrap();
        let mut validator = FrameValidator::new(asked);
        assert_refused(&mut validator, vectors(0, 1));
        validator.accept(Frame::Begin(request().options.dzi(SIZE, TileFormat::Jpg))).unwrap();
        for page in [1, 3] {
            assert!(matches!(validator.accept(vectors(page, 5)), Ok(Output::Vectors(_))), "{page}");
            assert_refused(&mut validator, vectors(page, 5));
        }
        assert_refused(&mut validator, vectors(4, 6));
        let reason = |page, reason: &str| Frame::PixelsOnly(PixelsOnly { page, reason: reason.to_owned() });
        let scan = "the page's a scan, or empty";
        for (page, hostile) in
            [(3, scan), (5, scan), (4, "two\nlines"), (4, "\u{1b}[31m"), (4, &"a".repeat(200))]
        {
            assert_refused(&mut validator, reason(page, hostile));
        }
        assert_refused(&mut started().0, reason(0, scan));
        assert!(
            matches!(validator.accept(reason(4, scan)), Ok(Output::PixelsOnly(page)) if page.reason == scan)
        );
        assert_refused(&mut validator, vectors(4, 5));
        validator.pyramid.as_mut().unwrap().next_vectors = 4;
        assert_refused(&mut validator, Frame::Vectors(Bytes::from_static(b"<svg/>")));
        validator.pyramid.as_mut().unwrap().vector_bytes = 9;
        assert_refused(&mut validator, vectors(4, 5));
    }

    #[test]
    fn half_the_pixels_are_enough_only_if_all_pages_have_vectors() {
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"/>"#;
        let vectors = |page| {
            let at = edgezoom_text::Rect::new(0, 0, 10, 10);
            let page = edgezoom_codecs::PageVectors { page, pages: 2, at, svg: root.to_owned() };
            Frame::Vectors([&vectors::head(&page), root.as_bytes()].concat().into())
        };
        let finished = |halved| Frame::Finished(Ending { halved, ..Ending::default() });
        let complete = || {
            let mut asked = request();
            (asked.options.drawing.vectors, asked.options.drawing.halved) = (true, true);
            let mut validator = FrameValidator::new(asked);
            let dzi = Dzi { size: Size { width: 1, height: 1 }, ..started().1 };
            validator.accept(Frame::Begin(dzi)).unwrap();
            validator.accept(tile(0, 0, 0)).unwrap();
            validator.pyramid.as_mut().unwrap().dzi.size = SIZE;
            validator
        };
        let mut validator = complete();
        validator.accept(finished(true)).unwrap();
        for page in [0, 1] {
            assert!(validator.needs_pixels(), "{page}");
            validator.accept(vectors(page)).unwrap();
        }
        assert!(!validator.needs_pixels());

        let without = || Frame::PixelsOnly(PixelsOnly { page: 0, reason: "the page has a mask".to_owned() });
        for halved in [true, false] {
            let mut validator = complete();
            validator.accept(finished(halved)).unwrap();
            assert_eq!(validator.needs_pixels(), halved);
            let passed = validator.accept(without());
            assert_eq!(matches!(passed, Err(RenderError::NeedsPixels)), halved, "{passed:?}");
        }
        let mut others = complete();
        others.request.options.drawing.halved = false;
        assert_refused(&mut others, finished(true));
    }

    #[test]
    fn a_title_passes_once_and_only_as_clients_see_it() {
        let title = |text: &'static str| Frame::Title(Bytes::from_static(text.as_bytes()));
        let (mut validator, _) = started();
        for other in ["", "two\nlines", "gpj\u{202e}.exe"] {
            assert_refused(&mut validator, title(other));
        }
        assert!(
            matches!(validator.accept(title("Old town")), Ok(Output::Title(text)) if text.as_str() == "Old town")
        );
        assert_refused(&mut validator, title("Old town"));
    }

    #[test]
    fn credits_pass_once_and_only_as_clients_see_them() {
        let credits = |json: &str| Frame::Credits(Bytes::copy_from_slice(json.as_bytes()));
        let (mut validator, _) = started();
        let long = format!(r#"{{"creator":"{}"}}"#, "a".repeat(301));
        for other in [
            "",
            "{}",
            "null",
            r#"{"creator":""}"#,
            r#"{"creator":"two\nlines"}"#,
            "{\"credit\":\"gpj\u{202e}.exe\"}",
            r#"{"rights":"javascript:alert(1)"}"#,
            r#"{"rights":"https://creativecommons.org/licenses/by/4.0/"}"#,
            r#"{"credit":"Ann","other":1}"#,
            &long,
        ] {
            assert_refused(&mut validator, credits(other));
        }
        let clean = r#"{"credit":"Ann","rights":"http://creativecommons.org/licenses/by/4.0/"}"#;
        let passed = validator.accept(credits(clean));
        assert!(
            matches!(&passed, Ok(Output::Credits(passed)) if serde_json::to_string(passed).unwrap() == clean)
        );
        assert_refused(&mut validator, credits(clean));
    }

    #[test]
    fn no_frame_passes_before_the_first_one() {
        let title = Frame::Title(Bytes::from_static(b"title"));
        let credits = Frame::Credits(Bytes::from_static(br#"{"credit":"Ann"}"#));
        for frame in [tile(0, 0, 0), Frame::Progress(1), title, credits, Frame::Finished(Ending::default())] {
            assert_refused(&mut FrameValidator::new(request()), frame);
        }
    }

    #[test]
    fn only_the_requested_pyramid_may_begin() {
        let good = request().options.dzi(SIZE, TileFormat::Jpg);
        let sized = |width, height| Dzi { size: Size { width, height }, ..good };
        for dzi in [
            Dzi { tile_size: 1, ..good },
            Dzi { tile_overlap: 9, ..good },
            sized(0, 300),
            sized(700, 0),
            sized(1001, 1),
            sized(u32::MAX, u32::MAX),
        ] {
            assert_refused(&mut FrameValidator::new(request()), Frame::Begin(dzi));
        }
        let (mut validator, dzi) = started();
        assert_refused(&mut validator, Frame::Begin(dzi));
        let jpeg = RenderOptions { format: Some(TileFormat::Jpg), ..RenderOptions::default() };
        let mut validator = FrameValidator::new(RenderRequest::new(&jpeg, &Limits::default(), None).unwrap());
        assert_refused(&mut validator, Frame::Begin(request().options.dzi(SIZE, TileFormat::Png)));
    }

    #[test]
    fn a_drawing_is_left_to_a_browser_only_if_that_was_asked_for() {
        let drawing = |width| {
            let size = Size { width, height: 1 };
            Frame::NeedsBrowser(BrowserDrawing {
                size,
                features: DrawingFeatures::HTML,
                metadata: Box::default(),
            })
        };
        assert_refused(&mut FrameValidator::new(request()), drawing(1));
        let mut asked = request();
        asked.options.drawing.to_browser = true;
        assert_refused(&mut FrameValidator::new(asked.clone()), drawing(0));
        let passed = FrameValidator::new(asked.clone()).accept(drawing(1));
        assert!(matches!(passed, Err(RenderError::NeedsBrowser(_))), "{passed:?}");
        let mut begun = FrameValidator::new(asked);
        begun.accept(Frame::Begin(request().options.dzi(SIZE, TileFormat::Jpg))).unwrap();
        assert_refused(&mut begun, drawing(1));
    }

    #[test]
    fn a_failure_passes_as_one_line_of_bounded_length() {
        let failure = Failure::new(FailureCode::CorruptSource, format!("a\n\x1b[1mb{}", "c".repeat(1000)));
        let result = FrameValidator::new(request()).accept(Frame::Failed(failure));
        let Err(RenderError::Reported(passed)) = result else { panic!("{result:?}") };
        assert!(passed.message.starts_with("a[1mb"));
        assert_eq!(passed.message.len(), MESSAGE_CHARACTERS);
    }

    proptest! {
        #[test]
        fn any_bytes_are_outputs_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut validator = FrameValidator::new(request());
            let mut received = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = validator.next(&mut received) {}
        }
    }

    #[test]
    fn coarse_pictures_pass_only_if_they_were_requested_and_are_jpeg() {
        let jpeg = Bytes::from_static(&[0xff, 0xd8, 0xff, 0xe0]);
        assert_refused(&mut started().0, Frame::Coarse(jpeg.clone()));
        let mut request = request();
        request.options.coarse_every = Some(std::time::Duration::ZERO);
        let mut validator = FrameValidator::new(request);
        assert_eq!(validator.accept(Frame::Coarse(jpeg.clone())).unwrap(), Output::Coarse(jpeg));
        assert_refused(&mut validator, Frame::Coarse(Bytes::from_static(b"<svg>")));
    }
}
