//! The `Content-Type` header (RFC 9110, 8.3): its media type and its charset parameter.

/// The media type without its parameters.
pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The value of the charset parameter, if it can be the name of an encoding.
pub(super) fn charset(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let charset = parameters.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let value = charset?.1.trim().trim_matches('"');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'+');
    (!value.is_empty() && value.bytes().all(is_name)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_is_a_parameter() {
        assert_eq!(charset("text/html; charset=utf-8").as_deref(), Some("utf-8"));
        assert_eq!(charset("image/jpeg; q=1; Charset=\"ISO-8859-1\"").as_deref(), Some("ISO-8859-1"));
        for none in
            ["text/html", "text/html; charset=", "text/html; charset=a b", "text/html; charset=a\r\nb"]
        {
            assert_eq!(charset(none), None, "{none}");
        }
    }
}
