"""Writes f.dds, pixels of a kind that is not compressed in blocks, or with an unusual header, and shown.png. The argument is the
kind."""
import struct
import sys

import numpy as np
from PIL import Image

ALPHA, FOUR_CC, PALETTE, RGB, LUMINANCE = 0x1, 0x4, 0x20, 0x40, 0x20000
clear = np.asarray(Image.open("clear.png"))
photo, grey = clear[..., :3], np.asarray(Image.open("grey.png"))
height, width = grey.shape


def write(shown, pixels, flags, bits=0, masks=(0, 0, 0, 0), four=b"", newer=(), size=32, before=b"", levels=0):
    head = struct.pack("<7I44x", 124, 0x21007, height, width, 0, 0, levels)
    head += struct.pack("<2I4s5I", size, flags, four, bits, *masks) + struct.pack("<5I", 0x1000, 0, 0, 0, 0)
    newer = struct.pack("<5I", *newer) if newer else b""
    open("f.dds", "wb").write(b"DDS " + head + newer + before + pixels.tobytes())
    Image.fromarray(shown).save("shown.png")


def scaled(values, bits):
    """Rounds 8 bits to fewer, and returns the numbers and the 8 bits that they are shown as."""
    numbers = (values.astype(np.uint32) * (2**bits - 1) + 127) // 255
    return numbers, ((numbers * 510 + 2**bits - 1) // (2 * (2**bits - 1))).astype(np.uint8)


def packed(pixels, widths, kind, **more):
    """Writes channels of these numbers of bits, the first one in the lowest bits."""
    number, shown, masks, at = 0, [], [0, 0, 0, 0], 0
    for channel, bits in widths:
        numbers, seen = scaled(pixels[..., channel], bits)
        number = number | numbers << at
        masks[channel] = (2**bits - 1) << at
        shown.append((channel, seen))
        at += bits
    shown = np.dstack([seen for _, seen in sorted(shown, key=lambda pair: pair[0])])
    write(shown, number.astype(kind), RGB | (ALPHA if masks[3] else 0), np.dtype(kind).itemsize * 8, masks, **more)


def palette(is_transparent=False, with_alpha=False):
    colours = np.arange(1024, dtype=np.uint32).reshape(256, 4) * 77 % 256
    colours[:, 3] = (np.arange(256) * 3 + 9) % 256 if is_transparent else 0
    shown = colours[grey].astype(np.uint8)
    shown[..., 3] = clear[..., 3] if with_alpha else shown[..., 3]
    pixels = np.dstack([grey, clear[..., 3]]) if with_alpha else grey
    shown = shown if is_transparent or with_alpha else np.ascontiguousarray(shown[..., :3])
    flags, bits = PALETTE | (ALPHA if with_alpha else 0), 16 if with_alpha else 8
    write(shown, pixels, flags, bits, before=colours.astype(np.uint8).tobytes())


def luminance(bits, alpha_bits):
    if bits == 16:
        return write(grey, grey.astype(np.uint16) * 257, LUMINANCE, 16, (0xFFFF, 0, 0, 0))
    if not alpha_bits:
        return write(grey, grey, LUMINANCE, 8, (0xFF, 0, 0, 0))
    (light, seen), (alpha, opacity) = scaled(grey, bits), scaled(clear[..., 3], alpha_bits)
    masks = (2**bits - 1, 0, 0, (2**alpha_bits - 1) << bits)
    kind = np.uint16 if bits == 8 else np.uint8
    shown = np.dstack([seen, seen, seen, opacity])
    write(shown, (light | alpha << bits).astype(kind), LUMINANCE | ALPHA, bits + alpha_bits, masks)


def newer(dxgi, dimension=3, flags=0, members=1, alpha=0, pixels=clear, shown=clear, **more):
    write(shown, pixels, FOUR_CC, four=b"DX10", newer=(dxgi, dimension, flags, members, alpha), **more)


KINDS = {
    "luminance": lambda: luminance(8, 0),
    "luminance-16": lambda: luminance(16, 0),
    "luminance-alpha": lambda: luminance(8, 8),
    "luminance-alpha-4": lambda: luminance(4, 4),
    "palette": palette,
    "palette-transparent": lambda: palette(is_transparent=True),
    "palette-alpha": lambda: palette(with_alpha=True),
    "x1r5g5b5": lambda: packed(photo, [(2, 5), (1, 5), (0, 5)], "<u2"),
    "r3g3b2": lambda: packed(photo, [(2, 2), (1, 3), (0, 3)], "u1"),
    "a8r3g3b2": lambda: packed(clear, [(2, 2), (1, 3), (0, 3), (3, 8)], "<u2"),
    "no-members": lambda: newer(28, members=0),
    "no-dimension": lambda: newer(28, dimension=0),
    "cube-of-a-volume": lambda: newer(28, dimension=4, flags=4, members=6, levels=40),
    "alpha-of-no-kind": lambda: newer(28, alpha=7),
    "integers": lambda: newer(30),
    "depth": lambda: newer(55, pixels=grey.astype("<u2") * 257, shown=grey),
    "no-flag": lambda: write(clear, clear, 0, four=b"DX10", newer=(28, 3, 0, 1, 0), size=0),
}
KINDS[sys.argv[1]]()
