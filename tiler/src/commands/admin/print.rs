//! Prints the Worker's responses.

use edgezoom_content::Timestamp;
use serde_json::Value;

/// Prints responses.
pub(super) struct Printer {
    /// Prints them unchanged, for programs.
    pub(super) json: bool,
}

impl Printer {
    /// Prints a response, formatted by `lines` unless it is printed unchanged.
    pub(super) fn print(&self, answer: &Value, lines: impl Fn(&Value) -> Vec<String>) {
        if self.json {
            println!("{answer}");
        } else {
            for line in lines(answer) {
                println!("{line}");
            }
        }
    }

    /// Prints each entry of a list.
    pub(super) fn print_all<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Value>,
        line: impl Fn(&Value) -> String,
    ) {
        for entry in entries {
            self.print(entry, |entry| vec![line(entry)]);
        }
    }
}

/// Returns a string field of an object; empty if missing.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// Returns a number field of an object; 0 if missing.
pub(super) fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap_or_default()
}

/// Returns a field of an object that is a time.
fn time(object: &Value, field: &str) -> Timestamp {
    Timestamp(number(object, field))
}

/// Returns an array field of an object.
pub(super) fn entries<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Formats a content of a list.
pub(super) fn content(content: &Value) -> String {
    let state = [text(content, "state"), text(content, "code")].join(" ");
    format!("{}  {}  {:<26}{}", text(content, "id"), time(content, "at"), state.trim(), text(content, "url"))
}

/// Formats an action of the log.
pub(super) fn action(action: &Value) -> String {
    let contents = match number(action, "contents") {
        0 => String::new(),
        contents => format!(" {contents} contents"),
    };
    let [by, what, target] = ["by", "what", "target"].map(|field| text(action, field));
    let result = Some(text(action, "result")).filter(|result| !result.is_empty()).unwrap_or("begun");
    let reason = Some(text(action, "reason")).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}  {by:<12}{what:<14}{target}{reason} ({result}{contents})", time(action, "at"))
}

/// Formats the details of one content.
pub(super) fn shown(shown: &Value) -> Vec<String> {
    let (conversion, index) = (&shown["conversion"], &shown["index"]);
    let state = conversion["state"].as_object().and_then(|state| state.keys().next().cloned());
    let mut lines = vec![
        format!("id        {}", text(shown, "id")),
        format!("url       {}", text(conversion, "url")),
        format!("state     {}", state.unwrap_or_default()),
        format!("attempts  {}", number(conversion, "next_attempt").saturating_sub(1)),
        format!("progress  {}", conversion["shown"]),
    ];
    if let Some(failure) = conversion["state"]["failed"]["failure"].as_object() {
        let field = |name: &str| failure.get(name).and_then(Value::as_str).unwrap_or_default();
        lines.push(format!("failure   {}: {}", field("code"), field("message")));
    }
    if number(index, "used") > 0 {
        lines.push(format!("used      {}", time(index, "used")));
    }
    for (at, state) in text(conversion, "history").lines().filter_map(|line| line.split_once(' ')) {
        lines.push(format!("history   {}  {state}", Timestamp(at.parse().unwrap_or_default())));
    }
    for object in entries(shown, "objects") {
        lines.push(format!("object    {}  {} bytes", text(object, "key"), number(object, "bytes")));
    }
    if shown["more"] == true {
        lines.push("object    … and more".to_owned());
    }
    lines.extend(entries(shown, "actions").iter().map(|entry| format!("action    {}", action(entry))));
    lines
}

/// Formats what is known of the containers.
fn containers(fleet: &Value) -> String {
    let shown: Vec<_> = entries(fleet, "containers")
        .iter()
        .map(|one| {
            format!("{} {} for {} s", number(one, "container"), text(one, "state"), number(one, "seconds"))
        })
        .collect();
    let running = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    let minutes = |field| number(fleet, field) / 60;
    let failed = match number(fleet, "failed") {
        0 => String::new(),
        failed => format!("; the last {failed} did not report"),
    };
    format!(
        "containers: {running}; today {} of {} minutes; {} starts{failed}",
        minutes("usedSeconds"),
        minutes("allowedSeconds"),
        number(fleet, "starts")
    )
}

/// Formats the statistics.
pub(super) fn stats(stats: &Value) -> Vec<String> {
    let mut lines =
        vec![format!("{:<34}{:>12}{:>18}{:>14}{:>18}", "", "contents", "pixels", "tiles", "bytes")];
    for group in entries(stats, "contents") {
        let [contents, pixels, tiles, bytes] =
            ["contents", "pixels", "tiles", "bytes"].map(|field| number(group, field));
        lines.push(format!("{:<34}{contents:>12}{pixels:>18}{tiles:>14}{bytes:>18}", text(group, "state")));
    }
    let waiting = &stats["queue"]["backlog"]["messages"];
    lines.push(match waiting.as_u64() {
        Some(messages) => format!("queue: {messages} messages, {}", time(&stats["queue"], "at")),
        None => "queue: no tiler has reported".to_owned(),
    });
    if let Some(fleet) = stats.get("containers").filter(|fleet| !fleet.is_null()) {
        lines.push(containers(fleet));
    }
    lines.push(format!("blocked hosts: {}", number(stats, "blockedHosts")));
    lines
}
