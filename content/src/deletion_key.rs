//! The secret of the client that uploaded a file: with it, and only with it, the content can be deleted. The service
//! keeps its hash.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The secret. It is sent to the client once, and is never printed otherwise.
#[derive(Clone, PartialEq, Eq)]
pub struct DeletionKey(String);

/// The SHA-256 of a [`DeletionKey`], written as 64 hexadecimal digits. The key is a random number of 256 bits, so its
/// hash needs no salt.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeletionKeyHash([u8; 32]);

/// A text is not the hash of a deletion key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hash of a deletion key has 64 hexadecimal digits")]
pub struct DeletionKeyHashError;

impl DeletionKey {
    /// Returns the key that a client has sent, or a new one from random characters.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text for the client.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the hash.
    #[must_use]
    pub fn hash(&self) -> DeletionKeyHash {
        DeletionKeyHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for DeletionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeletionKey")
    }
}

/// Compares in constant time.
impl PartialEq for DeletionKeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for DeletionKeyHash {}

impl fmt::Display for DeletionKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for DeletionKeyHash {
    type Err = DeletionKeyHashError;

    fn from_str(text: &str) -> Result<Self, DeletionKeyHashError> {
        let digits = text.as_bytes();
        let (true, mut hash) = (digits.len() == 64, [0; 32]) else { return Err(DeletionKeyHashError) };
        for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
            *byte = pair.iter().try_fold(0_u8, |value, digit| match digit {
                b'0'..=b'9' => Ok(value * 16 + (digit - b'0')),
                b'a'..=b'f' => Ok(value * 16 + (digit - b'a' + 10)),
                _ => Err(DeletionKeyHashError),
            })?;
        }
        Ok(Self(hash))
    }
}

impl TryFrom<String> for DeletionKeyHash {
    type Error = DeletionKeyHashError;

    fn try_from(text: String) -> Result<Self, DeletionKeyHashError> {
        text.parse()
    }
}

impl From<DeletionKeyHash> for String {
    fn from(hash: DeletionKeyHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_a_sha_256_that_is_read_back() {
        let hash = DeletionKey::new("abc").hash();
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((hash.to_string().as_str(), digits.parse()), (digits, Ok(hash)));
        assert_eq!((String::from(hash).as_str(), DeletionKey::new("abc").reveal()), (digits, "abc"));
        assert_ne!(hash, DeletionKey::new("abd").hash());
        for text in ["", "ba", &digits[1..], &digits.to_uppercase(), &format!("{digits}0"), &"g".repeat(64)] {
            assert_eq!(text.parse::<DeletionKeyHash>(), Err(DeletionKeyHashError), "{text}");
        }
    }

    #[test]
    fn a_key_is_not_printed_for_debugging() {
        assert_eq!(format!("{:?}", DeletionKey::new("secret")), "DeletionKey");
    }
}
