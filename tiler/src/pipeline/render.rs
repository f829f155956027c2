//! Renders a source in a process of its own and passes the tiles to the sink as they come.
//!
//! A picture may be rendered while it is downloaded, so that it is ready soon after its last byte. That never changes
//! the result: tiles count only if the download they were rendered from succeeds. If the source changes meanwhile, or
//! the renderer reports that it cannot read it, the complete source is rendered again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use edgezoom_codecs::{BrowserDrawing, Metadata, PixelsOnly};
use edgezoom_content::TILE_BYTES;

use super::download::{Download, Event};
use super::source::{Input, Source};
use super::{Pipeline, PipelineError, Progress};
use crate::OWN_PROGRAM;
use crate::browser::{DrawingSize, PageError};
use crate::limits::Limits;
use crate::renderer::{Built, Labels, Output, ProtocolError, RenderError, RenderOptions, Renderer};
use crate::s3::TileSink;

impl Pipeline {
    /// Renders a source. Returns the pyramid's description and the facts about the source. Sets the title and the
    /// credits if the file states some.
    pub(super) async fn render(
        &self,
        mut source: Source,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        labels: &mut Labels,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Built, PipelineError> {
        let limits = &self.settings.limits;
        let mut options = *options;
        options.drawing.to_browser = true;
        // A drawing that is in a browser.
        let mut drawing: Option<File> = None;
        loop {
            match source.input {
                Input::Whole { file, capturing } => {
                    let is_web_page = capturing.is_some();
                    on_progress(Progress::Rendering { rows: 0.0, is_web_page });
                    // The capture of a page ends when its pipe is closed, so that is not duplicated.
                    let again = if is_web_page { None } else { Some(file.try_clone()?) };
                    let renderer = Renderer::start(Path::new(OWN_PROGRAM), file, &options, limits)?;
                    let rendered = render_tiles(renderer, None, is_web_page, sink, labels, on_progress).await;
                    if let (Err(PipelineError::Render(_)), Some(capturing)) = (&rendered, capturing)
                        && let Some(error) = capturing.error().await
                    {
                        // The renderer failed because its input ended.
                        let Some(file) = drawing.take() else { return Err(error.into()) };
                        tracing::warn!(%error, "a browser did not draw an SVG to its end");
                        sink.restart().await?;
                        options.drawing.to_browser = false;
                        source.input = Input::Whole { file, capturing: None };
                        continue;
                    }
                    source.input = match (rendered, again) {
                        (Err(PipelineError::Render(RenderError::NeedsBrowser(asked))), Some(file)) => {
                            *labels = Metadata::clone(&asked.metadata).into();
                            match self.draw_in_browser(&file, &asked, &options).await {
                                Ok(input) => {
                                    drawing = Some(file);
                                    input
                                }
                                Err(error) => {
                                    tracing::warn!(%error, features = %asked.features, "no browser draws an SVG");
                                    options.drawing.to_browser = false;
                                    Input::Whole { file, capturing: None }
                                }
                            }
                        }
                        (Err(PipelineError::Render(RenderError::NeedsPixels)), Some(file)) => {
                            sink.restart().await?;
                            options.drawing.halved = false;
                            Input::Whole { file, capturing: None }
                        }
                        // `None` does not happen: a complete source does not change.
                        (rendered, _) => return rendered?.ok_or_else(|| RenderError::Died.into()),
                    };
                }
                Input::Tiles(file, mosaic) => {
                    on_progress(Progress::Rendering { rows: 0.0, is_web_page: false });
                    let program = Path::new(OWN_PROGRAM);
                    let renderer = Renderer::start_tiles(program, &file, mosaic, &options, limits)?;
                    let rendered = render_tiles(renderer, None, false, sink, labels, on_progress).await;
                    return rendered?.ok_or_else(|| RenderError::Died.into()); // as above
                }
                Input::Arriving(opening, mut download, arrival) => {
                    let (program, arrivals) = (Path::new(OWN_PROGRAM), download.arrivals());
                    let renderer = Renderer::start_arriving(program, &arrival, arrivals, &options, limits)?;
                    let arriving = Some((&mut *download, arrival.beginning));
                    if let Some(rendered) =
                        render_tiles(renderer, arriving, false, sink, labels, on_progress).await?
                    {
                        return Ok(rendered);
                    }
                    let fetched = download.whole(on_progress).await?;
                    source = self.open_again(opening, fetched, on_progress).await?;
                }
            }
        }
    }

    /// Opens a drawing in a browser.
    async fn draw_in_browser(
        &self,
        file: &File,
        asked: &BrowserDrawing,
        options: &RenderOptions,
    ) -> Result<Input, PageError> {
        let Limits { drawn_pixels, pixels, side, svg_bytes, .. } = self.settings.limits;
        let mut svg = vec![0; file.metadata()?.len().min(svg_bytes) as usize];
        file.read_exact_at(&mut svg, 0)?;
        let size = DrawingSize::new(asked.size, options.drawing.svg_side, drawn_pixels.min(pixels), side);
        let (file, capturing) = self.pages().await.open_drawing(svg, size).await?.stream()?;
        Ok(Input::Whole { file, capturing: Some(capturing) })
    }
}

/// Passes the renderer's tiles to the sink until the pyramid is complete. `arriving` is the download that the renderer
/// follows, if any, and the [beginning](crate::renderer::Arrival::beginning) that it reads. Returns `None`, with the sink
/// reset, if the complete source has to be rendered instead.
async fn render_tiles(
    mut renderer: Renderer,
    mut arriving: Option<(&mut Download, u32)>,
    is_web_page: bool,
    sink: &mut impl TileSink,
    labels: &mut Labels,
    on_progress: &mut impl FnMut(Progress),
) -> Result<Option<Built>, PipelineError> {
    let (mut begun, mut rendered) = (None, None);
    let (mut bytes, mut counted) = (0_u64, 0);
    let is_early = arriving.is_some();
    let rendered = loop {
        if let Some((download, beginning)) = &arriving
            && download.is_complete(*beginning)
        {
            arriving = None;
        }
        if arriving.is_none() && rendered.is_some() {
            break rendered;
        }
        let event = async {
            match &mut arriving {
                Some((download, beginning)) => Some((download.next(on_progress).await, *beginning)),
                None => None,
            }
        };
        tokio::select! {
            biased;
            Some((event, beginning)) = event => match event? {
                Event::Arrived(arrival) if arrival.beginning == beginning => {}
                Event::Complete(completed) if completed == beginning => {}
                Event::Arrived(_) | Event::Complete(_) => break None, // the source has changed
            },
            output = renderer.next(), if rendered.is_none() => match (output, &begun) {
                (Ok(Output::Started(dzi)), _) => {
                    counted = dzi.tile_count();
                    on_progress(Progress::Sized { tiles: counted });
                    sink.begin(&dzi).await?;
                    begun = Some(dzi);
                }
                (Ok(Output::Progress(rows)), _) => on_progress(Progress::Rendering { rows, is_web_page }),
                (Ok(Output::Coarse(jpeg)), _) => on_progress(Progress::Coarse(jpeg)),
                (Ok(Output::Title(title)), _) => labels.title = Some(title),
                (Ok(Output::Credits(credits)), _) => labels.credits = Some(credits.into()),
                (Ok(Output::Tile(tile)), Some(dzi)) => {
                    bytes += tile.bytes.len() as u64;
                    if bytes / TILE_BYTES > counted {
                        counted *= 2; // seldom, since the edge is told
                        on_progress(Progress::Sized { tiles: counted });
                    }
                    sink.put(dzi, tile).await?;
                }
                (Ok(Output::Preview(kind, bytes)), Some(dzi)) => sink.put_preview(dzi, kind, bytes).await?,
                (Ok(Output::Text(text)), Some(dzi)) => sink.put_text(dzi, text).await?,
                (Ok(Output::Vectors(page)), Some(dzi)) => sink.put_vectors(dzi, page).await?,
                (Ok(Output::PixelsOnly(PixelsOnly { page, reason })), _) => {
                    tracing::debug!(page, reason, "a page has no vectors");
                }
                // The renderer's validator permits no tile before the header.
                (Ok(Output::Tile(_) | Output::Preview(..) | Output::Text(_) | Output::Vectors(_)), None) => {
                    return Err(RenderError::from(ProtocolError::Unexpected("a tile before the header")).into());
                }
                (Ok(Output::Finished(built)), _) => rendered = Some(built),
                // The complete source may be readable, or fail for another reason.
                (Err(RenderError::Reported(_) | RenderError::NeedsPixels), _) if is_early => break None,
                (Err(error), _) => return Err(error.into()),
            },
        }
    };
    if rendered.is_none() {
        *labels = Labels::default(); // only pictures arrive, which have no title of their own before
    }
    if rendered.is_none() && begun.is_some() {
        sink.restart().await?;
    }
    Ok(rendered)
}
