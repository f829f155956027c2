//! Parses a bitstream and passes its blocks on in batches.
//!
//! Source: ITU-T H.265, 7.3.1 (NAL units), 7.3.6 (slice headers), 7.4.2.4 (the units of a picture).

use std::sync::mpsc::SyncSender;

use heifer::heifer_hevc_dec::Error;
use heifer::heifer_hevc_dec::nal::{NalUnit, split_annex_b};
use heifer::heifer_hevc_dec::params::ParameterSets;
use heifer::heifer_hevc_dec::slice::SliceHeader;
use heifer::heifer_hevc_dec::syntax::{
    CodingUnit, Picture, SaoParams, Sink, TransformBlock, decode_slice_segment,
};

use super::batch::Batch;
use super::{Limits, Parameters, Parsed};

/// Parses the first picture of a bitstream. It goes on to the end even if the picture is no longer read, because the parser
/// cannot be stopped within a slice.
pub fn parse(stream: &[u8], limits: Limits, sender: &SyncSender<Parsed>) -> Result<(), Error> {
    let mut sets = ParameterSets::default();
    let mut units = split_annex_b(stream).map(NalUnit::parse).peekable();
    // Parameter sets after the first slice belong to later pictures.
    while let Some(unit) = units.next_if(|unit| !matches!(unit, Ok(unit) if unit.header.unit_type.is_slice()))
    {
        sets.add(&unit?)?;
    }
    let mut recorder = Recorder { batch: Batch::default(), sender };
    let mut picture: Option<Picture<'_>> = None;
    let mut previous: Option<SliceHeader> = None;
    for unit in units {
        let unit = unit?;
        if !unit.header.unit_type.is_slice() {
            continue;
        }
        // The first bit is first_slice_segment_in_pic_flag. A next picture means that this is a video.
        if unit.rbsp.first().is_some_and(|byte| byte & 0x80 != 0) && picture.is_some() {
            break;
        }
        let header = SliceHeader::parse(&unit.rbsp, &unit.header, &sets, previous.as_ref())?;
        let picture = match &mut picture {
            Some(picture) => picture,
            none => none.insert(begin(&sets, &header, limits, sender)?),
        };
        let first = picture.layout.rs_to_ts.get(header.slice_segment_address as usize);
        if first != Some(&picture.decoded_ctbs) {
            return Err(Error::Invalid("its slices are not in order"));
        }
        let data = unit.rbsp.get(header.header_size..).ok_or(Error::UnexpectedEof)?;
        if !header.dependent_slice_segment_flag {
            recorder.batch.slice(&header);
        }
        decode_slice_segment(picture, &header, header.slice_qp_y(&sets)?, data, &mut recorder)?;
        if !header.dependent_slice_segment_flag {
            previous = Some(header);
        }
        if picture.is_complete() {
            break;
        }
    }
    if !picture.is_some_and(|picture| picture.is_complete()) {
        return Err(Error::Invalid("picture is incomplete"));
    }
    recorder.send();
    // Fails when the picture is no longer read.
    let _ = sender.send(Parsed::End);
    Ok(())
}

/// Begins the picture to which a first slice belongs.
fn begin<'a>(
    sets: &'a ParameterSets,
    header: &SliceHeader,
    limits: Limits,
    sender: &SyncSender<Parsed>,
) -> Result<Picture<'a>, Error> {
    let (pps, sps) = sets.get(usize::from(header.slice_pic_parameter_set_id))?;
    let (width, height) = (sps.pic_width_in_luma_samples, sps.pic_height_in_luma_samples);
    if u64::from(width) * u64::from(height) > limits.pixels {
        return Err(Error::Unimplemented("its frame is larger than its container claims"));
    }
    if pps.tiles.is_some() && !limits.has_tiles {
        return Err(Error::Unimplemented("it has tiles that its container does not announce"));
    }
    let parameters = Parameters { sps: sps.clone(), pps: pps.clone() };
    let _ = sender.send(Parsed::Begin(Box::new(parameters)));
    Ok(Picture::new(sps, pps))
}

/// Collects blocks in batches.
struct Recorder<'a> {
    batch: Batch,
    sender: &'a SyncSender<Parsed>,
}

impl Recorder<'_> {
    fn send(&mut self) {
        // Fails when the picture is no longer read. The rest is then parsed in vain.
        let _ = self.sender.send(Parsed::Blocks(std::mem::take(&mut self.batch)));
    }
}

impl Sink for Recorder<'_> {
    fn sao(&mut self, ctb_x: u32, ctb_y: u32, parameters: &SaoParams) {
        self.batch.sao(ctb_x, ctb_y, parameters);
    }

    fn transform_block(&mut self, block: &TransformBlock<'_>) {
        self.batch.block(block);
    }

    fn pcm(&mut self, x: u32, y: u32, log2_size: u8, samples: [&[u16]; 3]) {
        self.batch.pcm(x, y, log2_size, samples);
    }

    fn coding_unit(&mut self, unit: &CodingUnit) {
        self.batch.coding_unit(unit);
        if self.batch.is_full() {
            self.send();
        }
    }
}
