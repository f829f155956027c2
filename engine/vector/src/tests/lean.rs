//! What the writer does not write is recognised.

use crate::is_lean;

const HEAD: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9">"#;

#[test]
fn what_the_writer_does_not_write_is_refused() {
    let path = r##"<path fill="#f00" d="M1 2h3z"/>"##;
    assert!(is_lean(&format!("{HEAD}{path}</svg>")));
    for hostile in [
        "<script>alert(1)</script>",
        r#"<script href="/a"/>"#,
        "<style>path{fill:url(/a#b)}</style>",
        r#"<foreignObject width="9"><div/></foreignObject>"#,
        r##"<use href="#c1"/>"##,
        r#"<image width="9" height="9" href="https://a.example/b.png"/>"#,
        r#"<image width="9" height="9" href="data:image/svg+xml;base64,PHN2Zy8+"/>"#,
        r#"<image width="9" xlink:href="/a.png"/>"#,
        r#"<path d="M1 2" onload="a()"/>"#,
        r#"<path d="M1 2" fill="url(/a#b)"/>"#,
        r#"<path d="M1 2" style="fill:url(/a#b)"/>"#,
        r#"<path d="M1 2" clip-path="url(/a#c1)"/>"#,
        r#"<path d="M1 2" fill="red"/>"#,
        r#"<path d="&a;"/>"#,
        r#"<path d="M1 2" d='M3 4'/>"#,
        r#"<path d="M1 NaN"/>"#,
        "<path d=\"M1\n2\"/>",
        "<path\td=\"M1 2\"/>",
        r#"<set attributeName="class" begin="0s"/>"#,
        r#"<set attributeName="href" begin="indefinite" to="/a"/>"#,
        r#"<animate attributeName="class" begin="indefinite"/>"#,
        r#"<filter id="c1"/>"#,
        r#"<svg width="9" height="9"/>"#,
        "text",
        "<!--a-->",
        "<![CDATA[a]]>",
        "<?xml-stylesheet href=\"/a\"?>",
        r#"<g opacity=".5">"#,
        "</g>",
        &r#"<g opacity=".5">"#.repeat(20),
    ] {
        assert!(!is_lean(&format!("{HEAD}{hostile}</svg>")), "{hostile}");
        assert!(!is_lean(&format!("{HEAD}{path}{hostile}{path}</svg>")), "{hostile}");
    }
    for whole in [
        "",
        HEAD,
        r#"<path d="M1 2"/>"#,
        &format!("<!DOCTYPE svg [<!ENTITY a \"b\">]>{HEAD}</svg>"),
        &format!("<?xml version=\"1.0\"?>{HEAD}</svg>"),
        &format!("\u{feff}{HEAD}</svg>"),
        &format!("{HEAD}</svg>{HEAD}</svg>"),
        &format!("{HEAD}{}</svg>", r#"<g opacity=".5">"#.repeat(99) + &"</g>".repeat(99)),
        &format!("{HEAD}{}</svg>", path.repeat(1 << 20)),
    ] {
        assert!(!is_lean(whole), "{whole:.200}");
    }
}
