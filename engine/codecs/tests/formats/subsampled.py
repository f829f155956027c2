"""Writes f.exr from photo.png with subsampled channels. The first argument is the compression: none (0), ZIP of one line
(2) or of 16 lines (3). The second is the kind of channels: luminance and half-resolution chroma (ca), red, green and blue
with different steps (rgb), or luminance alone (y). For the latter two, also writes shown.png, which repeats the samples."""
import struct
import sys
import zlib

import numpy as np
from PIL import Image

kind, colours = int(sys.argv[1]), sys.argv[2]
unit = np.asarray(Image.open("photo.png").convert("RGB"))[:200, :300] / 255.0
linear = np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4) * 0.88
height, width = linear.shape[:2]
luma = linear @ [0.2126, 0.7152, 0.0722] + 1e-6
halves = lambda plane: plane.reshape(height // 2, 2, width // 2, 2).mean((1, 3))
if colours == "ca":
    planes = {b"BY": (halves(linear[..., 2] / luma - 1), 2, 2), b"RY": (halves(linear[..., 0] / luma - 1), 2, 2)}
    planes[b"Y"] = (luma, 1, 1)
elif colours == "y":
    planes = {b"Y": (luma[::5, ::3], 3, 5), b"Z": (luma, 1, 1)}
else:
    steps = {b"B": (3, 2), b"G": (1, 1), b"R": (2, 1)}
    plane = lambda name, across, down: (linear[::down, ::across, b"RGB".index(name)], across, down)
    planes = {name: plane(name, *pair) for name, pair in steps.items()}


def attribute(name, type, value):
    return name + b"\0" + type + b"\0" + struct.pack("<i", len(value)) + value


window = struct.pack("<4i", 0, 0, width - 1, height - 1)
header = struct.pack("<II", 20000630, 2)
channels = b"".join(name + b"\0" + struct.pack("<iiii", 1, 0, *steps) for name, (_, *steps) in planes.items())
header += attribute(b"channels", b"chlist", channels + b"\0")
header += attribute(b"compression", b"compression", bytes([kind]))
header += attribute(b"dataWindow", b"box2i", window) + attribute(b"displayWindow", b"box2i", window)
header += attribute(b"lineOrder", b"lineOrder", b"\0") + attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1))
header += attribute(b"screenWindowCenter", b"v2f", bytes(8)) + attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1))
header += b"\0"

blocks, lines = [], 16 if kind == 3 else 1
for top in range(0, height, lines):
    data = b""
    for y in range(top, min(top + lines, height)):
        for samples, _, down in planes.values():
            if y % down == 0:
                data += samples[y // down].astype("<f2").tobytes()
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
if colours != "ca":
    names = [b"Y"] * 3 if colours == "y" else [b"R", b"G", b"B"]
    shown = np.dstack([np.repeat(np.repeat(planes[n][0], planes[n][2], 0), planes[n][1], 1) for n in names])
    shown = np.where(shown <= 0.0031308, shown * 12.92, 1.055 * shown ** (1 / 2.4) - 0.055)
    Image.fromarray((shown * 255).round().astype(np.uint8)).save("shown.png")
