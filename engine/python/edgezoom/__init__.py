"""Deep Zoom pyramids of pictures of any size, in memory proportional to the picture's width.

>>> import edgezoom
>>> edgezoom.dzsave("city.jpg", "out/city", tile_size=254, overlap=1, suffix=".jpg[Q=75]")  # doctest: +SKIP
Pyramid(width=8192, height=6144, …)

A source is a path, the bytes of a file, a binary file object, which is read to its end, or an array of pixels: anything
with the buffer protocol, of the shape (height, width) or (height, width, 1, 3 or 4), with samples of uint8 or uint16. An
array is not copied if each row is without gaps; it must not change meanwhile.

Functions release the interpreter's lock. Ctrl+C, and an exception that a callback raises, end the work within a few rows
and leave nothing behind. One thing cannot be interrupted: the decoding of a single frame of AVIF, up to a second or two.

Files are decoded in this process. Decode files of strangers in one that has limits, and no credentials.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from ._edgezoom import (
    CorruptPicture,
    EdgezoomError,
    PictureTooLarge,
    UnknownFormat,
    UnsupportedPicture,
    describe,
    region,
    save,
    words,
)
from .options import Options, settings

__all__ = [
    "CorruptPicture",
    "EdgezoomError",
    "Image",
    "Options",
    "PictureTooLarge",
    "Pyramid",
    "Text",
    "Tile",
    "UnknownFormat",
    "UnsupportedPicture",
    "dzsave",
    "open",
    "text",
    "tiles",
]


class Pyramid(NamedTuple):
    """A pyramid that was saved."""

    width: int
    height: int
    tile_size: int
    overlap: int
    #: Of the tiles: "jpg" or "png".
    format: str
    #: Number of levels down to one pixel, with those that `depth` leaves out.
    levels: int
    #: A sentence that says what of a damaged or long source is missing; None if nothing is.
    damage: str | None
    #: The archive, if it was saved to memory.
    archive: bytes | None


class Tile(NamedTuple):
    """An encoded tile. Level 0 is one pixel, the last one the full picture."""

    level: int
    column: int
    row: int
    bytes: bytes


class Text(NamedTuple):
    """The words that a document or drawing shows."""

    #: A line for each paragraph, an empty line between them, and a form feed between pages.
    plain: str
    #: The pages with their blocks, lines, places and links, as `tiler convert --text` writes them.
    layout: dict[str, Any]


def dzsave(
    src: Any,
    dst: Any = None,
    *,
    progress: Callable[[int, int], object] | None = None,
    **options: Unpack[Options],
) -> Pyramid:
    """Saves a picture as a pyramid of tiles.

    `dst` is the path of a folder's pyramid (`out/city` makes `out/city.dzi` and `out/city_files/`), the path of an archive
    (`city.szi`, `city.zip`), a function that is called with level, column, row and bytes of each tile, or None for an
    archive in memory. An existing pyramid is an error, unless `replace` is set.

    `progress` is called with the number of rows that have been read, which never falls, and that of all rows.
    """
    function = dst if callable(dst) else None
    path = None if function else dst
    named = next((one for one in (src, path) if isinstance(one, str | os.PathLike)), "")
    chosen = settings(options) | {"name": Path(named).stem}
    with closing(save(_source(src), path, function is not None, chosen)) as job:
        for event in job:
            match event:
                case (rows, of):
                    if progress is not None:
                        progress(rows, of)
                case tile if function is not None:
                    function(*tile)
        return Pyramid(**job.finish())


def tiles(src: Any, **options: Unpack[Options]) -> Iterator[Tile]:
    """Makes the tiles of a picture, in no particular order, as fast as they are taken.

    Close the iterator if you leave it early: `with contextlib.closing(edgezoom.tiles(src)) as tiles: …`
    """
    with closing(save(_source(src), None, True, settings(options))) as job:
        for event in job:
            if len(event) == 4:
                yield Tile(*event)
        job.finish()


def text(src: Any, **options: Unpack[Options]) -> Text | None:
    """Returns the words that a PDF or SVG shows; None for other pictures."""
    found = words(_source(src), settings(options))
    return found and Text(found[1], json.loads(found[0]))


class Image:
    """A picture. It has the methods of `pyvips.Image` that lead to a pyramid."""

    def __init__(self, src: Any, **options: Unpack[Options]) -> None:
        self._source, self._options = _source(src), options
        about = describe(self._source, settings(options))
        #: Width in pixels.
        self.width: int = about["width"]
        #: Height in pixels.
        self.height: int = about["height"]
        #: Number of samples of a pixel: 1 (grey), 3 or 4 (with opacity).
        self.bands: int = about["bands"]
        #: The title that the file states.
        self.title: str | None = about["title"]

    @classmethod
    def new_from_file(cls, name: Any, *, access: str = "sequential", **options: Unpack[Options]) -> "Image":
        """Opens a file. Access is always sequential."""
        return cls(name, **options)

    @classmethod
    def new_from_buffer(cls, data: Any, _options: str = "", *, access: str = "sequential") -> "Image":
        """Opens a file in memory."""
        return cls(data)

    @classmethod
    def new_from_array(cls, array: Any) -> "Image":
        """Takes an array's pixels, which are not copied."""
        return cls(array)

    def dzsave(self, dst: Any, **options: Any) -> Pyramid:
        """Saves a pyramid, as `edgezoom.dzsave` does."""
        return dzsave(self._source, dst, **{**self._options, **options})

    def dzsave_buffer(self, **options: Any) -> bytes:
        """Returns a pyramid as an archive: a ZIP unless `container` is "szi"."""
        archive = self.dzsave(None, **{"container": "zip", **options}).archive
        assert archive is not None
        return archive

    def region(self, left: int, top: int, width: int, height: int) -> memoryview:
        """Returns pixels with the shape (height, width, bands), for `numpy.asarray`. The rows above are decoded, too."""
        pixels, bands = region(self._source, settings(self._options), [left, top, width, height])
        return memoryview(pixels).cast("B", [height, width, bands])


def open(src: Any, **options: Unpack[Options]) -> Image:
    """Opens a picture."""
    return Image(src, **options)


def _source(src: Any) -> Any:
    """Returns what a file object has left, or else the source itself."""
    if not hasattr(src, "read"):
        return src
    content = src.read()
    if isinstance(content, str):
        raise TypeError("a file has to be opened as binary")
    return content
