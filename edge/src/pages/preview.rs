//! The preview images of a ready content: where they are stored, and their sizes. For contents of older tilers, which
//! made none, the largest level of the pyramid that is one tile and fits takes their place.

use edgezoom_content::{Content, Dzi, Finished, PreviewKind, Previews, Size, Status, TileFormat, TileRange};

use crate::request::object_key::ObjectKey;

/// The place of a preview image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredPreview {
    /// A range of an object of R2.
    Entry {
        object: String,
        range: TileRange,
    },
    /// An object of R2, by its key.
    Object(String),
    Tile(ObjectKey),
}

/// Returns the place of a content's preview image, and its media type; `None` if the content is not ready.
pub fn stored_preview(content: &Content, kind: PreviewKind) -> Option<(StoredPreview, &'static str)> {
    let Status::Ready { attempt, finished: Finished { dzi, previews, .. } } = &content.status else {
        return None;
    };
    let id = content.id;
    let stored = match previews {
        Some(Previews::Objects) => StoredPreview::Object(attempt.preview_key(id, kind)),
        Some(previews @ Previews::Entries { .. }) => {
            StoredPreview::Entry { object: attempt.archive_key(id), range: previews.entry(kind)? }
        }
        None => {
            let tile = dzi.tile_path(level(dzi, kind), 0, 0);
            StoredPreview::Tile(format!("{}{tile}", attempt.tiles_prefix(id)).parse().ok()?)
        }
    };
    let format = if previews.is_some() { TileFormat::Jpg } else { dzi.tile_format };
    Some((stored, format.media_type()))
}

/// Returns the size of a preview image in pixels.
pub(super) fn preview_size(Finished { dzi, previews, .. }: &Finished, kind: PreviewKind) -> Size {
    match previews {
        Some(_) => kind.size(dzi.size),
        None => dzi.level_size(level(dzi, kind)),
    }
}

/// Returns the level that takes the place of a missing preview image.
fn level(dzi: &Dzi, kind: PreviewKind) -> u32 {
    let most = kind.long_side();
    dzi.preview_level(Size { width: most, height: most })
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Attempt, Progress, SourceUrl};

    use super::*;

    fn content(size: Size, tile_format: TileFormat, previews: Option<Previews>) -> Content {
        let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format };
        let finished = Finished { previews, ..Finished::new(dzi) };
        let status = Status::Ready { attempt: Attempt::FIRST, finished };
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        Content { id: "6qy4OXfXSid".parse().unwrap(), url, progress: Progress::COMPLETE, status }
    }

    const LARGE: Size = Size { width: 8000, height: 6000 };

    #[test]
    fn previews_are_entries_of_the_archive_or_objects() {
        let (large, thumbnail) =
            (TileRange { offset: 1 << 33, length: 5 }, TileRange { offset: 9, length: 6 });
        let archived = content(LARGE, TileFormat::Jpg, Some(Previews::Entries { large, thumbnail }));
        for (kind, range) in [(PreviewKind::Large, large), (PreviewKind::Thumbnail, thumbnail)] {
            let entry = StoredPreview::Entry { object: "6qy4OXfXSid/1.szi".into(), range };
            assert_eq!(stored_preview(&archived, kind), Some((entry, "image/jpeg")));
        }
        let tiles = content(LARGE, TileFormat::Png, Some(Previews::Objects));
        let object = StoredPreview::Object("6qy4OXfXSid/1_files/thumbnail.jpg".into());
        assert_eq!(stored_preview(&tiles, PreviewKind::Thumbnail), Some((object, "image/jpeg")));
    }

    #[test]
    fn without_previews_the_largest_level_that_is_one_tile_and_fits_is_shown() {
        let small = Size { width: 100, height: 9 };
        for (size, kind, key, shown) in [
            (LARGE, PreviewKind::Large, "6qy4OXfXSid/1_files/9/0_0.jpg", (500, 375)),
            (LARGE, PreviewKind::Thumbnail, "6qy4OXfXSid/1_files/8/0_0.jpg", (250, 188)),
            (small, PreviewKind::Large, "6qy4OXfXSid/1_files/7/0_0.jpg", (100, 9)),
        ] {
            let old = content(size, TileFormat::Jpg, None);
            let tile = StoredPreview::Tile(key.parse().unwrap());
            assert_eq!(stored_preview(&old, kind), Some((tile, "image/jpeg")));
            let size = preview_size(old.status.finished().unwrap(), kind);
            assert_eq!((size.width, size.height), shown);
        }
    }
}
