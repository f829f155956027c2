//! All fuzz targets. Each program of `Cargo.toml` is this file, and runs the function that has its name.

#![no_main]

use edgezoom_tiler::{browser, fetch, renderer, service};

const TARGET: fn(&[u8]) = match env!("CARGO_BIN_NAME").as_bytes() {
    b"address_lists" => edgezoom_content::fuzz::address_lists,
    b"answers" => service::fuzz::answers,
    b"description" => renderer::fuzz::description,
    b"devtools" => browser::fuzz::devtools,
    b"frames" => renderer::fuzz::frames,
    b"html" => browser::fuzz::html,
    b"ids" => edgezoom_content::fuzz::ids,
    b"lines" => edgezoom_edge_collections::fuzz::lines,
    b"list" => renderer::fuzz::list,
    b"messages" => edgezoom_edge::fuzz::messages,
    b"object_key" => edgezoom_edge::fuzz::object_key,
    b"picture" => renderer::fuzz::picture,
    b"proxy_request" => browser::fuzz::proxy_request,
    b"records" => edgezoom_edge::fuzz::records,
    b"request" => edgezoom_edge::fuzz::request,
    b"request_headers" => edgezoom_edge::fuzz::request_headers,
    b"response_headers" => fetch::fuzz::response_headers,
    b"robots" => fetch::fuzz::robots,
    b"source_url" => edgezoom_content::fuzz::source_url,
    b"text" => edgezoom_text::fuzz::text,
    b"tile_index" => edgezoom_geometry::fuzz::tile_index,
    b"tiles" => renderer::fuzz::tiles,
    b"vector" => edgezoom_vector::fuzz::vector,
    b"words" => edgezoom_content::fuzz::words,
    _ => panic!("no function has this program's name"),
};

// libFuzzer's hook ends the process at every panic, but the renderer catches those of third-party decoders. A panic
// that nothing catches still ends it.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |bytes: &[u8]| TARGET(bytes)
);
