//! Runs the commands of `tiler admin`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::calls::{Calls, Pace};
use super::print::{self, Printer, entries, number, text};
use super::{Command, Filter};
use crate::commands::targets::targets;

/// Number of times that a command checks whether a content's objects are deleted. The Worker continues without it.
const PATIENCE: usize = 20;
/// Time between two checks.
const LOOK: Duration = Duration::from_millis(500);
/// Maximum number of rows per call.
const PAGE: usize = 500;

pub(super) async fn run(
    command: &Command,
    calls: &Calls,
    printer: &Printer,
    pace: &Pace,
) -> anyhow::Result<ExitCode> {
    match command {
        Command::Show { target } => {
            printer.print(&calls.call("show", json!({ "target": target })).await?, print::shown);
        }
        Command::List { filter, ready, taken_down, deleted, limit } => {
            let state = match (filter.failed, *ready, *taken_down, *deleted) {
                (true, ..) => Some("failed"),
                (_, true, ..) => Some("ready"),
                (_, _, true, _) => Some("taken-down"),
                (.., true) => Some("deleted"),
                _ => None,
            };
            let show = |contents: &[Value]| printer.print_all(contents, print::content);
            each_page("list", "contents", query(filter, state), *limit, calls, show).await?;
        }
        Command::Retry { targets: given, filter } => {
            let mut all = targets(given)?;
            if filter.failed {
                all.extend(failed(filter, calls).await?);
            }
            return each(&all, calls, printer, pace, "retry", Value::Null).await;
        }
        Command::Takedown { targets: given, reason } => {
            return each(&targets(given)?, calls, printer, pace, "takedown", json!(reason)).await;
        }
        Command::Lift { targets: given, reason } => {
            return each(&targets(given)?, calls, printer, pace, "lift", json!(reason)).await;
        }
        Command::BlockHost { host, reason } => {
            let answer = calls.call("block-host", json!({ "host": host, "reason": reason })).await?;
            printer.print(&answer, |answer| vec![host_line(answer, "blocked")]);
        }
        Command::UnblockHost { host, reason } => {
            let answer = calls.call("unblock-host", json!({ "host": host, "reason": reason })).await?;
            printer.print(&answer, |answer| vec![host_line(answer, "not blocked")]);
        }
        Command::Hosts => {
            let answer = calls.call("hosts", json!({})).await?;
            printer.print_all(entries(&answer, "hosts"), |host| {
                format!("{}  {}: {}", text(host, "host"), text(host, "by"), text(host, "reason"))
            });
        }
        Command::Purge { older_than, unused_for, failed, files, yes } => {
            let by = if older_than.is_some() { "at" } else { "used" };
            let before = older_than.or(*unused_for).map(super::ages::Age::ago_by_day);
            let states = if *failed { json!(["failed"]) } else { json!(["ready", "failed"]) };
            let query = json!({ "before": before, "by": by, "states": states, "files": files });
            return purge(query, *yes, calls, printer, pace).await;
        }
        Command::Stats => printer.print(&calls.call("stats", json!({})).await?, print::stats),
        Command::Audit { since, target, limit } => {
            let query = json!({ "target": target, "since": since.map_or(0, super::ages::Age::ago) });
            let show = |actions: &[Value]| printer.print_all(actions, print::action);
            each_page("audit", "actions", query, *limit, calls, show).await?;
        }
        Command::Reindex => return reindex(calls, printer, pace).await,
    }
    Ok(ExitCode::SUCCESS)
}

fn host_line(answer: &Value, state: &str) -> String {
    let already = if answer["changed"] == false { " already" } else { "" };
    format!("{} is {state}{already}", text(answer, "host"))
}

/// Returns the body of a call that lists contents.
fn query(filter: &Filter, state: Option<&str>) -> Value {
    let since = filter.since.map(super::ages::Age::ago);
    json!({ "state": state, "since": since, "code": filter.code, "host": filter.host, "collection": filter.collection })
}

/// Makes a call that lists up to `limit` entries in the response's field `list`, as often as it takes. Gives `show` the
/// entries of each response.
async fn each_page(
    name: &str,
    list: &str,
    mut query: Value,
    limit: usize,
    calls: &Calls,
    mut show: impl FnMut(&[Value]),
) -> anyhow::Result<()> {
    let mut left = limit;
    while left > 0 {
        query["limit"] = json!(left.min(PAGE));
        let page = calls.call(name, without_nulls(query.clone())).await?;
        let found = entries(&page, list);
        show(found);
        left -= found.len().min(left);
        query["before"] = page["next"].clone();
        if query["before"].is_null() {
            break;
        }
    }
    Ok(())
}

fn without_nulls(mut query: Value) -> Value {
    if let Some(fields) = query.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    query
}

/// Returns the ids of failed contents.
async fn failed(filter: &Filter, calls: &Calls) -> anyhow::Result<Vec<String>> {
    let mut ids = vec![];
    let add = |contents: &[Value]| ids.extend(contents.iter().map(|content| text(content, "id").to_owned()));
    each_page("list", "contents", query(filter, Some("failed")), usize::MAX, calls, add).await?;
    Ok(ids)
}

/// Makes a call for each content. Continues if one is refused.
async fn each(
    all: &[String],
    calls: &Calls,
    printer: &Printer,
    pace: &Pace,
    name: &str,
    reason: Value,
) -> anyhow::Result<ExitCode> {
    let bar = pace.bar(all.len() as u64)?;
    let mut ticks = pace.ticks(1);
    let mut is_whole = true;
    for target in all {
        ticks.tick().await;
        let body = without_nulls(json!({ "target": target, "reason": reason }));
        match settled(name, body, calls).await {
            Ok(answer) => bar.suspend(|| printer.print(&answer, |answer| vec![result_line(answer)])),
            Err(error) => {
                is_whole = false;
                bar.suspend(|| eprintln!("tiler: {target}: {error:#}"));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes a call, and repeats it until its effects are complete or the command has waited long enough. The other contents
/// of the same source are those of all calls.
async fn settled(name: &str, body: Value, calls: &Calls) -> anyhow::Result<Value> {
    let mut variants = BTreeSet::new();
    let (mut answer, mut left) = (calls.call(name, body.clone()).await?, PATIENCE);
    loop {
        let before = variants.len();
        variants.extend(entries(&answer, "variants").iter().filter_map(Value::as_str).map(str::to_owned));
        // A batch with others than before is no reason to stop.
        left = if variants.len() > before { PATIENCE } else { left - 1 };
        if answer["recorded"] != false && answer["deleted"] != false || left == 0 {
            break;
        }
        tokio::time::sleep(LOOK).await;
        answer = calls.call(name, body.clone()).await?;
    }
    if !variants.is_empty() {
        answer["variants"] = json!(variants);
    }
    Ok(answer)
}

fn result_line(answer: &Value) -> String {
    let mut line = format!("{}  {}{}", text(answer, "id"), text(answer, "state"), text(answer, "result"));
    let variants = entries(answer, "variants").len();
    if variants > 0 {
        line += &format!(", with {variants} others of the same source");
    }
    if answer["recorded"] == false {
        line += ", not recorded everywhere yet";
    }
    if answer["deleted"] == false {
        line += ", its objects are still being deleted";
    }
    line
}

/// Deletes old contents in batches.
async fn purge(
    query: Value,
    yes: bool,
    calls: &Calls,
    printer: &Printer,
    pace: &Pace,
) -> anyhow::Result<ExitCode> {
    let with = |name: &str, value: Value| {
        let mut query = query.clone();
        query[name] = value;
        query
    };
    let counted = calls.call("purge", with("dry", json!(true))).await?;
    let (contents, bytes) = (number(&counted, "left"), number(&counted, "bytes"));
    if !yes {
        printer.print(&counted, |_| {
            vec![format!(
                "{contents} contents with {bytes} bytes would be deleted. Add --yes to delete them."
            )]
        });
        return Ok(ExitCode::SUCCESS);
    }
    let bar = pace.bar(contents)?;
    let mut ticks = pace.ticks(pace.batch());
    let (mut removed, mut idle) = (0, 0);
    loop {
        ticks.tick().await;
        let answer = calls.call("purge", with("limit", json!(pace.batch()))).await?;
        removed += number(&answer, "removed");
        bar.set_position(removed);
        // Some contents may have been started again, or may not be in the index yet.
        idle = if number(&answer, "removed") == 0 { idle + 1 } else { 0 };
        if number(&answer, "left") == 0 || idle > 3 {
            break;
        }
    }
    bar.finish_and_clear();
    printer.print(&json!({ "removed": removed }), |_| vec![format!("{removed} contents deleted")]);
    Ok(ExitCode::SUCCESS)
}

/// Adds the contents in KV to the index.
async fn reindex(calls: &Calls, printer: &Printer, pace: &Pace) -> anyhow::Result<ExitCode> {
    let bar = pace.count()?;
    let mut ticks = pace.ticks(100);
    let (mut added, mut cursor) = (0, Value::Null);
    loop {
        ticks.tick().await;
        let answer = calls.call("reindex", json!({ "cursor": cursor })).await?;
        added += number(&answer, "added");
        bar.inc(number(&answer, "seen"));
        cursor = answer["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    bar.finish_and_clear();
    printer.print(&json!({ "added": added }), |_| vec![format!("{added} contents added")]);
    Ok(ExitCode::SUCCESS)
}
