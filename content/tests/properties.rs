//! Properties of every URL, id and size.

use edgezoom_content::tile_number;
use edgezoom_content::{
    AddressPolicy, ContentId, Dzi, Progress, Size, SourceUrl, TileFormat, TileIndex, TileRange,
};
use proptest::prelude::*;

fn any_url() -> impl Strategy<Value = String> {
    prop_oneof![
        "[hH][tT]{2}[pP][sS]?://[a-zA-Z0-9.-]{1,20}(:[0-9]{1,5})?(/[ -~äß日\u{202e}]{0,20})?(#[!/a-z]{0,5})?",
        "https?://[ -~]{0,40}",
        "\\PC{0,40}",
        r"https?://\[[0-9a-f:.]{0,20}\]/?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn canonicalisation_is_idempotent(text in any_url()) {
        if let Ok(url) = SourceUrl::parse(&text) {
            prop_assert_eq!(SourceUrl::parse(url.as_str()), Ok(url.clone()));
            prop_assert!(url.as_str().is_ascii());
            let _ = AddressPolicy::default().admit(&url);
        }
    }

    #[test]
    fn ids_round_trip(path in "[a-z0-9]{0,20}") {
        let url = SourceUrl::parse(&format!("http://example.com/{path}")).unwrap();
        let ids: Vec<_> = ContentId::candidates(&url).collect();
        for (index, id) in ids.iter().enumerate() {
            prop_assert_eq!(id.to_string().parse(), Ok(*id));
            prop_assert_eq!(id.to_string().len(), ContentId::LENGTH);
            prop_assert!(!ids[..index].contains(id));
        }
    }

    #[test]
    fn every_text_that_parses_as_an_id_prints_as_itself(text in "[0-9a-zA-Z]{11}") {
        if let Ok(id) = text.parse::<ContentId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn progress_is_in_range_and_monotonic(a in any::<f64>(), b in any::<f64>()) {
        let (p, q) = (Progress::from(a), Progress::from(b));
        prop_assert!((0.0..=1.0).contains(&p.fraction()));
        prop_assert_eq!(Progress::from(p.fraction()), p);
        if a <= b {
            prop_assert!(p <= q);
        }
    }

    #[test]
    fn every_level_is_covered_by_its_tiles(width in 1..=u32::MAX, height in 1..=u32::MAX, tile_size in 1..5000_u32) {
        let size = Size { width, height };
        let dzi = Dzi { size, tile_size, tile_overlap: 1, tile_format: TileFormat::Jpg };
        for level in 0..=dzi.max_level() {
            let size = dzi.level_size(level);
            let (columns, rows) = dzi.grid(level);
            prop_assert!(u64::from(columns) * u64::from(tile_size) >= u64::from(size.width));
            prop_assert!(u64::from(columns - 1) * u64::from(tile_size) < u64::from(size.width));
            prop_assert!(u64::from(rows - 1) * u64::from(tile_size) < u64::from(size.height));
        }
    }

    #[test]
    fn an_index_finds_each_tile_again(tiles in prop::collection::vec((any::<u64>(), 1..=u32::MAX), 0..300)) {
        let tiles: Vec<_> = tiles.into_iter().map(|(offset, length)| TileRange { offset: offset >> 1, length }).collect();
        let index = TileIndex::encode(&tiles);
        for (number, tile) in tiles.iter().enumerate() {
            prop_assert_eq!(index.find(number as u64), Some(*tile));
        }
        prop_assert_eq!(index.find(tiles.len() as u64), None);
    }

    #[test]
    fn any_bytes_are_an_index_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), number in 0..300_u64) {
        let size = Size { width: 3000, height: 2000 };
        let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let head = [b"EZTILES1".as_slice(), &dzi.tile_count().to_le_bytes()].concat();
        if let Ok(index) = TileIndex::decode([head, bytes].concat(), &dzi) {
            let _ = index.find(number);
        }
    }

    #[test]
    fn tiles_are_numbered_without_gaps(width in 1..3000_u32, height in 1..3000_u32) {
        let size = Size { width, height };
        let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let mut next = 0;
        for level in 0..=dzi.max_level() {
            let (columns, rows) = dzi.grid(level);
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                prop_assert_eq!(tile_number(&dzi, level, column, row), Some(next));
                next += 1;
            }
            prop_assert_eq!(tile_number(&dzi, level, columns, 0), None);
        }
        prop_assert_eq!(next, dzi.tile_count());
    }
}
