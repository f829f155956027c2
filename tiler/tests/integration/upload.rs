//! Tests the upload of a pyramid as one object: its requests, the object, and the cleanup after a failure.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::io::{Cursor, Read};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use edgezoom_codecs::PageVectors;
use edgezoom_content::{
    Attempt, ContentId, Dzi, PageTable, PreviewKind, Size, TileFormat, TileIndex, TileRange, tile_number,
};
use edgezoom_text::{Page, Rect, Text};
use edgezoom_tiler::renderer::{Built, Labels, Tile};
use edgezoom_tiler::s3::{Places, SinkError, TileSink};
use edgezoom_tiler::s3::{StoreError, Upload};
use flate2::read::GzDecoder;

use crate::s3_endpoint::Endpoint;

fn id() -> ContentId {
    "0123456789a".parse().unwrap()
}

fn dzi(width: u32, height: u32) -> Dzi {
    let size = Size { width, height };
    Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg }
}

/// Creates a tile with a third of a byte per pixel, as JPEG photographs have.
fn tile(level: u32, column: u32, row: u32) -> Tile {
    let seed = [level as u8, column as u8, (column >> 8) as u8, row as u8, (row >> 8) as u8];
    Tile {
        level,
        column,
        row,
        bytes: Bytes::from(seed.repeat(17_000 + (column * 31 + row * 17) as usize % 999)),
    }
}

fn tiles(dzi: &Dzi) -> Vec<Tile> {
    let mut tiles = vec![];
    for level in (0..=dzi.max_level()).rev() {
        let (columns, rows) = dzi.grid(level);
        tiles.extend((0..rows).flat_map(|row| (0..columns).map(move |column| tile(level, column, row))));
    }
    tiles
}

/// The pages of four that are vectors.
const VECTORS: [(u32, &str); 2] = [(0, "<svg>first</svg>"), (2, "<svg>third</svg>")];

async fn upload(upload: &mut Upload, dzi: &Dzi) -> Result<Places, SinkError> {
    for tile in tiles(dzi) {
        upload.put(dzi, tile).await?;
    }
    for (kind, bytes) in [(PreviewKind::Large, 300_000), (PreviewKind::Thumbnail, 30_000)] {
        upload.put_preview(dzi, kind, Bytes::from(vec![bytes as u8; bytes])).await?;
    }
    let pages = vec![Page::new(Rect::new(0, 0, 9, 9)); 2];
    upload.put_text(dzi, Text { pages, total: 2, ..Text::default() }).await?;
    for (page, svg) in VECTORS {
        let at = Rect::new(9 * page, 0, 9, 8);
        upload.put_vectors(dzi, PageVectors { page, pages: 4, at, svg: svg.to_owned() }).await?;
    }
    let built = Built { dzi: *dzi, damage: None, scale: None };
    upload.publish(&built, &Labels::default(), |_, _| {}).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_megapixels_take_three_requests_and_216_take_twelve() {
    for ((width, height), most) in [((700, 500), 1), ((4000, 3000), 3), ((18_000, 12_000), 12)] {
        let (endpoint, store) = Endpoint::start().await;
        let dzi = dzi(width, height);
        let mut archive = store.upload(id(), Attempt::FIRST);
        let Places { archive: place, previews, text, vectors } = upload(&mut archive, &dzi).await.unwrap();
        let objects = endpoint.objects();
        let writes = objects.writes;
        assert!(writes <= most, "{width}x{height}: {writes} requests");
        assert_eq!(objects.objects.keys().collect::<Vec<_>>(), ["0123456789a/1.szi"]);
        assert_eq!(objects.media_types["0123456789a/1.szi"], "application/zip");
        assert_eq!(archive.stored().tiles, dzi.tile_count());

        // The places that are reported to the edge lead to the previews and the index, and the index to each tile.
        let object = &objects.objects["0123456789a/1.szi"];
        assert_eq!((previews.large.length, previews.thumbnail.length), (300_000, 30_000));
        let table = text.unwrap().table;
        let table = &object[table.offset as usize..][..table.length as usize];
        assert_eq!(serde_json::from_slice::<PageTable>(table).unwrap().pages.len(), 2);
        let begin = place.index_offset as usize;
        let index = object[begin..begin + place.index_length as usize].to_vec();
        assert!(TileIndex::decode(index.clone(), &dzi, 0).is_err());
        let vectors = vectors.unwrap();
        let index = TileIndex::decode(index, &dzi, vectors.pages).unwrap();
        let unpacked = |TileRange { offset, length }: TileRange| {
            let mut text = String::new();
            GzDecoder::new(&object[offset as usize..][..length as usize]).read_to_string(&mut text).unwrap();
            text
        };
        let pages = serde_json::json!({"pages": [
            {"x": 0, "y": 0, "width": 9, "height": 8, "url": "0.svg"}, null, {"x": 18, "y": 0, "width": 9, "height": 8, "url": "2.svg"}, null,
        ]});
        assert_eq!(unpacked(vectors.table).parse::<serde_json::Value>().unwrap(), pages);
        let page = |number| index.find(dzi.tile_count() + number).map(unpacked);
        assert_eq!(
            [0, 1, 2, 3].map(page),
            [Some(VECTORS[0].1.to_owned()), None, Some(VECTORS[1].1.to_owned()), None]
        );
        for Tile { level, column, row, bytes } in tiles(&dzi) {
            let range = index.find(tile_number(&dzi, level, column, row).unwrap()).unwrap();
            let (begin, end) = (range.offset as usize, range.offset as usize + range.length as usize);
            assert!(object[begin..end] == bytes, "{level}/{column}_{row}");
        }
    }
}

#[tokio::test]
async fn the_object_is_a_valid_zip_archive() {
    let (endpoint, store) = Endpoint::start().await;
    let dzi = dzi(2000, 1500);
    upload(&mut store.upload(id(), Attempt::FIRST), &dzi).await.unwrap();
    let object = endpoint.objects().objects["0123456789a/1.szi"].clone();
    let mut zip = zip::ZipArchive::new(Cursor::new(object)).unwrap();
    assert_eq!(zip.len() as u64, dzi.tile_count() + 12);
    let mut read = |name: &str| {
        let mut bytes = vec![];
        zip.by_name(&format!("0123456789a/{name}")).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(read("0123456789a.dzi"), dzi.descriptor().into_bytes());
    assert_eq!(read("0123456789a_files/11/3_2.jpg"), tile(11, 3, 2).bytes);
    assert_eq!(read("associated_images/thumbnail.jpg").len(), 30_000);
    assert!(!read("tile-index.bin").is_empty());
}

#[tokio::test]
async fn an_upload_abandoned_before_it_has_an_id_leaves_nothing() {
    let (endpoint, store) = Endpoint::start().await;
    let dzi = dzi(8000, 6000);
    for starts_again in [false, true] {
        let mut archive = store.upload(id(), Attempt::FIRST);
        for tile in tiles(&dzi) {
            archive.put(&dzi, tile).await.unwrap();
        }
        if starts_again {
            archive.restart().await.unwrap();
        } else {
            archive.abandon(Duration::from_secs(60)).await;
        }
        let objects = endpoint.objects();
        assert!(objects.objects.is_empty() && objects.uploads.is_empty());
    }
}

#[tokio::test]
async fn an_upload_is_complete_even_if_its_last_response_is_lost() {
    let (endpoint, store) = Endpoint::start().await;
    endpoint.objects().loses_completion = true;
    let mut archive = store.upload(id(), Attempt::FIRST);
    upload(&mut archive, &dzi(8000, 6000)).await.unwrap();
    assert!(!endpoint.objects().loses_completion && endpoint.objects().objects.len() == 1);
}

#[tokio::test]
async fn an_upload_that_fails_leaves_nothing() {
    let (endpoint, store) = Endpoint::start().await;
    endpoint.objects().refuses_part = Some(2);
    let mut archive = store.upload(id(), Attempt::FIRST);
    let error = upload(&mut archive, &dzi(18_000, 12_000)).await.unwrap_err();
    assert!(
        matches!(&error, SinkError::Store(StoreError::Put { reason, .. }) if reason.contains("403")),
        "{error}"
    );
    archive.abandon(Duration::from_secs(5)).await;
    let objects = endpoint.objects();
    assert!(objects.objects.is_empty() && objects.uploads.is_empty());
}

#[tokio::test]
async fn throttled_and_failed_requests_are_retried() {
    let (endpoint, store) = Endpoint::start().await;
    let failures = [503, 429, 500, 502].map(|status| StatusCode::from_u16(status).unwrap());
    endpoint.objects().failures = failures.into();
    upload(&mut store.upload(id(), Attempt::FIRST), &dzi(700, 500)).await.unwrap();
    let objects = endpoint.objects();
    assert_eq!((objects.writes, objects.objects.len()), (failures.len() + 1, 1));
}

#[tokio::test]
async fn an_upload_holds_three_parts_that_are_being_sent_and_one_more() {
    let (endpoint, store) = Endpoint::start().await;
    endpoint.objects().holds_parts = true;
    let dzi = dzi(18_000, 12_000);
    let mut archive = store.upload(id(), Attempt::FIRST);
    let mut bytes = 0;
    'tiles: for tile in tiles(&dzi) {
        let length = tile.bytes.len();
        let mut put = std::pin::pin!(archive.put(&dzi, tile));
        // On a busy machine a part may be on its way.
        while tokio::time::timeout(Duration::from_secs(2), &mut put).await.is_err() {
            if endpoint.objects().held == 3 {
                break 'tiles;
            }
        }
        bytes += length;
    }
    assert_eq!(endpoint.objects().held, 3);
    let parts = 4 * (16 << 20);
    assert!((parts - (1 << 20)..=parts).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn the_next_attempt_deletes_the_parts_of_a_killed_one() {
    let (endpoint, store) = Endpoint::start().await;
    let dzi = dzi(8000, 6000);
    let mut first = store.upload(id(), Attempt::FIRST);
    for tile in tiles(&dzi) {
        first.put(&dzi, tile).await.unwrap();
    }
    while endpoint.objects().uploads.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(first); // like kill -9
    assert_eq!(endpoint.objects().uploads.len(), 1);
    let second = Attempt::FIRST.next();
    upload(&mut store.upload(id(), second), &dzi).await.unwrap();
    store.delete_attempt(id(), Attempt::FIRST).await.unwrap();
    let objects = endpoint.objects();
    assert!(objects.uploads.is_empty());
    assert_eq!(objects.objects.keys().collect::<Vec<_>>(), ["0123456789a/2.szi"]);
}
