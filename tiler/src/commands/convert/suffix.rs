//! `--suffix`: format, quality and file names of tiles, as libvips' `dzsave` takes them: `.jpg[Q=85]`.

use std::str::FromStr;

use edgezoom_content::TileFormat;

/// A parsed suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suffix {
    pub format: TileFormat,
    pub quality: Option<u8>,
    /// True if JPEG tiles are to end in `.jpeg`.
    pub is_jpeg: bool,
}

/// A suffix that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SuffixError {
    #[error("tiles are .jpg, .jpeg, .png or .webp")]
    Format,
    #[error("Q must be 1 to 100, as in .jpg[Q=85]")]
    Quality,
    #[error("{0} is not an option of tiles; Q, strip and keep=none are")]
    Unknown(String),
}

impl FromStr for Suffix {
    type Err = SuffixError;

    fn from_str(text: &str) -> Result<Self, SuffixError> {
        let (extension, options) = match text.split_once('[') {
            Some((extension, options)) => (extension, options.strip_suffix(']').ok_or(SuffixError::Format)?),
            None => (text, ""),
        };
        let (format, is_jpeg) = match extension {
            ".jpg" => (TileFormat::Jpg, false),
            ".jpeg" => (TileFormat::Jpg, true),
            ".png" => (TileFormat::Png, false),
            ".webp" => (TileFormat::Webp, false),
            _ => return Err(SuffixError::Format),
        };
        let mut suffix = Self { format, quality: None, is_jpeg };
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("Q", quality)) if format != TileFormat::Png => {
                    let quality = quality.parse().ok().filter(|quality| (1..=100).contains(quality));
                    suffix.quality = Some(quality.ok_or(SuffixError::Quality)?);
                }
                // Tiles have no metadata.
                _ if ["strip", "keep=none"].contains(&option) => {}
                _ => return Err(SuffixError::Unknown(option.to_owned())),
            }
        }
        Ok(suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_libvips() {
        let jpg = Suffix { format: TileFormat::Jpg, quality: None, is_jpeg: false };
        assert_eq!(".jpg".parse(), Ok(jpg));
        assert_eq!(".jpg[]".parse(), Ok(jpg));
        assert_eq!(".jpg[Q=85,strip]".parse(), Ok(Suffix { quality: Some(85), ..jpg }));
        assert_eq!(".jpg[keep=none]".parse(), Ok(jpg));
        assert_eq!(".jpeg[Q=1]".parse(), Ok(Suffix { quality: Some(1), is_jpeg: true, ..jpg }));
        assert_eq!(".png".parse(), Ok(Suffix { format: TileFormat::Png, ..jpg }));
        let webp = Suffix { format: TileFormat::Webp, quality: Some(75), ..jpg };
        assert_eq!(".webp[Q=75]".parse(), Ok(webp));
        for (text, error) in [
            (".gif", SuffixError::Format),
            ("jpg", SuffixError::Format),
            (".jpg[Q=85", SuffixError::Format),
            (".jpg[Q=0]", SuffixError::Quality),
            (".jpg[Q=x]", SuffixError::Quality),
            (".png[Q=85]", SuffixError::Unknown("Q=85".to_owned())),
            (".jpg[keep=icc]", SuffixError::Unknown("keep=icc".to_owned())),
            (".jpg[interlace]", SuffixError::Unknown("interlace".to_owned())),
        ] {
            assert_eq!(text.parse::<Suffix>(), Err(error), "{text}");
        }
    }
}
