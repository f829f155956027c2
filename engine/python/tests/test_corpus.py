"""The files of the tiler's corpus, whole, cut and broken, and documents."""

import random

import pytest
from conftest import ROOT

import edgezoom

CORPUS = sorted((ROOT / "tiler/tests/corpus").iterdir())
#: How a file that cannot be read ends.
ENDS = (edgezoom.EdgezoomError, OSError, MemoryError)
PIXELS = 1_000_000


def broken(content, chance):
    """Returns a file with some other bytes."""
    changed = bytearray(content)
    for _ in range(1 + len(changed) // 200):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_a_file_ends_in_a_pyramid_or_an_exception(path):
    whole, chance = path.read_bytes(), random.Random(path.name)
    for content in [whole, whole[: len(whole) // 2], whole[:-1], broken(whole, chance), broken(whole, chance)]:
        try:
            made = edgezoom.dzsave(content, max_pixels=PIXELS, memory=128 << 20)
        except ENDS:
            assert content is not whole or path.name == "encrypted.pdf"
        else:
            assert made.width * made.height <= PIXELS and made.archive.startswith(b"PK")


def test_a_document_has_pages_and_words():
    document = (ROOT / "tiler/tests/corpus/page.pdf").read_bytes()
    made = edgezoom.open(document, dpi=72, page=1)
    assert made.width >= 1 and edgezoom.text(document).plain.strip()
    with pytest.raises(edgezoom.UnsupportedPicture, match="no page 99"):
        edgezoom.dzsave(document, page=99)


def test_without_the_library_an_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv("EDGEZOOM_PDFIUM")
    monkeypatch.setattr("edgezoom.options.find_spec", lambda name: None)
    with pytest.raises(edgezoom.UnsupportedPicture, match=r"Install edgezoom\[pdf\]"):
        edgezoom.dzsave(CORPUS[0].with_name("page.pdf"))
