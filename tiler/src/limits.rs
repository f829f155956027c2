//! The limits of a conversion. A limit that an operator may have a reason to set is a flag of `tiler serve` and
//! `tiler convert` with an environment variable; the others are constants. The documentation of each says why.

use std::num::{NonZeroUsize, ParseIntError};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Command, value_parser};
use edgezoom_codecs::Bounds;

/// The limits of one conversion.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Maximum size of a source, in MiB
    ///
    /// The default is enough for scanned maps in TIFF; a JPEG of 20 gigapixels has about this size.
    #[arg(long = "max-source-mib", value_name = "MIB", env = "EDGEZOOM_MAX_SOURCE_MIB", default_value = "2048", value_parser = mebibytes)]
    pub source_bytes: u64,
    /// Bytes that a source may unpack to regardless of its own size, if it has a content coding.
    #[arg(skip = 256_u64 << 20)]
    pub unpacked_free: u64,
    /// Additional bytes that it may unpack to per byte, so that a small download costs no more than a large one. Text
    /// packs to a tenth, and drawings of one colour to a thousandth.
    #[arg(skip = 100_u64)]
    pub unpacked_per_byte: u64,
    /// Maximum size of a picture, in millions of pixels
    #[arg(long = "max-megapixels", value_name = "MEGAPIXELS", env = "EDGEZOOM_MAX_MEGAPIXELS", default_value = "20000", value_parser = megapixels)]
    pub pixels: u64,
    /// Pixels that a picture may have regardless of its file's size. A sheet of 33 by 47 inches has this number at 600
    /// dpi, and only a few hundred kilobytes in fax compression.
    #[arg(skip = 500_000_000_u64)]
    pub pixels_free: u64,
    /// Additional pixels that a picture may have per byte of its file, so that a small download does not become a
    /// million tiles. Deflate compresses a thousand bytes of one colour to one byte, and detailed pictures far less.
    #[arg(skip = 1_000_u64)]
    pub pixels_per_byte: u64,
    /// Maximum size of a drawn document or SVG, in millions of pixels; a larger one is drawn smaller
    #[arg(long = "max-drawn-megapixels", value_name = "MEGAPIXELS", env = "EDGEZOOM_MAX_DRAWN_MEGAPIXELS", default_value = "1000", value_parser = megapixels)]
    pub drawn_pixels: u64,
    /// Maximum size of a drawn page of a document in pixels. A scanned page, which has its own pixels, may have the
    /// additional pixels per byte. A poster of 47 by 66 inches at 200 dpi has 125 million.
    #[arg(skip = Bounds::default().page_pixels)]
    pub page_pixels: u64,
    /// Maximum width and height of a picture, in pixels
    ///
    /// Memory is proportional to the width.
    #[arg(long = "max-side", value_name = "PIXELS", env = "EDGEZOOM_MAX_SIDE", default_value_t = Bounds::default().side)]
    pub side: u32,
    /// Maximum number of PDF pages to draw; the others are left out
    #[arg(long = "max-pdf-pages", value_name = "PAGES", env = "EDGEZOOM_MAX_PDF_PAGES", default_value_t = Bounds::default().pdf_pages)]
    pub pdf_pages: NonZeroUsize,
    /// Maximum size of an uncompressed SVG in bytes. Its tree in memory is about ten times as large.
    #[arg(skip = Bounds::default().svg_bytes)]
    pub svg_bytes: u64,
    /// Maximum number of redirects.
    #[arg(skip = 5_u32)]
    pub redirects: u32,
    /// Maximum number of concurrent downloads from one host; web pages may open three times as many connections
    ///
    /// A browser opens six connections to a host for one page.
    #[arg(long, env = "EDGEZOOM_DOWNLOADS_PER_HOST", default_value = "4")]
    pub downloads_per_host: NonZeroUsize,
    /// Minimum time between the starts of two downloads from one host, in milliseconds
    ///
    /// A person who browses a gallery opens at most a few pictures per second.
    #[arg(long = "host-interval-ms", value_name = "MS", env = "EDGEZOOM_HOST_INTERVAL_MS", default_value = "100", value_parser = milliseconds)]
    pub host_interval: Duration,
    /// Maximum time to connect to a source's server, name resolution included.
    #[arg(skip = Duration::from_secs(10))]
    pub connect: Duration,
    /// Maximum time without data during a download.
    #[arg(skip = Duration::from_secs(30))]
    pub stall: Duration,
    /// Maximum time of a download, redirects included: enough for 2 GiB at a little over a megabyte per second. Without
    /// it, a server that sends a byte every half minute would occupy a job's slot for years.
    #[arg(skip = Duration::from_secs(30 * 60))]
    pub download: Duration,
    /// Maximum memory of a renderer process, in MiB
    #[arg(
        long = "memory",
        env = "EDGEZOOM_MEMORY_MIB",
        default_value = "1024",
        value_name = "MIB",
        value_parser = value_parser!(u64).range(64..=1 << 20).map(|mebibytes| mebibytes << 20)
    )]
    pub renderer_memory: u64,
    /// Maximum size in bytes of the temporary file that a renderer process uses in place of memory. Half of an
    /// interlaced PNG of a gigapixel takes 2 GB.
    #[arg(skip = 8_u64 << 30)]
    pub renderer_file: u64,
    /// Directory of that file (unlinked).
    #[arg(skip = std::env::temp_dir())]
    pub renderer_folder: PathBuf,
    /// Maximum time of a rendering, in seconds
    #[arg(long = "render-seconds", value_name = "SECONDS", env = "EDGEZOOM_RENDER_SECONDS", default_value = "1800", value_parser = seconds)]
    pub renderer_time: Duration,
    /// Processor time of a rendering before its first row and between rows, in seconds
    #[arg(long = "cpu-seconds", value_name = "SECONDS", env = "EDGEZOOM_CPU_SECONDS", default_value = "20", value_parser = seconds)]
    pub renderer_cpu: Duration,
    /// Additional processor time per MiB of the source, in milliseconds
    ///
    /// An SVG with many paths is a large file.
    #[arg(long = "cpu-ms-per-mib", value_name = "MS", env = "EDGEZOOM_CPU_MS_PER_MIB", default_value = "2000", value_parser = milliseconds)]
    pub renderer_cpu_per_mib: Duration,
    /// Additional processor time per million pixels read, which are decoded and cut into tiles, in milliseconds
    #[arg(
        long = "cpu-ms-per-megapixel",
        value_name = "MS",
        env = "EDGEZOOM_CPU_MS_PER_MEGAPIXEL",
        default_value = "100",
        value_parser = milliseconds
    )]
    pub renderer_cpu_per_megapixel: Duration,
    /// Maximum time in which it neither computes nor writes.
    #[arg(skip = Duration::from_secs(20))]
    pub renderer_idle: Duration,
}

/// Bytes of the directory for temporary files that no conversion may use: other programs and the log need some.
const DISK_RESERVE: u64 = 256 << 20;
/// Bytes that a conversion may use of a directory that has less: if it is full, the conversion fails and is tried again,
/// whereas a source that is too large is not.
const LEAST_SHARE: u64 = 96 << 20;

impl Limits {
    /// Returns the maximum number of bytes that a source of `packed` bytes may unpack to.
    pub(crate) fn unpacked_bytes(&self, packed: u64) -> u64 {
        let by_length = packed.saturating_mul(self.unpacked_per_byte).saturating_add(self.unpacked_free);
        by_length.min(self.source_bytes)
    }

    /// Returns limits with which the temporary files of `jobs` concurrent conversions fit into `free` bytes: the source,
    /// the same unpacked, and the renderer's file. Each gets at least a third of a conversion's share, and that is at
    /// least 96 MiB.
    #[must_use]
    pub fn within_disk(self, free: u64, jobs: NonZeroUsize) -> Self {
        let share = (free.saturating_sub(DISK_RESERVE) / jobs.get() as u64).max(LEAST_SHARE);
        let source_bytes = self.source_bytes.min(share / 3);
        Self { source_bytes, renderer_file: self.renderer_file.min(share - 2 * source_bytes), ..self }
    }

    /// Returns the bytes that the temporary files of `jobs` concurrent conversions may have together.
    #[must_use]
    pub fn disk(&self, jobs: NonZeroUsize) -> u64 {
        let one = self.source_bytes.saturating_mul(2).saturating_add(self.renderer_file);
        one.saturating_mul(jobs.get() as u64).saturating_add(DISK_RESERVE)
    }
}

impl Default for Limits {
    fn default() -> Self {
        defaults()
    }
}

/// Returns the defaults of flags, whatever the environment says.
pub(crate) fn defaults<T: Args>() -> T {
    let command = T::augment_args(Command::new("defaults")).mut_args(|arg| arg.env(None));
    T::from_arg_matches(&command.get_matches_from([""])).unwrap_or_else(|error| error.exit())
}

/// Parses a number of MiB as bytes.
pub(crate) fn mebibytes(text: &str) -> Result<u64, ParseIntError> {
    text.parse().map(|mebibytes: u64| mebibytes.saturating_mul(1 << 20))
}

fn megapixels(text: &str) -> Result<u64, ParseIntError> {
    text.parse().map(|megapixels: u64| megapixels.saturating_mul(1_000_000))
}

fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}

/// Parses a number of milliseconds.
///
/// # Errors
/// The text is no number.
pub fn milliseconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn a_source_unpacks_to_a_multiple_of_its_size_within_the_limit_for_sources() {
        let limits = Limits::default();
        assert_eq!(limits.unpacked_bytes(0), 256 << 20);
        assert_eq!(limits.unpacked_bytes(1 << 20), 356 << 20);
        assert_eq!(limits.unpacked_bytes(u64::MAX), limits.source_bytes);
        assert_eq!(Limits { source_bytes: 1000, ..limits }.unpacked_bytes(1000), 1000);
    }

    fn limits(flags: &[&str]) -> Result<Limits, clap::Error> {
        let command = Limits::augment_args(Command::new("limits").no_binary_name(true));
        Limits::from_arg_matches(&command.mut_args(|arg| arg.env(None)).try_get_matches_from(flags)?)
    }

    /// A job whose source or rendering filled the directory would make the jobs of other clients fail.
    #[test]
    fn one_job_cannot_fill_the_directory_for_temporary_files() {
        let jobs = NonZeroUsize::new(4).unwrap();
        let limits = Limits::default();
        assert_eq!(limits.clone().within_disk(limits.disk(jobs), jobs), limits, "room for all");
        for free in [0, 100 << 20, 8 << 30, 20 << 30, limits.disk(jobs) - 1] {
            let within = limits.clone().within_disk(free, jobs);
            assert!(within.disk(jobs) <= free.max(DISK_RESERVE + 4 * LEAST_SHARE), "{free}");
            assert!(within.source_bytes >= LEAST_SHARE / 3, "{free}");
            assert!(
                within.source_bytes <= limits.source_bytes && within.renderer_file <= limits.renderer_file
            );
        }
        let within = limits.clone().within_disk(8 << 30, jobs);
        assert_eq!((within.source_bytes >> 20, within.renderer_file >> 20), (661, 661));
        let small = Limits { source_bytes: 100 << 20, ..limits }.within_disk(8 << 30, jobs);
        assert_eq!((small.source_bytes >> 20, small.renderer_file >> 20), (100, 1784));
    }

    #[test]
    fn flags_have_everyday_units() {
        assert_eq!(limits(&[]).unwrap(), Limits::default());
        assert_eq!(Limits::default().renderer_memory, 1 << 30);
        let set =
            limits(&["--max-source-mib=3", "--max-megapixels=5", "--memory=64", "--cpu-ms-per-mib=1500"]);
        let set = set.unwrap();
        assert_eq!((set.source_bytes, set.pixels, set.renderer_memory), (3 << 20, 5_000_000, 64 << 20));
        assert_eq!(set.renderer_cpu_per_mib, Duration::from_millis(1500));
        assert_eq!(limits(&["--max-source-mib=18446744073709551615"]).unwrap().source_bytes, u64::MAX);
        for wrong in ["--memory=63", "--cpu-seconds=-1", "--max-side=x", "--stall=1"] {
            assert!(limits(&[wrong]).is_err(), "{wrong}");
        }
    }
}
