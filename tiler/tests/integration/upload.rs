//! Uploads to a store that is far away, in trouble, or slow: through the S3 client, to an endpoint on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::serve::ListenerExt;
use edgezoom_content::{Attempt, ContentId, Dzi, Size, TileFormat};
use edgezoom_tiler::renderer::Tile;
use edgezoom_tiler::s3::{S3Settings, S3Store, StoreError, Upload};
use tokio::net::TcpListener;

/// An endpoint that takes PUTs.
#[derive(Default)]
struct Endpoint {
    objects: Mutex<BTreeMap<String, Bytes>>,
    asked: AtomicUsize,
    connections: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    delay: Duration,
    /// The answers to the first PUTs; later ones are taken.
    troubles: Vec<StatusCode>,
}

async fn put(State(endpoint): State<Arc<Endpoint>>, uri: Uri, body: Bytes) -> StatusCode {
    let under_way = endpoint.under_way.fetch_add(1, Ordering::SeqCst) + 1;
    endpoint.most_under_way.fetch_max(under_way, Ordering::SeqCst);
    let number = endpoint.asked.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(endpoint.delay).await;
    let answer = endpoint.troubles.get(number).copied().unwrap_or(StatusCode::OK);
    if answer == StatusCode::OK {
        endpoint.objects.lock().unwrap().insert(uri.path().to_owned(), body);
    }
    endpoint.under_way.fetch_sub(1, Ordering::SeqCst);
    answer
}

/// Starts an endpoint, and an upload to it.
async fn start(endpoint: Endpoint, at_once: usize) -> (Arc<Endpoint>, Upload) {
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
    let upload = store.upload(id(), Attempt::FIRST, NonZeroUsize::new(at_once).unwrap());
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

async fn send(upload: &mut Upload, tiles: u32) -> Result<(), StoreError> {
    for column in 0..tiles {
        let bytes = Bytes::from(column.to_le_bytes().repeat(2000));
        upload.put_tile(&dzi(), Tile { level: 17, column, row: 0, bytes }).await?;
    }
    upload.finish(&dzi(), |_, _| {}).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn distance_is_hidden_by_as_many_requests_as_are_allowed_over_connections_that_stay() {
    let delay = Duration::from_millis(50);
    let (endpoint, mut upload) = start(Endpoint { delay, ..Endpoint::default() }, 32).await;
    let begun = Instant::now();
    send(&mut upload, 640).await.unwrap();
    let took = begun.elapsed();
    // 640 tiles, 32 at once: 20 rounds of 50 ms, some more while it begins, and the descriptor.
    assert!(took < delay * 20 * 3 / 2 + delay, "{took:?}");
    assert_eq!(upload.stored().tiles, 640);
    assert_eq!(endpoint.objects.lock().unwrap().len(), 641);
    assert_eq!(endpoint.most_under_way.load(Ordering::SeqCst), 32);
    let connections = endpoint.connections.load(Ordering::SeqCst);
    assert!(connections <= 40, "{connections} connections for 641 requests");
}

#[tokio::test]
async fn a_store_that_throttles_or_stumbles_is_asked_again_and_has_all_in_the_end() {
    let troubles = [503, 500, 429, 503, 502].into_iter().cycle().take(10);
    let troubles = troubles.map(|status| StatusCode::from_u16(status).unwrap()).collect();
    let (endpoint, mut upload) = start(Endpoint { troubles, ..Endpoint::default() }, 8).await;
    send(&mut upload, 40).await.unwrap();
    let objects = endpoint.objects.lock().unwrap();
    assert_eq!(objects.len(), 41);
    for column in 0..40_u32 {
        let path =
            format!("/pyramids/{}{}", Attempt::FIRST.tiles_prefix(id()), dzi().tile_path(17, column, 0));
        assert_eq!(objects[&path], column.to_le_bytes().repeat(2000), "{path}");
    }
}

#[tokio::test]
async fn a_store_that_refuses_ends_the_upload_without_a_descriptor() {
    let troubles = vec![StatusCode::FORBIDDEN; 1000];
    let (endpoint, mut upload) = start(Endpoint { troubles, ..Endpoint::default() }, 8).await;
    let error = send(&mut upload, 100).await.unwrap_err();
    assert!(matches!(&error, StoreError::Put { reason, .. } if reason.contains("403")), "{error}");
    upload.abandon(Duration::from_secs(1)).await;
    // What was under way when the first answer came, and nothing more.
    assert!(endpoint.asked.load(Ordering::SeqCst) <= 16);
    assert!(endpoint.objects.lock().unwrap().is_empty());
}

#[tokio::test]
async fn no_more_tiles_are_held_than_may_be_under_way() {
    let delay = Duration::from_millis(500);
    let (endpoint, mut upload) = start(Endpoint { delay, ..Endpoint::default() }, 6).await;
    let taken = tokio::time::timeout(delay / 2, async {
        for column in 0.. {
            let bytes = Bytes::from_static(b"a tile");
            upload.put_tile(&dzi(), Tile { level: 17, column, row: 0, bytes }).await.unwrap();
            assert!(column < 6, "a seventh tile was taken while six are under way");
        }
    });
    taken.await.unwrap_err();
    assert_eq!(endpoint.most_under_way.load(Ordering::SeqCst), 6);
}
