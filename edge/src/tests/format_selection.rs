//! `Accept`, `format` and `callback` select the form of a response.

use super::*;

fn is_json(form: (String, String)) -> bool {
    form.0 == "application/json; charset=utf-8" && form.1.starts_with("{\"id\":")
}

fn is_xml(form: (String, String)) -> bool {
    form.0 == "application/xml; charset=utf-8" && form.1.starts_with("<?xml version=\"1.0\"")
}

#[test]
fn accept_application_json_gives_standard_json() {
    for target in [BY_URL, BY_ID] {
        assert!(is_json(form(target, Some("application/json"))));
    }
}

#[test]
fn accept_application_xml_gives_standard_xml() {
    for target in [BY_URL, BY_ID] {
        assert!(is_xml(form(target, Some("application/xml"))));
    }
}

#[test]
fn no_accept_gives_standard_json() {
    for target in [BY_URL, BY_ID] {
        assert!(is_json(form(target, None)));
    }
}

#[test]
fn accept_is_weighed_and_never_406() {
    for accept in ["text/html", "image/png", "", "*/*", "application/xml;q=0", ";;,", "text/xml;q=0.1, */*"] {
        assert!(is_json(form(BY_ID, Some(accept))), "{accept}");
    }
    for accept in ["text/xml", "application/json;q=0.5, application/xml;q=0.6"] {
        assert!(is_xml(form(BY_ID, Some(accept))), "{accept}");
    }
}

#[test]
fn format_wraps_and_overrides_accept() {
    for target in [BY_URL, BY_ID] {
        let (media_type, body) = form(&with(target, "format=json"), Some("application/xml"));
        assert_eq!(media_type, "application/json; charset=utf-8");
        assert!(body.starts_with("{\"status\":"), "{body}");
        let (media_type, body) = form(&with(target, "format=xml"), Some("application/json"));
        assert_eq!(media_type, "application/xml; charset=utf-8");
        assert!(body.starts_with("<?xml version"), "{body}");
    }
}

#[test]
fn callback_gives_a_script_with_or_without_format_json() {
    for target in [BY_URL, BY_ID] {
        for parameters in ["callback=a.b", "format=json&callback=a.b", "callback=a.b&_=123"] {
            let (media_type, body) = form(&with(target, parameters), Some("application/xml"));
            assert_eq!(media_type, "text/javascript; charset=utf-8");
            assert!(body.starts_with("/**/ typeof a.b === "), "{body}");
        }
    }
}
