"""Folders, archives, memory and functions get the same tiles, by libvips' options."""

import io
import itertools
import os
import re
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT, ppm, tiles

import edgezoom


def in_archive(archive, name):
    with zipfile.ZipFile(archive) as files:
        found = {}
        for path in files.namelist():
            if place := re.fullmatch(rf"{name}/{name}_files/(\d+)/(\d+)_(\d+)\.jpg", path):
                found[tuple(map(int, place.groups()))] = files.read(path)
        return found, files.namelist()


def test_all_targets_get_the_same_tiles(photo, tmp_path):
    expected, called = tiles(photo), {}
    made = edgezoom.dzsave(photo, lambda level, column, row, data: called.update({(level, column, row): data}))
    assert (made.width, made.height, made.tile_size, made.overlap) == (900, 700, 512, 0)
    assert (made.format, made.levels, made.damage, made.archive) == ("jpg", 11, None, None)
    assert called == expected
    edgezoom.dzsave(photo, tmp_path / "out")
    assert {
        (int(path.parent.name), *map(int, path.stem.split("_"))): path.read_bytes()
        for path in (tmp_path / "out_files").glob("*/*.jpg")
    } == expected
    assert "<Size Width=\"900\"" in (tmp_path / "out.dzi").read_text()
    for name in ["out.szi", "out.zip"]:
        edgezoom.dzsave(photo, str(tmp_path / name))
        assert in_archive(tmp_path / name, "out")[0] == expected
    found, names = in_archive(io.BytesIO(edgezoom.dzsave(photo).archive), "image")
    assert found == expected and "image/scan-properties.xml" in names
    found, names = in_archive(io.BytesIO(edgezoom.open(photo).dzsave_buffer(imagename="a")), "a")
    assert found == expected and "a/scan-properties.xml" not in names
    assert sorted(os.listdir(tmp_path)) == ["out.dzi", "out.szi", "out.zip", "out_files"]


def test_an_existing_pyramid_is_replaced_only_on_request(photo, tmp_path):
    out = tmp_path / "out"
    edgezoom.dzsave(photo, out)
    with pytest.raises(FileExistsError, match="exists already"):
        edgezoom.dzsave(photo[:10], out)
    assert 'Height="700"' in (tmp_path / "out.dzi").read_text()
    edgezoom.dzsave(photo[:10], out, replace=True)
    assert 'Height="10"' in (tmp_path / "out.dzi").read_text()
    with pytest.raises(NotADirectoryError, match="out.dzi/inner"):
        edgezoom.dzsave(photo, out.with_suffix(".dzi") / "inner")


def test_libvips_options_have_libvips_names(photo, tmp_path):
    image = edgezoom.Image.new_from_buffer(ppm(photo), "")
    made = image.dzsave(tmp_path / "a", tile_size=254, overlap=1, suffix=".jpeg[Q=75,strip]", depth="onetile", angle="d90")
    assert (made.width, made.height, made.tile_size, made.overlap) == (700, 900, 254, 1)
    assert sorted(path.name for path in (tmp_path / "a_files/0").iterdir()) == ["0_0.jpeg"]
    assert made.format == "jpg"
    assert tiles(photo, suffix=".jpg[Q=75]") == tiles(photo, Q=75) != tiles(photo)
    assert edgezoom.dzsave(photo, suffix=".png").format == "png"
    assert edgezoom.dzsave(photo, suffix=".webp[Q=75]").format == "webp"
    for layout, name in [("zoomify", "ImageProperties.xml"), ("google", "blank.png"), ("iiif", "info.json")]:
        edgezoom.dzsave(photo, tmp_path / layout, layout=layout, properties=True)
        assert (tmp_path / layout / name).is_file() and (tmp_path / layout / "vips-properties.xml").is_file()
    edgezoom.dzsave(photo, tmp_path / "b", layout="iiif3", id="https://iiif.example.org", container="zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as files:
        assert b'"id":"https://iiif.example.org/b"' in files.read("b/info.json")
    with zipfile.ZipFile(io.BytesIO(edgezoom.dzsave(photo, layout="zoomify").archive)) as files:
        assert "image/ImageProperties.xml" in files.namelist()
    labels = [tiles(photo, suffix=".png", region_shrink=shrink) for shrink in [None, "mean", "mode", "nearest", "median", "max", "min"]]
    assert labels[0] == labels[1] and all(one != other for one, other in itertools.combinations(labels[1:], 2))
    with pytest.raises(ValueError, match="region_shrink is \"most\", and has to be one of mean, mode, nearest, median, max, min"):
        edgezoom.dzsave(photo, region_shrink="most")
    blank = {**tiles(photo[:300] * 0, background=0, skip_blanks=0)}
    assert not blank and tiles(photo[:300] * 0, background=[0, 0, 9], skip_blanks=0)


def test_a_site_is_that_of_the_program(photo, tmp_path, monkeypatch):
    viewer = {"viewer.js": "a script", "viewer.css": "a style"}
    viewer["index.html"] = (ROOT / "edge/viewer/site/index.html").read_text()
    (tmp_path / "viewer").mkdir()
    for name, text in viewer.items():
        (tmp_path / "viewer" / name).write_text(text)
    monkeypatch.setenv("EDGEZOOM_VIEWER", str(tmp_path / "viewer"))
    drawing, name, alt = tmp_path / "drawing.svg", "a 100%", 'The "water"'
    drawing.write_text("<svg xmlns='http://www.w3.org/2000/svg' width='400' height='99'><text y='60' fill='#06c'>High &lt;water</text></svg>")
    edgezoom.dzsave(drawing, tmp_path / "ours" / name, viewer=True, alt=alt)
    program = [os.environ["EDGEZOOM_TILER"], "convert", drawing, "-o", tmp_path / "theirs" / name, "--viewer", "--alt", alt]
    subprocess.run(program, check=True)
    ours, theirs = files(tmp_path / "ours"), files(tmp_path / "theirs")
    assert ours == theirs and {*viewer, f"{name}.dzi", f"{name}_files/9/0_0.jpg"} <= ours.keys()
    assert b'fill="#06c"' in ours[f"{name}_files/vector/0.svg"]
    assert b"High \\u003cwater" in ours["index.html"] and b"<h1>drawing</h1>" in ours["index.html"]

    with pytest.raises(FileExistsError, match="index.html exists already"):
        edgezoom.dzsave(photo, tmp_path / "ours/b", viewer=True)
    edgezoom.dzsave(photo, tmp_path / "ours/b", viewer=True, replace=True)
    edgezoom.dzsave(drawing, tmp_path / "pixels/a", viewer=True, vectors=False)
    assert not any("vector/" in path for path in files(tmp_path / "pixels"))
    (tmp_path / "ours/index.html").write_text("my page")
    with pytest.raises(FileExistsError, match="not a page of this viewer"):
        edgezoom.dzsave(photo, tmp_path / "ours/b", viewer=True, replace=True)
    for target, options in [("c", {"layout": "iiif"}), ("c.szi", {}), ("c", {"skip_blanks": 5}), ("_c", {}), (None, {})]:
        with pytest.raises(ValueError, match="Deep Zoom|begin with _"):
            edgezoom.dzsave(photo, target and tmp_path / "new" / target, viewer=True, **options)
    with pytest.raises(edgezoom.CorruptPicture):
        edgezoom.dzsave(b"\x89PNG\r\n\x1a\n", tmp_path / "new/c", viewer=True)
    assert not (tmp_path / "new").exists()
    monkeypatch.setenv("EDGEZOOM_VIEWER", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="none/viewer.js"):
        edgezoom.dzsave(photo, tmp_path / "d", viewer=True)


def test_the_command_is_the_program(photo, tmp_path):
    def run(*arguments):
        code = f"import sysconfig; sysconfig.get_path = lambda _: {str(tmp_path)!r}; from edgezoom.__main__ import main; main()"
        return subprocess.run([sys.executable, "-P", "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True)

    assert run().stderr == "edgezoom: the program is missing; install edgezoom[cli]\n"
    (tmp_path / "tiler").symlink_to(os.environ["EDGEZOOM_TILER"])
    (tmp_path / "photo.ppm").write_bytes(ppm(photo))
    assert run("photo.ppm", "-o", "theirs").returncode == 0
    edgezoom.dzsave(photo, tmp_path / "ours")
    assert files(tmp_path / "ours_files") == files(tmp_path / "theirs_files")


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"tilesize": 5}, TypeError),
        ({"tile_size": "5"}, TypeError),
        ({"tile_size": 0}, ValueError),
        ({"overlap": 600}, ValueError),
        ({"Q": 101}, ValueError),
        ({"suffix": ".gif"}, ValueError),
        ({"suffix": ".jpg[Q=x]"}, ValueError),
        ({"layout": "slippy"}, ValueError),
        ({"background": [1, 2]}, ValueError),
        ({"background": 256}, ValueError),
        ({"container": "fs"}, ValueError),
        ({"container": "szi", "layout": "google"}, ValueError),
    ],
)
def test_a_wrong_option_raises(photo, options, error):
    with pytest.raises(error):
        edgezoom.dzsave(photo, **options)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "engine/python/README.md"])
def test_the_documentation_is_true(page, photo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    edgezoom.dzsave(photo, "tile", tile_size=1024)
    (tmp_path / "city.jpg").write_bytes((tmp_path / "tile_files/10/0_0.jpg").read_bytes())
    (tmp_path / "tides.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        exec(example, {})
    assert (tmp_path / "out/city.dzi").is_file()
