//! Tests uploads to a distant, failing or slow store: an S3 endpoint on loopback.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::serve::ListenerExt;
use edgezoom_content::{Attempt, ContentId, Dzi, Size, TileFormat};
use edgezoom_tiler::renderer::Tile;
use edgezoom_tiler::s3::{Layout, S3Settings, S3Store, StoreError, Upload};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// An S3 endpoint that implements PutObject.
#[derive(Default)]
struct Endpoint {
    objects: Mutex<BTreeMap<String, Bytes>>,
    requests: AtomicUsize,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    delay: Duration,
    /// If set, each response waits for a permit.
    responses: Option<Semaphore>,
    /// Statuses of the first responses. Later requests succeed.
    failures: Vec<StatusCode>,
}

async fn put(State(endpoint): State<Arc<Endpoint>>, uri: Uri, body: Bytes) -> StatusCode {
    let in_flight = endpoint.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
    endpoint.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
    let number = endpoint.requests.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(endpoint.delay).await;
    if let Some(responses) = &endpoint.responses {
        responses.acquire().await.unwrap().forget();
    }
    let status = endpoint.failures.get(number).copied().unwrap_or(StatusCode::OK);
    if status == StatusCode::OK {
        endpoint.objects.lock().unwrap().insert(uri.path().to_owned(), body);
    }
    endpoint.in_flight.fetch_sub(1, Ordering::SeqCst);
    status
}

/// Starts an endpoint and an upload to it.
async fn start_upload(endpoint: Endpoint, at_once: usize) -> (Arc<Endpoint>, Upload) {
    let endpoint = Arc::new(endpoint);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let counting = Arc::clone(&endpoint);
    let listener = listener.tap_io(move |_| {
        counting.connections.fetch_add(1, Ordering::SeqCst);
    });
    let router = Router::new().fallback(put).with_state(Arc::clone(&endpoint));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let store = S3Store::new(&S3Settings {
        endpoint: format!("http://{address}/").parse().unwrap(),
        bucket: "pyramids".into(),
        access_key_id: "key".into(),
        secret_access_key: "secret".parse().unwrap(),
    });
    let upload = store.upload(id(), Attempt::FIRST, Layout::Tiles, NonZeroUsize::new(at_once).unwrap());
    (endpoint, upload)
}

fn id() -> ContentId {
    "0123456789a".parse().unwrap()
}

fn dzi() -> Dzi {
    Dzi {
        size: Size { width: 100_000, height: 100_000 },
        tile_size: 510,
        tile_overlap: 1,
        tile_format: TileFormat::Jpg,
    }
}

async fn put_tile(upload: &mut Upload, column: u32) -> Result<(), StoreError> {
    let bytes = Bytes::from(column.to_le_bytes().repeat(2000));
    upload.put_tile(&dzi(), Tile { level: 17, column, row: 0, bytes }).await
}

async fn upload_tiles(upload: &mut Upload, tiles: u32) -> Result<(), StoreError> {
    for column in 0..tiles {
        put_tile(upload, column).await?;
    }
    upload.finish(&dzi(), |_, _| {}).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_maximum_number_of_requests_runs_over_persistent_connections() {
    let delay = Duration::from_millis(150);
    let (endpoint, mut upload) = start_upload(Endpoint { delay, ..Endpoint::default() }, 32).await;
    // On a busy machine some responses are slow, so that the limit falls for a while.
    let mut tiles = 0;
    while tiles < 320 || endpoint.most_in_flight.load(Ordering::SeqCst) < 32 && tiles < 20_000 {
        put_tile(&mut upload, tiles).await.unwrap();
        tiles += 1;
    }
    upload.finish(&dzi(), |_, _| {}).await.unwrap();
    assert_eq!(upload.stored().tiles, u64::from(tiles));
    assert_eq!(endpoint.objects.lock().unwrap().len(), tiles as usize + 1);
    assert_eq!(endpoint.most_in_flight.load(Ordering::SeqCst), 32);
    // A request may find the connection of a finished one not yet back in the pool, and open another.
    let connections = endpoint.connections.load(Ordering::SeqCst);
    assert!(connections <= 2 * 32, "{connections} connections for {tiles} tiles");
}

#[tokio::test]
async fn throttled_and_failed_requests_are_retried() {
    let failures = [503, 500, 429, 503, 502].into_iter().cycle().take(10);
    let failures = failures.map(|status| StatusCode::from_u16(status).unwrap()).collect();
    let (endpoint, mut upload) = start_upload(Endpoint { failures, ..Endpoint::default() }, 8).await;
    upload_tiles(&mut upload, 40).await.unwrap();
    let objects = endpoint.objects.lock().unwrap();
    assert_eq!(objects.len(), 41);
    for column in 0..40_u32 {
        let path =
            format!("/pyramids/{}{}", Attempt::FIRST.tiles_prefix(id()), dzi().tile_path(17, column, 0));
        assert_eq!(objects[&path], column.to_le_bytes().repeat(2000), "{path}");
    }
}

#[tokio::test]
async fn a_forbidden_request_ends_the_upload_without_a_descriptor() {
    let failures = vec![StatusCode::FORBIDDEN; 1000];
    let (endpoint, mut upload) = start_upload(Endpoint { failures, ..Endpoint::default() }, 8).await;
    let error = upload_tiles(&mut upload, 100).await.unwrap_err();
    assert!(matches!(&error, StoreError::Put { reason, .. } if reason.contains("403")), "{error}");
    upload.abandon(Duration::from_secs(1)).await;
    // Only the requests that were running at the first response.
    assert!(endpoint.requests.load(Ordering::SeqCst) <= 16);
    assert!(endpoint.objects.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_upload_holds_at_most_the_tiles_of_running_requests() {
    let responses = Some(Semaphore::new(0));
    let (endpoint, mut upload) = start_upload(Endpoint { responses, ..Endpoint::default() }, 6).await;
    for column in 0..6 {
        put_tile(&mut upload, column).await.unwrap();
    }
    let mut seventh = std::pin::pin!(put_tile(&mut upload, 6));
    while endpoint.in_flight.load(Ordering::SeqCst) < 6 {
        assert!(
            futures::poll!(&mut seventh).is_pending(),
            "a seventh tile was accepted while six requests are running"
        );
        tokio::task::yield_now().await;
    }
    assert!(
        futures::poll!(&mut seventh).is_pending(),
        "a seventh tile was accepted while six requests are running"
    );
    endpoint.responses.as_ref().unwrap().add_permits(1);
    seventh.await.unwrap();
}
