//! Compares tiles with those of other JPEG encoders: bytes, likeness (SSIMULACRA2) and encoding time, on photographs,
//! text, a map, a scan and noise, and on sources that are JPEGs themselves.
//!
//! Ours are the tiles of a whole pyramid. The other encoders get tiles of the same pixels. The reference of the
//! likeness is the source as libjpeg decodes it, halved by means of 2×2 pixels. Bytes at equal likeness are
//! interpolated between several qualities, for each level of each picture.
//!
//! `--views` also writes enlarged parts to `target/bench/quality`; `--shown 0.71` scales reference and tiles before
//! they are compared, as a viewer does; `--without-mozjpeg` leaves out the slow encoder; a word selects groups of
//! pictures by name.

mod encoders;
mod likeness;
mod pictures;
mod views;

use std::path::Path;

use anyhow::{Context, Result, bail};

use encoders::{Contender, Encoded};
use pictures::Picture;

/// The figures of one level of a picture at one quality.
#[derive(Clone, Copy)]
struct Figures {
    bytes: f64,
    score: f64,
    pixels: f64,
    /// Encoding time in nanoseconds.
    time: f64,
}

/// The figures of a level at each of a contender's qualities.
type Curve = Vec<(u8, Figures)>;

struct Request {
    views: bool,
    shown: f64,
    mozjpeg: bool,
    /// Part of the names of the groups to compare.
    only: Option<String>,
}

fn main() -> Result<()> {
    let request = Request::read(std::env::args().skip(1))?;
    let program = std::env::current_exe()?;
    let target =
        program.ancestors().nth(3).context("the benchmark does not run from a target directory")?.to_owned();
    let folder = target.join("bench/quality");
    std::fs::create_dir_all(&folder)?;
    println!(
        "Bytes are relative to libjpeg's at Q82, scores are differences from its. \"at equal score\": all bytes where each level scores \
         as libjpeg's at Q82.\n"
    );
    println!(
        "| group | encoder | at equal score | at its default | score there | worst | worst level | ns a pixel |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for group in pictures::groups() {
        if request.only.as_ref().is_some_and(|word| !group.name.contains(word.as_str())) {
            continue;
        }
        let contenders = Contender::ALL.into_iter();
        let mut curves: Vec<(Contender, Vec<Vec<Curve>>)> = contenders
            .filter(|contender| !contender.qualities(group.is_jpeg()).is_empty())
            .filter(|contender| request.mozjpeg || *contender != Contender::Mozjpeg)
            .map(|contender| (contender, vec![]))
            .collect();
        for picture in group.pictures()? {
            compare(&picture, group.is_jpeg(), &request, &folder, &mut curves)
                .with_context(|| format!("{}, {}", group.name, picture.name))?;
        }
        let Some((_, reference)) = curves.iter().find(|(contender, _)| *contender == Contender::Libjpeg)
        else {
            bail!("no reference")
        };
        for (contender, curves) in &curves {
            println!("{}", line(group.name, *contender, curves, reference));
        }
    }
    Ok(())
}

/// Adds a picture's curves to those of each contender.
fn compare(
    picture: &Picture,
    is_jpeg: bool,
    request: &Request,
    folder: &Path,
    curves: &mut [(Contender, Vec<Vec<Curve>>)],
) -> Result<()> {
    let levels = picture.levels();
    let mut views = vec![];
    for (contender, all) in curves {
        let qualities = contender.qualities(is_jpeg);
        let encoded = qualities
            .iter()
            .map(|&quality| contender.encode(picture, &levels, quality))
            .collect::<Result<Vec<_>>>()?;
        let pairs: Vec<_> = encoded
            .iter()
            .flat_map(|encoded| levels.iter().zip(encoded))
            .map(|(level, encoded)| (level, &encoded.shown))
            .collect();
        let mut scores = likeness::scores(&pairs, request.shown)?.into_iter();
        let mut of_levels: Vec<Curve> = levels.iter().map(|_| vec![]).collect();
        for (&quality, encoded) in qualities.iter().zip(&encoded) {
            for (((curve, reference), level), score) in
                of_levels.iter_mut().zip(&levels).zip(encoded).zip(&mut scores)
            {
                let pixels = f64::from(reference.width()) * f64::from(reference.height());
                let Encoded { bytes, time, .. } = *level;
                curve.push((quality, Figures { bytes: bytes as f64, score, pixels, time }));
            }
        }
        all.push(of_levels);
        let default = qualities.iter().position(|&quality| quality == contender.default_quality());
        let shown = default.and_then(|index| encoded.into_iter().nth(index)?.into_iter().next());
        views.extend(shown.map(|level| level.shown));
    }
    if let Some(first) = levels.first().filter(|_| request.views) {
        views::write(&folder.join(format!("{}.png", picture.name)), first, &views)?;
    }
    Ok(())
}

/// Returns a contender's line for a group.
fn line(group: &str, contender: Contender, curves: &[Vec<Curve>], reference: &[Vec<Curve>]) -> String {
    let at = |curve: &Curve, quality: u8| {
        curve.iter().find(|(known, _)| *known == quality).map_or(
            Figures { bytes: f64::NAN, score: f64::NAN, pixels: f64::NAN, time: f64::NAN },
            |(_, figures)| *figures,
        )
    };
    let (mut equal, mut given, mut all, mut pixels, mut time) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut differences, mut of_pictures) = (vec![], vec![]);
    for (levels, references) in curves.iter().zip(reference) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (curve, reference) in levels.iter().zip(references) {
            let (ours, theirs) = (at(curve, contender.default_quality()), at(reference, 82));
            equal += bytes_at(curve, theirs.score);
            (given, all) = (given + ours.bytes, all + theirs.bytes);
            (pixels, time) = (pixels + ours.pixels, time + ours.time);
            let difference = ours.score - theirs.score;
            differences.push(difference);
            (sum, weight) = (sum + difference * ours.pixels, weight + ours.pixels);
        }
        of_pictures.push(sum / weight);
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    format!(
        "| {group} | {} | {:.3} | {:.3} | {mean:+.2} | {:+.2} | {:+.2} | {:.2} |",
        contender.name(),
        equal / all,
        given / all,
        least(&of_pictures),
        least(&differences),
        time / pixels
    )
}

/// Interpolates the bytes at a score: their logarithm is nearly linear in the score. Where every quality scores higher,
/// returns the fewest bytes, which is an upper bound: tiles that keep a JPEG's own steps score nearly the same at all
/// qualities, so their line says nothing about lower scores.
fn bytes_at(curve: &Curve, score: f64) -> f64 {
    let mut points: Vec<(f64, f64)> =
        curve.iter().map(|(_, figures)| (figures.score, figures.bytes.ln())).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let Some(lowest) = points.first().filter(|lowest| score <= lowest.0) {
        return points.iter().map(|point| point.1).fold(lowest.1, f64::min).exp();
    }
    let after = points.iter().position(|point| point.0 >= score).unwrap_or(points.len());
    let upper = after.clamp(1, points.len() - 1);
    let ((low, few), (high, many)) = (points[upper - 1], points[upper]);
    if high - low < 1e-9 {
        return few.exp();
    }
    (few + (many - few) * (score - low) / (high - low)).exp()
}

impl Request {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut request = Self { views: false, shown: 1.0, mozjpeg: true, only: None };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--views" => request.views = true,
                "--shown" => request.shown = arguments.next().context("--shown needs a scale")?.parse()?,
                "--without-mozjpeg" => request.mozjpeg = false,
                "--bench" => {} // Cargo's
                other if other.starts_with('-') => bail!("unknown option {other}"),
                word => request.only = Some(word.to_owned()),
            }
        }
        Ok(request)
    }
}
