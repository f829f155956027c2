//! The text strings of PDFs: titles, alternative texts, addresses.

/// Maximum length of a string that is read, in bytes.
const MAX_LENGTH: usize = 8192;

/// Decodes a text string (ISO 32000-2, 7.9.2.2).
pub fn decode(text: &[u8]) -> String {
    let text = text.get(..MAX_LENGTH).unwrap_or(text);
    match text {
        [0xfe, 0xff, utf_16 @ ..] => {
            let (units, _) = utf_16.as_chunks::<2>();
            char::decode_utf16(units.iter().map(|&unit| u16::from_be_bytes(unit)))
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        [0xef, 0xbb, 0xbf, utf_8 @ ..] => String::from_utf8_lossy(utf_8).into_owned(),
        _ => text.iter().map(|&byte| of_pdf_encoding(byte)).collect(),
    }
}

/// Returns a character of PDFDocEncoding (ISO 32000-1, annex D.3). Elsewhere, that is Latin-1.
fn of_pdf_encoding(byte: u8) -> char {
    const FROM_0X80: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ',
        'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', ' ', '€',
    ];
    byte.checked_sub(0x80)
        .and_then(|index| FROM_0X80.get(usize::from(index)).copied())
        .unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded() {
        assert_eq!(decode(b"caf\xe9 \x80 \xa0"), "café • €");
        assert_eq!(decode(b"\xfe\xff\x4e\x2d\xd8\x3d\xde\x00\xd8\x00"), "中😀\u{fffd}");
        assert_eq!(decode("\u{feff}grün".as_bytes()), "grün");
        assert_eq!(decode(&[b'a'; 9000]).len(), MAX_LENGTH);
    }
}
