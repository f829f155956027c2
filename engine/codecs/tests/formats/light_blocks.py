# Writes f.dds, 64×48 pixels of random BC6H blocks, and shown.png as Pillow decodes it, converted from linear 8 bits to sRGB.
# Leaves out blocks with bright pixels, which tone mapping darkens.
import io, random, struct, sys
from PIL import Image

random.seed(3)
kind = int(sys.argv[1])


def dds(blocks, width, height):
    head = struct.pack("<7I44x", 124, 0x81007, height, width, len(blocks), 0, 0)
    head += struct.pack("<2I4s5I", 32, 4, b"DX10", 0, 0, 0, 0, 0) + struct.pack("<5I", 0x1000, 0, 0, 0, 0)
    return b"DDS " + head + struct.pack("<5I", kind, 3, 0, 1, 0) + blocks


def srgb(value):
    linear = value / 255
    return round(255 * (12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055))


blocks = b""
while len(blocks) < 16 * 12 * 16:
    block = bytes(random.randrange(256) for _ in range(16))
    extremes = Image.open(io.BytesIO(dds(block, 4, 4))).convert("RGB").getextrema()
    if 20 < max(most for _, most in extremes) < 220:
        blocks += block
open("f.dds", "wb").write(dds(blocks, 64, 48))
Image.open("f.dds").convert("RGB").point([srgb(value) for value in range(256)] * 3).save("shown.png")
