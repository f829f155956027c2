//! The secret that tilers share with the Worker.

use std::fmt;

use subtle::ConstantTimeEq;

/// The token. It is compared in constant time and never printed.
#[derive(Clone)]
pub struct TilerToken(String);

impl TilerToken {
    /// Shorter ones can be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// A token; `None` when it is short enough to be guessed.
    pub(super) fn new(token: String) -> Option<Self> {
        (token.len() >= Self::MIN_LENGTH).then_some(Self(token))
    }

    /// Whether an `Authorization` header carries the token (RFC 6750).
    #[must_use]
    pub fn authorizes(&self, authorization: Option<&str>) -> bool {
        let Some((scheme, token)) = authorization.and_then(|header| header.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer") && bool::from(token.trim().as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for TilerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TilerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_authorizes() {
        let token = TilerToken::new("1234567890123456".to_owned()).unwrap();
        assert!(token.authorizes(Some("Bearer 1234567890123456")));
        assert!(token.authorizes(Some("bearer 1234567890123456")));
        for wrong in
            ["", "Bearer", "Bearer ", "Bearer 1234567890123457", "Bearer 123456789012345", "1234567890123456"]
        {
            assert!(!token.authorizes(Some(wrong)), "{wrong}");
        }
        assert!(!token.authorizes(None));
        assert!(!format!("{token:?}").contains("1234"));
    }
}
