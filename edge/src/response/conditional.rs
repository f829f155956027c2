//! Conditional requests and ranges: `If-None-Match`, `Range`, `If-Range` (RFC 9110, sections 13 and 14).

/// Returns true if `If-None-Match` names the entity tag `etag`, by weak comparison. `*` names all.
pub fn none_match_names(if_none_match: &str, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if if_none_match.trim() == "*" {
        return true;
    }
    // A tag has no quotes but may have commas, so every second part between quotes is a tag.
    let etag = opaque(etag);
    if_none_match.split('"').skip(1).step_by(2).any(|tag| etag == format!("\"{tag}\""))
}

/// A requested range of bytes. Numbers are limited to integers that JavaScript can represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// All bytes from this one on.
    From(u64),
    /// `length` bytes from `offset`, or fewer at the end of the file.
    Within {
        offset: u64,
        /// Number of bytes; not zero.
        length: u64,
    },
    /// This number of bytes at the end of the file.
    Last(u64),
}

impl ByteRange {
    /// Parses a `Range` header. `None` if it has to be ignored: another unit, several ranges, or malformed.
    pub fn parse(range: &str) -> Option<Self> {
        let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
        match (first.trim(), last.trim()) {
            ("", last) => Some(Self::Last(count(last)?)),
            (first, "") => Some(Self::From(count(first)?)),
            (first, last) => {
                let (offset, last) = (count(first)?, count(last)?);
                Some(Self::Within { offset, length: last.checked_sub(offset)? + 1 })
            }
        }
    }

    /// Returns the first and the last byte of the range in a file of `size` bytes; `None` if the file ends before it.
    pub fn resolve(self, size: u64) -> Option<(u64, u64)> {
        let last = size.checked_sub(1)?;
        let (first, last) = match self {
            Self::From(offset) => (offset, last),
            Self::Within { offset, length } => (offset, last.min(offset + (length - 1))),
            Self::Last(0) => return None,
            Self::Last(length) => (size.saturating_sub(length), last),
        };
        (first <= last).then_some((first, last))
    }
}

/// Parses digits without a sign, up to the largest integer that JavaScript can represent.
fn count(text: &str) -> Option<u64> {
    const MAX: u64 = (1 << 53) - 2;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|count| *count <= MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_the_header() {
        for header in [r#""a,b""#, r#"W/"a,b""#, r#""x", "a,b""#, r#""x",W/"a,b" , "y""#, "*", " * "] {
            assert!(none_match_names(header, r#""a,b""#), "{header}");
            assert!(none_match_names(header, r#"W/"a,b""#), "{header}");
        }
        for header in ["", "a,b", r#""a""#, r#""x, "a,b" y""#, r#"", ""#] {
            assert!(!none_match_names(header, r#""a,b""#), "{header}");
        }
    }

    #[test]
    fn ranges_are_parsed_or_ignored() {
        use ByteRange::*;
        for (header, range) in [
            ("bytes=0-0", Some(Within { offset: 0, length: 1 })),
            ("bytes=5-9", Some(Within { offset: 5, length: 5 })),
            ("bytes=5-", Some(From(5))),
            ("bytes=-5", Some(Last(5))),
            ("bytes=9-5", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("bytes=0-1,3-4", None),
            ("bytes=99999999999999999999-", None),
            ("bytes=9007199254740993-", None),
            ("lines=1-2", None),
            ("", None),
        ] {
            assert_eq!(ByteRange::parse(header), range, "{header}");
        }
    }

    #[test]
    fn a_range_is_cut_to_the_file() {
        use ByteRange::*;
        for (range, size, bytes) in [
            (From(0), 10, Some((0, 9))),
            (From(9), 10, Some((9, 9))),
            (From(10), 10, None),
            (Within { offset: 2, length: 100 }, 10, Some((2, 9))),
            (Within { offset: 10, length: 1 }, 10, None),
            (Last(3), 10, Some((7, 9))),
            (Last(30), 10, Some((0, 9))),
            (Last(0), 10, None),
            (From(0), 0, None),
        ] {
            assert_eq!(range.resolve(size), bytes, "{range:?} of {size}");
        }
    }
}
