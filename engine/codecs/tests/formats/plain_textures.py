"""Writes f.dds, pixels that are not compressed in blocks, and shown.png. The argument is the kind."""
import struct
import sys

import numpy as np
from PIL import Image

FOUR_CC, LUMINANCE = 0x4, 0x20000
clear, grey = np.asarray(Image.open("clear.png")), np.asarray(Image.open("grey.png"))
height, width = grey.shape


def write(shown, pixels, flags, bits=0, mask=0, four=b"", newer=()):
    head = struct.pack("<7I44x", 124, 0x21007, height, width, 0, 0, 0)
    head += struct.pack("<2I4s5I", 32, flags, four, bits, mask, 0, 0, 0) + struct.pack("<5I", 0x1000, 0, 0, 0, 0)
    newer = struct.pack("<5I", *newer) if newer else b""
    open("f.dds", "wb").write(b"DDS " + head + newer + pixels.tobytes())
    Image.fromarray(shown).save("shown.png")


KINDS = {
    "luminance": lambda: write(grey, grey, LUMINANCE, 8, 0xFF),
    "luminance-16": lambda: write(grey, grey.astype(np.uint16) * 257, LUMINANCE, 16, 0xFFFF),
    "alpha-of-no-kind": lambda: write(clear, clear, FOUR_CC, four=b"DX10", newer=(28, 3, 0, 1, 7)),
}
KINDS[sys.argv[1]]()
