//! The surroundings of a tiler under test, on one loopback port: a queue, an edge, an S3 store and a server of sources.
//! The test controls their responses, and all calls are logged in order.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use edgezoom_content::ContentId;
use edgezoom_content::protocol::{BACKLOG_PATH, Backlog, ClaimRequest, Outcome, Report, TILERS_HEADER};
use edgezoom_test_support::patience;
use serde_json::{Value, json};

use super::turn::{Gate, Turn};

/// Prefix of a lease id. The message follows.
const LEASE_OF: &str = "lease of ";

/// Everything around the tiler.
#[derive(Clone)]
pub struct World {
    pub address: SocketAddr,
    state: Arc<Mutex<WorldState>>,
}

/// The responses of the world, and the calls that it received.
pub struct WorldState {
    /// Bodies of the messages in the queue.
    pub waiting: VecDeque<Value>,
    /// Number of deliveries of the messages in the next pull.
    pub deliveries: u32,
    /// Tilers that claimed, in order.
    pub claimants: Vec<ClaimRequest>,
    /// Status of the queue's responses.
    pub queue: StatusCode,
    pub pull_gate: Gate,
    /// Responses to claims, one each. After them, claims get 409.
    pub claims: HashMap<ContentId, Vec<ClaimAnswer>>,
    /// Status for a report.
    pub on_report: fn(&WorldState, &Report) -> StatusCode,
    /// Status for a `PUT`, by the number of earlier ones.
    pub on_put: fn(usize) -> StatusCode,
    pub put_gate: Gate,
    /// Delay of a `PUT`, in tests that do not depend on it.
    pub put_time: Duration,
    pub objects: BTreeMap<String, Object>,
    pub sources: HashMap<String, Source>,
    pub lease: Duration,
    /// Queue length returned with each pull.
    pub backlog: u64,
    /// Number of tilers that the edge counts.
    pub tilers: u32,
    /// Times of the pulls.
    pub pulls: Vec<Instant>,
    /// The robots.txt of the server of sources.
    pub robots: Option<&'static str>,
    pub puts: usize,
    /// All calls, in order.
    pub log: Vec<Call>,
}

/// Response to a claim.
#[derive(Clone, Debug)]
pub enum ClaimAnswer {
    Grant { attempt: u32, source: &'static str },
    Refuse(StatusCode),
}

#[derive(Clone, Debug)]
pub struct Object {
    pub bytes: Bytes,
    pub media_type: String,
    pub cache_control: String,
}

#[derive(Clone)]
pub enum Source {
    Bytes(Bytes),
    Page(&'static str),
    Status(StatusCode),
    /// Responds 503 with this `Retry-After`, in seconds.
    Unavailable(u32),
    /// Keeps the connection open and sends nothing.
    Silence,
    /// Sends the next response for each request, and repeats the last one.
    Turns(Vec<Turn>),
}

/// A call by the tiler.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Claim(ContentId),
    Ack(String),
    Retry(String, u64),
    Put(String),
    Delete(String),
    Report(Report),
    Backlog(Backlog),
    Fetch(String),
}

impl World {
    pub async fn new() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let world =
            Self { address: listener.local_addr().unwrap(), state: Arc::new(Mutex::new(WorldState::new())) };
        let router = Router::new().fallback(answer).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        world
    }

    pub fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap()
    }

    /// Enqueues a content's job. Its claim is granted once.
    pub fn enqueue(&self, id: &str, attempt: u32, source: &'static str) -> ContentId {
        let id: ContentId = id.parse().unwrap();
        let mut state = self.state();
        state.waiting.push_back(json!({ "id": id }));
        state.claims.entry(id).or_default().push(ClaimAnswer::Grant { attempt, source });
        id
    }

    /// Waits until a condition holds.
    pub async fn until(&self, what: &str, holds: impl Fn(&WorldState) -> bool) {
        let deadline = Instant::now() + patience();
        while !holds(&self.state()) {
            assert!(Instant::now() < deadline, "never came: {what}; {:#?}", self.state().log);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

impl WorldState {
    fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            deliveries: 1,
            claimants: vec![],
            queue: StatusCode::OK,
            pull_gate: Gate::opened(),
            claims: HashMap::new(),
            on_report: |_, _| StatusCode::NO_CONTENT,
            on_put: |_| StatusCode::OK,
            put_gate: Gate::opened(),
            put_time: Duration::ZERO,
            objects: BTreeMap::new(),
            sources: HashMap::new(),
            lease: Duration::from_secs(60),
            backlog: 0,
            tilers: 1,
            pulls: vec![],
            robots: None,
            puts: 0,
            log: vec![],
        }
    }

    pub fn reports(&self) -> Vec<&Outcome> {
        self.log
            .iter()
            .filter_map(|call| if let Call::Report(report) = call { Some(&report.outcome) } else { None })
            .collect()
    }

    pub fn ended(&self) -> bool {
        self.reports().iter().any(|outcome| !matches!(outcome, Outcome::Progress(_)))
    }

    pub fn position(&self, is_it: impl Fn(&Call) -> bool) -> Option<usize> {
        self.log.iter().position(is_it)
    }

    pub fn acks(&self) -> usize {
        self.log.iter().filter(|call| matches!(call, Call::Ack(_))).count()
    }

    fn claim(&mut self, id: ContentId, address: SocketAddr) -> Response {
        self.log.push(Call::Claim(id));
        let answers = self.claims.entry(id).or_default();
        let answer =
            if answers.is_empty() { ClaimAnswer::Refuse(StatusCode::CONFLICT) } else { answers.remove(0) };
        match answer {
            ClaimAnswer::Grant { attempt, source } => {
                let lease = self.lease.as_millis();
                if source.starts_with("uploads/") {
                    let (key, choice) = source.split_once('?').unwrap_or((source, "name=a.jpg"));
                    let url = format!("ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?{choice}");
                    let claim =
                        json!({ "id": id, "url": url, "upload": key, "attempt": attempt, "leaseMs": lease });
                    return claim.to_string().into_response();
                }
                let (options, name) = source.rsplit_once('>').unwrap_or(("", source));
                let end = if options.is_empty() { "" } else { ">" };
                let url = format!("{options}{end}http://{address}/source/{name}");
                json!({ "id": id, "url": url, "attempt": attempt, "leaseMs": lease })
                    .to_string()
                    .into_response()
            }
            ClaimAnswer::Refuse(status) => status.into_response(),
        }
    }

    fn settle(&mut self, settlement: &Value) -> Response {
        let lease = |entry: &Value| entry["lease_id"].as_str().unwrap().to_owned();
        for ack in settlement["acks"].as_array().unwrap() {
            self.log.push(Call::Ack(lease(ack)));
        }
        for retry in settlement["retries"].as_array().unwrap() {
            let (lease, delay) = (lease(retry), retry["delay_seconds"].as_u64().unwrap());
            // Redelivers messages without a delay. Others wait longer than any test.
            let body = lease.strip_prefix(LEASE_OF).filter(|_| delay == 0);
            self.waiting.extend(body.map(|body| serde_json::from_str::<Value>(body).unwrap()));
            self.log.push(Call::Retry(lease, delay));
        }
        json!({ "success": true, "result": {} }).to_string().into_response()
    }

    fn pull(&mut self, most: usize) -> Response {
        self.pulls.push(Instant::now());
        if self.queue != StatusCode::OK {
            return self.queue.into_response();
        }
        let count = most.min(self.waiting.len());
        let messages: Vec<_> = self
            .waiting
            .drain(..count)
            .map(|body| json!({ "lease_id": format!("{LEASE_OF}{body}"), "body": body, "attempts": self.deliveries }))
            .collect();
        let result = json!({ "message_backlog_count": self.backlog, "messages": messages });
        json!({ "success": true, "errors": [], "result": result }).to_string().into_response()
    }

    fn delete(&mut self, body: &str) -> Response {
        for part in body.split("<Key>").skip(1) {
            let key = part.split("</Key>").next().unwrap().to_owned();
            if self.objects.remove(&key).is_some() {
                self.log.push(Call::Delete(key));
            }
        }
        "<DeleteResult></DeleteResult>".into_response()
    }
}

async fn answer(State(world): State<World>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_matches('/').to_owned();
    let query: HashMap<String, String> =
        url::form_urlencoded::parse(head.uri.query().unwrap_or("").as_bytes()).into_owned().collect();
    let body = to_bytes(body, 10 << 20).await.unwrap();
    let text = || String::from_utf8_lossy(&body).into_owned();
    let bearer = head.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
    let allowed = match path.split('/').next().unwrap() {
        "queue" => bearer == "Bearer queue-token",
        "edge" => bearer == "Bearer tiler-token",
        "s3" => bearer.starts_with("AWS4-HMAC-SHA256"),
        _ if path.starts_with("source/login/") => {
            head.headers.get("cookie").is_some_and(|cookie| cookie == "session=sealed-secret")
        }
        _ => bearer.is_empty(),
    };
    if !allowed {
        return StatusCode::UNAUTHORIZED.into_response();
    }

    if let Some(id) = path.strip_prefix("edge/internal/content/") {
        let (id, call) = id.split_once('/').unwrap();
        let id = id.parse().unwrap();
        if call == "claim" {
            let mut state = world.state();
            state.claimants.push(serde_json::from_slice(&body).unwrap());
            return state.claim(id, world.address);
        }
        let report: Report = serde_json::from_slice(&body).unwrap();
        let mut state = world.state();
        let status = (state.on_report)(&state, &report);
        state.log.push(Call::Report(report));
        return status.into_response();
    }
    if path.strip_prefix("edge") == Some(BACKLOG_PATH) {
        let mut state = world.state();
        state.log.push(Call::Backlog(serde_json::from_slice(&body).unwrap()));
        let mut response = StatusCode::NO_CONTENT.into_response();
        response.headers_mut().insert(HeaderName::try_from(TILERS_HEADER).unwrap(), state.tilers.into());
        return response;
    }
    if path == "queue/messages/pull" {
        let pull: Value = serde_json::from_slice(&body).unwrap();
        let (answer, gate) = {
            let mut state = world.state();
            (state.pull(pull["batch_size"].as_u64().unwrap() as usize), state.pull_gate.clone())
        };
        gate.passed().await;
        return answer;
    }
    if path == "queue/messages/ack" {
        return world.state().settle(&serde_json::from_slice(&body).unwrap());
    }
    if path == "robots.txt" {
        let robots = world.state().robots;
        return robots.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response);
    }
    if let Some(source) = path.strip_prefix("source/") {
        let (found, earlier) = {
            let mut state = world.state();
            let fetch = Call::Fetch(source.to_owned());
            let earlier = state.log.iter().filter(|call| **call == fetch).count();
            state.log.push(fetch);
            (state.sources.get(source).cloned(), earlier)
        };
        return match found {
            Some(Source::Turns(turns)) => turns[earlier.min(turns.len() - 1)].clone().response(),
            Some(Source::Bytes(bytes)) => bytes.into_response(),
            Some(Source::Page(html)) => axum::response::Html(html).into_response(),
            Some(Source::Status(status)) => status.into_response(),
            Some(Source::Unavailable(seconds)) => {
                (StatusCode::SERVICE_UNAVAILABLE, [("Retry-After", seconds.to_string())]).into_response()
            }
            Some(Source::Silence) => {
                Response::new(Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>()))
            }
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    if let Some(key) = path.strip_prefix("s3/pyramids/") {
        if head.method == Method::GET {
            let found = world.state().objects.get(key).map(|object| object.bytes.clone());
            return found.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response);
        }
        assert_eq!(head.method, Method::PUT);
        let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
        let object = Object {
            bytes: body,
            media_type: header("content-type"),
            cache_control: header("cache-control"),
        };
        let (status, gate, time) = {
            let mut state = world.state();
            state.puts += 1;
            ((state.on_put)(state.puts - 1), state.put_gate.clone(), state.put_time)
        };
        gate.passed().await;
        tokio::time::sleep(time).await;
        if status == StatusCode::OK {
            let mut state = world.state();
            state.objects.insert(key.to_owned(), object);
            state.log.push(Call::Put(key.to_owned()));
        }
        return status.into_response();
    }
    if path == "s3/pyramids" {
        return match head.method {
            Method::POST => world.state().delete(&text()),
            _ if query.contains_key("uploads") => {
                "<ListMultipartUploadsResult></ListMultipartUploadsResult>".into_response()
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        };
    }
    StatusCode::NOT_FOUND.into_response()
}
