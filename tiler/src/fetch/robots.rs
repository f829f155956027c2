//! Parses the rules of a robots.txt for one robot (RFC 9309; its sections are in parentheses below). Pure. Matching a
//! rule takes one pass over the path, so a file of hostile rules costs little. docs/decisions compares the crates for
//! this.

use std::time::Duration;

/// Number of bytes of a file that are parsed (2.5). The rest is ignored.
pub(super) const MOST_BYTES: usize = 500 << 10;
/// Longest pause between two visits. The file itself is not used for longer (2.4).
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Memory of a rule besides its pattern, in bytes.
const RULE_BYTES: usize = 64;

/// Rules for one robot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    delay: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Pattern in [normal form](normal_form). `*` and a `$` at the end are special.
    pattern: String,
    allows: bool,
}

/// Group that the current line belongs to.
#[derive(Default)]
struct Group {
    is_ours: bool,
    is_anyones: bool,
    /// True after the first rule: the next name begins a new group.
    has_rules: bool,
}

impl Rules {
    /// Parses the groups that name `product`, or those for all robots if none does. Skips lines that it does not
    /// understand.
    pub(super) fn parse(file: &[u8], product: &str) -> Self {
        let (mut ours, mut anyones) = (Self::default(), Self::default());
        let (mut group, mut is_named) = (Group::default(), false);
        for line in lines(file) {
            let Some((key, value)) = field(line) else { continue };
            let allows = key.eq_ignore_ascii_case(b"allow");
            if key.eq_ignore_ascii_case(b"user-agent") {
                if group.has_rules {
                    group = Group::default();
                }
                group.is_ours |= is_product(value, product);
                group.is_anyones |= matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..]);
                is_named |= group.is_ours;
            } else if allows || key.eq_ignore_ascii_case(b"disallow") {
                group.has_rules = true;
                let pattern = normal_form(value, true);
                if pattern.is_empty() {
                    continue; // "Disallow:" disallows nothing
                }
                let rule = Rule { pattern, allows };
                if group.is_ours {
                    ours.rules.push(rule);
                } else if group.is_anyones {
                    anyones.rules.push(rule);
                }
            } else if key.eq_ignore_ascii_case(b"crawl-delay") {
                // Not part of the RFC, so it does not end the list of names of a group (2.2.4).
                if group.is_ours {
                    ours.delay = ours.delay.max(seconds(value));
                } else if group.is_anyones {
                    anyones.delay = anyones.delay.max(seconds(value));
                }
            }
        }
        if is_named { ours } else { anyones }
    }

    /// Returns true if a path with its query may be visited. The rule with the longest pattern decides; if two are
    /// equally long, the one that allows (2.2.2).
    pub(super) fn allow(&self, path: &str) -> bool {
        if path == "/robots.txt" {
            return true;
        }
        let path = normal_form(path.as_bytes(), false);
        let mut decided = (0, true);
        for Rule { pattern, allows } in &self.rules {
            let strength = (pattern.len(), *allows);
            if strength > decided && matches(pattern, &path) {
                decided = strength;
            }
        }
        decided.1
    }

    /// Returns the pause between two visits that the file asks for.
    pub(super) fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Returns the approximate memory of these rules in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rules.iter().map(|rule| rule.pattern.len() + RULE_BYTES).sum()
    }
}

/// Iterates over the lines of a file. Leaves out a line that the size limit cuts.
fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let whole = match file.get(..MOST_BYTES) {
        Some(head) => head.iter().rposition(is_end).and_then(|end| head.get(..end)).unwrap_or_default(),
        None => file,
    };
    whole.strip_prefix(b"\xef\xbb\xbf").unwrap_or(whole).split(is_end)
}

/// Returns the key and the value of a line, without its comment.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.split(|byte| *byte == b'#').next()?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line.get(..colon)?.trim_ascii(), line.get(colon + 1..)?.trim_ascii()))
}

/// Returns true if a line names this product: letters, `_` and `-` in any case (2.2.1). Ignores what follows, such as a
/// version.
fn is_product(value: &[u8], product: &str) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    let length = value.iter().position(|byte| !is_of_token(byte)).unwrap_or(value.len());
    value.get(..length).is_some_and(|token| token.eq_ignore_ascii_case(product.as_bytes()))
}

/// Parses a pause in seconds, which may have a fraction.
fn seconds(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(LONGEST_DELAY))
}

/// Returns the form in which paths and patterns are compared (2.2.2): other characters than ASCII are percent-encoded,
/// and unreserved characters are not. In a path, `*` and `$` are encoded, to distinguish them from those of a pattern
/// (2.2.3).
fn normal_form(text: &[u8], is_pattern: bool) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default() as u8;
                let byte = digit(high) * 16 + digit(low);
                let is_unreserved = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
                if is_unreserved {
                    normal.push(char::from(byte))
                } else {
                    encode(byte, &mut normal)
                }
                rest = after;
            }
            (b'$', []) if is_pattern => normal.push('$'),
            (b'*', _) if is_pattern => normal.push('*'),
            (byte @ (b'$' | b'*' | b'%'), _) => encode(*byte, &mut normal),
            (byte, _) if byte.is_ascii_graphic() => normal.push(char::from(*byte)),
            (byte, _) => encode(*byte, &mut normal),
        }
    }
    normal
}

fn encode(byte: u8, to: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    to.push('%');
    to.extend([byte / 16, byte % 16].into_iter().filter_map(|digit| DIGITS.get(usize::from(digit))));
}

/// Returns true if a pattern matches the beginning of a path, or the whole path if it ends with `$`. Each part between
/// two `*` is searched after the previous one, so the time is proportional to the path's length.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let (first, others) =
        pattern.split_once('*').map_or((pattern, None), |(first, rest)| (first, Some(rest)));
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(others) = others else { return !to_end || rest.is_empty() };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in middle.split('*') {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    if to_end { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn rules(file: &str) -> Rules {
        Rules::parse(file.as_bytes(), "Edgezoom")
    }

    fn allows(file: &str, path: &str) -> bool {
        rules(file).allow(path)
    }

    /// The example of RFC 9309, 5.1.
    #[test]
    fn the_group_example_of_the_rfc() {
        let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
                    User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
                    User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n";
        let robot = |name, path| Rules::parse(file.as_bytes(), name).allow(path);
        for (name, path, allowed) in [
            ("edgezoom", "/a.gif", false),
            ("edgezoom", "/a.gif?b", true),
            ("edgezoom", "/example/page.html", false),
            ("edgezoom", "/publications/", true),
            ("foobot", "/a", false),
            ("foobot", "/example/page.html", true),
            ("FooBot", "/example/allowed.gif", true),
            ("barbot", "/example/page.html", false),
            ("bazbot", "/example/page.html", false),
            ("bazbot", "/example/other.html", true),
            ("quxbot", "/example/page.html", true),
        ] {
            assert_eq!(robot(name, path), allowed, "{name} {path}");
        }
    }

    /// The example of RFC 9309, 5.2.
    #[test]
    fn the_longest_match_wins() {
        let file = "User-Agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
        assert!(!allows(file, "/example/page/disallowed.gif"));
        assert!(allows(file, "/example/page/"));
        assert!(allows("User-agent: *\nDisallow: /a\nAllow: /a", "/a"), "of two, the one that allows");
        assert!(allows("User-agent: *\nDisallow: /", "/robots.txt"), "implicitly allowed");
    }

    #[test]
    fn groups_for_this_product_are_combined_and_replace_those_for_all() {
        let file = "User-agent: EDGEZOOM/1.0\nDisallow: /a\nUser-agent: other\nDisallow: /b\n\
                    user-agent : edgezoom # ours\nDisallow: /c\nUser-agent: *\nDisallow: /d\n";
        assert_eq!(["/a", "/b", "/c", "/d"].map(|path| allows(file, path)), [false, true, false, true]);
        assert!(allows("User-agent: *\nDisallow: /\nUser-agent: edgezoom\nDisallow:", "/"));
        assert!(
            !allows("User-agent: edgezoomer\nDisallow:\nUser-agent: *\nDisallow: /", "/"),
            "another product"
        );
        assert!(allows("Disallow: /\nUser-agent: *\nDisallow: /x", "/"), "a rule of no group");
    }

    #[test]
    fn unknown_lines_are_skipped() {
        let file = "\u{feff}User-agent: *\r\nSitemap: https://a.example/s.xml\rfoo\n: \n#\nDISALLOW:/a#b\nNoindex: /c";
        assert_eq!(["/a", "/c"].map(|path| allows(file, path)), [false, true]);
        assert!(allows("<!doctype html><title>404</title>\nDisallow: /", "/"));
        assert!(!Rules::parse(b"User-agent: *\nDisallow: /\xff\n", "a").allow("/%FF"));
    }

    #[test]
    fn paths_and_patterns_are_compared_in_normal_form() {
        for (pattern, path, matched) in [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
            ("/foo/bar/ツ", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
            ("/a%2Fb", "/a/b", false),
            ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true),
            ("/path/foo-%24", "/path/foo-$", true),
            ("/a$b", "/a$b", true),
            ("/a%", "/a%25", true),
        ] {
            assert_eq!(
                !allows(&format!("User-agent: *\nDisallow: {pattern}"), path),
                matched,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn stars_and_a_final_dollar_are_special() {
        for (pattern, path, matched) in [
            ("/", "/anything", true),
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*", "/fishheads", true),
            ("/*.php", "/folder/a.php?b", true),
            ("/*.php$", "/a.php", true),
            ("/*.php$", "/a.php?b", false),
            ("/*.php$", "/a.php.php", true),
            ("/a*b*c$", "/a1b2c", true),
            ("/a*b*c$", "/a1c2b", false),
            ("/a*ab$", "/ab", false),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("*", "/", true),
            ("*a", "/b", false),
            ("a", "/a", false),
            ("$", "/", false),
        ] {
            assert_eq!(
                !allows(&format!("User-agent: *\nDisallow: {pattern}"), path),
                matched,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn a_crawl_delay_is_in_seconds() {
        let delay =
            |value: &str| rules(&format!("User-agent: *\nCrawl-delay: {value}\nDisallow: /a")).delay();
        assert_eq!(delay("10"), Some(Duration::from_secs(10)));
        assert_eq!(delay("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(delay("1e19"), Some(LONGEST_DELAY)); // once overflowed when added to the current time
        for none in ["", "soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(delay(none), None, "{none}");
        }
        let file = "User-agent: a\nCrawl-delay: 3\nUser-agent: edgezoom\nDisallow: /b";
        assert_eq!((rules(file).delay(), rules(file).allow("/b")), (None, false));
    }

    #[test]
    fn a_file_that_is_too_long_is_cut_at_a_line() {
        let mut file = "User-agent: *\nDisallow: /a\n".to_owned();
        while file.len() < MOST_BYTES - 20 {
            writeln!(file, "# {}", "x".repeat(13)).unwrap();
        }
        file += "Disallow: /private-but-cut-off\nDisallow: /b\n";
        assert_eq!(["/a", "/pri", "/b"].map(|path| allows(&file, path)), [false, true, true]);
    }

    #[test]
    fn hostile_rules_are_matched_in_one_pass_each() {
        let path = format!("/{}", "a".repeat(2047));
        let mut file = "User-agent: *\n".to_owned();
        while file.len() < MOST_BYTES {
            writeln!(file, "Allow:/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab").unwrap();
        }
        assert!(allows(&file, &path)); // a backtracking matcher would not end
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(file in proptest::collection::vec(any::<u8>(), 0..500), path in "/[ -~]{0,50}") {
            let _ = Rules::parse(&file, "Edgezoom").allow(&path);
        }

        /// Compares with a naive backtracking matcher.
        #[test]
        fn patterns_match_as_a_naive_matcher_does(pattern in "/[ab*]{0,8}[$]?", path in "/[ab]{0,8}") {
            fn naive(pattern: &[u8], path: &[u8]) -> bool {
                match pattern {
                    [] => true,
                    [b'$'] => path.is_empty(),
                    [b'*', rest @ ..] => (0..=path.len()).any(|skip| naive(rest, &path[skip..])),
                    [first, rest @ ..] => path.first() == Some(first) && naive(rest, &path[1..]),
                }
            }
            prop_assert_eq!(matches(&pattern, &path), naive(pattern.as_bytes(), path.as_bytes()));
        }
    }
}
