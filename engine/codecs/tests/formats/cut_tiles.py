"""Writes f.jp2, which is t.jp2 (4×3 tiles of 100×80 pixels) truncated in the middle of its sixth tile, and shown.png, which
is OpenJPEG's picture of it with missing tiles in grey."""
import struct
import subprocess

from PIL import Image

LEFT = 5
file = open("t.jp2", "rb").read()
length = lambda at: struct.unpack(">I", file[at + 6 : at + 10])[0]
at = file.index(b"\xff\x90")
for _ in range(LEFT):
    at += length(at)
open("f.jp2", "wb").write(file[: at + length(at) // 2])
subprocess.run(["opj_decompress", "-quiet", "-allow-partial", "-i", "f.jp2", "-o", "t.png"], check=True)
whole = Image.open("t.png").convert("RGB")
shown = Image.new("RGB", whole.size, (128, 128, 128))
for tile in range(LEFT + 1):
    left, top = tile % 4 * 100, tile // 4 * 80
    place = (left, top, min(left + 100, whole.width), min(top + 80, whole.height))
    shown.paste(whole.crop(place), place)
shown.save("shown.png")
