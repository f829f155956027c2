"""The kernel's half of the notebook's viewer. `notebook.test.mjs` tests the other one, in a browser."""

import asyncio
import base64
import importlib

import numpy
import pytest
from conftest import tiles


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("viewer")
    (folder / "notebook.js").write_text("export default {}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEZOOM_VIEWER", str(folder))
        return importlib.import_module("edgezoom.notebook")


@pytest.fixture
def view(notebook, photo, monkeypatch):
    monkeypatch.setattr(notebook, "GRACE", 0.01)
    view = notebook.View(photo, Q=75)
    view.sent = []
    monkeypatch.setattr(view, "send", lambda message, buffers=(): view.sent.append((message, *buffers)))
    return view


def tell(view, **message):
    """Sends what an output sends."""
    view._handle_custom_msg(message, [])


def test_an_output_gets_the_tiles_that_it_asks_for(view, photo):
    expected = tiles(photo, Q=75)
    assert view.picture | {"name": ""} == {
        "name": "",
        "width": 900,
        "height": 700,
        "tileSize": 512,
        "tileOverlap": 0,
        "tileFormat": "jpg",
    }
    tell(view, views=1)
    tell(view, tile=[10, 1, 1])
    tell(view, tile=[99, 0, 0])
    assert view.sent == [({"ready": True},), ({"tile": [10, 1, 1]}, expected[10, 1, 1])]


def test_tiles_go_when_the_last_output_goes(view):
    async def outputs():
        for change in (1, 1, -1):
            tell(view, views=change)
        await asyncio.sleep(0.1)
        assert view._tiles
        for change in (-1, 1):  # the notebook moves the output
            tell(view, views=change)
        await asyncio.sleep(0.1)
        assert view._tiles
        tell(view, views=-1)
        await asyncio.sleep(0.1)

    asyncio.run(outputs())
    assert not view._tiles
    view.sent.clear()
    tell(view, views=1)
    assert view.sent == []


def test_an_output_without_a_kernel_has_a_still(notebook, view, photo):
    formats, _ = view._repr_mimebundle_()
    still = tiles(photo, Q=75)[9, 0, 0]
    assert "application/vnd.jupyter.widget-view+json" in formats
    assert base64.b64decode(formats["image/jpeg"]) == view.get_state()["still"] == still
    drawn = notebook.View(numpy.zeros((9, 9, 4), numpy.uint8), layout="iiif", skip_blanks=0)
    assert base64.b64decode(drawn._repr_mimebundle_()[0]["image/png"]) == drawn.still
