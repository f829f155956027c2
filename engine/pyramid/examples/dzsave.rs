//! Makes a picture zoomable, as `vips dzsave` does:
//!
//! ```sh
//! cargo run --release --example dzsave -p edgezoom-pyramid photo.jpg out       # out.dzi and out_files/
//! cargo run --release --example dzsave -p edgezoom-pyramid photo.jpg out.szi   # one file
//! ```
//!
//! It decodes in its own process: use it for files that you trust. `tiler convert` decodes in a sandbox.

use std::env;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use edgezoom_pyramid::codecs::{Bounds, DecodeOptions, locate_pdfium, prepare};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveSink, DirectorySink, Sink};
use edgezoom_pyramid::{Built, Options, dzsave};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [picture, output] = arguments.as_slice() else {
        return Err("usage: dzsave <PICTURE> <OUTPUT>[.dzi|.zip|.szi]".into());
    };
    let Built { dzi, damage, .. } = save(Path::new(picture), Path::new(output))?;
    println!("{}×{} pixels in {} tiles", dzi.size.width, dzi.size.height, dzi.tile_count());
    if let Some(damage) = damage {
        eprintln!("{damage}");
    }
    Ok(())
}

/// Saves a picture in the format that the output asks for by its extension.
pub fn save(picture: &Path, output: &Path) -> Result<Built, Box<dyn Error>> {
    let sink: Box<dyn Sink> = match ArchiveFormat::from_path(output) {
        Some(format) => Box::new(ArchiveSink::new(output, format, SystemTime::now())?),
        None => Box::new(DirectorySink::new(output)?),
    };
    // The format of the file, and what the format needs of the system: PDFium for PDF, fonts for SVG.
    let prepared = prepare(&mut File::open(picture)?, locate_pdfium().as_deref())?;
    let open = |decode: &DecodeOptions| prepared.open(File::open(picture)?, Bounds::default(), decode);
    Ok(dzsave(open, &*sink, &Options::default())?)
}
