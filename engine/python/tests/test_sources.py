"""Paths, bytes, files and arrays give the same tiles."""

import io
import mmap

import numpy
import pytest
from conftest import ppm, tiles

import edgezoom


@pytest.fixture(scope="module")
def expected(photo):
    return tiles(ppm(photo))


def test_a_path_bytes_a_file_and_an_array_give_the_same_tiles(photo, expected, tmp_path):
    path = tmp_path / "photo.ppm"
    path.write_bytes(ppm(photo))
    assert len(expected) == 14 and expected[10, 1, 1].startswith(b"\xff\xd8")
    assert tiles(path) == tiles(str(path)) == expected
    assert tiles(bytearray(ppm(photo))) == tiles(memoryview(ppm(photo))) == tiles(io.BytesIO(ppm(photo))) == expected
    with path.open("rb") as file:
        assert tiles(file) == expected
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert tiles(mapped) == expected
    assert tiles(photo) == expected


def test_arrays_of_any_strides_are_read(photo, expected):
    padded = numpy.zeros((700, 1000, 3), numpy.uint8)
    padded[:, 50:950] = photo
    doubled = photo.repeat(2, axis=0).repeat(2, axis=1)
    for array in [
        padded[:, 50:950],
        photo[::-1].copy()[::-1],
        photo[:, ::-1].copy()[:, ::-1],
        photo[:, :, ::-1].copy()[:, :, ::-1],
        photo.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        photo.transpose(2, 0, 1).copy().transpose(1, 2, 0),
        numpy.asfortranarray(photo),
        doubled[::2, ::2],
    ]:
        assert numpy.array_equal(array, photo)
        assert tiles(array) == expected, array.strides
    assert tiles(photo[:1]) == tiles(ppm(photo[:1]))
    assert tiles(numpy.broadcast_to(photo[0], photo.shape)) == tiles(ppm(numpy.broadcast_to(photo[0], photo.shape)))


def test_grey_opaque_and_16_bit_arrays_are_read(photo, expected):
    grey = photo[:, :, 1]
    assert tiles(grey) == tiles(grey[:, :, None]) == tiles(ppm(grey.copy()))
    opacity = numpy.full((700, 900, 1), 255, numpy.uint8)
    assert tiles(numpy.concatenate([photo, opacity], axis=2)) == expected
    opacity[3, 4] = 7
    assert edgezoom.dzsave(numpy.concatenate([photo, opacity], axis=2)).format == "png"
    deep = photo.astype(numpy.uint16) * 257
    assert tiles(deep) == tiles(deep[::-1].copy()[::-1]) == expected


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (numpy.zeros((4, 4, 2), numpy.uint8), ValueError),
        (numpy.zeros((4, 0, 3), numpy.uint8), ValueError),
        (numpy.zeros((2, 2, 2, 3), numpy.uint8), ValueError),
        (numpy.zeros((4, 4), numpy.float32), TypeError),
        (numpy.zeros((4, 4), ">u2"), TypeError),
        (numpy.zeros(8, numpy.uint8)[::2], TypeError),
        (io.StringIO("P5"), TypeError),
        (7, TypeError),
        (b"", edgezoom.UnknownFormat),
        (b"nothing that is known", edgezoom.UnknownFormat),
        (b"\x89PNG\r\n\x1a\n", edgezoom.CorruptPicture),
        ("no/such.jpg", FileNotFoundError),
    ],
)
def test_what_is_no_picture_raises(source, error):
    with pytest.raises(error) as raised:
        edgezoom.dzsave(source)
    assert error is not FileNotFoundError or raised.value.filename == "no/such.jpg"


def test_a_picture_over_the_limits_raises(photo):
    with pytest.raises(edgezoom.PictureTooLarge, match="more than the 1000 allowed"):
        edgezoom.dzsave(ppm(photo), max_pixels=1000)
    assert issubclass(edgezoom.PictureTooLarge, edgezoom.EdgezoomError)


def test_an_open_picture_has_a_size_and_regions(photo):
    for source in (photo, ppm(photo), io.BytesIO(ppm(photo))):
        image = edgezoom.open(source)
        assert (image.width, image.height, image.bands, image.title) == (900, 700, 3, None)
        region = numpy.asarray(image.region(300, 200, 100, 70))
        assert numpy.array_equal(region, photo[200:270, 300:400])
        assert numpy.array_equal(numpy.asarray(image.region(0, 0, 900, 700)), photo)
        for place in [(0, 0, 901, 1), (900, 0, 1, 1), (0, 0, 0, 1), (0, 1, 1, 700), (0, 2**32 - 1, 1, 1)]:
            with pytest.raises(ValueError, match="not within"):
                image.region(*place)
    with pytest.raises(edgezoom.PictureTooLarge):
        edgezoom.open(photo, memory=1000).region(0, 0, 900, 700)


SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><title>Tides</title>
<text x="20" y="60" font-size="30">High water</text><text x="20" y="160" font-size="30">Hidden words</text>
<rect y="100" width="400" height="100" fill="#ddd"/></svg>"""


def test_words_are_those_that_the_picture_shows(photo):
    words = edgezoom.text(SVG.encode())
    assert words.plain.split() == ["Tides", "High", "water"]
    (line,) = [line for block in words.layout["pages"][0]["blocks"] for line in block.get("lines", [])]
    assert line["text"] == "High water" and len(line["spans"]) == 4
    assert edgezoom.open(SVG.encode()).title == "Tides"
    assert edgezoom.text(photo) is None
