"""Options of pyramids, by libvips' names."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypedDict


class Options(TypedDict, total=False):
    """Options of a pyramid. None stands for the default."""

    #: Default "dz".
    layout: Literal["dz", "zoomify", "google", "iiif", "iiif3"] | None
    #: Side of a tile without overlap, 1 to 4,096. Default 512, or 256 in zoomify and google.
    tile_size: int | None
    #: Pixels that a tile shares with each neighbour. Default 0.
    overlap: int | None
    #: Format and quality of tiles, such as ".png" or ".jpg[Q=75]". Default: PNG if any pixel is not opaque, else JPEG.
    suffix: str | None
    #: Quality of JPEG and WebP tiles, 1 to 100, if the suffix has none. Default 82.
    Q: int | None
    #: Smallest level. Default "onepixel" in dz, else "onetile".
    depth: Literal["onepixel", "onetile", "one"] | None
    #: Choice of a pixel of a smaller level from the four that it covers; for labels "mode" or "nearest". Default "mean".
    region_shrink: Literal["mean", "mode", "nearest", "median", "max", "min"] | None
    #: Puts the picture into the middle of a square, in google.
    centre: bool
    #: Clockwise rotation of the upright picture. Default "d0".
    angle: Literal["d0", "d90", "d180", "d270"] | None
    #: Colour behind transparent pixels: one value, or red, green and blue, 0 to 255. Default white.
    background: float | Sequence[float] | None
    #: Largest difference from the background at which a tile is left out. Default 5 in google, else -1: none.
    skip_blanks: int | None
    #: URL of the folder in which IIIF's clients find the pyramid's.
    id: str | None
    #: Writes vips-properties.xml, too.
    properties: bool
    #: Default: by the ending of the path; in memory "szi" in dz, else "zip".
    container: Literal["fs", "zip", "szi"] | None
    #: Name of a pyramid in memory. Default "image".
    imagename: str | None
    #: Writes a page with our viewer, too: index.html, viewer.js and viewer.css beside a folder's pyramid.
    viewer: bool
    #: False leaves out the vectors of a PDF's pages and of SVGs, which that page shows where the pixels end. Default True.
    vectors: bool
    #: Alternative text on that page, for people who do not see the picture.
    alt: str | None
    #: Replaces an existing pyramid.
    replace: bool
    #: Refuses a damaged picture. Default: it is saved as far as it can be read.
    strict: bool
    #: Page of a PDF or TIFF, counted from 1. Default: all of a PDF, the first of a TIFF.
    page: int | None
    #: Dots per inch of a PDF. Default 200.
    dpi: int | None
    #: Number of threads. Default: one for each core.
    threads: int | None
    #: Bytes of memory for pictures that have to be buffered. Default: 768 MiB, or a quarter of the machine's.
    memory: int | None
    #: Pixels that a picture may have. Default 20 gigapixels.
    max_pixels: int | None


def settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options in the form that the engine takes."""
    if unknown := options.keys() - Options.__annotations__.keys():
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    found: dict[str, Any] = dict.fromkeys([*Options.__annotations__, "extension", "name"])
    found |= {"centre": False, "properties": False, "replace": False, "strict": False, "vectors": True}
    found |= {name: value for name, value in options.items() if value is not None}
    found["quality"] = found["Q"]
    if found["suffix"] is not None:
        found |= _suffix(found["suffix"])
    if found["background"] is not None:
        found["background"] = _colour(found["background"])
    found["pdfium"] = pdfium()
    found["viewer"] = viewer("viewer.js", "viewer.css", "index.html") if found["viewer"] else None
    return found


def _suffix(suffix: str) -> dict[str, Any]:
    parts = re.fullmatch(r"\.(jpg|jpeg|png|webp)(?:\[(.*)\])?", suffix)
    if parts is None:
        raise ValueError(f"suffix is {suffix!r}; tiles are .jpg, .jpeg, .png or .webp, with options such as .jpg[Q=75]")
    found: dict[str, Any] = {"extension": parts[1]}
    for option in filter(None, (option.strip() for option in (parts[2] or "").split(","))):
        name, _, value = option.partition("=")
        if name == "Q" and value.isdecimal():
            found["quality"] = int(value)
        elif name != "strip":
            raise ValueError(f"{option} is not an option of tiles; Q=1 to 100 and strip are")
    return found


def _colour(colour: float | Sequence[float]) -> list[int]:
    values = [colour] if isinstance(colour, int | float) else list(colour)
    if len(values) not in (1, 3) or not all(0 <= value <= 255 for value in values):
        raise ValueError("a colour is one or three values from 0 to 255")
    return [round(value) for value in values] * (3 // len(values))


def pdfium() -> str | None:
    """Returns the path of the library for PDF: the one that EDGEZOOM_PDFIUM names, or that of the package pypdfium2."""
    if named := os.environ.get("EDGEZOOM_PDFIUM"):
        return os.path.abspath(named)
    package = find_spec("pypdfium2_raw")
    for folder in package and package.submodule_search_locations or ():
        if (library := Path(folder) / "libpdfium.so").is_file():
            return str(library)
    return None


def viewer(*names: str) -> list[str]:
    """Returns files of the built viewer: of the folder that EDGEZOOM_VIEWER names, or of the wheel."""
    folder = Path(os.environ.get("EDGEZOOM_VIEWER") or Path(__file__).with_name("viewer"))
    try:
        return [(folder / name).read_text("utf-8") for name in names]
    except FileNotFoundError as error:
        error.add_note("A wheel has the viewer. Before you build from source, run `npm ci && npm run build:wheel`.")
        raise
