//! DICOM files written by pydicom and compressed by DCMTK, compared with pydicom's rendering.

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
    dicom!("dicom lossless jpeg", "window | dcmcjpeg +e1"),
    dicom!("dicom lossless jpeg in parts", "window | dcmcjpeg +e1 +fs 8"),
    dicom!("dicom lossless jpeg 8 bits", "grey | dcmcjpeg +e1"),
    dicom!("dicom lossless jpeg 12 bits", "all | dcmcjpeg +e1"),
    dicom!("dicom lossless jpeg in colour", "rgb | dcmcjpeg +e1"),
    dicom!("dicom lossless jpeg by predictor 4", "window | dcmcjpeg +el +sv 4"),
    dicom!("dicom lossless jpeg by predictor 6", "all | dcmcjpeg +el +sv 6"),
    dicom!("dicom lossless jpeg by predictor 7", "rgb | dcmcjpeg +el +sv 7"),
    dicom!("dicom jpeg-ls", "window | dcmcjpls"),
    dicom!("dicom jpeg-ls 8 bits", "grey | dcmcjpls"),
    dicom!("dicom jpeg-ls 12 bits", "all | dcmcjpls"),
    dicom!("dicom jpeg-ls nearly lossless", "grey | dcmcjpls +en +md 2"),
    dicom!("dicom without zeros", "window | without zeros"),
    dicom!("dicom without a preamble", "implicit | without preamble"),
    dicom!("dicom without a preamble, big-endian", "big-endian | without preamble"),
    dicom!("dicom without group 2", "window | without group 2"),
    dicom!("dicom without group 2, implicit", "implicit | without group 2"),
];

#[test]
fn dicom() {
    check_all(DICOM);
}
