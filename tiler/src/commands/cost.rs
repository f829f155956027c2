//! `tiler cost`: computes the cost of contents in each layout of the store, by the formula of docs/operations/guide.md, and
//! the number of fetched tiles from which on the other layout is cheaper; and the cost of rendered regions.

use std::process::ExitCode;

/// Computes the cost of contents in the layouts `archive` and `tiles`
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Args {
    /// Size of a content, in megapixels
    #[arg(long, default_value_t = 12.0)]
    megapixels: f64,
    /// Number of contents
    #[arg(long, default_value_t = 1_000_000.0)]
    contents: f64,
    /// Number of visits per content
    #[arg(long, default_value_t = 10.0)]
    visits: f64,
    /// Number of tiles fetched per visit
    #[arg(long, default_value_t = 20.0)]
    tiles_per_visit: f64,
    /// Bytes of all tiles per pixel of the picture
    #[arg(long, default_value_t = 0.22)]
    bytes_per_pixel: f64,
    /// Share of fetched tiles that no cache has, 0 to 1
    #[arg(long, default_value_t = 0.5)]
    uncached: f64,
    /// Number of regions and cards per content that no cache has, so that the Worker renders them (REGIONS)
    #[arg(long, default_value_t = 0.0)]
    regions: f64,
    /// Reads from the store per rendered region
    #[arg(long, default_value_t = 4.0)]
    reads_per_region: f64,
    /// Milliseconds of the Worker's processor time per rendered region
    #[arg(long, default_value_t = 45.0)]
    ms_per_region: f64,
    #[command(flatten)]
    prices: Prices,
}

/// The platform's prices, in dollars per million.
#[derive(clap::Args, Clone, Copy, Debug)]
struct Prices {
    /// Price of a million writes to the store, in dollars
    #[arg(long, default_value_t = 4.50)]
    writes: f64,
    /// Price of a million reads from the store, in dollars
    #[arg(long, default_value_t = 0.36)]
    reads: f64,
    /// Price of a million requests to the Worker, in dollars
    #[arg(long, default_value_t = 0.30)]
    requests: f64,
    /// Price of a million milliseconds of the Worker's processor time, in dollars
    #[arg(long, default_value_t = 0.02)]
    cpu: f64,
}

/// Cost of one content, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    writing: f64,
    serving: f64,
}

/// Tiles have 512 × 512 pixels, and all levels together have a third more pixels than the largest.
const TILES_PER_MEGAPIXEL: f64 = 1e6 / (512.0 * 512.0) * 4.0 / 3.0;
/// Size from which on an upload has larger parts (`s3/archive_upload.rs`).
const MEGAPIXELS_OF_SMALL_PARTS: f64 = 100.0;
const SMALL_PART: f64 = 8.0 * 1_048_576.0;
const LARGE_PART: f64 = 16.0 * 1_048_576.0;
/// Requests that start and complete a multipart upload.
const WRITES_BESIDE_PARTS: f64 = 2.0;
const MILLION: f64 = 1e6;

impl Args {
    fn tiles(&self) -> f64 {
        self.megapixels * TILES_PER_MEGAPIXEL
    }

    /// Returns the writes per content: one if the archive fits into one part.
    fn archive_writes(&self) -> f64 {
        let part = if self.megapixels > MEGAPIXELS_OF_SMALL_PARTS { LARGE_PART } else { SMALL_PART };
        let parts = (self.megapixels * MILLION * self.bytes_per_pixel / part).ceil();
        if parts > 1.0 { parts + WRITES_BESIDE_PARTS } else { 1.0 }
    }

    /// Returns the writes per content: its tiles, the descriptor, and two previews.
    fn tile_writes(&self) -> f64 {
        self.tiles() + 3.0
    }

    /// Returns the cost of one object, read through the Worker.
    fn archive(&self, fetched: f64) -> Cost {
        let Prices { writes, reads, requests, .. } = self.prices;
        let serving = fetched * (requests + self.uncached * reads) / MILLION;
        Cost { writing: self.archive_writes() * writes / MILLION, serving }
    }

    /// Returns the cost of one object per tile, behind a CDN without the Worker.
    fn single_tiles(&self, fetched: f64) -> Cost {
        let Prices { writes, reads, .. } = self.prices;
        let serving = fetched * self.uncached * reads / MILLION;
        Cost { writing: self.tile_writes() * writes / MILLION, serving }
    }

    /// Returns the cost of a content's rendered regions.
    fn rendering(&self) -> f64 {
        let Prices { reads, requests, cpu, .. } = self.prices;
        self.regions * (requests + self.reads_per_region * reads + self.ms_per_region * cpu) / MILLION
    }

    /// Returns the number of fetched tiles per content from which on single tiles are cheaper; `None` if they never are.
    fn break_even(&self) -> Option<f64> {
        let saved = (self.tile_writes() - self.archive_writes()) * self.prices.writes;
        (self.prices.requests > 0.0).then(|| (saved / self.prices.requests).max(0.0))
    }

    fn table(&self) -> String {
        let fetched = self.visits * self.tiles_per_visit;
        let mut table = format!(
            "{} contents of {} megapixels with {:.0} tiles; {fetched} tiles fetched per content, {} % of them from the store\n\n\
             layout      writes each     writing $     serving $       total $\n",
            self.contents,
            self.megapixels,
            self.tiles(),
            100.0 * self.uncached,
        );
        for (layout, writes, cost) in [
            ("archive", self.archive_writes(), self.archive(fetched)),
            ("tiles", self.tile_writes(), self.single_tiles(fetched)),
        ] {
            let [writing, serving] = [cost.writing, cost.serving].map(|dollars| dollars * self.contents);
            let sum = writing + serving;
            table += &format!("{layout:8} {writes:14.1} {writing:13.2} {serving:13.2} {sum:13.2}\n");
        }
        if self.regions > 0.0 {
            let dollars = self.rendering() * self.contents;
            table += &format!(
                "\nrendered regions: {:.0} for {dollars:.2} $, in both layouts\n",
                self.regions * self.contents
            );
        }
        table
            + &match self.break_even() {
                Some(tiles) => format!(
                    "\n`tiles` is cheaper from {tiles:.0} fetched tiles or {:.0} visits per content on; storage costs the same.\n",
                    tiles / self.tiles_per_visit
                ),
                None => "\n`archive` is always cheaper; storage costs the same.\n".to_owned(),
            }
    }
}

/// Prints the table.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let figures = [args.megapixels, args.contents, args.visits, args.tiles_per_visit, args.bytes_per_pixel];
    let Prices { writes, reads, requests, cpu } = args.prices;
    let others = [writes, reads, requests, cpu, args.regions, args.reads_per_region, args.ms_per_region];
    anyhow::ensure!(
        figures.iter().all(|figure| figure.is_finite() && *figure > 0.0),
        "sizes and counts must be greater than 0"
    );
    anyhow::ensure!(
        others.iter().all(|figure| figure.is_finite() && *figure >= 0.0),
        "prices and figures of regions must not be negative"
    );
    anyhow::ensure!((0.0..=1.0).contains(&args.uncached), "--uncached must be between 0 and 1");
    print!("{}", args.table());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        Cli::parse_from(["cost"].iter().chain(words)).args
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 0.02, "{value} is not {expected}");
    }

    #[test]
    fn a_hundred_million_pictures_cost_what_the_guide_says() {
        let args = args(&["--megapixels", "12", "--contents", "1e8"]);
        near(args.single_tiles(0.0).writing * args.contents, 28_800.0);
        near(args.archive(0.0).writing * args.contents, 450.0);
        near(args.break_even().unwrap() / args.tiles(), 15.5);
    }

    #[test]
    fn the_writes_of_an_archive_match_those_of_its_upload() {
        for (megapixels, writes) in [("1", 1.0), ("13", 1.0), ("38", 1.0), ("50", 4.0), ("216", 5.0)] {
            near(args(&["--megapixels", megapixels]).archive_writes(), writes);
        }
    }

    #[test]
    fn both_layouts_cost_the_same_at_the_break_even() {
        for words in [["--megapixels", "0.5"], ["--megapixels", "216"], ["--uncached", "0"]] {
            let args = args(&words);
            let tiles = args.break_even().unwrap();
            let sum = |cost: Cost| cost.writing + cost.serving;
            near(sum(args.archive(tiles)), sum(args.single_tiles(tiles)));
            assert!(sum(args.archive(tiles / 2.0)) <= sum(args.single_tiles(tiles / 2.0)));
        }
        assert_eq!(args(&["--requests", "0"]).break_even(), None);
    }

    #[test]
    fn rendered_regions_cost_what_the_prototype_measured() {
        // A card of 1,200 × 630 pixels: 12 tiles in two or three runs, and 37 ms.
        let words =
            ["--contents", "1e6", "--regions", "1", "--reads-per-region", "3", "--ms-per-region", "37"];
        near(args(&words).rendering() * 1e6, 2.12);
        assert!(args(&words).table().contains("rendered regions: 1000000 for 2.12 $, in both layouts"));
        near(1.0 + args(&["--regions", "0"]).rendering(), 1.0);
    }

    #[test]
    fn the_table_shows_both_layouts() {
        let args = args(&["--megapixels", "12", "--contents", "1000000"]);
        insta::assert_snapshot!(args.table(), @r"
        1000000 contents of 12 megapixels with 61 tiles; 200 tiles fetched per content, 50 % of them from the store

        layout      writes each     writing $     serving $       total $
        archive             1.0          4.50         96.00        100.50
        tiles              64.0        288.16         36.00        324.16

        `tiles` is cheaper from 946 fetched tiles or 47 visits per content on; storage costs the same.
        ");
    }
}
