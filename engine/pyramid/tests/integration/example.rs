//! The example program works as documented.

use std::fs;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg};

#[path = "../../examples/dzsave.rs"]
#[allow(dead_code, reason = "its `main` reads command-line arguments")]
mod dzsave;

#[test]
fn the_example_makes_a_folder_or_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let photo = folder.path().join("photo.jpg");
    let picture = Picture::photo(700, 500, edgezoom_codecs::Layout::Rgb);
    fs::write(&photo, files::jpeg(&picture, Jpeg::default())).unwrap();
    for (output, published) in
        [("out", "out_files/10/1_0.jpg"), ("out.zip", "out.zip"), ("out.szi", "out.szi")]
    {
        let built = dzsave::save(&photo, &folder.path().join(output)).unwrap();
        assert_eq!((built.dzi.size, built.damage), (picture.size(), None));
        assert!(folder.path().join(published).is_file(), "{published}");
    }
}
