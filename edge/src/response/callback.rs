//! The function that a JSONP response calls. Its name is the only text of a client that is written into a script as
//! code, so nothing but a name is accepted.

use std::fmt;
use std::str::FromStr;

/// The name of a function: identifiers of ASCII letters, digits, `_` and `$`, with dots between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback(String);

/// A text is not the name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The callback must be the name of a JavaScript function, such as a.b.c, of at most {} characters.",
    Callback::MAX_LENGTH
)]
pub struct CallbackError;

impl Callback {
    /// How many characters a name may have.
    pub const MAX_LENGTH: usize = 128;
}

impl FromStr for Callback {
    type Err = CallbackError;

    fn from_str(text: &str) -> Result<Self, CallbackError> {
        let named = text.len() <= Self::MAX_LENGTH && text.split('.').all(is_identifier);
        named.then(|| Self(text.to_owned())).ok_or(CallbackError)
    }
}

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_identifier(text: &str) -> bool {
    let begins = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let mut bytes = text.bytes();
    bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_old_clients_use_are_taken() {
        let longest = "a".repeat(128);
        for name in ["cb", "jQuery123_456", "_jsonCallback7", "a.b.c", "$", "$.f", "_", "A9", &longest] {
            assert_eq!(name.parse::<Callback>().map(|name| name.to_string()).as_deref(), Ok(name));
        }
    }

    #[test]
    fn nothing_else_passes() {
        let too_long = "a".repeat(129);
        for text in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "1a",
            "a.1",
            "a b",
            "a-b",
            "a[0]",
            "a()",
            "alert(1)//",
            "a;b",
            "a\n",
            "</script>",
            "a\u{2028}b",
            "é",
            "a\\u0041",
            "a\0",
            &too_long,
        ] {
            assert_eq!(text.parse::<Callback>(), Err(CallbackError), "{text:?}");
        }
    }
}
