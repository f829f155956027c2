//! A client of the API. It follows no redirects and checks every content object that it reads: progress must make sense
//! over time, whatever a test is about.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::{Gate, patience};

/// A client of the service at one base URL.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    address: Option<String>,
}

/// A response, read completely.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The content objects that a client read during a conversion.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Every object that differs from its predecessor.
    pub seen: Vec<Value>,
}

/// Pause between polls: each costs the local edge milliseconds.
const INTERVAL: Duration = Duration::from_millis(100);

/// Returns an HTTP client that follows no redirects.
pub(crate) fn http() -> Result<reqwest::Client> {
    // Cargo enables the tiler's TLS feature here too, which needs a cryptography provider.
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails if one is installed
    Ok(reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(patience())
        // A busy server may close an idle connection just when it is reused.
        .pool_idle_timeout(Duration::from_secs(1))
        .build()?)
}

impl Client {
    /// Returns a client of the service at `base`.
    ///
    /// # Errors
    /// The HTTP client cannot be created.
    pub fn new(base: &str) -> Result<Self> {
        Ok(Self { http: http()?, base: base.to_owned(), address: None })
    }

    /// Returns the same client at another IP address, in the header by which Cloudflare names it. Without one it is
    /// local and has no limits.
    #[must_use]
    pub fn at(&self, address: impl std::fmt::Display) -> Self {
        Self { address: Some(address.to_string()), ..self.clone() }
    }

    /// Gets a path of the service, or an absolute URL.
    ///
    /// # Errors
    /// There is no response.
    pub async fn get(&self, target: &str) -> Result<Answer> {
        Answer::read(self.request(target).send().await.with_context(|| target.to_owned())?).await
    }

    /// Gets a path with a bearer token.
    ///
    /// # Errors
    /// There is no response.
    pub async fn get_as(&self, target: &str, token: &str) -> Result<Answer> {
        Answer::read(self.request(target).bearer_auth(token).send().await?).await
    }

    /// Posts to a path with a bearer token.
    ///
    /// # Errors
    /// There is no response.
    pub async fn post_as(&self, target: &str, token: &str, body: impl Into<Bytes>) -> Result<Answer> {
        let request = self.http.post(self.whole(target)).bearer_auth(token).body(body.into());
        Answer::read(request.send().await?).await
    }

    /// Puts something at a path with a bearer token.
    ///
    /// # Errors
    /// There is no response.
    pub async fn put_as(&self, target: &str, token: &str, body: impl Into<Bytes>) -> Result<Answer> {
        let request = self.http.put(self.whole(target)).bearer_auth(token).body(body.into());
        Answer::read(request.send().await?).await
    }

    /// Gets a content by the URL of its source.
    ///
    /// # Errors
    /// There is no response.
    pub async fn ask(&self, source: &str) -> Result<Answer> {
        let request = self.request("/v1/content/").query(&[("url", source)]);
        Answer::read(request.send().await?).await
    }

    /// Uploads a file.
    ///
    /// # Errors
    /// There is no response.
    pub async fn send(&self, name: &str, file: impl Into<Bytes>) -> Result<Answer> {
        let request = self.http.post(self.whole("/v1/content/")).query(&[("name", name)]);
        Answer::read(request.body(file.into()).send().await?).await
    }

    /// Deletes the content of an uploaded file.
    ///
    /// # Errors
    /// There is no response.
    pub async fn delete(&self, id: &str, key: &str) -> Result<Answer> {
        let request = self.http.delete(self.whole(&format!("/v1/content/{id}"))).bearer_auth(key);
        Answer::read(request.send().await?).await
    }

    /// Gets a content by its id.
    ///
    /// # Errors
    /// The response is not 200.
    pub async fn content(&self, id: &str) -> Result<Value> {
        let answer = self.get(&format!("/v1/content/{id}")).await?;
        ensure!(answer.status == StatusCode::OK, "{id}: {}: {}", answer.status, answer.text());
        answer.json()
    }

    /// Asks for the content of a source and polls it until it is ready or has failed.
    ///
    /// # Errors
    /// A response is implausible, or the conversion takes too long.
    pub async fn convert(&self, source: &str) -> Result<Course> {
        let mut course = self.begin(source).await?;
        self.follow(&mut course).await?;
        Ok(course)
    }

    /// Asks for the content of a source.
    ///
    /// # Errors
    /// It is refused, or the response is implausible.
    pub async fn begin(&self, source: &str) -> Result<Course> {
        let answer = self.ask(source).await?;
        ensure!(answer.status == StatusCode::MOVED_PERMANENTLY, "{}: {}", answer.status, answer.text());
        let mut course = Course::default();
        course.see(answer.json()?)?;
        Ok(course)
    }

    /// Polls the content of `course` until it is ready or has failed.
    ///
    /// # Errors
    /// A response is implausible, or the conversion takes too long.
    pub async fn follow(&self, course: &mut Course) -> Result<()> {
        self.follow_until(course, |content| content["ready"] == true || content["failed"] == true).await
    }

    /// Lets three parts of a held source pass, each once the progress of the one before was seen, and then the others.
    /// Polls until the content is ready or has failed.
    ///
    /// # Errors
    /// A response is implausible, the progress is not live, or the conversion takes too long.
    pub async fn follow_parts(&self, course: &mut Course, gate: &Gate) -> Result<()> {
        for _ in 0..3 {
            let shown = course.last()?["progress"].clone();
            gate.pass();
            self.follow_until(course, |content| content["progress"] != shown).await?;
        }
        gate.open();
        self.follow(course).await
    }

    /// Polls the content of `course` until `holds` returns true.
    ///
    /// # Errors
    /// A response is implausible, or the conversion takes too long.
    pub async fn follow_until(&self, course: &mut Course, holds: impl Fn(&Value) -> bool) -> Result<()> {
        let id = course.id()?;
        let deadline = Instant::now() + patience();
        while !course.seen.last().is_some_and(&holds) {
            ensure!(Instant::now() < deadline, "timeout waiting for {id}: {course:?}");
            tokio::time::sleep(INTERVAL).await;
            course.see(self.content(&id).await?)?;
        }
        Ok(())
    }

    fn request(&self, target: &str) -> reqwest::RequestBuilder {
        let request = self.http.get(self.whole(target));
        match &self.address {
            Some(address) => request.header("CF-Connecting-IP", address),
            None => request,
        }
    }

    fn whole(&self, target: &str) -> String {
        if target.starts_with('/') { format!("{}{target}", self.base) } else { target.to_owned() }
    }
}

impl Answer {
    async fn read(response: Response) -> Result<Self> {
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Self { status, headers, body: response.bytes().await? })
    }

    /// Returns a header, or an empty string.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses the body as JSON.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| self.text())
    }
}

impl Course {
    /// Records a content object.
    ///
    /// # Errors
    /// It is implausible: progress is between 0 and 1, never falls and is 1 only when ready; an ended conversion does
    /// not change; a descriptor, failure or stage belongs to the state.
    pub fn see(&mut self, content: Value) -> Result<()> {
        let progress = content["progress"].as_f64().with_context(|| format!("no progress: {content}"))?;
        ensure!((0.0..=1.0).contains(&progress), "progress is outside 0 to 1: {content}");
        let (ready, failed) = (content["ready"] == true, content["failed"] == true);
        ensure!(!(ready && failed), "ready and failed at once: {content}");
        ensure!((progress >= 1.0) == ready, "progress 1 means ready: {content}");
        ensure!(content.get("dzi").is_some() == ready, "only ready contents have a dzi: {content}");
        ensure!(content.get("failure").is_some() == failed, "only failed contents have a failure: {content}");
        ensure!(!failed || content["failure"]["retryAfter"].as_u64() > Some(0), "no retryAfter: {content}");
        ensure!(
            content.get("stage").is_some() != (ready || failed),
            "only running conversions have a stage: {content}"
        );
        if let Some(before) = self.seen.last() {
            let shown = before["progress"].as_f64().unwrap_or_default();
            ensure!(progress >= shown, "progress fell from {shown}: {content}");
            for same in ["id", "url", "shareUrl", "embedHtml"] {
                ensure!(
                    content[same] == before[same],
                    "{same} was {} and is {}",
                    before[same],
                    content[same]
                );
            }
            let ended = before["ready"] == true || before["failed"] == true;
            let is_same = timeless(&content) == timeless(before);
            ensure!(!ended || is_same, "it changed after its end: {before} {content}");
            if is_same {
                return Ok(());
            }
        }
        self.seen.push(content);
        Ok(())
    }

    /// Returns the content's id.
    ///
    /// # Errors
    /// No object was recorded.
    pub fn id(&self) -> Result<String> {
        self.text("id")
    }

    /// Returns the latest content object.
    ///
    /// # Errors
    /// No object was recorded.
    pub fn last(&self) -> Result<&Value> {
        self.seen.last().context("no content object was recorded")
    }

    /// Returns the ready content.
    ///
    /// # Errors
    /// The content is not ready.
    pub fn ready(&self) -> Result<&Value> {
        let last = self.last()?;
        if last["ready"] != true {
            bail!("it is not ready: {last}");
        }
        Ok(last)
    }

    /// Returns the failure code.
    ///
    /// # Errors
    /// The content has not failed.
    pub fn failure_code(&self) -> Result<&str> {
        let last = self.last()?;
        last["failure"]["code"].as_str().with_context(|| format!("it has not failed: {last}"))
    }

    /// Returns the distinct progress values before the end.
    #[must_use]
    pub fn progress(&self) -> Vec<f64> {
        let under_way = self.seen.iter().filter(|content| content.get("stage").is_some());
        let mut figures: Vec<f64> = under_way.filter_map(|content| content["progress"].as_f64()).collect();
        figures.dedup();
        figures
    }

    /// Returns the stages in order.
    #[must_use]
    pub fn stages(&self) -> Vec<&str> {
        let mut stages: Vec<&str> =
            self.seen.iter().filter_map(|content| content["stage"].as_str()).collect();
        stages.dedup();
        stages
    }

    fn text(&self, field: &str) -> Result<String> {
        let value = self.last()?[field].as_str();
        Ok(value.with_context(|| format!("no {field}"))?.to_owned())
    }
}

/// Returns a content object without `retryAfter`, which changes with time.
#[must_use]
pub fn timeless(content: &Value) -> Value {
    let mut content = content.clone();
    if let Some(failure) = content.get_mut("failure").and_then(Value::as_object_mut) {
        failure.remove("retryAfter");
    }
    content
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn under_way(progress: f64) -> Value {
        json!({ "id": "a", "url": "u", "ready": false, "failed": false, "progress": progress, "stage": "rendering" })
    }

    #[test]
    fn falling_progress_is_an_error() {
        let mut course = Course::default();
        for rising in [0.0, 0.25, 0.25, 0.5] {
            course.see(under_way(rising)).unwrap();
        }
        assert_eq!(course.progress(), [0.0, 0.25, 0.5]);
        course.see(under_way(0.4999)).unwrap_err();
    }

    #[test]
    fn progress_outside_0_to_1_is_an_error() {
        for wrong in [-0.1, 1.0, 1.1] {
            Course::default().see(under_way(wrong)).unwrap_err();
        }
    }
}
