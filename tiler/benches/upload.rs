//! How much uploading adds to rendering: a picture of 216 megapixels goes to an S3 endpoint on this machine, which takes
//! writes and keeps nothing; first near, then with 50 ms added to each request, as a store far away has; as one archive, and
//! as an object for each tile beside it. Rendering alone, whose tiles are thrown away, is what it is compared with.
//! Renderer, client and endpoint share the processors.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, Uri};
use axum::response::{IntoResponse, Response};
use edgezoom_content::{Attempt, ContentId};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use edgezoom_tiler::s3::{Layout, S3Settings, S3Store, Upload};
use tokio::net::TcpListener;

const RUNS: usize = 5;
/// What a request is delayed by.
const DELAY: Duration = Duration::from_millis(50);
/// The tiles that the service has under way at once, by default.
const AT_ONCE: usize = 16;
/// The most that uploading an archive to a distant store may take, of the time of rendering alone.
const ALLOWED: f64 = 1.25;

struct Endpoint {
    delay: Duration,
    writes: AtomicUsize,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Case {
    layout: Layout,
    delay: Duration,
}

/// A run: its seconds, the tiles, and the requests that write.
struct Run {
    seconds: f64,
    tiles: usize,
    writes: usize,
}

async fn answer(State(endpoint): State<Arc<Endpoint>>, method: Method, uri: Uri, body: Bytes) -> Response {
    if !endpoint.delay.is_zero() {
        tokio::time::sleep(endpoint.delay).await;
    }
    drop(body);
    endpoint.writes.fetch_add(1, Ordering::Relaxed);
    match (method, uri.query().is_some_and(|query| query.split('&').any(|part| part.starts_with("uploads"))))
    {
        (Method::POST, true) => {
            "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
        }
        (Method::POST, false) => "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>",
        _ => return [("etag", "\"part\"")].into_response(),
    }
    .into_response()
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<()> {
    let picture = picture()?;
    println!("{}; {AT_ONCE} tiles under way at most; medians of {RUNS} runs", picture.display());
    let cases = [Layout::Archive, Layout::Tiles]
        .into_iter()
        .flat_map(|layout| [Duration::ZERO, DELAY].map(|delay| Some(Case { layout, delay })));
    let cases: Vec<Option<Case>> = [None].into_iter().chain(cases).collect();
    let mut seconds = vec![vec![]; cases.len()];
    let mut last = vec![];
    for run in 0..=RUNS {
        last.clear();
        for (case, seconds) in cases.iter().zip(&mut seconds) {
            let taken = run_once(&picture, *case).await?;
            if run > 0 {
                seconds.push(taken.seconds); // the first round warms up
            }
            last.push(taken);
        }
    }
    let medians: Vec<f64> = seconds.into_iter().map(median).collect();
    let (&[alone, ..], [first, ..]) = (medians.as_slice(), last.as_slice()) else { return Ok(()) };
    println!("rendering alone, {} tiles: {alone:.2} s", first.tiles);
    println!("| layout | each request | writes | s | times rendering alone |");
    println!("|---|---|---|---|---|");
    for ((case, taken), run) in cases.iter().zip(&medians).zip(&last) {
        let Some(Case { layout, delay }) = case else { continue };
        let ms = delay.as_millis();
        println!("| {layout:?} | {ms} ms | {} | {taken:.2} | {:.2} |", run.writes, taken / alone);
    }
    println!("An archive with {} ms: {ALLOWED} times are allowed.", DELAY.as_millis());
    Ok(())
}

/// Renders, and uploads to an endpoint, if that is measured.
async fn run_once(picture: &Path, case: Option<Case>) -> Result<Run> {
    let delay = case.map_or(Duration::ZERO, |case| case.delay);
    let endpoint = Arc::new(Endpoint { delay, writes: AtomicUsize::new(0) });
    let mut upload = match case {
        Some(Case { layout, .. }) => Some(upload_to(Arc::clone(&endpoint), layout).await?),
        None => None,
    };
    let begun = Instant::now();
    let options = RenderOptions::default();
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start(program, File::open(picture)?, &options, &Limits::default())?;
    let (mut started, mut tiles) = (None, 0);
    loop {
        match renderer.next().await? {
            Output::Started(dzi) => started = Some(dzi),
            Output::Tile(tile) => {
                tiles += 1;
                if let Some(upload) = &mut upload {
                    upload.put_tile(started.as_ref().context("a tile before the header")?, tile).await?;
                }
            }
            Output::Finished { dzi, .. } => {
                if let Some(upload) = &mut upload {
                    upload.finish(&dzi, |_, _| {}).await?;
                }
                break;
            }
            _ => {}
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let writes = endpoint.writes.load(Ordering::Relaxed);
    let expected = match case.map(|case| case.layout) {
        None => 0..=0,
        Some(Layout::Archive) => 1..=12,
        Some(Layout::Tiles) => tiles + 1..=tiles + 1,
    };
    ensure!(expected.contains(&writes), "{writes} requests for {tiles} tiles");
    Ok(Run { seconds, tiles, writes })
}

async fn upload_to(endpoint: Arc<Endpoint>, layout: Layout) -> Result<Upload> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(endpoint);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let store = S3Store::new(&S3Settings {
        endpoint: format!("http://{address}/").parse()?,
        bucket: "pyramids".into(),
        access_key_id: "key".into(),
        secret_access_key: "secret".parse()?,
    });
    let id: ContentId = "0123456789a".parse()?;
    Ok(store.upload(id, Attempt::FIRST, layout, NonZeroUsize::new(AT_ONCE).context("none at once")?))
}

/// The picture, which the benchmark `pyramid` makes.
fn picture() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).context("the benchmark does not run from a target folder")?;
    let picture = target.join("bench/pictures/JPEG-4-2-0-216-MP.jpg");
    ensure!(picture.exists(), "{} is missing: `cargo xtask bench pyramid` makes it", picture.display());
    Ok(picture)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
