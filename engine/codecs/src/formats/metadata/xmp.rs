//! XMP: RDF in XML. A packet is text, and most formats store it as it is, so that programs find it without knowing the
//! format. The metadata of SVGs is RDF, too.
//!
//! Source: XMP Specification Part 1, 7 (RDF), 7.3 (packets), 8.2.2.4 (language alternatives), 8.3 (Dublin Core), 8.5 (rights);
//! IPTC Photo Metadata Standard 2023.1; Creative Commons, "XMP".

use std::str;

use edgezoom_text::rights_uri;
use roxmltree::{Document, Node};

use crate::Metadata;

/// Maximum number of bytes of a packet, and number of bytes at the beginning of a file of another format that are
/// searched. Pictures have metadata before pixels.
pub const MAX_BYTES: u64 = 256 << 10;
/// Maximum number of names of creators.
const MAX_NAMES: usize = 20;

/// The elements that hold the properties. Some programs leave out the outer one.
const ROOTS: [[&[u8]; 2]; 2] = [[b"<x:xmpmeta", b"</x:xmpmeta>"], [b"<rdf:RDF", b"</rdf:RDF>"]];

const CC: &str = "http://creativecommons.org/ns#";
const OLD_CC: &str = "http://web.resource.org/cc/";
const DC: &str = "http://purl.org/dc/elements/1.1/";
const IPTC: &str = "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/";
const PHOTOSHOP: &str = "http://ns.adobe.com/photoshop/1.0/";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RIGHTS: &str = "http://ns.adobe.com/xap/1.0/rights/";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Reads the first packet in some bytes.
pub fn of_packet(bytes: &[u8]) -> Metadata {
    let packet = ROOTS.iter().find_map(|[begin, end]| {
        let packet = &bytes[find(bytes, begin)?..];
        str::from_utf8(&packet[..find(packet, end)? + end.len()]).ok()
    });
    packet
        .and_then(|packet| Document::parse(packet).ok())
        .map(|document| of_tree(&document))
        .unwrap_or_default()
}

/// Reads the first RDF in a document. Only properties of the whole count, not those of its parts or its history.
pub fn of_tree(document: &Document<'_>) -> Metadata {
    let Some(rdf) = document.descendants().find(|node| node.has_tag_name((RDF, "RDF"))) else {
        return Metadata::default();
    };
    let property = |name: (&'static str, &'static str), is_list: bool| {
        rdf.children().filter(Node::is_element).find_map(|whole| {
            let element = whole
                .children()
                .filter(|child| child.has_tag_name(name))
                .find_map(|child| value(child, is_list));
            element.or_else(|| Metadata::text(whole.attribute(name)?))
        })
    };
    let one = |space, name| property((space, name), false);
    let copyright = one(DC, "rights");
    let mut rights: Vec<_> = [one(CC, "license"), one(OLD_CC, "license"), one(RIGHTS, "WebStatement")]
        .into_iter()
        .flatten()
        .collect();
    let is_uri = |text: &String| rights_uri(text).is_some();
    rights.extend(copyright.clone().filter(is_uri));
    rights.sort_by_key(|text| !is_uri(text));
    Metadata {
        title: one(DC, "title"),
        creator: property((DC, "creator"), true),
        credit: one(PHOTOSHOP, "Credit"),
        copyright: copyright.filter(|text| !is_uri(text)),
        rights: rights.into_iter().next(),
        alternative: one(IPTC, "AltTextAccessibility"),
    }
}

/// Returns the value of a property: a link, a text, all of a list, or one of several languages: the default, or else the
/// first.
fn value(property: Node<'_, '_>, is_list: bool) -> Option<String> {
    if let Some(link) = property.attribute((RDF, "resource")) {
        return Metadata::text(link);
    }
    let mut items =
        property.descendants().filter(|node| node.has_tag_name((RDF, "li"))).take(MAX_NAMES).peekable();
    if items.peek().is_none() {
        return words(property);
    }
    let items: Vec<_> = items.collect();
    if is_list {
        return Metadata::text(&items.into_iter().filter_map(words).collect::<Vec<_>>().join(", "));
    }
    let default = items.iter().find(|item| item.attribute((XML, "lang")) == Some("x-default"));
    default.or(items.first()).copied().and_then(words)
}

fn words(node: Node<'_, '_>) -> Option<String> {
    let texts = node.descendants().filter(Node::is_text).filter_map(|text| text.text());
    Metadata::text(&texts.collect::<String>())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == wanted[0])?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(properties: &str) -> String {
        format!(
            "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='{RDF}'><rdf:Description rdf:about='' xmlns:dc='{DC}' \
             xmlns:cc='{CC}' xmlns:photoshop='{PHOTOSHOP}' xmlns:xmpRights='{RIGHTS}' xmlns:core='{IPTC}'>{properties}\
             </rdf:Description></rdf:RDF></x:xmpmeta>"
        )
    }

    fn title(alternatives: &str) -> String {
        packet(&format!("<dc:title><rdf:Alt>{alternatives}</rdf:Alt></dc:title>"))
    }

    fn title_in(bytes: &[u8]) -> Option<String> {
        of_packet(bytes).title
    }

    #[test]
    fn the_default_title_is_found_anywhere_in_the_beginning() {
        let both = title(
            "<rdf:li xml:lang='de'>Altstadt</rdf:li><rdf:li xml:lang='x-default'> Old &amp; town </rdf:li>",
        );
        for before in [0, 1000, 200_000] {
            let file = [vec![b'<'; before], both.clone().into_bytes(), vec![0; 99]].concat();
            assert_eq!(title_in(&file).as_deref(), Some("Old & town"), "{before}");
        }
        assert_eq!(
            title_in(title("<rdf:li xml:lang='de'>Altstadt</rdf:li>").as_bytes()).as_deref(),
            Some("Altstadt")
        );
    }

    #[test]
    fn a_packet_that_is_broken_or_has_no_title_is_passed_over() {
        let entity = "<!DOCTYPE x [<!ENTITY a 'b'>]><x:xmpmeta>&a;</x:xmpmeta>".to_owned();
        let cut_off = title("<rdf:li>cut off</rdf:li>").replace("</x:xmpmeta>", "").replace("</rdf:RDF>", "");
        for file in
            [title(""), title("<rdf:li> </rdf:li>"), entity, cut_off, "<x:xmpmeta></x:xmpmeta>".into()]
        {
            assert_eq!(title_in(file.as_bytes()), None, "{file}");
        }
    }

    #[test]
    fn credits_are_elements_lists_links_or_attributes() {
        let alt = |name: &str, text: &str| {
            format!("<{name}><rdf:Alt><rdf:li xml:lang='x-default'>{text}</rdf:li></rdf:Alt></{name}>")
        };
        let names = "<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li> </rdf:li><rdf:li>Bee</rdf:li></rdf:Seq></dc:creator>";
        let elements = [
            alt("dc:rights", "© Ann"),
            names.to_owned(),
            "<photoshop:Credit>Agency</photoshop:Credit>".to_owned(),
            "<xmpRights:WebStatement>https://a.example/terms</xmpRights:WebStatement>".to_owned(),
            "<cc:license rdf:resource='https://creativecommons.org/licenses/by/4.0/'/>".to_owned(),
            alt("core:AltTextAccessibility", "A cat &lt;asleep&gt;"),
            // The picture that this one was made from.
            "<cc:morePermissions rdf:parseType='Resource'><dc:title>Part</dc:title></cc:morePermissions>"
                .to_owned(),
        ];
        let text = |text: &str| Some(text.to_owned());
        let expected = Metadata {
            title: None,
            creator: text("Ann, Bee"),
            credit: text("Agency"),
            copyright: text("© Ann"),
            rights: text("https://creativecommons.org/licenses/by/4.0/"),
            alternative: text("A cat <asleep>"),
        };
        assert_eq!(of_packet(packet(&elements.concat()).as_bytes()), expected);
        let attributes = packet("").replace(
            "rdf:about=''",
            "photoshop:Credit='Agency' dc:rights='© Ann' xmpRights:WebStatement='https://a.example/terms'",
        );
        let bare =
            attributes.replace("<x:xmpmeta xmlns:x='adobe:ns:meta/'>", "").replace("</x:xmpmeta>", "\0\0");
        let rights = text("https://a.example/terms");
        let expected = Metadata { creator: None, rights, alternative: None, ..expected };
        assert_eq!(
            [of_packet(attributes.as_bytes()), of_packet(bare.as_bytes())],
            [expected.clone(), expected]
        );
        let uri =
            of_packet(packet("<dc:rights>http://rightsstatements.org/vocab/InC/1.0/</dc:rights>").as_bytes());
        assert_eq!(
            (uri.rights.is_some(), uri.copyright),
            (true, None),
            "a notice that is a link is no notice"
        );
    }

    #[test]
    fn hostile_packets_are_bounded() {
        let deep = ["<a>".repeat(20_000), "</a>".repeat(20_000)].concat();
        let names = "<rdf:li>name</rdf:li>".repeat(3000);
        let hostile = packet(&format!("{deep}<dc:creator><rdf:Seq>{names}</rdf:Seq></dc:creator>"));
        assert!((200_000..MAX_BYTES as usize).contains(&hostile.len()), "{}", hostile.len());
        let found = of_packet(hostile.as_bytes());
        assert_eq!(found.creator.map(|names| names.len()), Some(20 * 6 - 2));
        let long = packet(&format!("<photoshop:Credit>{}</photoshop:Credit>", "é".repeat(100_000)));
        assert_eq!(of_packet(long.as_bytes()).credit.map(|credit| credit.chars().count()), Some(1000));
        let invalid =
            [packet("<dc:rights>a").into_bytes(), vec![0xff], b"</dc:rights></x:xmpmeta>".to_vec()].concat();
        assert_eq!(of_packet(&invalid), Metadata::default());
    }
}
