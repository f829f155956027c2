//! The content object: what clients see of a content, with the interface's names. What there is not is left out.

use edgezoom_content::{Attempt, Content, ContentId, Dzi, Failure, SourceUrl, Stage, Status};
use serde::{Serialize, Serializer};

use crate::config::Addresses;
use crate::escape;

/// The content object of `service-interface.md`, with `stage` and `failure` besides.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContentObject<'a> {
    id: ContentId,
    url: &'a SourceUrl,
    ready: bool,
    failed: bool,
    #[serde(serialize_with = "shortest")]
    progress: f64,
    share_url: String,
    embed_html: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dzi: Option<DziObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<Stage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a Failure>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DziObject {
    url: String,
    width: u32,
    height: u32,
    tile_size: u32,
    tile_overlap: u32,
    tile_format: &'static str,
}

impl<'a> ContentObject<'a> {
    pub(super) fn new(content: &'a Content, addresses: &Addresses) -> Self {
        let mut object = Self {
            id: content.id,
            url: &content.url,
            ready: false,
            failed: false,
            progress: content.progress.fraction(),
            share_url: addresses.share(content.id),
            embed_html: embed_html(content.id, addresses),
            dzi: None,
            stage: None,
            failure: None,
        };
        match &content.status {
            Status::Processing { stage } => object.stage = Some(*stage),
            Status::Ready { attempt, dzi } => {
                object.ready = true;
                object.dzi = Some(DziObject::new(content.id, *attempt, dzi, addresses));
            }
            Status::Failed { failure } => {
                object.failed = true;
                object.failure = Some(failure);
            }
        }
        object
    }
}

impl DziObject {
    fn new(id: ContentId, attempt: Attempt, dzi: &Dzi, addresses: &Addresses) -> Self {
        Self {
            url: addresses.descriptor(id, attempt),
            width: dzi.size.width,
            height: dzi.size.height,
            tile_size: dzi.tile_size,
            tile_overlap: dzi.tile_overlap,
            tile_format: dzi.tile_format.extension(),
        }
    }
}

/// The script element that shows a content in any page. The `&` before `height` needs no escaping in HTML (it begins no
/// character reference), and old clients show the snippet as it is.
#[must_use]
pub fn embed_html(id: ContentId, addresses: &Addresses) -> String {
    format!(r#"<script src="{}.js?width=auto&height=400px"></script>"#, escape::html(&addresses.share(id)))
}

/// Whole numbers without a fraction: 0 and 1 are printed as such.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn shortest<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if figure.fract() == 0.0 {
        serializer.serialize_u8(*figure as u8)
    } else {
        serializer.serialize_f64(*figure)
    }
}
