"""Writes f.exr of photo.png: luminance, and chroma at half the resolution, uncompressed (0) or as ZIP of one line (2) or 16 (3).
"""
import struct
import sys
import zlib

import numpy as np
from PIL import Image

kind = int(sys.argv[1])
unit = np.asarray(Image.open("photo.png").convert("RGB"))[:202, :300] / 255.0
linear = np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4) * 0.88
height, width = linear.shape[:2]
luma = linear @ [0.2126, 0.7152, 0.0722] + 1e-6
halves = lambda plane: plane.reshape(height // 2, 2, width // 2, 2).mean((1, 3)).astype("<f2")
red, blue = (halves(linear[..., channel] / luma - 1) for channel in (0, 2))
luma = luma.astype("<f2")


def attribute(name, type, value):
    return name + b"\0" + type + b"\0" + struct.pack("<i", len(value)) + value


def channel(name, step):
    return name + b"\0" + struct.pack("<iiii", 1, 0, step, step)


window = struct.pack("<4i", 0, 0, width - 1, height - 1)
header = struct.pack("<II", 20000630, 2)
header += attribute(b"channels", b"chlist", channel(b"BY", 2) + channel(b"RY", 2) + channel(b"Y", 1) + b"\0")
header += attribute(b"compression", b"compression", bytes([kind]))
header += attribute(b"dataWindow", b"box2i", window) + attribute(b"displayWindow", b"box2i", window)
header += attribute(b"lineOrder", b"lineOrder", b"\0") + attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1))
header += attribute(b"screenWindowCenter", b"v2f", bytes(8)) + attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1))
header += b"\0"

blocks, lines = [], 16 if kind == 3 else 1
for top in range(0, height, lines):
    data = b""
    for y in range(top, min(top + lines, height)):
        if y % 2 == 0:
            data += blue[y // 2].tobytes() + red[y // 2].tobytes()
        data += luma[y].tobytes()
    if kind:
        bytes_ = np.frombuffer(data, np.uint8)
        apart = np.concatenate([bytes_[::2], bytes_[1::2]]).astype(int)
        steps = np.diff(apart, prepend=apart[0] - 128 + 256) + 128
        steps[0] = apart[0]
        packed = zlib.compress((steps % 256).astype(np.uint8).tobytes())
        data = packed if len(packed) < len(data) else data
    blocks.append(struct.pack("<ii", top, len(data)) + data)
at, offsets = len(header) + 8 * len(blocks), b""
for block in blocks:
    offsets += struct.pack("<Q", at)
    at += len(block)
open("f.exr", "wb").write(header + offsets + b"".join(blocks))
