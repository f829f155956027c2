//! The vectors of a page between the renderer process and its parent: six numbers of 32 bits (page, number of pages, left, top,
//! width, height), and the SVG with gzip.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes};
use edgezoom_codecs::PageVectors;
use edgezoom_content::Size;
use edgezoom_text::Rect;
use edgezoom_vector::{MAX_BYTES, is_lean};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Maximum number of bytes of a page. A page of text takes 0.1 MB, an A0 plan 0.5 MB.
pub const MAX_PAGE_BYTES: usize = 2 << 20;
/// Maximum number of bytes of a document. The pages that follow have pixels only.
pub const MAX_DOCUMENT_BYTES: usize = 128 << 20;

/// Returns a page's frame; `None` if it would be too long.
pub fn pack(page: &PageVectors) -> io::Result<Option<Vec<u8>>> {
    let PageVectors { page, pages, at: Rect { left, top, width, height }, svg } = page;
    let numbers = [page, pages, left, top, width, height].map(|number| number.to_le_bytes());
    let mut packed = GzEncoder::new(numbers.concat(), Compression::default());
    packed.write_all(svg.as_bytes())?;
    Ok(Some(packed.finish()?).filter(|packed| packed.len() <= MAX_PAGE_BYTES))
}

/// Returns a page of a picture of this size; `None` if an honest process would not have packed it so.
pub fn unpack(mut packed: Bytes, picture: Size) -> Option<PageVectors> {
    let mut next = || packed.try_get_u32_le().ok();
    let (page, pages) = (next()?, next()?);
    let at = Rect::new(next()?, next()?, next()?, next()?);
    let is_inside = at.left.checked_add(at.width)? <= picture.width
        && at.top.checked_add(at.height)? <= picture.height
        && at.width.min(at.height) > 0;
    let mut svg = String::new();
    let mut unpacked = GzDecoder::new(packed.reader()).take(MAX_BYTES as u64 + 1);
    unpacked.read_to_string(&mut svg).ok()?;
    (page < pages && is_inside && is_lean(&svg)).then_some(PageVectors { page, pages, at, svg })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 700, height: 300 };

    fn page(svg: &str) -> PageVectors {
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9">"#;
        PageVectors { page: 1, pages: 2, at: Rect::new(100, 0, 600, 300), svg: format!("{root}{svg}</svg>") }
    }

    #[test]
    fn vectors_arrive_as_sent_and_only_as_an_honest_process_sends_them() {
        let unpack = |page: &PageVectors| unpack(pack(page).unwrap().unwrap().into(), SIZE);
        let good = page(r#"<path d="M1 2h3"/>"#);
        assert_eq!(unpack(&good).as_ref(), Some(&good));
        let right = Rect::new(101, 0, 600, 300);
        for hostile in [
            PageVectors { page: 2, ..good.clone() },
            PageVectors { at: right, ..good.clone() },
            PageVectors { at: Rect::new(u32::MAX, 0, 600, 300), ..good.clone() },
            PageVectors { at: Rect::new(0, 0, 0, 300), ..good.clone() },
            page("<script>a()</script>"),
            page(&" ".repeat(64 << 20)),
        ] {
            assert_eq!(unpack(&hostile), None, "{:.200}", hostile.svg);
        }
        for bytes in [&b""[..], &[0; 24], &[1; 30]] {
            assert_eq!(super::unpack(Bytes::from_static(bytes), SIZE), None);
        }
    }

    #[test]
    fn a_page_that_is_too_long_is_not_sent() {
        let numbers: String = (0..400_000_u64).map(|at| format!("{} ", at.wrapping_mul(at) * 7919)).collect();
        assert_eq!(pack(&page(&numbers)).unwrap(), None);
    }
}
