//! Removes the layers that a source is packed in: the content codings of its response, and gzip around a file, as in
//! `map.tif.gz` and `drawing.svgz`. The bytes are decoded in a process of their own; here they are only compared with
//! signatures.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use edgezoom_codecs::Format;

use super::source::Provided;
use super::{Pipeline, PipelineError};
use crate::OWN_PROGRAM;
use crate::browser::Html;
use crate::renderer::Coding;
use crate::renderer::unpack::{Unpacked, unpack};

/// The signature of a gzipped file (RFC 1952, 2.3.1), with deflate as its method.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

impl Pipeline {
    /// Returns the unpacked file. The second value is false if the file is not in the codings that its response
    /// declares, or cut off.
    pub(super) async fn unpacked(&self, provided: &Provided) -> Result<(File, bool), PipelineError> {
        let Provided { file, content_type, codings, .. } = provided;
        let mut file = file.try_clone()?;
        let mut is_as_declared = true;
        if !codings.is_empty() {
            let unpacked = self.unpack(&file, codings).await?;
            is_as_declared = unpacked.is_as_declared;
            // Servers name codings that they have not applied.
            if unpacked.is_whole || !is_known(&mut file, content_type.as_deref())? {
                file = unpacked.file;
            }
        }
        if is_gzipped(&file)? {
            file = self.unpack(&file, &[Coding::Gzip]).await?.file;
        }
        Ok((file, is_as_declared))
    }

    async fn unpack(&self, file: &File, codings: &[Coding]) -> Result<Unpacked, PipelineError> {
        let (folder, limits) = (&self.settings.temporary, &self.settings.limits);
        Ok(unpack(Path::new(OWN_PROGRAM), file, codings, folder, limits).await?)
    }
}

fn is_gzipped(file: &File) -> io::Result<bool> {
    let mut head = GZIP;
    Ok(file.read_at(&mut head, 0)? == GZIP.len() && head == GZIP)
}

/// Returns true for a file that can be converted as it is. A gzipped one that is cut off cannot.
fn is_known(file: &mut File, content_type: Option<&str>) -> io::Result<bool> {
    Ok(!is_gzipped(file)? && (Format::sniff(file).is_ok() || Html::recognise(file, content_type)?.is_some()))
}
