//! Cookies of one download (RFC 6265), and the credentials for its origin. Sites set a cookie with a redirect and send it
//! round in circles without it.
//!
//! They live as long as the download. Each goes back only to the host that has set it: `Domain` is ignored, so no other
//! host sees a cookie, and no list of public suffixes is needed.

use std::time::SystemTime;

use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use url::Url;

use crate::credentials::Credentials;

/// The cookies of one download.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    set: Vec<Cookie>,
    credentials: Option<Credentials>,
}

#[derive(Debug)]
struct Cookie {
    needs_tls: bool,
    host: String,
    path: String,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Maximum number of cookies, as in RFC 6265, 6.1.
const MOST: usize = 50;
/// Maximum length of a cookie's name and value together, in bytes.
const MOST_BYTES: usize = 4096;

impl Cookies {
    /// Returns no cookies yet, with the credentials for the source's origin.
    pub(super) fn with(credentials: Option<Credentials>) -> Self {
        Self { set: Vec::new(), credentials }
    }

    /// Returns true if a request for `url` may have the credentials.
    pub(super) fn cover(&self, url: &Url) -> bool {
        self.credentials.as_ref().is_some_and(|credentials| credentials.cover(url.as_str()))
    }

    /// Returns the headers of a request for `url`: its cookies, and the credentials if it `may_have` them.
    pub(super) fn headers(&self, url: &Url, may_have: bool) -> HeaderMap {
        let set = self.header(url);
        let mut headers = HeaderMap::new();
        let text = set.as_ref().and_then(|cookie| cookie.to_str().ok());
        let credentials = self.credentials.as_ref().filter(|_| may_have);
        for (name, value) in credentials.map(|credentials| credentials.headers(text)).unwrap_or_default() {
            // They were checked before.
            if let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) {
                value.set_sensitive(true);
                headers.append(name, value);
            }
        }
        if let (Some(set), false) = (set, headers.contains_key(COOKIE)) {
            headers.insert(COOKIE, set);
        }
        headers
    }

    /// Records the cookies that a response to a request for `url` sets or deletes.
    pub(super) fn record(&mut self, url: &Url, headers: &HeaderMap, now: SystemTime) {
        let Some(host) = url.host_str() else { return };
        for header in headers.get_all(SET_COOKIE) {
            let Some((cookie, is_kept)) = Cookie::parse(url, host, header.as_bytes(), now) else { continue };
            self.set.retain(|other| {
                (&other.host, &other.path, &other.name) != (&cookie.host, &cookie.path, &cookie.name)
            });
            if is_kept && self.set.len() < MOST {
                self.set.push(cookie);
            }
        }
    }

    /// Returns the value of `Cookie` for a request for `url`, of the cookies that servers have set.
    fn header(&self, url: &Url) -> Option<HeaderValue> {
        let mut fitting: Vec<&Cookie> = self.set.iter().filter(|cookie| cookie.fits(url)).collect();
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len())); // RFC 6265, 5.4
        let pairs: Vec<Vec<u8>> =
            fitting.iter().map(|cookie| [&cookie.name, &b"="[..], &cookie.value].concat()).collect();
        (!pairs.is_empty()).then(|| HeaderValue::from_bytes(&pairs.join(&b"; "[..])).ok())?
    }
}

impl Cookie {
    /// Parses a `Set-Cookie` (5.2). Returns false with a cookie that has expired, which deletes it.
    fn parse(url: &Url, host: &str, header: &[u8], now: SystemTime) -> Option<(Self, bool)> {
        let mut parts = header.split(|byte| *byte == b';');
        let (name, value) = split_pair(parts.next()?)?;
        if name.is_empty() || name.len() + value.len() > MOST_BYTES {
            return None;
        }
        let (mut path, mut is_secure, mut max_age, mut expires) = (None, false, None, None);
        for attribute in parts {
            let (name, value) = split_pair(attribute).unwrap_or((attribute.trim_ascii(), b""));
            let value = std::str::from_utf8(value).unwrap_or_default();
            match name.to_ascii_lowercase().as_slice() {
                b"path" => path = Some(value).filter(|path| path.starts_with('/')),
                b"secure" => is_secure = true,
                b"max-age" => max_age = value.parse::<i64>().ok(),
                b"expires" => expires = httpdate::parse_http_date(value).ok(),
                _ => {}
            }
        }
        let is_kept = max_age.map_or(expires.is_none_or(|expires| expires > now), |seconds| seconds > 0);
        let path = path.map_or_else(|| default_path(url), str::to_owned);
        let (name, value) = (name.to_owned(), value.to_owned());
        Some((Self { needs_tls: is_secure, host: host.to_owned(), path, name, value }, is_kept))
    }

    /// Returns true if the cookie is sent with a request for `url`.
    fn fits(&self, url: &Url) -> bool {
        let below = url.path().strip_prefix(self.path.as_str());
        let is_below = below.is_some_and(|rest| {
            rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/') // 5.1.4
        });
        url.host_str() == Some(self.host.as_str()) && is_below && (!self.needs_tls || url.scheme() == "https")
    }
}

/// Splits `name=value`, without the white space around both.
fn split_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = pair.iter().position(|byte| *byte == b'=')?;
    Some((pair[..at].trim_ascii(), pair[at + 1..].trim_ascii()))
}

/// Returns the path of a cookie that names none: the folder of the URL (5.1.4).
fn default_path(url: &Url) -> String {
    match url.path().rfind('/') {
        Some(at) if at > 0 => url.path()[..at].to_owned(),
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    /// Returns the cookies that are sent to `to` after `from` has set these.
    fn sent(from: &str, set: &[&str], to: &str) -> Option<String> {
        let mut cookies = Cookies::default();
        let mut headers = HeaderMap::new();
        for set in set {
            headers.append(SET_COOKIE, HeaderValue::from_bytes(set.as_bytes()).unwrap());
        }
        cookies.record(&Url::parse(from).unwrap(), &headers, SystemTime::UNIX_EPOCH + NOW);
        let header = cookies.header(&Url::parse(to).unwrap())?;
        Some(String::from_utf8(header.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn a_cookie_goes_back_to_its_own_host_alone() {
        let set = ["a=1; Path=/; HttpOnly; SameSite=Lax", "b = \"2\" ;path=/;Domain=example"];
        let from = "https://a.example/x";
        assert_eq!(sent(from, &set, "https://a.example/y").unwrap(), "a=1; b=\"2\"");
        assert_eq!(sent(from, &set, "http://a.example:8080/").unwrap(), "a=1; b=\"2\"");
        for other in
            ["https://b.example/", "https://example/", "https://x.a.example/", "https://a.example.b/"]
        {
            assert_eq!(sent(from, &set, other), None, "{other}");
        }
    }

    #[test]
    fn a_cookie_keeps_to_its_path_and_to_tls() {
        let at = |set: &str, to: &str| sent("https://a.example/b/c?d/e", &[set], to).is_some();
        assert!(at("a=1", "https://a.example/b/x") && at("a=1", "https://a.example/b"));
        assert!(!at("a=1", "https://a.example/") && !at("a=1", "https://a.example/bc"));
        assert!(at("a=1; Path=/z/", "https://a.example/z/y") && !at("a=1; Path=/z/", "https://a.example/z"));
        assert!(
            at("a=1; Secure; Path=/", "https://a.example/")
                && !at("a=1; Secure; Path=/", "http://a.example/")
        );
        let both = sent("https://a.example/b/c", &["a=1; Path=/", "a=2"], "https://a.example/b/");
        assert_eq!(both.unwrap(), "a=2; a=1", "the longer path comes first");
    }

    #[test]
    fn an_expired_cookie_deletes_the_one_before() {
        let url = "https://a.example/";
        for delete in ["a=; Max-Age=0", "a=1; expires=Sun, 06 Nov 1994 08:49:37 GMT", "a=x; Max-Age=-1"] {
            assert_eq!(sent(url, &["a=1", delete], url), None, "{delete}");
        }
        let later = "a=2; Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(sent(url, &["a=1", later], url).unwrap(), "a=2", "Max-Age counts");
    }

    #[test]
    fn cookies_are_bounded_and_malformed_ones_are_ignored() {
        let url = "https://a.example/";
        let many: Vec<String> = (0..200).map(|number| format!("c{number}=1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(sent(url, &many, url).unwrap().split("; ").count(), MOST);
        let long = format!("a={}", "x".repeat(MOST_BYTES));
        for malformed in ["", "a", "=1", ";", "; Path=/", &long] {
            assert_eq!(sent(url, &[malformed], url), None, "{malformed}");
        }
    }
}
