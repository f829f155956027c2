//! Renders a source in a process of its own, and passes the tiles to the sink as they come.

use std::fs::File;
use std::path::Path;

use edgezoom_codecs::Damage;
use edgezoom_content::Dzi;

use super::source::Whole;
use super::{Pipeline, PipelineError, Progress, TileSink};
use crate::OWN_PROGRAM;
use crate::renderer::{Output, ProtocolError, RenderError, RenderOptions, Renderer};

/// The renderer's validator lets no tile pass before the header, so this does not happen.
pub(super) const TILE_FIRST: ProtocolError = ProtocolError::Unexpected("a tile before the header");

impl Pipeline {
    /// Renders the source, and gives what is missing of it. When that fails because the web page's capture has failed, gives the page's error.
    pub(super) async fn render(
        &self,
        source: Whole,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(Dzi, Option<Damage>), PipelineError> {
        let Whole { file, capturing } = source;
        let is_web_page = capturing.is_some();
        match (self.render_tiles(file, is_web_page, options, sink, on_progress).await, capturing) {
            (Err(PipelineError::Render(error)), Some(capturing)) => match capturing.error().await {
                Some(page) => Err(page.into()),
                None => Err(error.into()),
            },
            (result, _) => result,
        }
    }

    async fn render_tiles(
        &self,
        file: File,
        is_web_page: bool,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(Dzi, Option<Damage>), PipelineError> {
        on_progress(Progress::Rendering { rows: 0.0, is_web_page });
        let mut renderer = Renderer::start(Path::new(OWN_PROGRAM), file, options, &self.settings.limits)?;
        let mut started = None;
        loop {
            match (renderer.next().await?, &started) {
                (Output::Started(dzi), _) => {
                    sink.begin(&dzi).await?;
                    started = Some(dzi);
                }
                (Output::Progress(rows), _) => on_progress(Progress::Rendering { rows, is_web_page }),
                (Output::Coarse(jpeg), _) => on_progress(Progress::Coarse(jpeg)),
                (Output::Tile(tile), Some(dzi)) => sink.put(dzi, tile).await?,
                (Output::Preview(kind, bytes), Some(dzi)) => sink.put_preview(dzi, kind, bytes).await?,
                (Output::Tile(_) | Output::Preview(..), None) => {
                    return Err(RenderError::from(TILE_FIRST).into());
                }
                (Output::Finished { dzi, damage }, _) => return Ok((dzi, damage)),
            }
        }
    }
}
