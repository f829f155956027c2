//! A client of the interface. It follows no redirect by itself and looks at every answer: what it reads of a
//! conversion's progress has to make sense over time, whatever else a test is about.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde_json::Value;

/// A client of the service at one base URL.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    address: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// What a client saw of a conversion, from ask to end.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Every content object that differed from the one before.
    pub seen: Vec<Value>,
}

/// How often a conversion is looked at: each look takes the local edge milliseconds.
const INTERVAL: Duration = Duration::from_millis(40);
/// How long a conversion may take in a test.
const PATIENCE: Duration = Duration::from_secs(120);

impl Client {
    /// A client of the service at `base`.
    ///
    /// # Errors
    /// There is no HTTP client to be had.
    pub fn new(base: &str) -> Result<Self> {
        // The tiler's TLS comes along, as Cargo gives a crate the features of all: it asks for a library of cryptography.
        let _ = rustls::crypto::ring::default_provider().install_default(); // an error: there is one already
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(30))
            // A server that is busy closes a connection that stood still at the moment at which it is used again.
            .pool_idle_timeout(Duration::from_secs(1))
            .build()?;
        Ok(Self { http, base: base.to_owned(), address: None })
    }

    /// The same client at another address, as Cloudflare tells the Worker where a client is. Without one, it is on the
    /// machine itself, and no limits hold for it.
    #[must_use]
    pub fn at(&self, address: impl std::fmt::Display) -> Self {
        Self { address: Some(address.to_string()), ..self.clone() }
    }

    /// Gets a path of the service, or a whole URL.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn get(&self, target: &str) -> Result<Answer> {
        Answer::read(self.request(target).send().await.with_context(|| target.to_owned())?).await
    }

    /// Gets a path with a bearer token.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn get_as(&self, target: &str, token: &str) -> Result<Answer> {
        Answer::read(self.request(target).bearer_auth(token).send().await?).await
    }

    /// Posts to a path with a bearer token.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn post_as(&self, target: &str, token: &str, body: impl Into<Bytes>) -> Result<Answer> {
        let request = self.http.post(self.whole(target)).bearer_auth(token).body(body.into());
        Answer::read(request.send().await?).await
    }

    /// Asks for the content of a source.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ask(&self, source: &str) -> Result<Answer> {
        let request = self.request("/v1/content/").query(&[("url", source)]);
        Answer::read(request.send().await?).await
    }

    /// Sends a file.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn send(&self, name: &str, file: impl Into<Bytes>) -> Result<Answer> {
        let request = self.http.post(self.whole("/v1/content/")).query(&[("name", name)]);
        Answer::read(request.body(file.into()).send().await?).await
    }

    /// Asks for a content by its id.
    ///
    /// # Errors
    /// There is no such content.
    pub async fn content(&self, id: &str) -> Result<Value> {
        let answer = self.get(&format!("/v1/content/{id}")).await?;
        ensure!(
            answer.status == StatusCode::OK,
            "{id} is answered with {}: {}",
            answer.status,
            answer.text()
        );
        answer.json()
    }

    /// Asks for the content of a source, and looks at it until it is ready or has failed.
    ///
    /// # Errors
    /// The answers do not make sense, or it takes too long.
    pub async fn convert(&self, source: &str) -> Result<Course> {
        let answer = self.ask(source).await?;
        ensure!(answer.status == StatusCode::MOVED_PERMANENTLY, "{}: {}", answer.status, answer.text());
        let mut course = Course::default();
        course.see(answer.json()?)?;
        self.follow(&mut course).await?;
        Ok(course)
    }

    /// Goes on looking at the content of `course` until it is ready or has failed.
    ///
    /// # Errors
    /// The answers do not make sense, or it takes too long.
    pub async fn follow(&self, course: &mut Course) -> Result<()> {
        self.follow_until(course, |content| content["ready"] == true || content["failed"] == true).await
    }

    /// Goes on looking at the content of `course` until something holds for it.
    ///
    /// # Errors
    /// The answers do not make sense, or it takes too long.
    pub async fn follow_until(&self, course: &mut Course, holds: impl Fn(&Value) -> bool) -> Result<()> {
        let id = course.id()?;
        let deadline = Instant::now() + PATIENCE;
        while !course.seen.last().is_some_and(&holds) {
            ensure!(Instant::now() < deadline, "{id} does not get there: {course:?}");
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

    /// A header, empty when it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// It is none.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| self.text())
    }
}

impl Course {
    /// Takes note of a content object.
    ///
    /// # Errors
    /// It does not make sense after what was seen before: progress lies between 0 and 1 and never falls, stages go
    /// forwards or back to the queue, what is ready or failed stays so, and is 1 when ready.
    pub fn see(&mut self, content: Value) -> Result<()> {
        let progress = content["progress"].as_f64().with_context(|| format!("no progress: {content}"))?;
        ensure!((0.0..=1.0).contains(&progress), "progress is no fraction: {content}");
        let (ready, failed) = (content["ready"] == true, content["failed"] == true);
        ensure!(!(ready && failed), "ready and failed at once: {content}");
        ensure!((progress >= 1.0) == ready, "1 is for what is ready: {content}");
        ensure!(content.get("dzi").is_some() == ready, "a dzi is for what is ready: {content}");
        ensure!(content.get("failure").is_some() == failed, "a failure is for what failed: {content}");
        ensure!(!failed || content["failure"]["retryAfter"].as_u64() > Some(0), "until when? {content}");
        ensure!(
            content.get("stage").is_some() != (ready || failed),
            "a stage is for what goes on: {content}"
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
            ensure!(!ended || is_same, "it was ended and changed: {before} {content}");
            if is_same {
                return Ok(());
            }
        }
        self.seen.push(content);
        Ok(())
    }

    /// The content's id.
    ///
    /// # Errors
    /// Nothing was seen.
    pub fn id(&self) -> Result<String> {
        self.text("id")
    }

    /// The content as it was seen last.
    ///
    /// # Errors
    /// Nothing was seen.
    pub fn last(&self) -> Result<&Value> {
        self.seen.last().context("nothing was seen")
    }

    /// The content, which has become ready.
    ///
    /// # Errors
    /// It has not.
    pub fn ready(&self) -> Result<&Value> {
        let last = self.last()?;
        if last["ready"] != true {
            bail!("it is not ready: {last}");
        }
        Ok(last)
    }

    /// The code of its failure.
    ///
    /// # Errors
    /// It has not failed.
    pub fn failure_code(&self) -> Result<&str> {
        let last = self.last()?;
        last["failure"]["code"].as_str().with_context(|| format!("it has not failed: {last}"))
    }

    /// Each figure of progress that was shown while it was under way.
    #[must_use]
    pub fn progress(&self) -> Vec<f64> {
        let under_way = self.seen.iter().filter(|content| content.get("stage").is_some());
        let mut figures: Vec<f64> = under_way.filter_map(|content| content["progress"].as_f64()).collect();
        figures.dedup();
        figures
    }

    /// Each stage that was shown, in order.
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

/// A content object without the seconds until a failed content is tried again, which pass.
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
    fn progress_that_falls_is_noticed() {
        let mut course = Course::default();
        for rising in [0.0, 0.25, 0.25, 0.5] {
            course.see(under_way(rising)).unwrap();
        }
        assert_eq!(course.progress(), [0.0, 0.25, 0.5]);
        course.see(under_way(0.4999)).unwrap_err();
    }

    #[test]
    fn progress_outside_of_its_range_is_noticed() {
        for wrong in [-0.1, 1.0, 1.1] {
            Course::default().see(under_way(wrong)).unwrap_err();
        }
    }
}
