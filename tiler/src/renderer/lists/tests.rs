use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Reads a list, and returns a line for each thing that it has.
fn listed(url: Option<&str>, list: impl AsRef<[u8]>) -> Vec<String> {
    let mut lines = vec![];
    let request = ListRequest { url: url.map(str::to_owned) };
    let read = read(list.as_ref(), &request, &mut |listed| {
        lines.push(match listed {
            Listed::Entry(row, entry) => format!("{row} {}", Value::Object(entry)),
            Listed::List(url) => format!("list {url}"),
            Listed::Refused(row, reason) => format!("{row}! {reason}"),
            Listed::Broken(reason) => format!("! {reason}"),
        });
        Ok(())
    });
    lines.extend(read.err().map(|error| format!("! {error}")));
    lines
}

fn of(list: impl AsRef<[u8]>) -> Vec<String> {
    listed(None, list)
}

const URL: &str = r#"{"url":"https://a.example/1.tif"}"#;

#[test]
fn a_table_of_a_spreadsheet_is_read_whatever_separates_its_cells() {
    let both = [
        r#"2 {"alt":"a \"bridge\", seen\nfrom below","title":"One","url":"https://a.example/1.tif"}"#,
        r#"4 {"url":"https://a.example/2.tif"}"#,
    ];
    for separator in [',', ';', '\t'] {
        let table = format!(
            "\u{feff}URL{separator}Title{separator}Alt text{separator}Inventory\r\n\
             https://a.example/1.tif{separator}One{separator}\"a \"\"bridge\"\", seen\nfrom below\"{separator}7\r\n\
             {separator}{separator}{separator}\r\n\
             \" https://a.example/2.tif \"{separator}{separator}{separator}8\r\n"
        );
        assert_eq!(of(table), both, "{separator:?}");
    }
    assert_eq!(
        of("sep=;\nurl;title\nhttps://a.example/1.tif;a,b"),
        [r#"2 {"title":"a,b","url":"https://a.example/1.tif"}"#]
    );
}

#[test]
fn columns_have_names_and_unknown_ones_mean_nothing() {
    let names = "Licence,Credit line,remove,retry,image,options,URL\n";
    let row = "http://x,Museum,true,true,https://a.example/1.tif,web-width=390,https://other.example/\n";
    let expected = json!({
        "credit": "Museum", "options": "web-width=390", "rights": "http://x", "url": "https://a.example/1.tif",
    });
    assert_eq!(of(format!("{names}{row}")), [format!("2 {expected}")]);
    assert_eq!(of("id;title\n6qy4OXfXSid;New"), [r#"2 {"id":"6qy4OXfXSid","title":"New"}"#]);
    assert_eq!(
        of("picture,title\na,b"),
        [format!(
            "! {}",
            "The first row names no column “url”. Name the \
        columns there: url, title, alt, credit, rights."
        )]
    );
}

#[test]
fn a_bad_row_is_refused_and_the_others_are_read() {
    let table = b"url,title\n,No URL\nhttps://a.example/\xe9.tif,Latin\nhttps://a.example/1.tif\nx,y,z\n";
    assert_eq!(
        of(table),
        [
            "2! The row has no URL.".to_owned(),
            "3! The row is not in UTF-8. Save the list in UTF-8, in a spreadsheet as “CSV UTF-8”.".to_owned(),
            format!("4 {URL}"),
            "5! The row has more cells than the first row has columns.".to_owned(),
        ]
    );
}

#[test]
fn an_open_quotation_mark_costs_no_memory() {
    let table = format!("url,title\nhttps://a.example/1.tif,\"{}", "open\n".repeat(1 << 20));
    assert_eq!(of(table), ["! A row is longer than 64 KiB. Is a quotation mark not closed?"]);
    let long = format!("{{\"url\":\"https://a.example/0.tif\"}}\n{}\n{URL}", "[".repeat(1 << 20));
    assert_eq!(of(long)[1..], ["2! The line is longer than 64 KiB.".to_owned(), format!("3 {URL}")]);
}

#[test]
fn a_plain_list_has_a_url_on_each_line() {
    let list =
        "https://a.example/1.tif\r\n\nhttps://a.example/full/600,/0/default.jpg\nhttps://b.example/ Title";
    assert_eq!(
        of(list),
        [
            format!("1 {URL}"),
            r#"3 {"url":"https://a.example/full/600,/0/default.jpg"}"#.to_owned(),
            "4! The row has more than a URL. Name the columns in the first row: url, title.".to_owned(),
        ]
    );
}

#[test]
fn json_lines_are_passed_on_with_all_members() {
    let remove = r#"{"id":"6qy4OXfXSid","remove":true}"#;
    let list = format!("{remove}\n\n{{\"url\": \n{URL}");
    let expected =
        [format!("1 {remove}"), "3! The line is not a JSON object.".to_owned(), format!("4 {URL}")];
    assert_eq!(of(list), expected);
    assert_eq!(
        of(format!("[{URL}]")),
        ["! The list is a JSON array. Write one object on each line instead."]
    );
}

#[test]
fn a_sitemap_has_pages_and_the_images_of_pages() {
    let sitemap = "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
        xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'>\
        <url><loc> https://a.example/?a=1&amp;b=&#50; </loc><lastmod>2026</lastmod><x:link href='y'/></url>\
        <url><image:image><image:loc>https://a.example/1.tif</image:loc><image:title><![CDATA[A & B]]></image:title>\
        <image:caption>two people</image:caption></image:image><loc>https://a.example/page</loc>\
        <image:image><image:loc>https://a.example/2.tif</image:loc></image:image></url><url><loc/></url></urlset>";
    assert_eq!(
        of(sitemap),
        [
            r#"1 {"url":"https://a.example/?a=1&b=2"}"#,
            r#"2 {"alt":"two people","title":"A & B","url":"https://a.example/1.tif"}"#,
            r#"3 {"url":"https://a.example/2.tif"}"#,
        ]
    );
    let index = "<sitemapindex><sitemap><loc>https://a.example/a.xml.gz</loc></sitemap></sitemapindex>";
    assert_eq!(of(index), ["list https://a.example/a.xml.gz"]);
}

#[test]
fn a_hostile_sitemap_is_refused() {
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;'>]>\
        <urlset><url><loc>https://a.example/&c;</loc></url></urlset>";
    assert_eq!(of(bomb), [r#"1 {"url":"https://a.example/"}"#]);
    for (hostile, reason) in [
        ("<html><body>Not found</body></html>".to_owned(), "The list is XML or HTML, but not a sitemap."),
        ("<urlset><url><loc>https://a.example/".to_owned(), "The sitemap is cut off."),
        (format!("<urlset>{}", "<url>".repeat(100)), "The sitemap's elements are nested too deeply."),
        (format!("<urlset><url><loc>{}", "&amp;".repeat(1 << 20)), "A text in the sitemap is too long."),
        (
            format!("<urlset><!--{}", "a".repeat(1 << 20)),
            "A row is longer than 64 KiB. Is a quotation mark not closed?",
        ),
    ] {
        assert_eq!(of(&hostile), [format!("! {reason}")], "{:.40}", hostile);
    }
    assert!(of("<urlset></url>")[0].starts_with("! The sitemap is not well-formed: "));
}

#[test]
fn each_page_of_a_manifest_is_an_entry_with_its_credits() {
    let manifest = json!({
        "@context": "http://iiif.io/api/presentation/3/context.json", "type": "Manifest",
        "id": "https://a.example/m", "label": {"en": ["Atlas"]}, "rights": "https://creativecommons.org/licenses/by/4.0/",
        "requiredStatement": {"label": {"en": ["Credit"]}, "value": {"en": ["<b>Museum</b>"]}},
        "items": [
            {"type": "Canvas", "label": {"none": ["f. 1r"]}, "items": [{"items": [{"body": {
                "type": "Image", "id": "https://a.example/x.jpg",
                "service": [{"id": "https://a.example/iiif/1", "type": "ImageService3"}]}}]}]},
            {"type": "Canvas", "items": []},
            {"type": "Canvas", "items": [{"items": [{"body": {"type": "Image", "id": "2.jpg"}}]}]},
        ],
    });
    let (credit, rights) = ("Museum", "http://creativecommons.org/licenses/by/4.0/");
    let entry =
        |title: &str, url: &str| json!({"credit": credit, "rights": rights, "title": title, "url": url});
    assert_eq!(
        listed(Some("https://a.example/m"), serde_json::to_vec_pretty(&manifest).unwrap()),
        [
            format!("1 {}", entry("Atlas, f. 1r", "https://a.example/iiif/1/info.json")),
            "2! The page has no picture.".to_owned(),
            format!("3 {}", entry("Atlas, 3", "https://a.example/2.jpg")),
        ]
    );
    let old = json!({
        "@context": "http://iiif.io/api/presentation/2/context.json", "@type": "sc:Manifest", "label": "Map",
        "sequences": [{"canvases": [{"label": "1", "images": [{"resource": {"@type": "dctypes:Image",
            "@id": "https://a.example/x.jpg", "service": {"@id": "https://a.example/iiif/1/",
            "profile": "http://iiif.io/api/image/2/level2.json"}}}]}]}],
    });
    assert_eq!(of(old.to_string()), [r#"1 {"title":"Map","url":"https://a.example/iiif/1/info.json"}"#]);
}

#[test]
fn a_iiif_collection_leads_to_its_members() {
    let collection = json!({
        "@context": "http://iiif.io/api/presentation/3/context.json", "type": "Collection", "id": "https://a.example/c",
        "items": [{"type": "Manifest", "id": "m/1"}, {"type": "Collection", "id": "https://b.example/c"}, {}],
    });
    assert_eq!(
        listed(Some("https://a.example/c"), collection.to_string()),
        [
            "list https://a.example/m/1",
            "list https://b.example/c",
            "0! A member of the collection has no address.",
        ]
    );
    let old = json!({"@context": "http://iiif.io/api/presentation/2/context.json", "@type": "sc:Collection",
        "manifests": [{"@id": "https://a.example/1"}], "collections": ["https://a.example/2"]});
    assert_eq!(of(old.to_string()), ["list https://a.example/2", "list https://a.example/1"]);
    for other in [r#"{"@context": "https://schema.org", "type": "Thing"}"#, "{\n}"] {
        let reason = "! The JSON document is neither a IIIF manifest nor a IIIF collection.";
        assert_eq!(of(other), [reason]);
    }
}

#[test]
fn other_files_are_no_lists() {
    assert_eq!(of(""), ["! The list is empty."]);
    assert_eq!(of("\u{feff} \n"), ["! The list is empty."]);
    let utf_16 = "! The list is in UTF-16. Save it in UTF-8, in a spreadsheet as “CSV UTF-8”.";
    assert_eq!(of(b"\xff\xfeu\0r\0l\0"), [utf_16]);
}

proptest! {
    /// The process writes what its parent reads.
    #[test]
    fn what_is_written_is_read(list in "(url|title|,|;|\t|\"|\n|\\{|\\}|<urlset>|<loc>|&|é|\u{0}|https://a/|[a-z]){0,60}") {
        let mut written = vec![];
        write(list.as_bytes(), &ListRequest::default(), &mut written).unwrap();
        let mut expected = vec![];
        let read = read(list.as_bytes(), &ListRequest::default(), &mut |listed| {
            expected.push(listed);
            Ok(())
        });
        expected.extend(read.err().map(|error| Listed::Broken(error.to_string())));
        prop_assert_eq!(all(written), expected);
    }
}

/// Returns what a list has that a process has written.
fn all(written: Vec<u8>) -> Vec<Listed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let limits = (written.len() as u64 + 1, Duration::from_secs(60));
        let mut listing = Listing::new(io::Cursor::new(written), None, limits);
        let mut all = vec![];
        while let Some(listed) = listing.next().await {
            all.push(listed);
        }
        all
    })
}

#[test]
fn what_no_honest_process_writes_ends_the_list() {
    for hostile in [
        &b"{\"list\":\"a\"}\nno JSON\n{\"list\":\"b\"}\n"[..],
        &[&b"{\"list\":\"a\"}\n"[..], &vec![b' '; 1 << 20]].concat(),
    ] {
        let read = all(hostile.to_vec());
        let broken = Listed::Broken("The list cannot be read.".to_owned());
        assert_eq!(read, [Listed::List("a".to_owned()), broken]);
    }
}
