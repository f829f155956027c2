# Writes f.dds, 64×48 pixels of random blocks with one or two signed channels (BC4, BC5), and shown.png as Microsoft's
# "BC4 and BC5 block compression" specifies. -1 is shown as 0 and 1 as 255. In BC5, blue is shown as 128.
import random, struct, sys
from PIL import Image

random.seed(3)
kind, channels = {"BC4": (81, 1), "BC5": (84, 2)}[sys.argv[1][:3]]
# The older header has a FourCC.
four, more = (b"DX10", struct.pack("<5I", kind, 3, 0, 1, 0)) if len(sys.argv[1]) == 3 else (sys.argv[1].encode(), b"")


def pixels(block):
    first, second = struct.unpack("bb", block[:2])
    parts = 7 if first > second else 5
    ends = [max(end, -127) / 127 for end in (first, second)]
    palette = ends + [((parts - i) * ends[0] + i * ends[1]) / parts for i in range(1, parts)]
    palette += [-1, 1] if parts == 5 else []
    bits = int.from_bytes(block[2:], "little")
    return [round((palette[bits >> 3 * i & 7] + 1) / 2 * 255) for i in range(16)]


shown = Image.new("RGB", (64, 48))
blocks = b""
for block in range(16 * 12):
    stored = [bytes(random.randrange(256) for _ in range(8)) for _ in range(channels)]
    blocks += b"".join(stored)
    decoded = [pixels(channel) for channel in stored]
    for i in range(16):
        colour = [channel[i] for channel in decoded]
        place = (block % 16 * 4 + i % 4, block // 16 * 4 + i // 4)
        shown.putpixel(place, (*colour, 128) if channels == 2 else tuple(colour * 3))
head = struct.pack("<7I44x", 124, 0x81007, 48, 64, len(blocks), 0, 0)
head += struct.pack("<2I4s5I", 32, 4, four, 0, 0, 0, 0, 0) + struct.pack("<5I", 0x1000, 0, 0, 0, 0)
open("f.dds", "wb").write(b"DDS " + head + more + blocks)
shown.save("shown.png")
