//! Fuzz target for texts, which come from a process that a hostile file may have taken over.

use edgezoom_geometry::Size;

use crate::{Ink, Text};

/// Reads a text and bounds it.
///
/// # Panics
/// If bounding it again changes it, also after hidden words are dropped, or if markup contains a tag of the text's.
pub fn text(bytes: &[u8]) {
    let Some(text) = Text::from_json(bytes) else { return };
    let size = Size { width: 4000, height: 5661 };
    let bounded = text.bounded(size);
    assert_eq!(bounded, bounded.clone().bounded(size));
    assert!(!bounded.html().contains("<script") && !bounded.hocr().contains("<script"));
    let _ = bounded.plain();
    let half = Size { width: 2000, height: 2831 };
    let mut ink = Ink::new(&bounded, size, half);
    // Stripes, so that some words are shown.
    (0..99).for_each(|row| ink.row(&[[row, row], [0, 255]].concat().repeat(500), 1));
    let shown = ink.shown();
    assert_eq!(shown, shown.clone().bounded(size));
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn a_text_of_any_bytes_is_bounded_or_refused() {
        hunt(&[Target {
            name: "text",
            run: text,
            seeds: &[
                br#"{"version":1,"language":"en","total":2,"pages":[{"at":[0,0,100,100],"blocks":[{"role":"p","lines":[{"at":[0,0,9,9],"text":"a <script> b","spans":[0,1,2,3,4,5]}]},{"role":"img","at":[1,2,3,4],"alternative":"<script>"}],"links":[{"at":[0,0,9,9],"to":"https://example.com/\"><script>"},{"at":[0,0,9,9],"to":1}]}],"outline":[{"depth":1,"title":"<script>","page":0,"y":7}]}"#,
            ],
        }]);
    }
}
