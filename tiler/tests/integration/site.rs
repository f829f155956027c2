//! Runs `tiler convert --viewer` as a user would, with the page of the real viewer.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use edgezoom_test_support::pdf::{Mask, Pdf, drawing, grey_picture};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use crate::convert::{error_line, names, serve_files};

/// The page of `edge/viewer/site/`, before it is filled.
const PAGE: &str = include_str!("../../../edge/viewer/site/index.html");
/// A text that is more than text wherever it is not escaped.
const HOSTILE: &str = r#"<!--<script>{content}"'&lt;"#;

/// Creates a folder with a drawing that has hostile words and a hostile name, and with the viewer in `viewer/`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("viewer")).unwrap();
    for (name, content) in [("index.html", PAGE), ("viewer.js", "a script"), ("viewer.css", "a style")] {
        fs::write(folder.path().join("viewer").join(name), content).unwrap();
    }
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100"><text x="9" y="50">&lt;/script>&lt;!--</text></svg>"#;
    fs::write(folder.path().join(format!("{HOSTILE}.svg")), svg).unwrap();
    fs::write(folder.path().join("broken.png"), &b"\x89PNG\r\n\x1a\n and no more"[..]).unwrap();
    folder
}

fn convert(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).env("EDGEZOOM_VIEWER", "viewer").arg("convert").args(args).arg("--viewer");
    command.output().unwrap()
}

/// Returns the content object of a page.
fn content(page: &str) -> Value {
    let (_, after) = page.split_once(r#"<script type="application/json" id="content">"#).unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    assert!(!json.contains('<'), "{json}");
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_site_has_the_page_the_viewer_and_the_pyramid() {
    let folder = folder();
    let source = format!("{HOSTILE}.svg");
    let args = [&*source, "-o", "site/a 100%", "--svg-side", "600", "--alt", "A \"<b>\""];
    let output = convert(folder.path(), &args);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let site = folder.path().join("site");
    assert_eq!(names(&site), ["a 100%.dzi", "a 100%_files", "index.html", "viewer.css", "viewer.js"]);
    assert_eq!(fs::read_to_string(site.join("viewer.js")).unwrap(), "a script");

    let page = fs::read_to_string(site.join("index.html")).unwrap();
    let escaped = "&lt;!--&lt;script&gt;{content}&quot;&#39;&amp;lt;";
    for part in [
        &*format!("<title>{escaped}</title>"),
        &*format!("<h1>{escaped}</h1>"),
        r#"<meta name="description" content="A &quot;&lt;b&gt;&quot;">"#,
        r#"<img src="a%20100%25_files/9/0_0.jpg" alt="A &quot;&lt;b&gt;&quot;">"#,
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert_eq!(page.matches("<script").count(), PAGE.matches("<script").count());
    let content = content(&page);
    assert_eq!((&content["title"], &content["alt"]), (&json!(HOSTILE), &json!("A \"<b>\"")));
    let dzi = json!({"url": "a%20100%25.dzi", "width": 600, "height": 200, "tileSize": 512, "tileOverlap": 0, "tileFormat": "jpg"});
    assert_eq!(content["dzi"], dzi);
    assert_eq!(content["text"]["pages"][0]["blocks"][0]["lines"][0]["text"], "</script><!--");
    assert_eq!((&content["pages"], &content["scale"]), (&json!(1), &Value::Null));
}

/// Returns the content object of a document, and the names of its files of vectors.
fn converted(folder: &Path, pdf: &[u8], more: &[&str]) -> (Value, Vec<String>) {
    fs::write(folder.join("plan.pdf"), pdf).unwrap();
    let args = [&["plan.pdf", "-o", "site/a b", "--pdf-width", "1000", "--force"], more].concat();
    let output = convert(folder, &args);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let files = folder.join("site/a b_files/vector");
    let files = if files.exists() { names(&files) } else { vec![] };
    (content(&fs::read_to_string(folder.join("site/index.html")).unwrap()), files)
}

#[test]
fn pages_of_a_pdf_are_vectors_where_these_show_what_the_pixels_show_and_no_more() {
    let folder = folder();
    let mut pdf = Pdf::new();
    let (off, scan) = (pdf.object(b"<< /Type /OCG /Name (A) >>"), grey_picture(&mut pdf, (90, 90), None));
    let soft = grey_picture(&mut pdf, (90, 90), Some(Mask::Soft(180, 180)));
    let hidden = drawing(&mut pdf, "0 0 1 rg 40 40 50 50 re f", "", &format!("/OC {off} 0 R"));
    let font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
    let resources =
        format!("/Resources << {font} /XObject << /Scan {scan} 0 R /Soft {soft} 0 R /Off {hidden} 0 R >> >>");
    let words =
        "20 120 9 20 re 40 120 9 20 re 60 120 9 20 re f 5 5 m 290 60 l S BT /F1 24 Tf 20 150 Td (Plan) Tj ET";
    // A name below a bar is not in the vectors, nor is a layer that is off.
    let covered =
        format!("{words} /Off Do 1 0 0 rg BT /F1 12 Tf 150 80 Td (name) Tj ET 0 g 145 70 60 30 re f");
    // Fonts that are not in the file have PDFium's shapes.
    let written = |font: &str| {
        let font =
            format!("/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /{font} >> >> >>");
        let lines = "(The quick brown fox, 123) Tj 0 -30 Td ".repeat(5);
        (format!("BT /F1 24 Tf 10 160 Td {lines} ET"), font)
    };
    let (sans, mono) = (written("Helvetica"), written("Courier"));
    let redaction = format!("{resources} /Annots [<< /Type /Annot /Subtype /Redact /Rect [0 0 50 50] >>]");
    let pdf = pdf
        .page_with(300, 200, &covered, &resources)
        .page_with(300, 200, words, &redaction)
        .page_with(300, 200, "q 300 0 0 200 0 0 cm /Scan Do Q", &resources)
        .page_with(300, 200, &format!("{words} q 90 0 0 90 0 0 cm /Soft Do Q"), &resources)
        .page_with(200, 300, words, &format!("{resources} /Rotate 90"))
        .page_with(400, 200, &sans.0, &sans.1)
        .page_with(400, 200, &mono.0, &mono.1)
        .catalogue(&format!("/OCProperties << /OCGs [{off} 0 R] /D << /OFF [{off} 0 R] >> >>"))
        .bytes();
    let (content, files) = converted(folder.path(), &pdf, &[]);
    assert_eq!(files, ["0.svg", "4.svg", "5.svg", "6.svg"]);
    let pages = content["vector"]["pages"].as_array().unwrap();
    let are_vectors: Vec<_> = pages.iter().map(|page| !page.is_null()).collect();
    assert_eq!(are_vectors, [true, false, false, false, true, true, true]);
    for number in [0, 4] {
        let page = &pages[number];
        let at = ["x", "y", "width", "height"].map(|name| &page[name]);
        assert_eq!(json!(at), content["text"]["pages"][number]["at"]);
        assert_eq!(page["url"], format!("a%20b_files/vector/{number}.svg"));
        let svg =
            fs::read_to_string(folder.path().join(format!("site/a b_files/vector/{number}.svg"))).unwrap();
        assert!(
            svg.starts_with(r#"<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="#)
        );
        assert!(!svg.contains("#f00") && !svg.contains("#00f"), "{svg}");
        assert!(svg.matches("<path").count() >= 1, "{svg}");
    }

    let (content, files) = converted(folder.path(), &pdf, &["--no-vectors"]);
    assert_eq!((&content["vector"], files), (&Value::Null, vec![]));
    let (content, files) = converted(folder.path(), &pdf, &["--angle", "90"]);
    assert_eq!((&content["vector"], files), (&Value::Null, vec![]));
}

#[test]
fn a_pdf_has_half_its_pixels_only_if_all_its_pages_are_vectors() {
    let folder = folder();
    let lines = "5 5 m 290 160 l S 20 120 9 20 re f";
    let redaction = "/Annots [<< /Type /Annot /Subtype /Redact /Rect [0 0 50 50] >>]";
    let document =
        |more: &str| Pdf::new().page_with(300, 200, lines, "").page_with(300, 200, lines, more).bytes();
    let dzi = |pdf: &[u8], more: &[&str]| {
        let (content, files) = converted(folder.path(), pdf, more);
        let side = |name: &str| content["dzi"][name].as_u64().unwrap();
        (side("width"), side("height"), files.len())
    };
    let vectors = document("");
    let (width, height, _) = dzi(&vectors, &[]);
    let halved = dzi(&vectors, &["--halve-pdf"]);
    assert_eq!((halved.0, halved.2), (width / 2, 2));
    assert!(halved.1.abs_diff(height / 2) <= 1, "gaps are rounded up: {halved:?}, {height}");
    assert_eq!(dzi(&vectors, &["--halve-pdf", "--no-vectors"]), (width, height, 0));
    // The first page's vectors are dropped with its pixels, and come again.
    for (pdf, memory) in [(document(redaction), "2000"), (bomb(), "100")] {
        let whole = dzi(&pdf, &["--memory", memory]);
        assert_eq!(dzi(&pdf, &["--memory", memory, "--halve-pdf"]), whole);
        assert_eq!(whole.2, 1);
    }
}

#[test]
fn a_drawing_is_vectors_unless_its_pixels_may_be_transparent() {
    let folder = folder();
    let converted = |content: &str, more: &[&str]| {
        let svg = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100">{content}</svg>"#);
        fs::write(folder.path().join("plan.svg"), svg).unwrap();
        let args = [&["plan.svg", "-o", "site/a", "--svg-side", "600", "--force"], more].concat();
        let output = convert(folder.path(), &args);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let file = fs::read_to_string(folder.path().join("site/a_files/vector/0.svg")).ok();
        (self::content(&fs::read_to_string(folder.path().join("site/index.html")).unwrap()), file)
    };
    let words = r##"<text x="9" y="50" font-size="30" fill="#06c">Plan</text><path d="M0 99h9v.5z"/>"##;
    let (content, file) = converted(words, &[]);
    let page = json!({"x": 0, "y": 0, "width": 600, "height": 200, "url": "a_files/vector/0.svg"});
    assert_eq!(content["vector"]["pages"], json!([page]));
    let svg = file.unwrap();
    assert!(svg.contains(r##"fill="#06c""##) && !svg.contains("text"), "{svg}");
    for more in [&["--no-vectors"][..], &["--angle", "90"], &["--format", "png"]] {
        let (content, file) = converted(words, more);
        assert_eq!((&content["vector"], file), (&Value::Null, None), "{more:?}");
    }
    let blurred = r#"<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><path filter="url(#f)" d="M0 0h90v90z"/>"#;
    assert_eq!(converted(&format!("{words}{blurred}"), &[]).1, None);
}

/// Returns a document of three pages, whose second one has vectors that take more than 100 MB.
fn bomb() -> Vec<u8> {
    let deflated = |content: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    };
    // PDFium unpacks the rows that it needs, the interpreter of the vectors the whole stream.
    let zeros = deflated(&deflated(&vec![0; 100 << 20]));
    let head = "<< /Type /XObject /Subtype /Image /Width 9 /Height 9 /ColorSpace /DeviceGray /BitsPerComponent 8 \
                /Filter [/FlateDecode /FlateDecode]";
    let head = format!("{head} /Length {} >>\nstream\n", zeros.len());
    let mut pdf = Pdf::new();
    let bomb = pdf.object(&[head.as_bytes(), &zeros, b"\nendstream"].concat());
    let resources = format!("/Resources << /XObject << /X {bomb} 0 R >> >>");
    let lines = "20 20 m 280 180 l S 0 0 9 9 re f";
    let pdf = pdf
        .page_with(300, 200, lines, &resources)
        .page_with(300, 200, &format!("{lines} q 90 0 0 90 0 0 cm /X Do Q"), &resources)
        .page_with(300, 200, lines, &resources);
    pdf.bytes()
}

#[test]
fn a_document_whose_vectors_take_all_memory_has_its_pixels() {
    let (content, files) = converted(folder().path(), &bomb(), &["--memory", "100"]);
    assert_eq!((&content["dzi"]["tileFormat"], files), (&json!("jpg"), vec!["0.svg".to_owned()]));
    assert_eq!(content["vector"]["pages"].as_array().unwrap().len(), 3);
}

#[test]
fn credits_of_descriptions_count_before_those_of_the_file() {
    let mut picture = Vec::new();
    let mut writer = png::Encoder::new(&mut picture, 2, 1).write_header().unwrap();
    writer.write_chunk(png::chunk::tEXt, b"Copyright\0</script><b>").unwrap();
    writer.write_image_data(&[0, 255]).unwrap();
    writer.finish().unwrap();
    let (server, _) = serve_files(|_| {
        let info = r#"{"@context":"http://iiif.io/api/image/2/context.json","@id":"/a","width":2,"height":1,"attribution":"Server",
            "license":"https://creativecommons.org/publicdomain/mark/1.0/"}"#;
        vec![("/a/info.json", info.into()), ("/a/full/full/0/default.jpg", picture)]
    });
    let folder = folder();
    let manifest = format!(
        r#"{{"@context":"http://iiif.io/api/presentation/3/context.json","type":"Manifest",
        "requiredStatement":{{"label":{{"en":["Held by"]}},"value":{{"en":["<span>The <b>Museum</b></span>"]}}}},
        "items":[{{"items":[{{"items":[{{"body":{{"type":"Image","service":[{{"id":"{server}/a","type":"ImageService2"}}]}}}}]}}]}}]}}"#
    );
    fs::write(folder.path().join("manifest.json"), manifest).unwrap();
    let output = convert(folder.path(), &["manifest.json", "-o", "site/a", "--allow-networks=127.0.0.0/8"]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let page = fs::read_to_string(folder.path().join("site/index.html")).unwrap();
    let expected = json!({
        "credit": "The Museum",
        "rights": "http://creativecommons.org/publicdomain/mark/1.0/",
        "copyright": "</script><b>",
    });
    assert_eq!(content(&page)["credits"], expected);
}

/// Returns true for a path that GitHub Pages serves without `.nojekyll`: Jekyll leaves out what begins with `_`, `.` or `#`
/// or ends with `~`, also as a folder (jekyllrb.com/docs/structure).
fn is_served(path: &str) -> bool {
    path.split('/').all(|name| !name.starts_with(['_', '.', '#']) && !name.ends_with('~'))
}

#[test]
fn all_that_a_site_loads_is_served_by_github_pages_also_below_a_renamed_folder() {
    let folder = folder();
    let source = format!("{HOSTILE}.svg");
    for name in ["a", "a 100%", "map_2", "plan #2", "a~", "Straße & ?x=1", "a.b", "-"] {
        let output = convert(folder.path(), &[&*source, "-o", &format!("site/{name}"), "--svg-side", "600"]);
        assert!(output.status.success(), "{name}: {output:?}");
        let site = folder.path().join("site");
        let page = fs::read_to_string(site.join("index.html")).unwrap();
        let content = content(&page);
        let dzi = content["dzi"]["url"].as_str().unwrap();
        let mut loaded = vec![dzi.to_owned(), dzi.replace(".dzi", "_files/10/1_0.jpg")];
        for attribute in ["src=\"", "href=\""] {
            let values = page.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap());
            loaded.extend(values.filter(|value| !value.starts_with("data:")).map(str::to_owned));
        }
        assert!(loaded.len() >= 5, "{loaded:?}");
        // The folder was renamed, and is a part of a larger site.
        let base = Url::parse("https://museum.github.io/maps/old%20town%20%232/").unwrap();
        for reference in &loaded {
            let url = base.join(&reference.replace("&amp;", "&")).unwrap();
            let path = url.path().strip_prefix(base.path()).unwrap();
            let path = percent_decode_str(path).decode_utf8().unwrap();
            assert!(site.join(&*path).is_file(), "{name}: {reference} is {path}");
            assert!(url.query().is_none() && url.fragment().is_none(), "{name}: {reference}");
            assert!(is_served(&path), "{name}: {path}");
        }
        fs::remove_dir_all(site).unwrap();
    }
    for name in ["_a", "#a", ".a"] {
        let output = convert(folder.path(), &[&*source, "-o", &format!("site/{name}")]);
        assert!(
            error_line(&output).contains("web hosts leave out files whose names begin with _, . or #"),
            "{output:?}"
        );
        assert!(!is_served(name) && !folder.path().join("site").exists());
    }
}

#[test]
fn words_are_files_of_their_own_only_on_request() {
    let folder = folder();
    let source = format!("{HOSTILE}.svg");
    let output = convert(folder.path(), &[&source, "-o", "site/a", "--text"]);
    assert!(output.status.success(), "{output:?}");
    let expected = ["a.dzi", "a.hocr", "a.text.json", "a_files", "index.html", "viewer.css", "viewer.js"];
    assert_eq!(names(&folder.path().join("site")), expected);
}

#[test]
fn an_existing_site_is_kept_unless_forced_and_another_page_in_any_case() {
    let folder = folder();
    let source = format!("{HOSTILE}.svg");
    let args = [&*source, "-o", "site/a"];
    assert!(convert(folder.path(), &args).status.success());
    let page = folder.path().join("site/index.html");
    let first = fs::read(&page).unwrap();
    assert_eq!(
        error_line(&convert(folder.path(), &[&source, "-o", "site/b"])),
        "tiler: add --force to replace it, or choose another folder for --output: site/index.html exists already"
    );
    assert_eq!(fs::read(&page).unwrap(), first);

    assert!(convert(folder.path(), &[&source, "-o", "site/b", "--force"]).status.success());
    assert_eq!(content(&fs::read_to_string(&page).unwrap())["dzi"]["url"], "b.dzi");

    fs::write(&page, "my page").unwrap();
    assert_eq!(
        error_line(&convert(folder.path(), &[&source, "-o", "site/b", "--force"])),
        "tiler: choose another folder for --output: site/index.html is not a page of this viewer"
    );
    assert_eq!(fs::read_to_string(&page).unwrap(), "my page");
}

#[test]
fn a_failure_is_one_line_and_leaves_no_site() {
    let folder = folder();
    let before = names(folder.path());
    let whole = "tiler: --viewer needs a directory with all tiles of Deep Zoom: leave out --container, --layout, --depth \
                 and --skip-blanks, and the extension of --output";
    for (args, expected) in [
        (&["broken.png", "-o", "site/a"][..], "tiler: broken.png: "),
        (&["nothing.png", "-o", "site/a"], "tiler: cannot read nothing.png: "),
        (&["broken.png", "-o", "site/b/a"], "tiler: cannot write site/b: "),
        (&["broken.png", "-o", "site/a", "--container", "zip"], whole),
        (&["broken.png", "-o", "site/a.szi"], whole),
        (&["broken.png", "-o", "site/a", "--layout", "iiif"], whole),
        (&["broken.png", "-o", "site/a", "--depth", "onetile"], whole),
        (&["broken.png", "-o", "site/a", "--skip-blanks", "0"], whole),
        (&["broken.png", "-o", "site/_a"], "tiler: web hosts leave out "),
        (&["broken.png", "-o", "site/#a"], "tiler: web hosts leave out "),
        (&["broken.png", "nothing.png", "-o", "site"], "tiler: --viewer writes the page of one source: "),
    ] {
        let output = convert(folder.path(), args);
        let message = error_line(&output);
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(names(folder.path()), before, "{args:?}");
    }
}

#[test]
fn a_missing_viewer_is_reported_with_a_remedy() {
    let folder = folder();
    fs::remove_file(folder.path().join("viewer/viewer.js")).unwrap();
    assert_eq!(
        error_line(&convert(folder.path(), &["broken.png", "-o", "site/a"])),
        "tiler: --viewer needs the built viewer: take the program from a release, which has it in viewer/, or set \
         EDGEZOOM_VIEWER to the path of such a folder: viewer/viewer.js: No such file or directory (os error 2)"
    );
    assert!(!folder.path().join("site").exists());
}
