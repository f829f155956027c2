//! Fonts for documents that do not embed theirs. PDFium includes the fourteen standard fonts. It would look for others
//! in the system's files, which a process in a sandbox cannot open.
//!
//! Source: ISO 32000-1, 9.6.2.2 (standard fonts), 9.8 (font descriptors).

use fontdb::{Database, Family, ID, Query, Style, Weight};
use pdfium_render::prelude::{
    PdfFontCharacterSet, PdfiumCustomFontProvider, PdfiumCustomFontProviderRequest,
    PdfiumCustomFontProviderResponse,
};

use crate::formats::fonts::Fonts;

/// Font families that Linux distributions install, for scripts that the standard fonts lack.
const JAPANESE: &[&str] = &["Noto Sans CJK JP", "Noto Serif CJK JP", "IPAGothic", "TakaoGothic", "VL Gothic"];
const KOREAN: &[&str] = &["Noto Sans CJK KR", "Noto Serif CJK KR", "NanumGothic", "UnBatang"];
const SIMPLIFIED: &[&str] = &["Noto Sans CJK SC", "Noto Serif CJK SC", "WenQuanYi Zen Hei", "AR PL UMing CN"];
const TRADITIONAL: &[&str] =
    &["Noto Sans CJK TC", "Noto Serif CJK TC", "AR PL UMing TW", "WenQuanYi Zen Hei"];
/// Families with Chinese, Japanese and Korean. Not all versions of the last one have Korean.
const ANY_CJK: &[&str] = &["WenQuanYi Micro Hei", "Unifont", "Droid Sans Fallback"];
const THAI: &[&str] = &["Noto Sans Thai", "Garuda", "Loma"];
const OTHERS: &[&str] = &["Noto Sans", "DejaVu Sans"];

/// Standard fonts whose names are those of families, for which the system's have substitutes. PDFium's own are the same on
/// every machine, fit to their bold and italic faces, and are those with which the vectors are drawn.
const STANDARD: [&str; 2] = ["Helvetica", "Courier"];

/// Provides fonts to PDFium.
pub struct Substitutes {
    fonts: Fonts,
    /// The id of the last font. Each response has its own, because PDFium releases fonts one by one.
    last: u64,
}

impl Substitutes {
    pub fn new(fonts: Fonts) -> Self {
        Self { fonts, last: 0 }
    }
}

impl PdfiumCustomFontProvider for Substitutes {
    fn provide(
        &mut self,
        request: PdfiumCustomFontProviderRequest,
    ) -> Option<PdfiumCustomFontProviderResponse> {
        let fonts = self.fonts.database();
        let face = choose(&fonts, &request)?;
        let bytes = fonts.with_face_data(face, with_first)??;
        self.last += 1;
        Some(PdfiumCustomFontProviderResponse {
            id: self.last,
            font_face: request.font_face,
            character_set: request.character_set,
            data: bytes,
        })
    }
}

/// Returns the name of an installed font with Chinese, Japanese or Korean.
#[must_use]
pub fn installed_cjk_font() -> Option<String> {
    let mut found = Database::new();
    found.load_system_fonts();
    let mut families = found.faces().flat_map(|face| &face.families).map(|(family, _)| family);
    let known = [JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL, ANY_CJK].concat();
    families.find(|family| known.contains(&family.as_str())).cloned()
}

/// Returns a font file whose first face is the one with this index: PDFium uses the first face of a collection,
/// whichever was requested.
///
/// ```text
/// "ttcf"  version: u32  count: u32  the offset of each face: u32 …      numbers are big-endian
/// ```
/// Source: OpenType 1.9, "The Font File", "Font Collections".
fn with_first(file: &[u8], index: u32) -> Option<Vec<u8>> {
    const OFFSETS: usize = 12;
    let mut file = file.to_vec();
    if file.starts_with(b"ttcf") {
        let at = OFFSETS + 4 * usize::try_from(index).ok()?;
        let offset = file.get(at..at + 4)?.to_vec();
        file.get_mut(OFFSETS..OFFSETS + 4)?.copy_from_slice(&offset);
    }
    Some(file)
}

/// Returns the requested font, or one for the script if PDFium's own fonts lack it.
fn choose(fonts: &Database, request: &PdfiumCustomFontProviderRequest) -> Option<ID> {
    let is_latin = matches!(request.character_set, PdfFontCharacterSet::Ansi | PdfFontCharacterSet::Default);
    if is_latin && STANDARD.contains(&request.font_face.as_str()) {
        return None;
    }
    let stand_ins: &[&[&str]] = match request.character_set {
        PdfFontCharacterSet::JapaneseShiftJis => &[JAPANESE, ANY_CJK],
        PdfFontCharacterSet::KoreanHangul => &[KOREAN, ANY_CJK],
        PdfFontCharacterSet::ChineseGb2312 => &[SIMPLIFIED, ANY_CJK],
        PdfFontCharacterSet::ChineseBig5 => &[TRADITIONAL, ANY_CJK],
        PdfFontCharacterSet::Thai => &[THAI],
        PdfFontCharacterSet::Ansi | PdfFontCharacterSet::Default | PdfFontCharacterSet::Symbol => &[],
        _ => &[OTHERS],
    };
    let families: Vec<Family<'_>> = std::iter::once(request.font_face.as_str())
        .chain(stand_ins.iter().copied().flatten().copied())
        .map(Family::Name)
        .collect();
    fonts.query(&Query {
        families: &families,
        weight: Weight(weight(request)),
        style: if request.is_italic { Style::Italic } else { Style::Normal },
        ..Query::default()
    })
}

fn weight(request: &PdfiumCustomFontProviderRequest) -> u16 {
    use pdfium_render::prelude::PdfFontWeight::{
        Custom, Weight100, Weight200, Weight300, Weight400Normal, Weight500, Weight600, Weight700Bold,
        Weight800, Weight900,
    };
    match request.weight {
        Weight100 => 100,
        Weight200 => 200,
        Weight300 => 300,
        Weight500 => 500,
        Weight600 => 600,
        Weight700Bold => 700,
        Weight800 => 800,
        Weight900 => 900,
        Weight400Normal | Custom(0) => 400,
        Custom(other) => u16::try_from(other).unwrap_or(400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requested_face_of_a_collection_becomes_the_first() {
        let file = [b"ttcf\0\x01\0\0\0\0\0\x02\0\0\0\x14\0\0\0\x20".as_slice(), &[7; 30]].concat();
        assert_eq!(with_first(&file, 0).unwrap(), file);
        let second = with_first(&file, 1).unwrap();
        assert_eq!((&second[12..16], &second[16..]), (b"\0\0\0\x20".as_slice(), &file[16..]));
        assert_eq!(with_first(&file[..20], 2), None);
        assert_eq!(with_first(b"OTTO and more", 0).unwrap(), b"OTTO and more");
    }
}
