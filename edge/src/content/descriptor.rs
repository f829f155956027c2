//! `/v1/content/<id>/dzi.js`: the pyramid's descriptor as a script. OpenSeadragon loads a tile source whose address
//! ends in `.js` by JSONP: the script calls the function that has the file's name
//! (<https://openseadragon.github.io/examples/tilesource-dzi/>).

use edgezoom_content::{Content, Finished, NAMESPACE, Status};
use http::StatusCode;

use crate::config::Addresses;
use crate::response::element::Element::{Object, Text};
use crate::response::escape;
use crate::response::{CachePolicy, Response, plain};

/// The script of a ready content; 404 for any other.
#[must_use]
pub fn script(content: &Content, addresses: &Addresses) -> Response {
    let Status::Ready { attempt, finished: Finished { dzi, archive, .. } } = &content.status else {
        return plain::not_found();
    };
    let number = |number: u32| Text(number.to_string()); // strings, as in the XML form
    let size = vec![("Width", number(dzi.size.width)), ("Height", number(dzi.size.height))];
    let image = vec![
        ("xmlns", Text(NAMESPACE.to_owned())),
        ("Url", Text(format!("{}/{}", addresses.pyramids(*archive), attempt.tiles_prefix(content.id)))),
        ("Format", Text(dzi.tile_format.extension().to_owned())),
        ("Overlap", number(dzi.tile_overlap)),
        ("TileSize", number(dzi.tile_size)),
        ("Size", Object(size)),
    ];
    let json = escape::script(&Object(vec![("Image", Object(image))]).json());
    Response::new(
        StatusCode::OK,
        "text/javascript; charset=utf-8",
        CachePolicy::OneHour,
        format!("dzi({json});"),
    )
    .tagged()
}
