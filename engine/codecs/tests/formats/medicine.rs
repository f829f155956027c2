//! DICOM files written by pydicom, compared with pydicom's rendering.

use crate::variant::{Variant, check_all, variant};

/// Variant of a kind in `medicine.py`, which writes both the file and `shown.png`.
macro_rules! dicom {
    ($name:literal, $kind:literal) => {
        variant(
            $name,
            "f.dcm",
            concat!("/usr/bin/python3 - '", $kind, "' <<'END'\n", include_str!("medicine.py"), "\nEND"),
            "",
        )
    };
}

#[rustfmt::skip]
const DICOM: &[Variant] = &[
    dicom!("dicom grey", "grey"),
    dicom!("dicom with a window", "window"),
    dicom!("dicom implicit", "implicit"),
    dicom!("dicom big-endian", "big-endian"),
    dicom!("dicom with a sigmoid", "sigmoid"),
    dicom!("dicom of all values inverted", "all"),
    dicom!("dicom rgb", "rgb"),
    dicom!("dicom planes", "planes"),
    dicom!("dicom ybr", "ybr"),
    dicom!("dicom palette 8 bits", "palette 8"),
    dicom!("dicom palette 16 bits", "palette 16"),
    dicom!("dicom runs", "runs"),
    dicom!("dicom runs 16 bits", "runs 16"),
    dicom!("dicom jpeg of several frames", "jpeg"),
    dicom!("dicom jpeg grey in parts", "jpeg grey"),
    dicom!("dicom jpeg 2000", "jpeg 2000"),
    dicom!("dicom jpeg 2000 16 bits", "jpeg 2000 16"),
];

#[test]
fn dicom() {
    check_all(DICOM);
}
