//! How much uploading adds to rendering: a picture of 216 megapixels in tiles of 512 pixels goes to an S3 endpoint on this
//! machine, which takes PUTs and keeps nothing; first near, then with 50 ms added to each request, as a store far away has.
//! Rendering alone, whose tiles are thrown away, is what it is compared with. Renderer, client and endpoint share the
//! processors.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use edgezoom_content::{Attempt, ContentId};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use edgezoom_tiler::s3::{Layout, S3Settings, S3Store, Upload};
use tokio::net::TcpListener;

const RUNS: usize = 5;
/// What a request is delayed by.
const DELAY: Duration = Duration::from_millis(50);
/// What the service has under way at once, by default.
const AT_ONCE: usize = 16;

struct Endpoint {
    delay: Duration,
    taken: AtomicUsize,
}

async fn put(State(endpoint): State<Arc<Endpoint>>, body: Bytes) -> StatusCode {
    if !endpoint.delay.is_zero() {
        tokio::time::sleep(endpoint.delay).await;
    }
    endpoint.taken.fetch_add(usize::from(!body.is_empty()), Ordering::Relaxed);
    StatusCode::OK
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<()> {
    let picture = picture()?;
    println!(
        "{} in tiles of 512; {AT_ONCE} tiles under way at most; medians of {RUNS} runs",
        picture.display()
    );
    let mut rendering = vec![];
    let (mut near, mut far) = (vec![], vec![]);
    let mut tiles = 0;
    for run in 0..=RUNS {
        let (alone, count) = run_once(&picture, None).await?;
        tiles = count;
        let near_by = run_once(&picture, Some(Duration::ZERO)).await?.0;
        let far_away = run_once(&picture, Some(DELAY)).await?.0;
        if run > 0 {
            rendering.push(alone); // the first round warms up
            near.push(near_by);
            far.push(far_away);
        }
    }
    let (rendering, near, far) = (median(rendering), median(near), median(far));
    println!("rendering alone, {tiles} tiles   {rendering:.2} s");
    println!(
        "with the endpoint near by    {near:.2} s: {:+.0} %, 30 are allowed",
        (near / rendering - 1.0) * 100.0
    );
    let floor = (tiles as f64 * DELAY.as_secs_f64() / AT_ONCE as f64).max(rendering);
    println!(
        "with 50 ms to each request   {far:.2} s: {:.2} of {floor:.2} s, which tiles × 50 ms / {AT_ONCE} or the \
         rendering takes; 1.5 are allowed",
        far / floor
    );
    Ok(())
}

/// Renders, and uploads to an endpoint of so much delay. How long that takes in seconds, and how many tiles there are.
async fn run_once(picture: &Path, delay: Option<Duration>) -> Result<(f64, usize)> {
    let endpoint = Arc::new(Endpoint { delay: delay.unwrap_or_default(), taken: AtomicUsize::new(0) });
    let mut upload = match delay {
        Some(_) => Some(upload_to(Arc::clone(&endpoint)).await?),
        None => None,
    };
    let begun = Instant::now();
    let options = RenderOptions::default();
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start_as(program, File::open(picture)?, &options, &Limits::default())?;
    let (mut started, mut tiles) = (None, 0);
    loop {
        match renderer.next().await? {
            Output::Started(dzi) => started = Some(dzi),
            Output::Progress(_) => {}
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
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let taken = endpoint.taken.load(Ordering::Relaxed);
    ensure!(delay.is_none() || taken == tiles + 1, "{taken} of {tiles} tiles arrived");
    Ok((took, tiles))
}

async fn upload_to(endpoint: Arc<Endpoint>) -> Result<Upload> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(put).with_state(endpoint);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let store = S3Store::new(&S3Settings {
        endpoint: format!("http://{address}/").parse()?,
        bucket: "pyramids".into(),
        access_key_id: "key".into(),
        secret_access_key: "secret".parse()?,
    });
    let id: ContentId = "0123456789a".parse()?;
    Ok(store.upload(id, Attempt::FIRST, Layout::Tiles, NonZeroUsize::new(AT_ONCE).context("none at once")?))
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
