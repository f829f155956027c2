//! Tests the renderer process from its parent's side: its output, and the reasons for its end.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Damage, Layout};
use edgezoom_content::{Dzi, Failure, FailureCode, Scale, ScaleBasis, ScaleUnit, Size, TileFormat};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Built, Output, PROTOCOL_VERSION, RenderError, RenderOptions, Renderer};
use tempfile::TempDir;

use edgezoom_test_support::files::{self, Jpeg, file};
use edgezoom_test_support::{Picture, patience};

pub const TILER: &str = env!("CARGO_BIN_EXE_tiler");

/// Returns all outputs of a renderer.
async fn outputs(mut renderer: Renderer) -> Result<Vec<Output>, Failure> {
    let mut outputs = Vec::new();
    loop {
        outputs.push(renderer.next().await.map_err(crate::failure)?);
        if let Some(Output::Finished { .. }) = outputs.last() {
            return Ok(outputs);
        }
    }
}

pub async fn render(source: File, options: &RenderOptions, limits: &Limits) -> Result<Vec<Output>, Failure> {
    outputs(Renderer::start(Path::new(TILER), source, options, limits).unwrap()).await
}

/// Returns the outputs of a shell script that pretends to be a renderer.
async fn impostor(script: &str, limits: &Limits) -> Result<Vec<Output>, Failure> {
    let (_folder, renderer) = start_impostor(script, limits);
    outputs(renderer).await
}

/// Returns the error of such a script, before it becomes a failure.
async fn impostor_error(script: &str, limits: &Limits) -> RenderError {
    let (_folder, mut renderer) = start_impostor(script, limits);
    renderer.next().await.unwrap_err()
}

fn start_impostor(script: &str, limits: &Limits) -> (TempDir, Renderer) {
    start_impostor_with(script, &RenderOptions::default(), limits)
}

fn start_impostor_with(script: &str, options: &RenderOptions, limits: &Limits) -> (TempDir, Renderer) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("impostor");
    fs::write(&program, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let renderer = Renderer::start(&program, file(b"x"), options, limits).unwrap();
    (folder, renderer)
}

pub fn finished(outputs: &[Output]) -> Dzi {
    match outputs {
        [Output::Started(started), .., Output::Finished(Built { dzi, .. })] if started == dzi => *dzi,
        other => panic!("{:?} … {:?}", other.first(), other.last()),
    }
}

#[tokio::test]
async fn a_renderer_that_an_attacker_controls_cannot_change_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("impostor");
    fs::write(&program, "#!/bin/sh\n(echo changed >&0) 2>/dev/null || echo refused >&2\nexit 1\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let source = file(b"source");
    let copy = source.try_clone().unwrap();
    let mut renderer =
        Renderer::start(&program, source, &RenderOptions::default(), &Limits::default()).unwrap();
    assert!(matches!(renderer.next().await.unwrap_err(), RenderError::Died));
    let mut read = String::new();
    (&copy).seek(SeekFrom::Start(0)).unwrap();
    (&copy).read_to_string(&mut read).unwrap();
    assert_eq!(read, "source");
}

#[tokio::test]
async fn a_picture_starts_progresses_and_finishes_with_all_its_tiles() {
    let picture = files::jpeg(&Picture::photo(1300, 900, Layout::Rgb), Jpeg::default());
    let outputs = render(file(&picture), &RenderOptions::default(), &Limits::default()).await.unwrap();
    let dzi = finished(&outputs);
    assert_eq!((dzi.size.width, dzi.size.height, dzi.tile_size, dzi.tile_overlap), (1300, 900, 512, 0));
    assert_eq!(dzi.tile_format, TileFormat::Jpg);
    let tiles = outputs.iter().filter(|output| matches!(output, Output::Tile(_))).count();
    assert_eq!(tiles as u64, dzi.tile_count());
    let progress: Vec<f64> = outputs
        .iter()
        .filter_map(|output| if let Output::Progress(done) = output { Some(*done) } else { None })
        .collect();
    assert!(progress.is_sorted() && progress.len() > 5);
    assert_eq!(progress.last(), Some(&1.0));
}

#[tokio::test]
async fn transparency_decides_the_format_unless_one_is_requested() {
    let opaque = files::png(&Picture::photo(40, 30, Layout::Rgb), |_| {});
    let transparent = files::png(&Picture::photo(40, 30, Layout::Rgba), |_| {});
    // The last pixel alone decides.
    let last_alpha = |last: u8| {
        Picture::new(900, 700, Layout::Rgba, move |x, y| {
            [x as u8, y as u8, 90, if (x, y) == (899, 699) { last } else { 255 }]
        })
    };
    let [opaque_alpha, almost_opaque] = [255, 254].map(|last| files::png(&last_alpha(last), |_| {}));
    let [opaque_alpha_webp, almost_opaque_webp] = [255, 254].map(|last| files::webp(&last_alpha(last), None));
    for (source, format, expected) in [
        (&opaque, None, TileFormat::Jpg),
        (&transparent, None, TileFormat::Png),
        (&opaque_alpha, None, TileFormat::Jpg),
        (&almost_opaque, None, TileFormat::Png),
        (&opaque_alpha_webp, None, TileFormat::Jpg),
        (&almost_opaque_webp, None, TileFormat::Png),
        (&opaque, Some(TileFormat::Png), TileFormat::Png),
        (&transparent, Some(TileFormat::Jpg), TileFormat::Jpg),
    ] {
        let options = RenderOptions { format, ..RenderOptions::default() };
        let outputs = render(file(source), &options, &Limits::default()).await.unwrap();
        assert_eq!(finished(&outputs).tile_format, expected);
    }
}

#[tokio::test]
async fn transparent_pixels_are_white_in_jpeg() {
    let nothing = Picture::new(20, 20, Layout::Rgba, |_, _| [200, 0, 0, 0]);
    let options = RenderOptions { format: Some(TileFormat::Jpg), ..RenderOptions::default() };
    let outputs = render(file(&files::png(&nothing, |_| {})), &options, &Limits::default()).await.unwrap();
    for output in outputs {
        if let Output::Tile(tile) = output {
            let picture = edgezoom_test_support::pyramid::decode(TileFormat::Jpg, &tile.bytes);
            assert!(picture.pixels.iter().all(|&value| value == 255));
        }
    }
}

#[tokio::test]
async fn a_file_positioned_at_its_end_is_read_from_its_start() {
    let mut source = file(&files::png(&Picture::photo(40, 30, Layout::Rgb), |_| {}));
    source.seek(SeekFrom::End(0)).unwrap();
    assert!(render(source, &RenderOptions::default(), &Limits::default()).await.is_ok());
}

#[tokio::test]
async fn a_source_that_cannot_be_decoded_fails_with_its_code() {
    let whole = files::jpeg(&Picture::photo(1300, 900, Layout::Rgb), Jpeg::default());
    for (bytes, code) in [
        (&whole[..whole.len() / 2], FailureCode::CorruptSource),
        (b"a text".as_slice(), FailureCode::UnsupportedFormat),
        (b"", FailureCode::CorruptSource),
    ] {
        let strict = RenderOptions { strict: true, ..RenderOptions::default() };
        let failure = render(file(bytes), &strict, &Limits::default()).await.unwrap_err();
        assert_eq!(failure.code, code);
    }
    let limits = Limits { pixels: 1_000_000, ..Limits::default() };
    let failure = render(file(&whole), &RenderOptions::default(), &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TooManyPixels);
    assert_eq!(failure.message, "The picture has 1300×900 pixels, more than the 1000000 allowed.");
}

#[tokio::test]
async fn a_picture_of_the_sky_finishes_with_its_scale() {
    let cards = [
        "SIMPLE  = T",
        "BITPIX  = 8",
        "NAXIS   = 2",
        "NAXIS1  = 30",
        "NAXIS2  = 20",
        "CTYPE1  = 'RA---TAN'",
        "CTYPE2  = 'DEC--TAN'",
        "CDELT1  = -0.25",
        "CDELT2  = 0.25",
        "END",
    ];
    let mut fits: Vec<u8> = cards.iter().flat_map(|card| format!("{card:80}").into_bytes()).collect();
    fits.resize(2880, b' ');
    fits.resize(2 * 2880, 7);
    let outputs = render(file(&fits), &RenderOptions::default(), &Limits::default()).await.unwrap();
    let Some(Output::Finished(Built { scale, .. })) = outputs.last() else { panic!("{:?}", outputs.last()) };
    assert_eq!(*scale, Scale::new(0.25, 0.25, ScaleUnit::Degree, ScaleBasis::Fits));
}

#[tokio::test]
async fn a_damaged_picture_finishes_with_its_damage() {
    let whole = files::jpeg(&Picture::photo(1300, 900, Layout::Rgb), Jpeg::default());
    let options = RenderOptions::default();
    let outputs = render(file(&whole[..whole.len() / 2]), &options, &Limits::default()).await.unwrap();
    let Some(Output::Finished(Built { damage: Some(Damage::FromRow { row, rows: 900 }), .. })) =
        outputs.last()
    else {
        panic!("{:?}", outputs.last());
    };
    assert!((400..500).contains(row), "{row}");
    let nothing = render(file(&whole[..700]), &options, &Limits::default()).await.unwrap_err();
    assert_eq!(nothing.code, FailureCode::CorruptSource);
}

#[tokio::test]
async fn options_out_of_range_start_no_process() {
    for options in [
        RenderOptions { tile_size: 0, ..RenderOptions::default() },
        RenderOptions { tile_size: 5000, ..RenderOptions::default() },
        RenderOptions { overlap: 513, ..RenderOptions::default() },
        RenderOptions { quality: 0, ..RenderOptions::default() },
    ] {
        assert!(Renderer::start(Path::new(TILER), file(b""), &options, &Limits::default()).is_err());
    }
}

/// Returns a picture that takes the renderer a few seconds.
fn slow() -> File {
    let mut source = tempfile::tempfile().unwrap();
    files::large_png(20_000, 3_000, Layout::Rgba, &mut source);
    source
}

fn one_thread() -> RenderOptions {
    RenderOptions { threads: NonZeroUsize::MIN, tile_size: 64, ..RenderOptions::default() }
}

#[tokio::test]
async fn rendering_longer_than_allowed_times_out() {
    let limits = Limits { renderer_time: Duration::from_millis(300), ..Limits::default() };
    let failure = render(slow(), &one_thread(), &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TimedOut);
}

#[tokio::test]
async fn exceeding_the_memory_limit_is_a_failure_of_the_picture_and_not_a_crash() {
    let source = slow();
    // It fails at different places, such as the start of a thread.
    for kib in (5000..12_000).step_by(250) {
        let limits = Limits { renderer_memory: kib << 10, ..Limits::default() };
        let mut source = source.try_clone().unwrap();
        source.rewind().unwrap();
        let failure = render(source, &RenderOptions::default(), &limits).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::TooManyPixels, "{kib} KiB");
        assert!(failure.message.contains("memory"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_renderer_that_crashes_fails_as_internal() {
    for script in ["kill -SEGV $$", "kill -SYS $$", "exit 1", "exit 0"] {
        let failure = impostor(script, &Limits::default()).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Internal, "{script}");
        assert_eq!(failure.message, "The renderer stopped unexpectedly.");
    }
    for script in ["kill -KILL $$", "kill -TERM $$"] {
        let failure = impostor(script, &Limits::default()).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Internal, "{script}");
        assert_eq!(failure.message, "The renderer was killed from outside.");
    }
}

#[tokio::test]
async fn a_signal_from_outside_is_told_apart_from_a_fault() {
    for (script, expected) in [
        ("kill -KILL $$", "Killed { signal: 9 }"),
        ("kill -TERM $$", "Killed { signal: 15 }"),
        ("kill -SEGV $$", "Crashed { signal: 11 }"),
        ("kill -ABRT $$", "OutOfMemory"),
        ("echo a panic >&2; kill -ABRT $$", "Crashed { signal: 6 }"),
        ("exit 1", "Died"),
    ] {
        let error = impostor_error(script, &Limits::default()).await;
        assert_eq!(format!("{error:?}"), expected, "{script}");
    }
}

#[tokio::test]
async fn a_picture_that_uses_up_the_processor_time_is_too_complex() {
    let limits = Limits { renderer_cpu: Duration::from_millis(500), ..Limits::default() };
    for script in ["while :; do :; done", "kill -XCPU $$"] {
        let failure = impostor(script, &limits).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::TooComplex, "{script}");
        assert!(failure.message.contains("s of processor time"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_renderer_that_ends_after_its_pixels_has_only_no_more_vectors() {
    let frame = |kind: u8, parts: &[&[u8]]| {
        let content = parts.concat();
        let octal = |byte: &u8| format!("\\{byte:03o}");
        let length = (content.len() as u32).to_le_bytes();
        [kind].iter().chain(&length).chain(&content).map(octal).collect::<String>()
    };
    let mut options = RenderOptions::default();
    let dzi = options.dzi(Size { width: 1, height: 1 }, TileFormat::Jpg);
    let frames = [
        frame(b'B', &[&[PROTOCOL_VERSION], &serde_json::to_vec(&dzi).unwrap()]),
        frame(b'T', &[&[0; 12], &[0xff, 0xd8, 0xff, 0xe0]]),
        frame(b'F', &[br#"{"damage":null,"scale":null,"halved":false}"#]),
    ];
    let limits = Limits {
        renderer_cpu: Duration::from_millis(300),
        renderer_idle: Duration::from_millis(300),
        ..Limits::default()
    };
    for end in ["exit 1", "kill -SEGV $$", "while :; do :; done", "exec sleep 60", "printf G"] {
        let script = format!("printf '{}'; {end}", frames.concat());
        for vectors in [true, false] {
            options.drawing.vectors = vectors;
            let (_folder, renderer) = start_impostor_with(&script, &options, &limits);
            let outputs = outputs(renderer).await;
            assert_eq!(outputs.is_ok(), vectors, "{end}: {outputs:?}");
        }
    }
    options.drawing.vectors = true;
    let reason = |reason: &[u8]| frame(b'O', &[&[0; 4], reason]);
    for (last, is_honest) in [
        (frame(b'G', &[b"<svg/>"]), false),
        (reason(b"the page has a mask"), true),
        (reason(b"the page\nhas a mask"), false),
        (reason(b"mask").repeat(2), false),
    ] {
        let script = format!("printf '{}{last}'", frames.concat());
        let (_folder, renderer) = start_impostor_with(&script, &options, &limits);
        let outputs = outputs(renderer).await.map_err(|failure| failure.code);
        assert_eq!(
            outputs.as_ref().err(),
            if is_honest { None } else { Some(&FailureCode::Internal) },
            "{last}"
        );
    }
}

#[tokio::test]
async fn an_idle_renderer_is_killed_before_its_wall_time_is_over() {
    let limits = Limits { renderer_idle: Duration::from_millis(300), ..Limits::default() };
    let failure = impostor("exec sleep 60", &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TimedOut);
    assert!(failure.message.contains("made no progress"), "{}", failure.message);
}

#[tokio::test]
async fn a_renderer_that_hangs_is_killed() {
    let limits = Limits { renderer_time: Duration::from_millis(200), ..Limits::default() };
    assert_eq!(impostor("exec sleep 60", &limits).await.unwrap_err().code, FailureCode::TimedOut);
}

#[tokio::test]
async fn a_renderer_that_writes_no_frames_is_killed() {
    for script in ["exec cat /dev/zero", "exec yes", "printf 'T\\377\\377\\377\\377'; exec cat /dev/zero"] {
        let failure = impostor(script, &Limits::default()).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Internal, "{script}");
    }
}

#[tokio::test]
async fn endless_standard_error_does_not_stop_a_renderer() {
    let failure = impostor("head -c 10000000 /dev/zero >&2; exit 3", &Limits::default()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Internal);
}

#[tokio::test]
async fn dropping_a_renderer_kills_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let (program, pid) = (folder.path().join("impostor"), folder.path().join("pid"));
    fs::write(&program, format!("#!/bin/sh\necho $$ > {}\nexec /bin/sleep 60\n", pid.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let renderer =
        Renderer::start(&program, file(b"x"), &RenderOptions::default(), &Limits::default()).unwrap();
    let process = loop {
        match fs::read_to_string(&pid).ok().and_then(|text| text.trim().parse::<i32>().ok()) {
            Some(process) => break rustix::process::Pid::from_raw(process).unwrap(),
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    drop(renderer);
    let deadline = Instant::now() + patience();
    while rustix::process::test_kill_process(process).is_ok() {
        assert!(Instant::now() < deadline, "it is still running, or was not reaped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
