//! The preludes of rules of CSS: names of at-rules, media queries, selectors.

/// Returns the name of an at-rule, in lower case; `None` for a style rule.
pub fn at_rule(prelude: &str) -> Option<String> {
    let rest = prelude.strip_prefix('@')?;
    let end = rest.find(|char: char| !(char.is_ascii_alphanumeric() || char == '-')).unwrap_or(rest.len());
    Some(rest[..end].to_ascii_lowercase())
}

/// Returns false if all of a media query's alternatives are known not to match a light, still screen.
pub fn may_match(prelude: &str) -> bool {
    let query = prelude.to_ascii_lowercase().replace(char::is_whitespace, "");
    let query = query.trim_start_matches("@media");
    query.split(',').any(|query| {
        let never = query.starts_with("print")
            || query.starts_with("onlyprint")
            || query.starts_with("speech")
            || query.contains("prefers-color-scheme:dark")
            || query.contains("prefers-reduced-motion:no-preference")
            || query.contains("prefers-contrast:more")
            || query.contains("forced-colors:active")
            || query.contains("-ms-high-contrast")
            || query.contains("inverted-colors:inverted");
        !never || query.contains("not")
    })
}

/// Returns true for a rule that matches only what a person does, or parts that no drawing has.
pub fn never_matches(selector: &str) -> bool {
    selector.split(',').all(|selector| {
        [":hover", ":focus", ":active", ":visited", ":target", "::selection", ":checked", ":disabled"]
            .iter()
            .any(|pseudo| selector.contains(pseudo))
            && !selector.contains(":not(")
    })
}

/// Returns true for a selector that simplecss does not know.
pub fn is_new_selector(selector: &str) -> bool {
    let pseudo = selector.split(':').skip(1).any(|pseudo| {
        !["first-child", "link", "lang(", "hover", "active", "focus", "visited"]
            .iter()
            .any(|old| pseudo.starts_with(old))
    });
    let ignores_case = selector.contains(" i]") || selector.contains(" s]");
    pseudo
        || ignores_case
        || selector.contains("<!--")
        || selector.contains(['~', '\\', '&']) && !selector.contains("~=")
        || ["^=", "$=", "*="].iter().any(|operator| selector.contains(operator))
}
