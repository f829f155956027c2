//! The URIs of licences and rights statements that programs know.
//!
//! Source: IIIF Presentation API 3.0, 3.3 (`rights`); creativecommons.org/ns; rightsstatements.org, "Requirements for the
//! Technical Infrastructure for Standardized International Rights Statements", 4.

/// Maximum length of a name. That of a licence has about ten bytes, with a country twenty.
const MAX_NAME: usize = 100;

/// Returns the URI of a licence of Creative Commons, of a statement of RightsStatements.org or of an entry in IIIF's
/// registry, as its owner writes it: with `http:`, without a language or the name of a form. `None` for other texts.
#[must_use]
pub fn rights_uri(text: &str) -> Option<String> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/.-_+".contains(&byte));
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        || !is_plain
        || ["..", "//"].iter().any(|odd| path.contains(odd))
    {
        return None;
    }
    let host = host.to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let (kind, name) = path.split_once('/')?;
    let kind = match (host, kind) {
        ("creativecommons.org", "licenses" | "publicdomain") | ("rightsstatements.org", "vocab") => kind,
        ("rightsstatements.org", "page") => "vocab",
        ("iiif.io", "api") if name.starts_with("registry/") => kind,
        _ => return None,
    };
    let form = ["/deed", "/legalcode"].iter().filter_map(|form| name.find(form)).min();
    let name = name[..form.unwrap_or(name.len())].trim_end_matches('/');
    (1..=MAX_NAME).contains(&name.len()).then(|| format!("http://{host}/{kind}/{name}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_and_statements_have_one_form() {
        let by = "http://creativecommons.org/licenses/by-sa/4.0/";
        for (text, uri) in [
            (by, by),
            (" https://creativecommons.org/licenses/by-sa/4.0\n", by),
            ("HTTPS://www.CreativeCommons.org/licenses/by-sa/4.0/deed.de?ref=chooser#a", by),
            ("https://creativecommons.org/licenses/by-sa/4.0/legalcode", by),
            (
                "https://creativecommons.org/publicdomain/zero/1.0/",
                "http://creativecommons.org/publicdomain/zero/1.0/",
            ),
            (
                "https://rightsstatements.org/page/InC-OW-EU/1.0/?language=en",
                "http://rightsstatements.org/vocab/InC-OW-EU/1.0/",
            ),
            ("https://iiif.io/api/registry/rights/a", "http://iiif.io/api/registry/rights/a/"),
            ("http://creativecommons.org/licenses/by/deed/deed", "http://creativecommons.org/licenses/by/"),
        ] {
            assert_eq!(rights_uri(text).as_deref(), Some(uri), "{text}");
            assert_eq!(rights_uri(uri).as_deref(), Some(uri));
        }
    }

    #[test]
    fn other_texts_and_addresses_are_none() {
        for text in [
            "",
            "CC BY 4.0",
            "creativecommons.org/licenses/by/4.0/",
            "https://creativecommons.org/",
            "https://creativecommons.org/licenses/",
            "https://creativecommons.org/about/",
            "https://creativecommons.org.evil.example/licenses/by/4.0/",
            "https://a@creativecommons.org/licenses/by/4.0/",
            "https://creativecommons.org:81/licenses/by/4.0/",
            "javascript://creativecommons.org/licenses/by/4.0/",
            "https://creativecommons.org/licenses/../about/",
            "https://creativecommons.org/licenses/by/4.0///deed.en",
            "https://creativecommons.org/licenses/by/4.0/\"onclick=",
            "https://creativecommons.org/licenses/b\u{202e}y/",
            "https://iiif.io/api/image/3.0/",
            "https://example.com/licenses/by/4.0/",
        ] {
            assert_eq!(rights_uri(text), None, "{text}");
        }
        assert_eq!(
            rights_uri(&format!("https://creativecommons.org/licenses/{}", "b".repeat(1 << 20))),
            None
        );
    }
}
