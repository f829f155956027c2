//! Fuzz targets for this crate's parsers: each function takes any bytes and panics if an invariant breaks. The test
//! below runs them for a moment on mutated seeds; the programs in `tests/fuzz/` run them under libFuzzer.

use crate::{AddressPolicy, Capture, ContentId, Credits, SourceUrl, Stated, Title, UploadKey};

/// A source URL, with everything derived from it: the address policy's verdict, ids, a file's name. Takes it as a query
/// with options of a capture, too.
///
/// # Panics
/// The URL does not round-trip, or options become part of it.
pub fn source_url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(url) = SourceUrl::parse(&text) {
        assert_eq!(SourceUrl::parse(url.as_str()).as_ref(), Ok(&url));
        assert!(url.as_str().is_ascii() && !url.host().is_empty() && !url.is_file());
        assert!(ContentId::candidates(&url).all(|id| id.to_string().parse() == Ok(id)));
        let _ = (AddressPolicy::default().admit(&url), url.page(), url.identity());
    }
    if let (Ok(options), Ok(url)) = (Capture::parse(&text), SourceUrl::parse("https://a.example/b")) {
        let source = url.clone().captured(&options);
        assert!(source.as_str().len() < 6600 && source.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!((source.without_options(), source.capture()), (url, options));
        assert!(!source.is_sealed() || source.to_string().len() < 2500);
    }
    // Tilers and stored records may also name uploaded files.
    if let Ok(url) = SourceUrl::try_from(text.into_owned()) {
        assert!(url.file_name().is_none() || url.is_file());
        assert_eq!(SourceUrl::try_from(String::from(url.clone())), Ok(url));
    }
}

/// The operator's lists of networks and hosts, and an address that is compared with them.
///
/// # Panics
/// A denied host is admitted.
pub fn address_lists(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (list, url) = text.split_once('\n').unwrap_or((&text, "http://example.com/"));
    if let Ok(policy) = AddressPolicy::allowing(list) {
        let _ = policy.denying(list);
    }
    let Ok(policy) = AddressPolicy::default().denying_hosts(list) else { return };
    let Ok(url) = SourceUrl::parse(url) else { return };
    // A host in a URL may contain a comma; a host in the list cannot.
    if list.trim() == url.host() && !list.contains(',') {
        assert!(policy.admit(&url).is_err(), "{url} is denied by its own name");
    }
    let _ = policy.allowing_hosts(list).map(|policy| policy.admit(&url));
}

/// Ids of contents and keys of uploaded files.
///
/// # Panics
/// One does not round-trip.
pub fn ids(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(id) = text.parse::<ContentId>() {
        assert_eq!(id.to_string(), text);
    }
    if let Some(key) = UploadKey::from_digits(&text) {
        assert_eq!(key.digits(), text);
    }
    if let Ok(key) = text.parse::<UploadKey>() {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}

/// Titles and credits, which clients see.
///
/// # Panics
/// A control character is left, the text is too long, or cleaning it again changes it.
pub fn words(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(title) = Title::of_document(&text) {
        let shown = title.as_str();
        assert!(!shown.is_empty() && shown.len() < 4000 && !shown.chars().any(char::is_control), "{shown:?}");
        assert_eq!(Title::of_document(shown).as_ref(), Some(&title));
    }
    let mut texts = text.splitn(5, '\n').map(str::to_owned);
    let mut next = || texts.next();
    let (creator, credit, copyright, rights, alternative) = (next(), next(), next(), next(), next());
    let credits = Credits::from(Stated { creator, credit, copyright, rights, alternative });
    let Credits { creator, credit, copyright, rights, alternative } = credits.clone();
    let again = Credits::from(Stated {
        creator: creator.map(|line| line.as_str().to_owned()),
        credit: credit.map(|line| line.as_str().to_owned()),
        copyright: copyright.map(|line| line.as_str().to_owned()),
        rights: rights.map(|uri| uri.as_str().to_owned()),
        alternative: alternative.map(|line| line.as_str().to_owned()),
    });
    assert_eq!(again, credits);
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn every_parser_keeps_its_invariants() {
        hunt(&[
            Target {
                name: "source_url",
                run: source_url,
                seeds: &[
                    b"http://example.com/%C3%A4.jpg?a=b&c#page=2",
                    b"HTTPS://B\xc3\xbccher.example:443/../a b/\xe2\x80\xae#/map",
                    b"http://[2001:db8::1]:8080/?q",
                    b"http://0x7f.1/",
                    b"http://user:secret@10.0.0.1:22/",
                    b"web-width=390&web-device=phone&web-scheme=dark&web-selector=%23a+%3E+.b>http://a.example/#/c",
                    b"web-hide=.c%2c.d&web-wait=+%5Be=%22>%22]&web-wait=&web-media=print&web-width=+320",
                    b"ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=old%20town.jpg",
                    b"ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?vectors=off&name=a.pdf",
                ],
            },
            Target {
                name: "address_lists",
                run: address_lists,
                seeds: &[
                    b"10.0.0.0/8, 2001:db8::/32,192.168.1.7",
                    b"example.com, *.example.org\nhttp://www.example.com/a",
                    b"example.com.\nhttp://example.com/",
                    b"[::1]\nhttp://[::1]:8080/",
                ],
            },
            Target {
                name: "ids",
                run: ids,
                seeds: &[
                    b"00000000000",
                    b"6qy4OXfXSid",
                    b"00112233445566778899aabbccddeeff",
                    b"uploads/00112233445566778899aabbccddeeff",
                ],
            },
            Target {
                name: "words",
                run: words,
                seeds: &[
                    b"A title\r\n  of \t two lines",
                    b"\xe2\x80\xae\xef\xbb\xbf\0\xe2\x80\xa8a",
                    b"Ann\nAgency\n\nhttps://creativecommons.org/licenses/by/4.0/deed.en\nA cat",
                    b"\n\n(c) Ann\nhttp://rightsstatements.org/page/InC/1.0/?language=en",
                ],
            },
        ]);
    }
}
