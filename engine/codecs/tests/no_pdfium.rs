//! Without the PDF library, only PDF fails. A separate test binary, because a process loads the library only once.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;

use edgezoom_codecs::{DecodeOptions, SourceError};

use edgezoom_test_support::files::{BOUNDS, file};
use edgezoom_test_support::pdf::Pdf;

#[test]
fn without_the_library_only_pdf_fails() {
    let mut pdf = file(&Pdf::new().page(10, 10, "").bytes());
    let prepared = edgezoom_codecs::prepare(&mut pdf, Some(Path::new("/nowhere/libpdfium.so"))).unwrap();
    let error = prepared.open(pdf, BOUNDS, &DecodeOptions::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, SourceError::NoPdf), "{error}");
    assert_eq!(error.to_string(), "PDF cannot be read: its library, PDFium, is missing.");
}
