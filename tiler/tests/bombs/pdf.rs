//! PDF bombs of a few kilobytes. Without PDFium, each fails with a message that says so.

use std::io::Write;

use edgezoom_test_support::pdf::Pdf;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Bomb;

/// Documents that must be rendered, at a smaller size.
pub const DRAWN: &[&str] = &["a sheet of two billion points", "a sheet in units of a thousand points"];

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {dictionary} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn page(content: &str) -> Vec<u8> {
    Pdf::new().page(600, 800, content).bytes()
}

/// Returns a document that draws the object that `object` adds.
fn drawing(object: impl FnOnce(&mut Pdf) -> usize) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let drawn = object(&mut pdf);
    pdf.page_with(
        600,
        800,
        "q 600 0 0 800 0 0 cm /X Do Q",
        &format!("/Resources << /XObject << /X {drawn} 0 R >> >>"),
    )
    .bytes()
}

fn image(width: u32, height: u32, more: &str, content: &[u8]) -> Vec<u8> {
    let dictionary = format!(
        "/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceRGB /BitsPerComponent 8 {more}"
    );
    drawing(|pdf| pdf.object(&stream(&dictionary, content)))
}

/// Returns a document of nested forms. Each draws the next one `times` times.
fn forms(levels: usize, times: usize) -> Vec<u8> {
    drawing(|pdf| {
        let form = "/Type /XObject /Subtype /Form /BBox [0 0 1 1]";
        let mut last = pdf.object(&stream(form, b"0 0 .5 .5 re f"));
        for _ in 0..levels {
            let resources = format!("{form} /Resources << /XObject << /X {last} 0 R >> >>");
            last = pdf.object(&stream(&resources, "/X Do ".repeat(times).as_bytes()));
        }
        last
    })
}

fn sized(media_box: &str, more: &str) -> Vec<u8> {
    let text = format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
         3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[{media_box}]{more}>>endobj\ntrailer<</Root 1 0 R>>\n"
    );
    text.into_bytes()
}

/// Returns a document of about a kilobyte whose content stream decompresses to 300 MiB.
pub fn of_memory() -> Vec<u8> {
    let content = deflated(&deflated(&vec![b' '; 300 << 20]));
    let mut pdf = Pdf::new();
    let drawn = pdf.object(&stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Filter [/FlateDecode /FlateDecode]",
        &content,
    ));
    pdf.page_with(600, 800, "/X Do", &format!("/Resources << /XObject << /X {drawn} 0 R >> >>")).bytes()
}

pub fn all() -> Vec<Bomb> {
    let zeros = deflated(&vec![0; 64 << 20]);
    let curves: String = (0..60_000)
        .map(|at| format!("{} 0 m 9 999 {} -99 300 {} c S ", at % 600, at % 800, at % 700))
        .collect();
    let function = "/Functions [<< /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [1] /N 1 >>]";
    vec![
        Bomb::new("forms in forms", forms(12, 10)),
        Bomb::new("forms three times each", forms(28, 3)),
        Bomb::new("a sheet of two billion points", sized("0 0 2000000000 2000000000", "")),
        Bomb::new("a sheet in units of a thousand points", sized("0 0 14400 14400", "/UserUnit 1000")),
        Bomb::new("a strip of paper", sized("0 0 1 2000000000", "")),
        Bomb::new("the largest picture", image(2_000_000_000, 2_000_000_000, "/Filter /FlateDecode", &zeros)),
        Bomb::new("a picture of ten gigapixels", image(100_000, 100_000, "/Filter /FlateDecode", &zeros)),
        Bomb::new("a picture of 400 megapixels", image(20_000, 20_000, "/Filter /FlateDecode", &zeros)),
        Bomb::new(
            "a picture packed five times",
            image(30_000, 30_000, "/Filter [/FlateDecode /FlateDecode /FlateDecode]", &deflated(&deflated(&zeros))),
        ),
        Bomb::new("a JBIG2 of a gigapixel", image(65_000, 65_000, "/Filter /JBIG2Decode", &[0; 400])),
        Bomb::new("a fax of a gigapixel", image(65_000, 65_000, "/Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 65000 /Rows 65000 >>", &zeros)),
        Bomb::new("sixty thousand curves", page(&curves)),
        Bomb::new("a million saved states", page(&"q ".repeat(1_000_000))),
        Bomb::new("a billion dashes", page("[0.00001] 0 d 1 w 0 0 m 600 800 l S")),
        Bomb::new(
            "a pattern of tiny tiles",
            Pdf::new()
                .page_with(
                    600,
                    800,
                    "/Pattern cs /P scn 0 0 600 800 re f",
                    "/Resources << /Pattern << /P << /PatternType 2 /Shading << /ShadingType 1 /ColorSpace /DeviceGray /Domain [0 1e9 0 1e9] /Function << /FunctionType 4 /Domain [0 1e9 0 1e9] /Range [0 1] >> >> >> >> >>",
                )
                .bytes(),
        ),
        Bomb::new("a function in a function", page(&format!("/Sh sh % {}", function.repeat(50_000)))),
        Bomb::new(
            "transparency in transparency",
            drawing(|pdf| {
                let group = "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Group << /S /Transparency /I true >>";
                let mut last = pdf.object(&stream(group, b"0 0 1 1 re f"));
                for _ in 0..25 {
                    let resources = format!(
                        "{group} /Resources << /XObject << /X {last} 0 R >> /ExtGState << /G << /ca .5 /BM /Luminosity >> >> >>"
                    );
                    last = pdf.object(&stream(&resources, b"/G gs /X Do /X Do"));
                }
                last
            }),
        ),
        Bomb::new("pages in pages", b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2000000000>>endobj\ntrailer<</Root 1 0 R>>\n".to_vec()),
    ]
}
