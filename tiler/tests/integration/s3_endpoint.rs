//! An S3 endpoint on loopback that supports what an archive needs: PutObject, multipart uploads and DeleteObjects. It
//! enforces R2's rule that all parts but the last have the same size.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use edgezoom_tiler::s3::{S3Settings, S3Store};
use tokio::net::TcpListener;

/// R2's minimum size of a part, except for the last one.
const MIN_PART: usize = 5 << 20;

/// State of the endpoint.
#[derive(Default)]
pub struct Objects {
    pub objects: BTreeMap<String, Bytes>,
    pub media_types: BTreeMap<String, String>,
    /// Unfinished uploads by id: key, and parts by number.
    pub uploads: BTreeMap<String, (String, BTreeMap<u32, Bytes>)>,
    /// Number of PutObject, CreateMultipartUpload, UploadPart and CompleteMultipartUpload requests.
    pub writes: usize,
    /// Number of a part that is always refused.
    pub refuses_part: Option<u32>,
    /// Statuses of the first PutObject requests. Later ones succeed.
    pub failures: Vec<StatusCode>,
    /// True if UploadPart requests get no response.
    pub holds_parts: bool,
    /// Number of UploadPart requests that got no response.
    pub held: usize,
    /// True if the response to the next CompleteMultipartUpload is lost.
    pub loses_completion: bool,
    created: usize,
}

/// A running endpoint.
#[derive(Clone, Default)]
pub struct Endpoint(Arc<Mutex<Objects>>);

impl Endpoint {
    /// Starts an endpoint and returns a client of it.
    pub async fn start() -> (Self, S3Store) {
        let endpoint = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable());
        let router = router.with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let store = S3Store::new(&S3Settings {
            endpoint: format!("http://{address}/").parse().unwrap(),
            bucket: "pyramids".into(),
            access_key_id: "key".into(),
            secret_access_key: "secret".parse().unwrap(),
        });
        (endpoint, store)
    }

    pub fn objects(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap()
    }

    fn holds_part(&self) -> bool {
        let mut objects = self.objects();
        objects.held += usize::from(objects.holds_parts);
        objects.holds_parts
    }
}

async fn answer(
    State(endpoint): State<Endpoint>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let key = uri.path().trim_start_matches("/pyramids").trim_start_matches('/').to_owned();
    let media_type = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let query: HashMap<String, String> = query.into_owned().collect();
    if query.contains_key("partNumber") && endpoint.holds_part() {
        return std::future::pending().await;
    }
    let mut objects = endpoint.objects();
    let upload = query.get("uploadId").cloned();
    match (method, upload) {
        (Method::PUT, None) => {
            objects.writes += 1;
            if !objects.failures.is_empty() {
                return objects.failures.remove(0).into_response();
            }
            objects.media_types.insert(key.clone(), media_type.to_owned());
            objects.objects.insert(key, body);
            StatusCode::OK.into_response()
        }
        (Method::POST, None) if query.contains_key("uploads") => {
            objects.writes += 1;
            objects.created += 1;
            let id = format!("upload-{}", objects.created);
            objects.media_types.insert(key.clone(), media_type.to_owned());
            objects.uploads.insert(id.clone(), (key, BTreeMap::new()));
            format!(
                "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
            )
            .into_response()
        }
        (Method::PUT, Some(id)) => {
            objects.writes += 1;
            let number: u32 = query["partNumber"].parse().unwrap();
            if objects.refuses_part == Some(number) {
                return StatusCode::FORBIDDEN.into_response();
            }
            let Some((_, parts)) = objects.uploads.get_mut(&id) else {
                return StatusCode::NOT_FOUND.into_response();
            };
            parts.insert(number, body);
            [("etag", format!("\"part-{number}\""))].into_response()
        }
        (Method::POST, Some(id)) => {
            objects.writes += 1;
            let Some((key, parts)) = objects.uploads.remove(&id) else {
                return StatusCode::NOT_FOUND.into_response();
            };
            let sizes: Vec<usize> = parts.values().map(Bytes::len).collect();
            let (last, others) = sizes.split_last().unwrap();
            assert!(others.iter().all(|size| *size == sizes[0] && *size >= MIN_PART), "{sizes:?}");
            assert!(*last <= sizes[0], "{sizes:?}");
            assert!(parts.keys().copied().eq(1..=parts.len() as u32));
            let text = String::from_utf8_lossy(&body);
            assert_eq!(text.matches("<PartNumber>").count(), parts.len(), "{text}");
            let parts: Vec<Bytes> = parts.into_values().collect();
            objects.objects.insert(key, parts.concat().into());
            if take(&mut objects.loses_completion) {
                return StatusCode::BAD_GATEWAY.into_response();
            }
            "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>"
                .into_response()
        }
        (Method::DELETE, Some(id)) => {
            objects.uploads.remove(&id);
            StatusCode::NO_CONTENT.into_response()
        }
        (Method::HEAD, _) => match objects.objects.get(&key) {
            Some(bytes) => bytes.clone().into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        (Method::GET, _) if query.contains_key("uploads") => {
            let prefix = query.get("prefix").cloned().unwrap_or_default();
            let uploads = objects.uploads.iter().filter(|(_, (key, _))| key.starts_with(&prefix));
            let uploads: String = uploads
                .map(|(id, (key, _))| format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload>"))
                .collect();
            format!("<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>").into_response()
        }
        (Method::POST, None) => {
            let text = String::from_utf8_lossy(&body).into_owned();
            for part in text.split("<Key>").skip(1) {
                objects.objects.remove(part.split("</Key>").next().unwrap());
            }
            "<DeleteResult></DeleteResult>".into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}
