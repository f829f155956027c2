//! The content codings of a response (RFC 9110, 8.4). Only their names are read here: the bytes are decoded in a
//! process of their own ([`renderer`](crate::renderer)).

use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::renderer::Coding;

/// Maximum number of codings that are removed. Servers apply one, or two by mistake.
const MOST: usize = 8;

impl Coding {
    /// Returns the codings of a response, in the order in which the server says that it has applied them. Names that
    /// are no coding, such as `utf-8`, are left out: some servers send them.
    pub(super) fn of(headers: &HeaderMap) -> Vec<Self> {
        let names = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let mut codings: Vec<Self> =
            names.flat_map(|names| names.split(',')).filter_map(Self::named).collect();
        codings.drain(..codings.len().saturating_sub(MOST));
        codings
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name.trim().trim_matches('"').to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn codings_are_known_by_name_in_the_order_of_their_application() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            Coding::of(&headers)
        };
        use Coding::*;
        assert_eq!(of(&["GZIP, br"]), [Gzip, Brotli]);
        assert_eq!(of(&["x-gzip", "deflate ,zstd"]), [Gzip, Deflate, Zstd]);
        for none in ["", "identity", "utf-8", "none", "compress", "aws-chunked", ",,"] {
            assert_eq!(of(&[none]), [], "{none}");
        }
        assert_eq!(of(&["gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,br"]).len(), MOST);
        assert_eq!(of(&["gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,br"]).last(), Some(&Brotli));
    }
}
