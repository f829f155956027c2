//! Manifests and collections of IIIF: iiif.io/api/presentation/2.1 and /3.0. An entry is a page of a manifest, as its
//! image service or, without one, as its picture; the manifest's credits are those of the entry. A collection leads to
//! further manifests and collections.

use std::io::{self, BufRead, Read};

use edgezoom_content::RightsUri;
use serde_json::{Map, Value};
use url::Url;

use super::super::description::{credits, each, kind, picture_on, resolve, service_of, text, words};
use super::{Listed, Out, broken};

/// Maximum size of a manifest or collection. One of 10,000 pages has 20 to 40 MB.
const MAX_BYTES: usize = 48 << 20;

/// Reads a manifest, a collection, or the description of one picture. URLs are relative to `from`.
///
/// # Errors
/// It is none of them.
pub(super) fn read(source: impl BufRead, from: Option<&Url>, out: &mut Out<'_>) -> io::Result<()> {
    let mut json = Vec::new();
    source.take(MAX_BYTES as u64 + 1).read_to_end(&mut json)?;
    if json.len() > MAX_BYTES {
        return Err(broken(format!("The JSON document is larger than {} MiB.", MAX_BYTES >> 20)));
    }
    let document: Value = serde_json::from_slice(&json)
        .map_err(|error| broken(format!("The list is no valid JSON: {error}.")))?;
    drop(json);
    match kind(&document) {
        "Manifest" => pages(&document, from, out),
        "Collection" => members(&document, from, out),
        _ => Err(broken("The JSON document is neither a IIIF manifest nor a IIIF collection.")),
    }
}

/// Lists the pages of a manifest.
fn pages(manifest: &Value, from: Option<&Url>, out: &mut Out<'_>) -> io::Result<()> {
    let pages = [&manifest["items"], &manifest["sequences"][0]["canvases"]];
    let pages = pages.into_iter().find_map(Value::as_array).map_or(&[][..], Vec::as_slice);
    let whole = words(&manifest["label"]);
    for (number, canvas) in (1_u64..).zip(pages) {
        let Some(body) = picture_on(canvas) else {
            out(Listed::Refused(number, "The page has no picture.".to_owned()))?;
            continue;
        };
        let id = service_of(body).or_else(|| text(body, &["id", "@id"]).map(str::to_owned));
        let url = match id.map(|id| resolve(&id, from)) {
            Some(Ok(url)) => url,
            Some(Err(failure)) => {
                out(Listed::Refused(number, failure.message.to_string()))?;
                continue;
            }
            None => {
                out(Listed::Refused(number, "The page's picture has no address.".to_owned()))?;
                continue;
            }
        };
        let label = words(&canvas["label"]).unwrap_or_else(|| number.to_string());
        let title = match &whole {
            Some(whole) if pages.len() == 1 => whole.clone(),
            Some(whole) => format!("{whole}, {label}"),
            None => label,
        };
        let credits = credits(&[body, canvas, manifest]);
        let members = [
            ("url", Some(url)),
            ("title", Some(title)),
            ("credit", credits.credit.map(|line| line.as_str().to_owned())),
            ("rights", credits.rights.as_ref().map(RightsUri::as_str).map(str::to_owned)),
        ];
        let entry = members.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        out(Listed::Entry(number, Map::from_iter(entry)))?;
    }
    Ok(())
}

/// Lists the manifests and collections of a collection. Those that are embedded have their own URLs, too.
fn members(collection: &Value, from: Option<&Url>, out: &mut Out<'_>) -> io::Result<()> {
    let lists = ["items", "members", "collections", "manifests", "first", "next"];
    for member in lists.iter().flat_map(|name| each(&collection[*name])) {
        let id = member.as_str().or_else(|| text(member, &["id", "@id"]));
        match id.map(|id| resolve(id, from)) {
            Some(Ok(url)) => out(Listed::List(url))?,
            Some(Err(failure)) => out(Listed::Refused(0, failure.message.to_string()))?,
            None => out(Listed::Refused(0, "A member of the collection has no address.".to_owned()))?,
        }
    }
    Ok(())
}
