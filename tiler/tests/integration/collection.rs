//! Tests `tiler collection` with a stand-in for the service, which also has the lists from elsewhere.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

const KEY: &str = "of-a-collection-in-a-test-0123456789";

/// A service with the collection `drawings`.
struct Service {
    url: String,
    state: Arc<Shared>,
}

struct Shared {
    service: Mutex<Collection>,
    /// Permits to answer calls with lines.
    gate: Semaphore,
}

#[derive(Default)]
struct Collection {
    /// Entries as lines of the journal.
    entries: Vec<Value>,
    /// Their places by URL.
    places: HashMap<String, usize>,
    seq: u64,
    /// Number of lines of each call that was accepted.
    calls: Vec<usize>,
    /// Number of calls that are answered 503.
    busy: usize,
    /// Number of calls with lines that have arrived.
    arrived: usize,
    is_deleted: bool,
    /// Query, key and settings with which it was begun.
    begun: Option<(String, String, String)>,
    /// Lists from elsewhere, by name, with a content coding.
    lists: HashMap<String, (Vec<u8>, Option<&'static str>)>,
    fetched: Vec<String>,
    /// Files by their URLs without names.
    files: HashMap<String, Vec<u8>>,
    /// Names and sizes of files that were sent, whether or not they were accepted.
    sent: Vec<(String, usize)>,
    /// Done when a file arrives, before it is looked at.
    on_file: Option<Box<dyn FnMut() + Send>>,
    /// Done when lines were answered.
    on_lines: Option<Box<dyn FnMut() + Send>>,
}

impl Collection {
    /// Takes a line. Returns true if it changes something.
    fn take(&mut self, line: &str) -> Result<bool, (&'static str, &'static str)> {
        let line: Map<String, Value> = serde_json::from_str(line).map_err(|_| ("json", "No JSON."))?;
        let known = ["url", "id", "title", "alt", "credit", "rights", "options", "retry", "remove"];
        if line.keys().any(|name| !known.contains(&name.as_str())) {
            return Err(("member", "Unknown member."));
        }
        let of_id = |id: &str| self.entries.iter().position(|entry| entry["id"] == id);
        let url = line.get("url").and_then(Value::as_str);
        let found = match url {
            Some(url) => self.places.get(url).copied(),
            None => line.get("id").and_then(Value::as_str).and_then(of_id),
        };
        let bytes = url.map(|url| url.split('?').next().unwrap_or_default());
        let number = match (found, url) {
            (Some(index), _) => index,
            (None, Some(url)) if bytes.is_some_and(|bytes| self.files.contains_key(bytes)) => {
                match self.places.get(bytes.unwrap()).copied() {
                    Some(index) => index,
                    None => self.begin(url, bytes.unwrap()),
                }
            }
            (None, Some(url)) if url.starts_with("ni:") => return Err(("file", "There is no such file.")),
            (None, Some(url)) if url.starts_with("https://") => self.begin(url, url),
            (None, _) => return Err(("url", "The URL must begin with https://.")),
        };
        let mut after = self.entries[number].clone();
        for (name, value) in line.iter().filter(|(name, _)| !["retry", "remove"].contains(&name.as_str())) {
            // The name of a file stays that under which it came first.
            if !(name == "url" && after.get("url").is_some()) {
                after[name] = value.clone();
            }
        }
        let was = after["state"].as_str().unwrap().to_owned();
        after["state"] = match was.as_str() {
            _ if line.contains_key("remove") => json!("removed"),
            "failed" if line.contains_key("retry") => json!("waiting"),
            "new" => json!("waiting"),
            was => json!(was),
        };
        let changes = after != self.entries[number];
        if changes {
            self.seq += 1;
            after["seq"] = json!(self.seq);
            self.entries[number] = after;
        }
        Ok(changes)
    }

    fn begin(&mut self, url: &str, key: &str) -> usize {
        let number = self.entries.len() + 1;
        self.entries.push(json!({"number": number, "id": format!("id{number:09}"), "state": "new"}));
        for place in [url, key] {
            self.places.insert(place.to_owned(), number - 1);
        }
        number - 1
    }

    /// Ends the conversions of all entries that wait; of those with this URL with a failure.
    fn convert(&mut self, failing: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry["state"] == "waiting") {
            self.seq += 1;
            entry["seq"] = json!(self.seq);
            entry["state"] = json!("ready");
            if entry["url"] == failing {
                entry["state"] = json!("failed");
                entry["failure"] =
                    json!({"code": "source-not-found", "message": "\u{1b}[2JNothing is there."});
            }
        }
    }

    fn urls(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry["url"].as_str().unwrap()).collect()
    }
}

impl Service {
    async fn start() -> Self {
        let gate = Semaphore::new(1_000_000);
        let state = Arc::new(Shared { service: Mutex::default(), gate });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/collections/drawings", get(collection).put(put).delete(delete))
            .route("/v1/collections/drawings/entries", get(journal).post(lines))
            .route("/v1/collections/drawings/files", axum::routing::post(file))
            .route("/lists/{name}", get(list))
            .layer(DefaultBodyLimit::disable())
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, state }
    }

    fn get(&self) -> MutexGuard<'_, Collection> {
        self.state.service.lock().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
        command.arg("collection").args(arguments).env_remove("EDGEZOOM_ALLOW_NETWORKS");
        command.env("EDGEZOOM_EDGE_URL", &self.url).env("EDGEZOOM_COLLECTION_KEY", KEY);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command with this standard input. Returns its exit code, output and messages.
    async fn run(&self, arguments: &[&str], input: &str) -> (i32, String, Vec<String>) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let output = tokio::task::spawn_blocking(move || {
            stdin.write_all(input.as_bytes()).unwrap();
            drop(stdin);
            child.wait_with_output().unwrap()
        });
        let Output { status, stdout, stderr } = output.await.unwrap();
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        (status.code().unwrap(), stdout, stderr.lines().map(str::to_owned).collect())
    }

    fn has(&self, name: &str, list: impl Into<Vec<u8>>) -> String {
        self.get().lists.insert(name.to_owned(), (list.into(), None));
        format!("{}/lists/{name}", self.url)
    }
}

fn is_owner(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|value| value == &format!("Bearer {KEY}"))
}

async fn collection(State(shared): State<Arc<Shared>>) -> String {
    let service = shared.service.lock().unwrap();
    let count = |state: &str| service.entries.iter().filter(|entry| entry["state"] == state).count();
    let states = ["waiting", "converting", "ready", "failed", "removed", "taken-down"];
    let counts = Map::from_iter(states.map(|state| (state.to_owned(), json!(count(state)))));
    let mut shown = json!({"name": "drawings", "counts": counts, "last": service.seq, "another": true});
    if service.begun.as_ref().is_some_and(|(_, _, settings)| settings.contains("notify")) {
        shown["notices"] = json!({"secret": "whsec_c2VjcmV0", "after": 0, "failures": 0, "off": false});
    }
    shown.to_string()
}

async fn put(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: String,
) -> Response {
    let key = headers["authorization"].to_str().unwrap().to_owned();
    let mut service = shared.service.lock().unwrap();
    let is_new = service.begun.is_none();
    service.begun = Some((query.unwrap_or_default(), key, body));
    if is_new {
        return (StatusCode::CREATED, r#"{"name":"drawings"}"#).into_response();
    }
    r#"{"name":"drawings","counts":{}}"#.into_response()
}

async fn delete(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> StatusCode {
    shared.service.lock().unwrap().is_deleted = is_owner(&headers);
    StatusCode::ACCEPTED
}

async fn lines(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    if !is_owner(&headers) {
        return (StatusCode::FORBIDDEN, "This is not the key of the collection.").into_response();
    }
    shared.service.lock().unwrap().arrived += 1;
    shared.gate.acquire().await.unwrap().forget();
    let mut service = shared.service.lock().unwrap();
    if service.busy > 0 {
        service.busy -= 1;
        return (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")], "Busy.").into_response();
    }
    assert!(body.len() <= 8 << 20 && body.lines().count() <= 10_000);
    service.calls.push(body.lines().count());
    let (mut changed, mut refused) = (0, vec![]);
    for (number, line) in body.lines().enumerate() {
        match service.take(line) {
            Ok(changes) => changed += u64::from(changes),
            Err((code, message)) => {
                refused.push(json!({"line": number + 1, "code": code, "message": message}));
            }
        }
    }
    if let Some(on_lines) = &mut service.on_lines {
        on_lines();
    }
    let accepted = body.lines().count() - refused.len();
    let answer = json!({"accepted": accepted, "changed": changed, "refused": refused, "last": service.seq});
    (StatusCode::ACCEPTED, answer.to_string()).into_response()
}

async fn file(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: axum::body::Bytes,
) -> Response {
    let query = query.unwrap_or_default();
    let query: HashMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let mut service = shared.service.lock().unwrap();
    assert!(is_owner(&headers) && headers["content-length"] == body.len().to_string());
    service.sent.push((query["name"].clone(), body.len()));
    if let Some(on_file) = &mut service.on_file {
        on_file();
    }
    if body.len() > 10_000 {
        return (StatusCode::PAYLOAD_TOO_LARGE, "The file is larger than 10000 bytes.").into_response();
    }
    if BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&body)) != query["digest"] {
        return (StatusCode::BAD_REQUEST, "It is another file.").into_response();
    }
    let source = edgezoom_content::SourceUrl::of_file(&query["digest"], &query["name"]).unwrap();
    service.files.insert(source.without_name().as_str().to_owned(), body.to_vec());
    let changes = service.take(&json!({"url": source.as_str(), "retry": true}).to_string()).unwrap();
    let answer = json!({"accepted": 1, "changed": u8::from(changes), "refused": [], "last": service.seq});
    (StatusCode::ACCEPTED, answer.to_string()).into_response()
}

async fn journal(State(shared): State<Arc<Shared>>, headers: HeaderMap, RawQuery(query): RawQuery) -> String {
    assert!(is_owner(&headers));
    let query = query.unwrap_or_default();
    let query: HashMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let service = shared.service.lock().unwrap();
    let number = if query.get("order").is_some_and(|order| order == "added") { "number" } else { "seq" };
    let [after, limit] = ["after", "limit"].map(|name| query[name].parse::<u64>().unwrap());
    let is_asked = |entry: &&Value| {
        entry[number].as_u64().unwrap() > after
            && query.get("state").is_none_or(|state| entry["state"] == state.as_str())
    };
    let mut entries: Vec<_> = service.entries.iter().filter(is_asked).collect();
    entries.sort_by_key(|entry| entry[number].as_u64());
    entries.iter().take(limit as usize).map(|entry| format!("{entry}\n")).collect()
}

async fn list(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let mut service = shared.service.lock().unwrap();
    service.fetched.push(name.clone());
    match service.lists.get(&name) {
        Some((list, Some(coding))) => ([("content-encoding", *coding)], list.clone()).into_response(),
        Some((list, None)) => list.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Returns a table with this number of rows, of which row 7 has no proper URL.
fn table(rows: usize) -> String {
    let row = |number| {
        let url = if number == 7 {
            "ftp://a.example/7".to_owned()
        } else {
            format!("https://a.example/{number}.tif")
        };
        format!("{url};Drawing {number}\n")
    };
    format!("url;title\n{}", (2..=rows + 1).map(row).collect::<String>())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_sent_in_calls_of_bounded_size_and_sending_it_again_changes_nothing() {
    let service = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.csv");
    std::fs::write(&path, table(12_345)).unwrap();
    let path = path.to_str().unwrap();
    let refused = format!("tiler: {path}, row 7: The URL must begin with https://.");

    let result = service.run(&["add", "drawings", path], "").await;
    let first = "drawings: 12344 lines accepted, 12344 changed, 1 refused\n";
    assert_eq!(result, (1, first.to_owned(), vec![refused.clone()]));
    assert_eq!(service.get().calls, [10_000, 2345]);
    assert_eq!(service.get().entries[11]["title"], "Drawing 14");

    std::fs::write(path, gzip(table(12_345).as_bytes())).unwrap();
    let (_, again, _) = service.run(&["add", "drawings", path], "").await;
    assert_eq!(again, "drawings: 12344 lines accepted, 0 changed, 1 refused\n");
    assert_eq!(service.get().entries.len(), 12_344);

    // Long lines fill a call sooner than 10,000 of them.
    let title = "t".repeat(4000);
    let long: String = (0..3000)
        .map(|n| json!({"url": format!("https://b.example/{n}"), "title": title}).to_string() + "\n")
        .collect();
    let (code, sent, _) = service.run(&["add", "drawings", "-"], &long).await;
    assert_eq!((code, sent.as_str()), (0, "drawings: 3000 lines accepted, 3000 changed, 0 refused\n"));
    assert_eq!(service.get().calls.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_service_is_asked_again_and_a_killed_command_goes_on_when_it_is_repeated() {
    let service = Service::start().await;
    service.get().busy = 2;
    let (code, sent, _) = service.run(&["add", "drawings", "-"], "https://a.example/1.tif").await;
    assert_eq!((code, sent.as_str()), (0, "drawings: 1 lines accepted, 1 changed, 0 refused\n"));
    let calls = service.get().calls.clone();
    assert_eq!((service.get().arrived, calls), (3, vec![1]));

    // Its second call is not answered.
    service.state.gate.forget_permits(usize::MAX);
    service.state.gate.add_permits(1);
    let list = table(60_000).replace("ftp:", "https:");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &list).unwrap();
    let arguments = ["add", "drawings", file.path().to_str().unwrap()];
    let mut child = service.command(&arguments).spawn().unwrap();
    while service.get().arrived < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    let is_reader =
        |id: &str| std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap().contains("unpack");
    assert!(children.split_whitespace().any(is_reader), "it sends while the list is read");
    child.kill().unwrap();
    child.wait().unwrap();
    service.state.gate.add_permits(1000);
    let (code, sent, _) = service.run(&arguments, "").await;
    let changed = sent.split(", ").nth(1).unwrap().to_owned();
    assert_eq!((code, service.get().entries.len()), (0, 60_001), "{sent}");
    assert!(["50000 changed", "40000 changed"].contains(&changed.as_str()), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_follows_the_entries_until_all_have_ended_and_failed_prints_what_add_retries() {
    let service = Service::start().await;
    let list = "url,title,alt\nhttps://a.example/1.tif,One,\nhttps://a.example/2.tif,Two,a bridge\n";
    service.get().take(r#"{"url":"https://a.example/0.tif"}"#).unwrap();
    service.get().convert("https://a.example/0.tif");
    let (state, gate) = (service.state.clone(), service.state.clone());
    tokio::spawn(async move {
        while gate.service.lock().unwrap().calls.is_empty() {
            tokio::task::yield_now().await;
        }
        state.service.lock().unwrap().convert("https://a.example/2.tif");
    });
    let result = service.run(&["add", "drawings", "-", "--watch"], list).await;
    // The earlier failure is counted, but not shown again.
    let printed = "drawings: 2 lines accepted, 2 changed, 0 refused\ndrawings: 1 ready, 2 failed\n";
    let message = "tiler: id000000003 https://a.example/2.tif: source-not-found: [2JNothing is there.";
    assert_eq!(result, (1, printed.to_owned(), vec![message.to_owned()]));

    let (code, failed, reasons) = service.run(&["failed", "drawings"], "").await;
    let first = r#"{"retry":true,"url":"https://a.example/0.tif"}"#;
    let second = r#"{"alt":"a bridge","retry":true,"title":"Two","url":"https://a.example/2.tif"}"#;
    assert_eq!((code, failed.as_str()), (0, format!("{first}\n{second}\n").as_str()));
    assert_eq!(reasons.len(), 2);
    let (_, retried, _) = service.run(&["add", "drawings", "-"], &failed).await;
    assert_eq!(retried, "drawings: 2 lines accepted, 2 changed, 0 refused\n");
    service.get().convert("");
    let done = service.run(&["watch", "drawings"], "").await;
    assert_eq!(done, (0, "drawings: 3 ready, 0 failed\n".to_owned(), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_listed_and_removed() {
    let service = Service::start().await;
    for number in 1..=2500 {
        service
            .get()
            .take(&json!({"url": format!("https://a.example/{number}.tif"), "title": "T"}).to_string())
            .unwrap();
    }
    service.get().convert("https://a.example/9.tif");
    service.get().take(r#"{"url":"https://a.example/1.tif","title":"Edited"}"#).unwrap();
    let (code, listed, _) = service.run(&["list", "drawings"], "").await;
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!((code, lines.len()), (0, 2500));
    assert_eq!(lines[0], "id000000001  ready       https://a.example/1.tif  Edited");
    let (_, listed, _) = service.run(&["list", "drawings", "--state", "failed", "--json"], "").await;
    let line: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(line["failure"]["code"], "source-not-found");

    let removed =
        service.run(&["remove", "drawings", "id000000002", "-"], "https://a.example/3.tif\nunknown").await;
    let summary = "drawings: 2 lines accepted, 2 changed, 1 refused\n".to_owned();
    assert_eq!(removed, (1, summary, vec!["tiler: unknown: The URL must begin with https://.".to_owned()]));
    let removed: Vec<_> = service.get().entries[..4].iter().map(|entry| entry["state"].clone()).collect();
    assert_eq!(removed, ["ready", "removed", "removed", "ready"]);

    let (code, _, reasons) = service.run(&["remove", "drawings", "--all"], "").await;
    assert_eq!((code, service.get().is_deleted), (2, false), "{reasons:?}");
    let (code, ..) = service.run(&["remove", "drawings", "--all", "--yes"], "").await;
    assert_eq!((code, service.get().is_deleted), (0, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_from_elsewhere_are_fetched_under_the_address_policy_and_only_add() {
    let service = Service::start().await;
    let allowed = ["--allow-networks", "127.0.0.0/8"];
    let canvas = |url: &str| json!({"items": [{"items": [{"body": {"type": "Image", "id": url}}]}]});
    let manifest = json!({"@context": "x", "type": "Manifest", "label": {"en": ["Atlas"]},
        "items": [canvas("https://a.example/1.jpg"), canvas("https://a.example/2.jpg")]});
    // A collection that leads to itself, to nothing, and outside of the web.
    let root = json!({"@context": "x", "type": "Collection", "items": [
        {"id": "manifest"}, {"id": "root"}, {"id": "missing"}, {"id": "file:///etc/passwd"}, {"id": "index.xml"},
    ]});
    service.has("manifest", manifest.to_string());
    let root = service.has("root", root.to_string());
    service.has(
        "index.xml",
        format!(
            "<sitemapindex><sitemap><loc>{}/lists/map.xml.gz</loc></sitemap></sitemapindex>",
            service.url
        ),
    );
    service.has("map.xml.gz", gzip(b"<urlset><url><loc>https://a.example/page</loc></url></urlset>"));

    let (code, _, reasons) = service.run(&["add", "drawings", &root], "").await;
    assert_eq!(code, 1);
    assert!(
        reasons[0].ends_with("The URL's host is in a private, reserved or denied network."),
        "{reasons:?}"
    );
    assert_eq!(service.get().fetched, [""; 0]);

    let (code, sent, reasons) = service.run(&[&["add", "drawings", &root], &allowed[..]].concat(), "").await;
    assert_eq!(
        (code, sent.as_str()),
        (1, "drawings: 3 lines accepted, 3 changed, 2 refused\n"),
        "{reasons:?}"
    );
    assert!(reasons[0].starts_with(&format!("tiler: {root}: file:///etc/passwd: ")), "{reasons:?}");
    assert!(reasons[1].starts_with(&format!("tiler: {}/lists/missing: ", service.url)), "{reasons:?}");
    assert_eq!(
        service.get().urls(),
        ["https://a.example/1.jpg", "https://a.example/2.jpg", "https://a.example/page"]
    );
    assert_eq!(service.get().entries[1]["title"], "Atlas, 2");
    assert_eq!(service.get().fetched, ["root", "manifest", "missing", "index.xml", "map.xml.gz"]);

    // A list of a stranger names an entry of this collection, and is sent with a content coding.
    let foreign = "{\"url\":\"https://a.example/1.jpg\",\"remove\":true,\"alt\":\"a\"}\n{\"id\":\"id000000002\",\"remove\":true}\n";
    let url = service.has("foreign", gzip(foreign.as_bytes()));
    service.get().lists.get_mut("foreign").unwrap().1 = Some("gzip");
    let (_, sent, reasons) = service.run(&[&["add", "drawings", &url], &allowed[..]].concat(), "").await;
    assert_eq!(sent, "drawings: 1 lines accepted, 1 changed, 1 refused\n", "{reasons:?}");
    assert!(service.get().entries.iter().all(|entry| entry["state"] == "waiting"));
}

/// Writes files into a folder.
fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_folder_are_sent_once_and_hidden_ones_never() {
    let service = Service::start().await;
    let large = "l".repeat(10_001);
    let folder = folder_of(&[
        ("b.jpg", "1"),
        ("Старый город/мост 橋.jpg", "2"),
        ("a/b/c.tif", "3"),
        ("a/copy of b.jpg", "1"),
        ("a/empty.png", ""),
        ("a/large.png", &large),
        (".hidden/d.jpg", "4"),
        ("a/.thumbnails", "5"),
    ]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
    let path = folder.path().to_str().unwrap();
    let refused = |name: &str, reason: &str| format!("tiler: {path}/a/{name}: {reason}");
    let complaints = vec![
        refused("empty.png", "The file is empty."),
        refused("large.png", "The file is larger than 10000 bytes."),
    ];
    let (code, output, reasons) = service.run(&["add", "drawings", path], "").await;
    assert_eq!((code, reasons), (1, complaints.clone()));
    // The copy was refused beside the other one, and is known when it is sent.
    assert_eq!(output, "drawings: 4 lines accepted, 3 changed, 2 refused\n");
    let mut names: Vec<_> =
        std::mem::take(&mut service.get().sent).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["b.jpg", "c.tif", "copy of b.jpg", "large.png", "мост 橋.jpg"]);

    let (_, output, reasons) = service.run(&["add", "drawings", path], "").await;
    assert_eq!(output, "drawings: 4 lines accepted, 0 changed, 2 refused\n");
    assert_eq!(reasons, complaints);
    assert_eq!(service.get().sent, [("large.png".to_owned(), 10_001)]);

    // A name that could control the terminal is shown without that.
    let folder = folder_of(&[("\u{1b}[2J.jpg", &large)]);
    let (_, _, reasons) = service.run(&["add", "drawings", folder.path().to_str().unwrap()], "").await;
    assert!(reasons.len() == 1 && !reasons[0].contains('\u{1b}'), "{reasons:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_sent_to_its_end_after_the_command_was_killed() {
    let service = Service::start().await;
    let names: Vec<_> = (0..7).map(|number| format!("{number}.jpg")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let folder = folder_of(&files);
    let path = folder.path().to_str().unwrap();
    let child = Arc::new(Mutex::new(None::<std::process::Child>));
    let (killed, mut arrived) = (child.clone(), 0);
    service.get().on_file = Some(Box::new(move || {
        arrived += 1;
        if arrived == 3 {
            killed.lock().unwrap().as_mut().unwrap().kill().unwrap();
        }
    }));
    child.lock().unwrap().replace(service.command(&["add", "drawings", path]).spawn().unwrap());
    while service.get().sent.len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let done = child.clone();
    let status = tokio::task::spawn_blocking(move || done.lock().unwrap().take().unwrap().wait().unwrap());
    assert!(!status.await.unwrap().success());
    service.get().on_file = None;
    let before = service.get().files.len();
    service.get().sent.clear();
    let (code, output, _) = service.run(&["add", "drawings", path], "").await;
    assert_eq!((code, service.get().sent.len()), (0, 7 - before));
    assert_eq!(output, format!("drawings: 7 lines accepted, {} changed, 0 refused\n", 7 - before));
    assert_eq!(service.get().files.len(), 7);

    service.get().convert("");
    let failing = service.get().entries[0]["url"].as_str().unwrap().to_owned();
    service.get().entries[0]["state"] = json!("failed");
    service.get().files.remove(failing.split('?').next().unwrap());
    service.get().places.retain(|place, _| !place.contains(failing.split('?').next().unwrap()));
    let (_, output, _) = service.run(&["add", "drawings", path, "--retry"], "").await;
    assert_eq!(output, "drawings: 7 lines accepted, 1 changed, 0 refused\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_sent_is_read_again_and_given_up_if_it_never_rests() {
    let service = Service::start().await;
    let folder = folder_of(&[("a.jpg", "before")]);
    let path = folder.path().join("a.jpg");
    // Between the call with its line and the one with its bytes.
    let file = path.clone();
    service.get().on_lines = Some(Box::new(move || std::fs::write(&file, "after").unwrap()));
    let add = ["add", "drawings", folder.path().to_str().unwrap()];
    let (code, output, _) = service.run(&add, "").await;
    assert_eq!((code, output.as_str()), (0, "drawings: 1 lines accepted, 1 changed, 0 refused\n"));
    assert_eq!(service.get().files.values().collect::<Vec<_>>(), [b"after"]);

    service.get().on_lines = None;
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/proc/sys/kernel/random/uuid", &path).unwrap(); // another one each time
    let (code, _, reasons) = service.run(&add, "").await;
    assert_eq!(
        (code, reasons),
        (1, vec![format!("tiler: {}: The file changes while it is read.", path.display())])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_explained() {
    let service = Service::start().await;
    for (arguments, reason) in [
        (&["add", "drawings", "/no/list.csv"][..], "/no/list.csv: No such file"),
        (&["add", "Drawings", "-"], "Drawings: the name of a collection has 3 to 40 characters"),
        (&["add", "another", "-"], "another: 404"),
        (&["add", "drawings", "--key-file", "/no/key", "-"], "standard input: The list is empty."),
    ] {
        let (code, _, reasons) = service.run(arguments, "").await;
        assert!(code == 1 && reasons[0].contains(reason), "{arguments:?}: {reasons:?}");
    }
    // The key of a file is the key unless the environment has one.
    let file = tempfile::NamedTempFile::new().unwrap();
    for (key, code, reason) in
        [(format!("{KEY}\n"), Some(0), ""), ("another".to_owned(), Some(1), "403 Forbidden")]
    {
        std::fs::write(file.path(), key).unwrap();
        let mut command =
            service.command(&["remove", "drawings", "id", "--key-file", file.path().to_str().unwrap()]);
        command.env("EDGEZOOM_COLLECTION_KEY", "");
        service.get().take(r#"{"url":"https://a.example/"}"#).unwrap();
        service.get().entries[0]["id"] = json!("id");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert_eq!(output.status.code(), code, "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
    let mut command = service.command(&["failed", "drawings"]);
    let output = command.env_remove("EDGEZOOM_COLLECTION_KEY").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("set EDGEZOOM_COLLECTION_KEY"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_progress() {
    let service = Service::start().await;
    service.get().take(r#"{"url":"https://a.example/1.tif"}"#).unwrap();
    service.get().convert("");
    let command = format!("{} collection watch drawings", env!("CARGO_BIN_EXE_tiler"));
    let mut script = Command::new("script"); // part of bsdutils, which is always installed on Debian
    script.args(["--quiet", "--return", "--flush", "--command"]);
    script.arg(format!("stty columns 100 rows 24 && exec {command}")).arg("/dev/null");
    script.env("EDGEZOOM_EDGE_URL", &service.url).env("EDGEZOOM_COLLECTION_KEY", KEY).env("TERM", "xterm");
    let output =
        tokio::task::spawn_blocking(move || script.stdin(Stdio::null()).output().unwrap()).await.unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && screen.contains("█ 1 of 1"), "{screen}");
    assert!(screen.contains("drawings: 1 ready, 0 failed"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_begins_with_a_key_that_is_stored_before() {
    let service = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drawings.key");
    let run = |title: &str| {
        let mut command = service.command(&["create", "drawings", "--title", title, "--key-file"]);
        command
            .arg(&file)
            .env("EDGEZOOM_COLLECTION_KEY", "")
            .env("EDGEZOOM_SIGNING_KEY", "shop:a-key-of-the-shop");
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let output = run("Drawings").await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "drawings: begun\n");
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!((key.len(), file.metadata().unwrap().permissions().mode() & 0o777), (44, 0o600));
    let (query, bearer, settings) = service.get().begun.clone().unwrap();
    assert!(query.starts_with("key=shop&expires=") && query.contains("&signature="), "{query}");
    assert_eq!((bearer, settings.as_str()), (format!("Bearer {}", key.trim()), r#"{"title":"Drawings"}"#));

    let output = run("Old drawings").await.unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "drawings: settings replaced\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    let notify = "https://cms.museum.example/hook";
    let (code, text, _) = service.run(&["create", "drawings", "--notify", notify], "").await;
    let told = "drawings: settings replaced\nthe secret that signs notices: whsec_c2VjcmV0\n";
    assert_eq!((code, text.as_str()), (0, told));
    assert_eq!(service.get().begun.clone().unwrap().2, format!(r#"{{"notify":"{notify}"}}"#));
}
