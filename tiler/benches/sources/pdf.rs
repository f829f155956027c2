//! Converts a page of text that another program has written, 20,000 pixels wide.

use std::path::Path;

use super::{Bound, Figure, convert, median};

/// A specification as a book, from Debian's package shared-mime-info: A4 or Letter, a page of running text with
/// headings.
const BOOK: &str = "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf";
const WIDTH: f64 = 20_000.0;

pub fn measure() -> Figure {
    let book = Path::new(BOOK);
    assert!(book.is_file(), "{BOOK} is missing: install shared-mime-info");
    let seconds = median(|| convert(book, &["--page=5", "--pdf-width=20000"]));
    let pixels = WIDTH * WIDTH * height_of_a_page(book);
    println!("PDF: {:.0} MP in {seconds:.2} s", pixels / 1e6);
    Figure {
        what: "a text PDF into tiles",
        value: pixels / seconds / 1e6,
        unit: " MP/s",
        bound: Bound::AtLeast(150.0),
    }
}

/// Returns the ratio of height to width of the pyramid of a page.
fn height_of_a_page(book: &Path) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("small");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.arg("convert").arg(book).arg("--output").arg(&output).arg("--page=5");
    assert!(command.status().unwrap().success());
    let descriptor = std::fs::read_to_string(output.with_extension("dzi")).unwrap();
    let side = |name: &str| -> f64 {
        let after = descriptor.split(&format!(" {name}=\"")).nth(1).unwrap();
        after.split('"').next().unwrap().parse().unwrap()
    };
    side("Height") / side("Width")
}
