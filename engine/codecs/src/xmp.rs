//! The title in a picture's XMP. A packet is text, and all formats but compressed PNG chunks store it as it is, so that
//! programs find it without knowing the format.
//!
//! Source: XMP Specification Part 1, 7.3 (packets), 8.2.2.4 (language alternatives), 8.3 (`dc:title`).

use std::io::Read;
use std::str;

use roxmltree::{Document, Node};

use crate::SourceFile;

/// Number of bytes at the beginning of a file that are searched. Pictures have metadata before pixels.
const SEARCHED: u64 = 256 << 10;
const BEGIN: &[u8] = b"<x:xmpmeta";
const END: &[u8] = b"</x:xmpmeta>";
const DC: &str = "http://purl.org/dc/elements/1.1/";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Returns the title of the first packet: the default, or else that of the first language.
pub(crate) fn title(file: &SourceFile) -> Option<String> {
    let mut head = vec![];
    // The picture's reader is somewhere in the file already.
    file.apart().take(SEARCHED).read_to_end(&mut head).ok()?;
    let packet = &head[find(&head, BEGIN)?..];
    title_of(str::from_utf8(&packet[..find(packet, END)? + END.len()]).ok()?)
}

fn title_of(packet: &str) -> Option<String> {
    let document = Document::parse(packet).ok()?;
    let title = document.descendants().find(|node| node.has_tag_name((DC, "title")))?;
    let languages = || title.descendants().filter(|node| node.has_tag_name((RDF, "li")));
    let default = languages().find(|node| node.attribute((XML, "lang")) == Some("x-default"));
    let text = default.or_else(|| languages().next()).as_ref().and_then(Node::text)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
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

    fn packet(alternatives: &str) -> String {
        format!(
            "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='{RDF}'><rdf:Description rdf:about='' xmlns:dc='{DC}'>\
             <dc:title><rdf:Alt>{alternatives}</rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>"
        )
    }

    fn title_in(bytes: &[u8]) -> Option<String> {
        title(&SourceFile::from(bytes.to_vec()))
    }

    #[test]
    fn the_default_title_is_found_anywhere_in_the_beginning() {
        let both = packet(
            "<rdf:li xml:lang='de'>Altstadt</rdf:li><rdf:li xml:lang='x-default'> Old &amp; town </rdf:li>",
        );
        for before in [0, 1000, 200_000] {
            let file = [vec![b'<'; before], both.clone().into_bytes(), vec![0; 99]].concat();
            assert_eq!(title_in(&file).as_deref(), Some("Old & town"), "{before}");
        }
        assert_eq!(
            title_in(packet("<rdf:li xml:lang='de'>Altstadt</rdf:li>").as_bytes()).as_deref(),
            Some("Altstadt")
        );
    }

    #[test]
    fn a_packet_that_is_broken_or_has_no_title_is_passed_over() {
        let far = [vec![0; SEARCHED as usize], packet("<rdf:li>far</rdf:li>").into_bytes()].concat();
        let entity = "<!DOCTYPE x [<!ENTITY a 'b'>]><x:xmpmeta>&a;</x:xmpmeta>".to_owned();
        let cut_off = packet("<rdf:li>cut off</rdf:li>").replace("</x:xmpmeta>", "");
        for file in
            [packet(""), packet("<rdf:li> </rdf:li>"), entity, cut_off, "<x:xmpmeta></x:xmpmeta>".into()]
        {
            assert_eq!(title_in(file.as_bytes()), None, "{file}");
        }
        assert_eq!(title_in(&far), None);
    }
}
