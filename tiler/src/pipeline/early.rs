//! Renders a picture while it arrives, so that it is ready soon after its last byte.
//!
//! What is rendered early counts only if the download it was rendered from ends well. It must not change what becomes of a
//! source: where a renderer that began early reports that it cannot read the picture, the whole is rendered again and its
//! result counts. So it is with a source that changes while it is downloaded.

use std::path::Path;

use edgezoom_codecs::Damage;
use edgezoom_content::Dzi;

use super::download::{Download, Event};
use super::render::TILE_FIRST;
use super::source::{Content, Source};
use super::{Pipeline, PipelineError, Progress, TileSink};
use crate::OWN_PROGRAM;
use crate::arrival::Arrival;
use crate::renderer::{Output, RenderError, RenderOptions, Renderer};

impl Pipeline {
    /// Renders a source, if it can be while it arrives, and gives what is missing of it.
    pub(super) async fn render_source(
        &self,
        mut source: Source,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(Dzi, Option<Damage>), PipelineError> {
        loop {
            match source.content {
                Content::Whole(whole) => return self.render(whole, options, sink, on_progress).await,
                Content::Arriving(opening, mut download, arrival) => {
                    let early = self.render_early(&arrival, &mut download, options, sink, on_progress);
                    if let Some(rendered) = early.await? {
                        return Ok(rendered);
                    }
                    let fetched = download.whole(on_progress).await?;
                    source = self.open_again(opening, fetched, on_progress).await?;
                }
            }
        }
    }

    /// Renders a source of which this much has arrived. `None` when the whole has to be rendered again; the sink is as it
    /// was before then.
    async fn render_early(
        &self,
        source: &Arrival,
        download: &mut Download,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Option<(Dzi, Option<Damage>)>, PipelineError> {
        let mut begun = None;
        let rendered = self.render_arriving(source, download, options, sink, &mut begun, on_progress).await?;
        if rendered.is_none() && begun.is_some() {
            sink.restart().await?;
        }
        Ok(rendered)
    }

    async fn render_arriving(
        &self,
        source: &Arrival,
        download: &mut Download,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        begun: &mut Option<Dzi>,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Option<(Dzi, Option<Damage>)>, PipelineError> {
        let limits = &self.settings.limits;
        let mut renderer =
            Renderer::start_arriving(Path::new(OWN_PROGRAM), source, download.arrivals(), options, limits)?;
        let mut rendered = None;
        loop {
            let is_complete = download.is_complete(source.beginning);
            if is_complete && rendered.is_some() {
                return Ok(rendered);
            }
            tokio::select! {
                biased;
                event = download.next(on_progress), if !is_complete => match event? {
                    Event::Arrived(arrival) if arrival.beginning == source.beginning => {}
                    Event::Complete if download.is_complete(source.beginning) => {}
                    Event::Arrived(_) | Event::Complete => return Ok(None),
                },
                output = renderer.next(), if rendered.is_none() => match (output, &*begun) {
                    (Ok(Output::Started(dzi)), _) => {
                        sink.begin(&dzi).await?;
                        *begun = Some(dzi);
                    }
                    (Ok(Output::Progress(rows)), _) => {
                        on_progress(Progress::Rendering { rows, is_web_page: false });
                    }
                    (Ok(Output::Coarse(jpeg)), _) => on_progress(Progress::Coarse(jpeg)),
                    (Ok(Output::Tile(tile)), Some(dzi)) => sink.put(dzi, tile).await?,
                    (Ok(Output::Preview(kind, bytes)), Some(dzi)) => sink.put_preview(dzi, kind, bytes).await?,
                    (Ok(Output::Tile(_) | Output::Preview(..)), None) => return Err(RenderError::from(TILE_FIRST).into()),
                    (Ok(Output::Finished { dzi, damage }), _) => rendered = Some((dzi, damage)),
                    // The whole source may be readable, or fail for another reason.
                    (Err(RenderError::Reported(_)), _) => return Ok(None),
                    (Err(error), _) => return Err(error.into()),
                },
            }
        }
    }
}
