//! Files that are recognised but cannot be read: formats that would need a renderer under the GPL, and files that are
//! not pictures. A sentence that names the format helps more than a list of other formats.
//!
//! They are not a [`Format`](crate::Format), so that no list of supported formats has them.

/// Returns the refusal of a file that begins with these bytes. To be called if it is not in a supported format.
pub fn find(head: &[u8]) -> Option<&'static str> {
    REFUSED.iter().find(|(_, signature)| signature(head)).map(|(sentence, _)| *sentence)
}

/// Returns true if a file begins with bytes of this kind.
type Signature = fn(head: &[u8]) -> bool;

/// The sentence and the signature of each kind.
static REFUSED: &[(&str, Signature)] = &[
    ("This is PostScript (EPS), which cannot be read: export it as PDF, SVG or PNG.", is_postscript),
    ("This is a DjVu document, which cannot be read: export it as PDF or TIFF.", |head| {
        head.starts_with(b"AT&TFORM")
    }),
    ("This is a video, which cannot be read: only pictures and documents can.", is_video),
    ("This is a sound file, which cannot be read: only pictures and documents can.", is_sound),
    ("This is a GIMP picture (XCF), which cannot be read: export it as TIFF or PNG.", |head| {
        head.starts_with(b"gimp xcf")
    }),
    ("This is a Windows metafile (WMF or EMF), which cannot be read: export it as SVG or PNG.", is_metafile),
    ("This is a CorelDRAW drawing, which cannot be read: export it as PDF or SVG.", |head| {
        is_riff(head, |kind| kind.starts_with(b"CDR"))
    }),
    ("This is a DWG drawing, which cannot be read: export it as PDF or SVG.", |head| {
        head.starts_with(b"AC10")
    }),
    ("This is a Blender scene, which cannot be read: render it to PNG or OpenEXR.", |head| {
        head.starts_with(b"BLENDER")
    }),
    ("This is a Sigma camera raw file (X3F), which cannot be read: export it as TIFF or JPEG.", |head| {
        head.starts_with(b"FOVb")
    }),
    ("This is a MrSID picture, which cannot be read: export it as TIFF or JPEG 2000.", |head| {
        head.starts_with(b"msid")
    }),
    ("This is a JPEG XR picture, which cannot be read: export it as TIFF, PNG or JPEG.", |head| {
        head.starts_with(b"II\xbc")
    }),
    ("This is a BPG picture, which cannot be read: export it as PNG or JPEG.", |head| {
        head.starts_with(b"BPG\xfb")
    }),
    ("This is a FLIF picture, which cannot be read: export it as PNG.", |head| head.starts_with(b"FLIF")),
    ("This is an MNG or JNG picture, which cannot be read: export it as PNG.", |head| {
        matches!(head, [0x8a, b'M', b'N', b'G', ..] | [0x8b, b'J', b'N', b'G', ..])
    }),
    ("This is a JBIG2 picture, which cannot be read: export it as PDF or PNG.", |head| {
        head.starts_with(b"\x97JB2\r\n\x1a\n")
    }),
    ("This is a KTX texture, which cannot be read: export it as DDS or PNG.", |head| {
        head.starts_with(b"\xabKTX ")
    }),
    ("This is a Sun raster picture, which cannot be read: export it as PNG.", |head| {
        head.starts_with(b"\x59\xa6\x6a\x95")
    }),
    ("This is an HDF5 file, which cannot be read: export its picture as TIFF or FITS.", |head| {
        head.starts_with(b"\x89HDF\r\n\x1a\n")
    }),
    (
        "This is an archive or office document (ZIP), which cannot be read: take the picture out of it.",
        |head| head.starts_with(b"PK\x03\x04"),
    ),
    ("This is an office document, which cannot be read: export it as PDF.", |head| {
        head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    }),
    ("This is an archive (RAR, 7z or xz), which cannot be read: take the picture out of it.", is_archive),
];

/// Returns true for PostScript, also after the end mark of an earlier job, and for EPS in the Windows container with a
/// preview.
///
/// Source: Adobe, Encapsulated PostScript File Format Specification 3.0, section 5.2.
fn is_postscript(head: &[u8]) -> bool {
    head.strip_prefix(b"\x04").unwrap_or(head).starts_with(b"%!PS") || head.starts_with(b"\xc5\xd0\xd3\xc6")
}

fn is_video(head: &[u8]) -> bool {
    match head {
        // MP4 and QuickTime, unless the major brand is one of still pictures or sound. Then, QuickTime without brands.
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => {
            ![b"M4A".as_slice(), b"mi", b"ms", b"jp"].iter().any(|other| brand.starts_with(other))
        }
        [0, _, _, _, b'm', b'o', b'o', b'v', ..] | [_, _, _, _, b'm', b'd', b'a', b't', ..] => true,
        // Matroska and WebM; MPEG; ASF; Flash.
        [0x1a, 0x45, 0xdf, 0xa3, ..]
        | [0, 0, 1, 0xb3 | 0xba, ..]
        | [0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, ..] => true,
        [b'F', b'L', b'V', 1, ..] | [b'O', b'g', b'g', b'S', ..] => true,
        _ => is_riff(head, |kind| kind.starts_with(b"AVI ")),
    }
}

fn is_sound(head: &[u8]) -> bool {
    head.starts_with(b"ID3")
        || head.starts_with(b"fLaC")
        || matches!(head, [_, _, _, _, b'f', b't', b'y', b'p', b'M', b'4', b'A', ..])
        || is_riff(head, |kind| kind.starts_with(b"WAVE"))
}

/// Returns true for WMF with the placeable header, and for EMF ([MS-WMF] 2.3.2.3, [MS-EMF] 2.2.9).
fn is_metafile(head: &[u8]) -> bool {
    head.starts_with(&[0xd7, 0xcd, 0xc6, 0x9a])
        || head.starts_with(&[1, 0, 0, 0]) && head.get(40..44) == Some(b" EMF")
}

fn is_archive(head: &[u8]) -> bool {
    [b"Rar!\x1a\x07".as_slice(), b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\0"]
        .iter()
        .any(|start| head.starts_with(start))
}

/// Returns true for a RIFF file of a kind (Microsoft, "Resource Interchange File Format").
fn is_riff(head: &[u8], is_kind: impl Fn(&[u8]) -> bool) -> bool {
    head.starts_with(b"RIFF") && head.get(8..).is_some_and(is_kind)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use crate::{Bounds, Format, SourceError};

    fn refusal(head: &[u8]) -> String {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(head).unwrap();
        match crate::open(file, Bounds::default()) {
            Err(error @ SourceError::Refused(_)) => error.to_string(),
            Err(error) => panic!("{}: {error}", head.escape_ascii()),
            Ok(_) => panic!("{} was opened", head.escape_ascii()),
        }
    }

    #[test]
    fn a_refusal_names_the_format() {
        for (head, name) in [
            (b"%!PS-Adobe-3.0 EPSF-3.0\n".as_slice(), "PostScript"),
            (b"\xc5\xd0\xd3\xc6\x1e\0\0\0", "PostScript"),
            (b"AT&TFORM\0\0\0\x10DJVUINFO", "DjVu"),
            (b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2", "video"),
            (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", "video"),
            (b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f", "video"),
            (b"RIFF\0\0\0\0AVI LIST", "video"),
            (b"RIFF\0\0\0\0WAVEfmt ", "sound"),
            (b"gimp xcf v011\0", "GIMP"),
            (b"PK\x03\x04\x14\0\0\0", "ZIP"),
        ] {
            let said = refusal(head);
            assert!(said.contains(name), "{said}");
            assert!(said.ends_with('.') && said.starts_with("This is "), "{said}");
        }
    }

    #[test]
    fn refused_formats_are_not_listed_as_supported() {
        for name in ["EPS", "DjVu", "MP4", "XCF"] {
            assert!(!Format::list().contains(name), "{}", Format::list());
        }
        assert!(!Format::has_ending("eps") && !Format::has_media_type("video/mp4"));
    }
}
