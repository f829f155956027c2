"""Shows a picture or an array in a notebook with our viewer, from memory, without a server.

>>> from edgezoom.notebook import View
>>> View("city.jpg")  # doctest: +SKIP

The kernel keeps the tiles while an output shows them. An output that has no kernel shows a still.
"""

import asyncio
import base64
from collections import Counter
from pathlib import Path
from typing import Any, Unpack

import anywidget
import traitlets

from . import dzsave
from .options import Options, viewer

#: Seconds for which tiles stay without an output, which a notebook may move or show anew.
GRACE = 10


class View(anywidget.AnyWidget):
    """A zoomable picture: the value of a notebook's cell. `height` is that of the output in CSS pixels."""

    _esm = viewer("notebook.js")[0]
    picture = traitlets.Dict().tag(sync=True)
    #: The last view, or at first the whole picture.
    still = traitlets.Bytes().tag(sync=True)
    height = traitlets.Int(480).tag(sync=True)

    def __init__(self, src: Any, *, height: int = 480, name: str | None = None, **options: Unpack[Options]) -> None:
        tiles: dict[tuple[int, ...], bytes] = {}
        whole: Options = {**options, "layout": "dz", "depth": None, "skip_blanks": None, "viewer": False}
        made = dzsave(src, lambda *tile: tiles.update({tile[:3]: tile[3]}), **whole)
        alone = max(level for level, count in Counter(level for level, _, _ in tiles).items() if count == 1)
        picture = {
            "name": name or (Path(src).stem if isinstance(src, str | Path) else "Picture"),
            "width": made.width,
            "height": made.height,
            "tileSize": made.tile_size,
            "tileOverlap": made.overlap,
            "tileFormat": made.format,
        }
        super().__init__(picture=picture, still=tiles[alone, 0, 0], height=height)
        self._whole, self._type = self.still, "image/png" if made.format == "png" else "image/jpeg"
        self._tiles, self._views = tiles, 0
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: dict[str, Any], buffers: Any) -> None:
        if tile := message.get("tile"):
            if content := self._tiles.get(tuple(tile)):
                self.send({"tile": tile}, [content])
            return
        self._views += message["views"]
        if self._views < 1:
            asyncio.get_running_loop().call_later(GRACE, self._forget)
        elif self._tiles and message["views"] > 0:
            self.send({"ready": True})

    def _forget(self) -> None:
        if self._views < 1:
            self._tiles = {}

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        formats = bundle[0] if isinstance(bundle, tuple) else bundle
        formats[self._type] = base64.b64encode(self._whole).decode()
        return bundle
