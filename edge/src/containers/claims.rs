//! The objects that a tiler in a container may use: those of the attempts that it has claimed. What escapes from a
//! container has the same rights, so keys are read strictly. `claims.js` stores the claims.

use edgezoom_content::{Attempt, ContentId, UploadKey};
use serde::Deserialize;

/// A claim that counts.
#[derive(Deserialize)]
pub struct Claim {
    id: ContentId,
    attempt: Attempt,
    /// The file that was uploaded for the content.
    upload: Option<UploadKey>,
}

/// Returns true if an operation of the store, as `bucket.js` names it, may use an object. A tiler also deletes what
/// earlier attempts left, and reads the uploaded file.
pub fn admit(operation: &str, key: &str, claims: &[Claim]) -> bool {
    let is_own = |claim: &Claim| match attempt_of(key) {
        Some((id, attempt)) if operation == "delete" => claim.id == id && attempt <= claim.attempt,
        Some((id, attempt)) => claim.id == id && attempt == claim.attempt,
        None => {
            let is_upload = claim.upload.is_some_and(|upload| upload.to_string() == key);
            matches!(operation, "GET" | "HEAD") && is_upload
        }
    };
    claims.iter().any(is_own)
}

/// Returns the content and the attempt that an object's key begins with: `<id>/<attempt>`, then `.` or `_`.
fn attempt_of(key: &str) -> Option<(ContentId, Attempt)> {
    let (id, name) = key.split_once('/')?;
    let (digits, _) = name.split_once(['.', '_'])?;
    let attempt = Attempt::from_number(digits.parse().ok()?)?;
    // Only the printed form: no sign, no zeros before it.
    (attempt.to_string() == digits).then_some((id.parse().ok()?, attempt))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UPLOAD: &str = "uploads/00000000000000000000000000000001";

    fn claims() -> Vec<Claim> {
        let json = format!(
            r#"[{{"id":"AAAAAAAAAAA","attempt":2,"upload":null}},{{"id":"BBBBBBBBBBB","attempt":1,"upload":"{UPLOAD}"}}]"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn a_tiler_uses_the_objects_of_what_it_has_claimed() {
        for operation in ["GET", "HEAD", "PUT", "PUT part", "uploads", "uploadId", "DELETE part"] {
            let admitted = |key: &str| admit(operation, key, &claims());
            let own = ["AAAAAAAAAAA/2.szi", "AAAAAAAAAAA/2_coarse/1.jpg", "BBBBBBBBBBB/1_files/vector/1.svg"];
            assert!(own.iter().all(|key| admitted(key)), "{operation}");
            for key in [
                "AAAAAAAAAAA/1.szi",
                "AAAAAAAAAAA/3.szi",
                "AAAAAAAAAAA/22.szi",
                "AAAAAAAAAAA/02.szi",
                "AAAAAAAAAAA/+2.szi",
                "AAAAAAAAAAA/2",
                "AAAAAAAAAAA/2/1.szi",
                "AAAAAAAAAA/2.szi",
                "/AAAAAAAAAAA/2.szi",
                "CCCCCCCCCCC/1.szi",
                "",
                "uploads/00000000000000000000000000000002",
            ] {
                assert!(!admitted(key), "{operation} {key}");
            }
            assert_eq!(admitted(UPLOAD), matches!(operation, "GET" | "HEAD"), "{operation}");
        }
    }

    #[test]
    fn a_tiler_deletes_what_earlier_attempts_left() {
        let deletes = |key| admit("delete", key, &claims());
        assert!(["AAAAAAAAAAA/1.szi", "AAAAAAAAAAA/2_coarse/1.jpg"].into_iter().all(deletes));
        let others = ["AAAAAAAAAAA/3.szi", "AAAAAAAAAAA/0.szi", "BBBBBBBBBBB/2.szi", UPLOAD];
        assert!(!others.into_iter().any(deletes));
    }

    proptest! {
        #[test]
        fn no_key_of_another_content_is_admitted(operation in "GET|HEAD|PUT|delete", key in ".{0,30}") {
            let is_own = key.starts_with("AAAAAAAAAAA/") || key.starts_with("BBBBBBBBBBB/") || key == UPLOAD;
            prop_assert!(is_own || !admit(&operation, &key, &claims()));
        }
    }
}
