"""Makes damaged and unusual files in the current folder. Prints a line for each: "NAME missing" if part of the picture is
missing, otherwise "NAME whole".

The folder has the pixels of a photograph, photo.rgb, and the intact files that mod.rs names. This script writes the kinds that
no encoder writes, such as OS/2 bitmaps, according to the specifications that the files in engine/codecs/src/formats cite.
No file depends on the version of a program: where a file is cut or changed at a place, its bytes are not compressed here.
"""

import struct
import zlib


def read(name):
    with open(name, "rb") as file:
        return file.read()


WIDTH, HEIGHT, RGB = 160, 120, read("photo.rgb")
GREY = bytes((299 * RGB[at] + 587 * RGB[at + 1] + 114 * RGB[at + 2]) // 1000 for at in range(0, len(RGB), 3))
COLOURS = [[RGB[3 * (y * WIDTH + x):][:3] for x in range(WIDTH)] for y in range(HEIGHT)]
GREYS = [GREY[y * WIDTH:(y + 1) * WIDTH] for y in range(HEIGHT)]


def add(name, file, missing=False):
    with open(name, "wb") as out:
        out.write(file)
    print(name, "missing" if missing else "whole")


def cut(name, file, shares=(10, 50, 90)):
    stem, ending = name.rsplit(".", 1)
    for share in shares:
        add(f"{stem}-{share}.{ending}", file[:len(file) * share // 100], missing=True)


def jpeg():
    names = ("420", "444", "progressive", "restart", "grey", "arithmetic", "cmyk")
    kinds = {name: read(f"{name}-encoded.jpg") for name in names}
    plain = kinds["420"]
    for name, file in kinds.items():
        add(f"{name}.jpg", file)
        cut(f"{name}.jpg", file)
        add(f"{name}-without-end.jpg", file[:-2])
    scan = plain.index(b"\xff\xda")
    middle = (scan + len(plain)) // 2
    segment = lambda marker, content: bytes([0xff, marker]) + struct.pack(">H", len(content) + 2) + content
    put = lambda at, what, file=plain: file[:at] + what + file[at:]
    add("extraneous.jpg", put(20, b"\0\0\0"))
    add("extraneous-before-scan.jpg", put(scan, b"junk"))
    add("fill-bytes.jpg", put(2, b"\xff\xff\xff"))
    add("broken-exif.jpg", put(2, segment(0xe1, b"Exif\0\0" + b"\xff" * 12)))
    add("broken-profile.jpg", put(2, segment(0xe2, b"ICC_PROFILE\0\1\1abcd")))
    add("behind-the-end.jpg", plain + b"what a camera appends")
    add("two-pictures.jpg", plain + plain)
    add("hole.jpg", plain[:middle] + plain[middle + 300:], missing=True)
    add("ends-early.jpg", plain[:middle] + b"\xff\xd9" + plain[middle:], missing=True)
    add("other-bits.jpg", plain[:middle] + bytes(40) + plain[middle + 40:])
    restart = kinds["restart"]
    at = restart.index(b"\xff\xd2")
    add("restart-hole.jpg", restart[:at - 20] + restart[at + 20:], missing=True)


SIGNATURE = b"\x89PNG\r\n\x1a\n"
ROWS = b"".join(b"\0" + b"".join(row) for row in COLOURS)
PACKED = read("rows.zlib")


def chunk(kind, content, crc=None):
    crc = zlib.crc32(kind + content) if crc is None else crc
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def png_header(colour, bits=8):
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, colour, 0, 0, 0))


def whole_png(colour, packed, bits=8, before=b""):
    return png_header(colour, bits) + before + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def png():
    rows, packed, half = ROWS, PACKED, len(PACKED) // 2
    data, end, start = chunk(b"IDAT", packed), chunk(b"IEND", b""), png_header(2)
    good = start + data + end
    cut("plain.png", good)
    for name, file in {
        "plain": good,
        "bad-checksum-of-text": start + chunk(b"tEXt", b"a\0b", 1) + data + end,
        "bad-checksum-of-gamma": start + chunk(b"gAMA", struct.pack(">I", 100000), 1) + data + end,
        "bad-checksum-of-pixels": start + chunk(b"IDAT", packed, 1) + end,
        "bad-checksum-at-the-end": start + chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:], 1) + end,
        "bad-checksum-of-end": start + data + chunk(b"IEND", b"", 1),
        "without-end": start + data,
        "empty-chunks": start + chunk(b"IDAT", b"") + data + chunk(b"IDAT", b"") + end,
        "small-chunks": start + b"".join(chunk(b"IDAT", packed[at:at + 7]) for at in range(0, len(packed), 7)) + end,
        "more-than-zlib": start + chunk(b"IDAT", packed + b"more" * 9) + end,
        "more-than-rows": start + chunk(b"IDAT", zlib.compress(rows + rows[:2000])) + end,
        "bad-adler": start + chunk(b"IDAT", packed[:-1] + bytes([packed[-1] ^ 255])) + end,
        "without-adler": start + chunk(b"IDAT", packed[:-4]) + end,
        "small-window": start + chunk(b"IDAT", b"\x18\x19" + packed[2:]) + end,
        "too-long-a-chunk": start + struct.pack(">I", len(packed) + 1000) + b"IDAT" + packed + bytes(4),
        "bad-profile": start + chunk(b"iCCP", b"x\0\0abc") + data + end,
        "bad-gamma": start + chunk(b"gAMA", b"x") + data + end,
        "bad-intent": start + chunk(b"sRGB", b"\x09") + data + end,
        "bad-exif": start + chunk(b"eXIf", b"x") + data + end,
        "bad-animation": start + chunk(b"acTL", b"x") + data + end,
        "unknown-chunk": start + chunk(b"abCd", b"xx") + data + end,
        "transparency-with-alpha": start + chunk(b"tRNS", bytes(2)) + data + end,
        "behind-the-end": good + b"more" * 50,
    }.items():
        add(f"{name}.png", file)
    add("rows-missing.png", start + chunk(b"IDAT", zlib.compress(rows[:len(rows) // 2])) + end, missing=True)
    bad_filter = (3 * WIDTH + 1) * (HEIGHT // 2)
    broken = rows[:bad_filter] + b"\x09" + rows[bad_filter + 1:]
    add("bad-filter.png", start + chunk(b"IDAT", zlib.compress(broken)) + end, missing=True)
    add("bad-deflate.png", start + chunk(b"IDAT", packed[:half] + b"\xff" * 50 + packed[half + 50:]) + end, missing=True)
    indices = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in GREYS)))
    palette = bytes(value for index in range(256) for value in (index, 255 - index, index // 2))
    add("palette-of-grey.png", png_header(0) + chunk(b"PLTE", palette) + indices + end)
    add("transparency-before-palette.png",
        png_header(3) + chunk(b"tRNS", bytes(100)) + chunk(b"PLTE", palette) + indices + end)
    interlaced = read("interlaced-encoded.png")
    add("interlaced.png", interlaced)
    cut("interlaced.png", interlaced)


def gif():
    def lzw(indices, ends=True):
        out, bits, held = bytearray(), 0, 0

        def put(code, width):
            nonlocal bits, held
            bits |= code << held
            held += width
            while held >= 8:
                out.append(bits & 255)
                bits >>= 8
                held -= 8

        known = {bytes([index]): index for index in range(256)}
        width, run = 9, b""
        put(256, width)
        for index in indices:
            longer = run + bytes([index])
            if longer in known:
                run = longer
                continue
            put(known[run], width)
            if len(known) < 4094:
                known[longer] = len(known) + 2
                if known[longer] == 1 << width and width < 12:
                    width += 1
            else:
                put(256, width)
                known, width = {bytes([index]): index for index in range(256)}, 9
            run = bytes([index])
        put(known[run], width)
        if ends:
            put(257, width)
        return bytes(out) + (bytes([bits & 255]) if held else b"")

    def blocks(content, ends=True):
        parts = (content[at:at + 255] for at in range(0, len(content), 255))
        return b"".join(bytes([len(part)]) + part for part in parts) + (b"\0" if ends else b"")

    palette = bytes(value for index in range(256) for value in (index, 255 - index, index // 2))

    def file(palette=palette, own=b"", screen=(WIDTH, HEIGHT), at=(0, 0), interlaced=0, pixels=None, before=b"", end=b";"):
        pixels = blocks(lzw(GREY)) if pixels is None else pixels
        flags = lambda colours: 0x87 if colours else 0
        head = b"GIF89a" + struct.pack("<HHBBB", *screen, flags(palette), 0, 0) + palette + before
        frame = struct.pack("<HHHHB", *at, WIDTH, HEIGHT, flags(own) | interlaced)
        return head + b"," + frame + own + b"\x08" + pixels + end

    order = [y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, HEIGHT, step)]
    interlaced = file(interlaced=0x40, pixels=blocks(lzw(b"".join(GREYS[y] for y in order))))
    good = file()
    for name, content in {
        "plain": good,
        "own-palette": file(palette=b"", own=palette),
        "without-palette": file(palette=b""),
        "without-trailer": file(end=b""),
        "without-end-code": file(pixels=blocks(lzw(GREY, ends=False))),
        "without-last-block": file(pixels=blocks(lzw(GREY), ends=False), end=b""),
        "unknown-extension": file(before=b"!\x77" + blocks(b"hello")),
        "transparent-index": file(before=b"!\xf9\x04\x01\0\0\x40\0"),
        "behind-the-end": good + b"more" * 50,
        "no-screen": file(screen=(0, 0)),
        "small-screen": file(screen=(40, 30)),
        "large-screen": file(screen=(WIDTH + 40, HEIGHT + 9)),
        "beyond-the-screen": file(at=(60, 40)),
        "more-than-rows": file(pixels=blocks(lzw(GREY + GREY[:500]))),
        "interlaced": interlaced,
    }.items():
        add(f"{name}.gif", content)
    cut("plain.gif", good, (10, 30, 50, 90))
    cut("interlaced.gif", interlaced, (10, 30, 50, 90))
    add("rows-missing.gif", file(pixels=blocks(lzw(GREY[:WIDTH * (HEIGHT // 2)]))), missing=True)


def aligned(row):
    return row + bytes(-len(row) % 4)


def bitmap_header(bits, compression=0, width=WIDTH, height=HEIGHT, size=40, planes=1, colours=0, masks=()):
    fields = struct.pack("<IiiHHIIiiII", size, width, height, planes, bits, compression, 0, 2835, 2835, colours, 0)
    masks = b"".join(struct.pack("<I", mask) for mask in masks)
    return (fields + masks).ljust(size, b"\0")[:max(size, 40 + len(masks) if size <= 40 else size)]


def bitmap(header, rows, palette=b"", at=None, gap=b""):
    start = 14 + len(header) + len(palette) + len(gap)
    return b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start if at is None else at) + header + palette + gap + rows


def stored(pixel, top_down=False):
    """Returns the rows of a bitmap. `pixel` encodes a pixel from red, green and blue."""
    rows = [aligned(b"".join(pixel(*colour) for colour in row)) for row in COLOURS]
    return b"".join(rows if top_down else rows[::-1])


def indexed(bits, top_down=False):
    rows = []
    for row in GREYS:
        packed = bytearray((WIDTH * bits + 7) // 8)
        for x, grey in enumerate(row):
            packed[x * bits // 8] |= grey >> (8 - bits) << (8 - bits - x * bits % 8)
        rows.append(aligned(bytes(packed)))
    return b"".join(rows if top_down else rows[::-1])


def palette_of(count, entry=4):
    shade = lambda index: index * 255 // (count - 1)
    return b"".join(bytes([shade(index) // 2, shade(index), 255 - shade(index)]) + bytes(entry - 3) for index in range(count))


def bmp():
    bgr = lambda red, green, blue: bytes([blue, green, red])
    word = lambda red, green, blue, alpha=0: struct.pack("<I", alpha << 24 | red << 16 | green << 8 | blue)
    short = lambda red, green, blue: struct.pack("<H", red >> 3 << 11 | green >> 2 << 5 | blue >> 3)
    colours, header = stored(bgr), bitmap_header
    rgb, rgba = (0xff0000, 0xff00, 0xff), (0xff0000, 0xff00, 0xff, 0xff000000)
    old = lambda bits: struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits)
    half_clear = stored(lambda *colour: word(*colour, alpha=0x80))
    plain = {
        "24": bitmap(header(24), colours),
        "24-top-down": bitmap(header(24, height=-HEIGHT), stored(bgr, True)),
        "32": bitmap(header(32), stored(word)),
        "8": bitmap(header(8), indexed(8), palette_of(256)),
        "4": bitmap(header(4), indexed(4), palette_of(16)),
    }
    for name, file in plain.items():
        cut(f"{name}.bmp", file)
    for name, file in {
        **plain,
        "2": bitmap(header(2), indexed(2), palette_of(4)),
        "1": bitmap(header(1), indexed(1), palette_of(2)),
        "16": bitmap(header(16), stored(lambda r, g, b: struct.pack("<H", r >> 3 << 10 | g >> 3 << 5 | b >> 3))),
        "16-masks": bitmap(header(16, 3, masks=(0xf800, 0x7e0, 0x1f)), stored(short)),
        "32-alpha-is-ignored": bitmap(header(32), half_clear),
        "32-masks-reversed": bitmap(header(32, 3, masks=rgb[::-1]), stored(lambda r, g, b: word(b, g, r))),
        "32-ten-bits": bitmap(header(32, 3, masks=(0x3ff00000, 0xffc00, 0x3ff)),
                              stored(lambda r, g, b: struct.pack("<I", r << 22 | g << 12 | b << 2))),
        "16-without-masks": bitmap(header(16, 3, masks=(0, 0, 0)), stored(short)),
        "32-masks-not-there": bitmap(header(32, 3), stored(word)),
        "32-no-red": bitmap(header(32, 3, masks=(0, 0xff00, 0xff)), stored(word)),
        "alpha-masks": bitmap(header(32, 6, masks=rgba), half_clear),
        "alpha-of-zero": bitmap(header(32, 3, size=108, masks=rgba), stored(word)),
        "version-2": bitmap(header(16, 3, size=52, masks=(0xf800, 0x7e0, 0x1f)), stored(short)),
        "version-3": bitmap(header(32, 3, size=56, masks=rgba), half_clear),
        "version-4": bitmap(header(32, 3, size=108, masks=rgba), half_clear),
        "version-5": bitmap(header(24, size=124), colours),
        "version-5-alpha": bitmap(header(32, size=124, masks=rgba), half_clear),
        "os2-24": bitmap(old(24), colours),
        "os2-8": bitmap(old(8), indexed(8), palette_of(256, 3)),
        "os2-1": bitmap(old(1), indexed(1), palette_of(2, 3)),
        "os2-version-2": bitmap(header(24, size=64), colours),
        "os2-version-2-short": bitmap(struct.pack("<IiiHH", 16, WIDTH, HEIGHT, 1, 8), indexed(8), palette_of(256)),
        "planes": bitmap(header(24, planes=3), colours),
        "few-colours": bitmap(header(8, colours=100), indexed(8), palette_of(256)[:400]),
        "too-many-colours": bitmap(header(8, colours=0x7fffffff), indexed(8), palette_of(256)),
        "short-palette": bitmap(header(8), indexed(8), palette_of(256)[:400]),
        "palette-of-24": bitmap(header(24, colours=10), colours, palette_of(256)[:40]),
        "no-offset": bitmap(header(24), colours, at=0),
        "gap": bitmap(header(24), colours, gap=b"x" * 37),
    }.items():
        add(f"{name}.bmp", file)
    nested = bitmap(header(24), colours, at=14 + 14 + 40)
    add("array.bmp", b"BA" + struct.pack("<IIHH", 40, 0, 0, 0) + nested)

    def runs(units, most, pack, top_down=False):
        """Returns compressed rows: runs where they are shorter, otherwise literals of up to `most` pixels."""
        out = b""
        for row in units if top_down else units[::-1]:
            x = 0
            while x < WIDTH:
                count = 1
                while count < 200 and x + count < WIDTH and row[x + count] == row[x]:
                    count += 1
                literal = min(WIDTH - x, most)
                if count > 2 or literal < 3:
                    out += bytes([count]) + pack([row[x]] * (1 if pack([row[x]] * 2)[1:] else 2))[:len(pack([row[x]]))]
                    x += count
                else:
                    content = pack(row[x:x + literal])
                    out += bytes([0, literal]) + content + bytes(len(content) % 2)
                    x += literal
            out += b"\0\0"
        return out + b"\0\1"

    nibbles = [[grey >> 4 for grey in row] for row in GREYS]
    # A run repeats a pair of nibbles, so both are the same.
    pairs = lambda values: bytes(one << 4 | other for one, other in zip(values[::2], (list(values) + list(values[-1:]))[1::2]))
    rle8, rle4 = runs(GREYS, 9, bytes), runs(nibbles, 11, pairs)
    add("rle8.bmp", bitmap(header(8, 1), rle8, palette_of(256)))
    add("rle8-top-down.bmp", bitmap(header(8, 1, height=-HEIGHT), runs(GREYS, 9, bytes, True), palette_of(256)))
    add("rle8-without-end.bmp", bitmap(header(8, 1), rle8[:-2], palette_of(256)))
    add("rle8-ends-early.bmp", bitmap(header(8, 1), runs(GREYS[HEIGHT // 2:], 9, bytes), palette_of(256)))
    add("rle8-skips.bmp", bitmap(header(8, 1), b"\5\7\0\2\11\4\6\10\0\0" + runs(GREYS[HEIGHT // 2:], 9, bytes), palette_of(256)))
    add("rle4.bmp", bitmap(header(4, 2), rle4, palette_of(16)))
    blues = [[bytes([blue, green, red]) for red, green, blue in row] for row in COLOURS]
    rle24 = runs(blues, 9, b"".join)
    add("rle24.bmp", bitmap(header(24, 4, size=64), rle24))
    cut("rle8.bmp", bitmap(header(8, 1), rle8, palette_of(256)))
    cut("rle24.bmp", bitmap(header(24, 4, size=64), rle24))


def ico():
    def icon(picture, kind=1, bits=32, size=None, side=(WIDTH, HEIGHT)):
        size = len(picture) if size is None else size
        return struct.pack("<HHHBBBBHHII", 0, kind, 1, *side, 0, 0, 1, bits, size, 22) + picture

    mask = b"".join(aligned(bytes((0xf0 if y < 20 else 0) for _ in range((WIDTH + 7) // 8))) for y in range(HEIGHT))
    header = lambda bits: bitmap_header(bits, height=2 * HEIGHT)
    bgr = lambda red, green, blue: bytes([blue, green, red])
    clear = stored(lambda red, green, blue: bytes([blue, green, red, green]))
    opaque = stored(lambda red, green, blue: bytes([blue, green, red, 0]))
    depths = {bits: header(bits) + palette_of(1 << bits) + indexed(bits) + mask for bits in (1, 4, 8)}
    depths[24], depths[32] = header(24) + stored(bgr) + mask, header(32) + clear + mask
    for bits, picture in depths.items():
        add(f"{bits}.ico", icon(picture, bits=bits))
    add("without-alpha.ico", icon(header(32) + opaque + mask))
    add("short-mask.ico", icon(depths[24][:-len(mask) // 2]))
    add("without-mask.ico", icon(depths[24][:-len(mask)]))
    add("too-short-a-length.ico", icon(depths[24], size=100))
    add("too-long-a-length.ico", icon(depths[24], size=10 ** 6))
    add("cursor.cur", icon(depths[32], kind=2))
    packed = lambda pixels: zlib.compress(b"".join(b"\0" + b"".join(row) for row in pixels))
    shades = bytes(value for index in range(256) for value in (index, 255 - index, index // 2))
    pngs = {
        "rgb": whole_png(2, PACKED),
        "rgba": whole_png(6, packed([[pixel + pixel[:1] for pixel in row] for row in COLOURS])),
        "palette": whole_png(3, packed([[row] for row in GREYS]), before=chunk(b"PLTE", shades)),
        "grey": whole_png(0, packed([[row] for row in GREYS])),
        "deep": whole_png(2, packed([[bytes(value for value in pixel for _ in "16") for pixel in row] for row in COLOURS]), 16),
    }
    for name, picture in pngs.items():
        add(f"png-{name}.ico", icon(picture))
    add("png-wrong-length.ico", icon(pngs["rgb"], size=9))
    for name, file in (("24.ico", icon(depths[24], bits=24)), ("png.ico", icon(pngs["rgb"]))):
        cut(name, file)


def others():
    for name in ("lossy.webp", "lossless.webp"):
        file = read(f"encoded-{name}")
        add(name, file)
        add(f"behind-the-end-{name}", file + b"more" * 9)
        cut(f"cut-{name}", file)
        flags = lambda bits: b"VP8X" + struct.pack("<IBBBB", 10, bits, 0, 0, 0) + b"".join(
            struct.pack("<I", side - 1)[:3] for side in (WIDTH, HEIGHT))
        for kind, bits in (("profile", 0x20), ("exif", 0x08)):
            body = b"WEBP" + flags(bits) + file[12:]
            add(f"without-its-{kind}-{name}", b"RIFF" + struct.pack("<I", len(body)) + body)
    cut("cut-clear.webp", read("clear-encoded.webp"))
    cut("cut-clear-lossless.webp", read("clear-lossless-encoded.webp"))
    good = read("encoded.avif")
    cut("plain.avif", good)
    add("behind-the-end.avif", good + b"more" * 9)
    for name, attributes in {
        "nothing": "",
        "percent": 'width="100%" height="100%"',
        "width": 'width="200"',
        "height": 'height="80"',
        "empty-box": 'viewBox="0 0 x"',
        "box": 'viewBox="0 0 200 100"',
    }.items():
        shapes = '<rect width="100%" height="100%" fill="#48c"/><rect x="50%" y="10%" width="30%" height="40%" fill="red"/>'
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{shapes}</svg>'
        add(f"size-by-{name}.svg", svg.encode())
    cut("size-by-box.svg", svg.encode())


for kind in (jpeg, png, gif, bmp, ico, others):
    kind()
