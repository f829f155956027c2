//! The vectors of a page between the renderer process and its parent: six numbers of 32 bits (page, number of pages, left, top,
//! width, height), and the SVG.

use bytes::{Buf, Bytes};
use edgezoom_codecs::PageVectors;
use edgezoom_content::Size;
use edgezoom_text::Rect;
use edgezoom_vector::{MAX_BYTES, is_lean};

/// Number of bytes before the SVG.
const HEAD_BYTES: usize = 24;
/// Maximum number of bytes of a page's frame.
pub const MAX_PAGE_BYTES: usize = HEAD_BYTES + MAX_BYTES;
/// Maximum number of bytes of a document's SVGs. The pages that follow have pixels only.
pub const MAX_DOCUMENT_BYTES: usize = 768 << 20;

/// Returns the numbers before a page's SVG.
pub fn head(page: &PageVectors) -> [u8; HEAD_BYTES] {
    let PageVectors { page, pages, at: Rect { left, top, width, height }, .. } = page;
    let numbers = [page, pages, left, top, width, height].map(|number| number.to_le_bytes());
    let mut head = [0; HEAD_BYTES];
    head.copy_from_slice(numbers.as_flattened());
    head
}

/// Returns a page of a picture of this size; `None` if an honest process would not have sent it so.
pub fn read(mut frame: Bytes, picture: Size) -> Option<PageVectors> {
    let mut next = || frame.try_get_u32_le().ok();
    let (page, pages) = (next()?, next()?);
    let at = Rect::new(next()?, next()?, next()?, next()?);
    let is_inside = at.left.checked_add(at.width)? <= picture.width
        && at.top.checked_add(at.height)? <= picture.height
        && at.width.min(at.height) > 0;
    let svg = String::from_utf8(frame.into()).ok()?;
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
        let sent = |page: &PageVectors| read([&head(page), page.svg.as_bytes()].concat().into(), SIZE);
        let good = page(r#"<path d="M1 2h3"/>"#);
        assert_eq!(sent(&good).as_ref(), Some(&good));
        let right = Rect::new(101, 0, 600, 300);
        for hostile in [
            PageVectors { page: 2, ..good.clone() },
            PageVectors { at: right, ..good.clone() },
            PageVectors { at: Rect::new(u32::MAX, 0, 600, 300), ..good.clone() },
            PageVectors { at: Rect::new(0, 0, 0, 300), ..good.clone() },
            page("<script>a()</script>"),
            page(&" ".repeat(64 << 20)),
        ] {
            assert_eq!(sent(&hostile), None, "{:.200}", hostile.svg);
        }
        for bytes in [&b""[..], &[0; 24], &[1; 30], &[0xff; 30]] {
            assert_eq!(read(Bytes::from_static(bytes), SIZE), None);
        }
    }
}
