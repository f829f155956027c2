"""Writes kinds of TIFF that no available program writes. The arguments are a kind and its options. Makes f.tif from
photo.png or grey.png, and shown.png for some kinds."""
import struct
import subprocess
import sys

import numpy as np
from PIL import Image

BYTE, TEXT, SHORT, LONG, RATIONAL, UNDEFINED, SIGNED, FLOAT, DOUBLE = 1, 2, 3, 4, 5, 7, 9, 11, 12
CODES = {BYTE: "B", SHORT: "H", LONG: "I", RATIONAL: "I", SIGNED: "i", FLOAT: "f", DOUBLE: "d"}
rgb = np.asarray(Image.open("photo.png").convert("RGB"))
grey = np.asarray(Image.open("grey.png"))
HEIGHT, WIDTH = grey.shape


def tiff(entries, chunks, order="<", tiled=False, parts=()):
    """Returns a TIFF with one directory. `parts` is a list of (tag, [bytes]): the values of the tag are the offsets."""
    # Leaves 4 bytes after the offset of the directory, which has 8 bytes in NDPI.
    out = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "HII", 42, 0, 0))

    def put(data):
        out.extend(b"\0" * (len(out) % 2))
        place = len(out)
        out.extend(data)
        return place

    entries = dict(entries)
    for tag, pieces in parts:
        entries[tag] = (LONG, [put(piece) for piece in pieces])
    entries[324 if tiled else 273] = (LONG, [put(chunk) for chunk in chunks])
    entries[325 if tiled else 279] = (LONG, [len(chunk) for chunk in chunks])
    stored = b""
    for tag, (kind, values) in sorted(entries.items()):
        if kind in (TEXT, UNDEFINED):
            data, count = values, len(values)
        else:
            data = struct.pack(f"{order}{len(values)}{CODES[kind]}", *values)
            count = len(values) // (2 if kind == RATIONAL else 1)
        value = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack(order + "I", put(data))
        stored += struct.pack(order + "HHI", tag, kind, count) + value
    directory = put(struct.pack(order + "H", len(entries)) + stored + bytes(4))
    struct.pack_into(order + "I", out, 4, directory)
    return bytes(out)


def write(*arguments, **named):
    with open("f.tif", "wb") as file:
        file.write(tiff(*arguments, **named))


def header(compression, photometric, bits, rows=None, size=(WIDTH, HEIGHT), **more):
    entries = {
        256: (LONG, [size[0]]),
        257: (LONG, [size[1]]),
        258: (SHORT, bits),
        259: (SHORT, [compression]),
        262: (SHORT, [photometric]),
        277: (SHORT, [len(bits)]),
        278: (LONG, [rows or size[1]]),
    }
    entries.update({int(tag[1:]): value for tag, value in more.items()})
    return entries


def of_bits(bits, order="<"):
    """Writes packed grey samples with this number of bits."""
    most, steps, greys = np.uint64(2**bits - 1), np.uint64(255), grey.astype(np.uint64)
    values = greys * (most // steps) + greys * (most % steps) // steps
    if bits in (24, 32, 64):
        wide = values.astype(order + "u8").view(np.uint8).reshape(HEIGHT, WIDTH, 8)
        data = (wide[..., : bits // 8] if order == "<" else wide[..., 8 - bits // 8 :]).tobytes()
    else:
        places = np.arange(bits - 1, -1, -1, dtype=np.uint64)
        single = (values[..., None] >> places & np.uint64(1)).astype(np.uint8)
        data = np.packbits(single.reshape(HEIGHT, -1), axis=1).tobytes()
    write(header(1, 1, [bits]), [data], order)


def signed(bits):
    kind = np.dtype(f"<i{bits // 8}")
    steps = 2**bits // 256
    write(header(1, 1, [bits], t339=(SHORT, [2])), [((grey.astype(np.int64) - 128) * steps).astype(kind).tobytes()])


def ycbcr(across, down):
    """Writes uncompressed YCbCr with chroma subsampling."""
    colours = np.asarray(Image.fromarray(rgb).convert("YCbCr")).astype(float)
    rows, columns = -(-HEIGHT // down), -(-WIDTH // across)
    colours = np.pad(colours, ((0, rows * down - HEIGHT), (0, columns * across - WIDTH), (0, 0)), "edge")
    blocks = colours.reshape(rows, down, columns, across, 3).transpose(0, 2, 1, 3, 4)
    luma = blocks[..., 0].reshape(rows, columns, across * down)
    units = np.concatenate([luma, blocks[..., 1:].mean((2, 3))], -1).round().astype(np.uint8)
    write(header(1, 6, [8, 8, 8], t530=(SHORT, [across, down])), [units.tobytes()])


def old_lzw():
    """Writes old-style LZW: codes begin at the lowest bit and widen one code later than in TIFF 6.0."""
    def packed(data):
        strings, held, count, width, out = {}, 256, 9, 9, bytearray()
        following, string = 258, b""
        for value in list(data) + [None]:
            byte = b"" if value is None else bytes([value])
            if value is not None and (not string or string + byte in strings):
                string += byte
                continue
            code = strings.get(string, string[0])
            held |= code << count
            count += width
            strings[string + byte] = following
            following += 1
            if following - 1 == 1 << width and width < 12:
                width += 1
            if following == 4094:
                held |= 256 << count
                count += width
                strings, following, width = {}, 258, 9
            string = byte
            while count >= 8:
                out.append(held & 255)
                held >>= 8
                count -= 8
        held |= 257 << count
        return bytes(out) + held.to_bytes(3, "little")

    write(header(5, 2, [8, 8, 8], 16), [packed(rgb[y : y + 16].tobytes()) for y in range(0, HEIGHT, 16)])


def segments(jpeg):
    """Returns the segments of a JPEG up to its scan, and the scan data."""
    at, found = 2, []
    while True:
        code, length = jpeg[at + 1], struct.unpack(">H", jpeg[at + 2 : at + 4])[0]
        found.append((code, jpeg[at + 4 : at + 2 + length]))
        at += 2 + length
        if code == 0xDA:
            return found, jpeg[at:-2]


def old_jpeg(whole, bare=False):
    """Writes an old-style JPEG: as a complete JPEG, or as separate tables and a strip, perhaps without required tags."""
    subprocess.run("pngtopnm photo.png | cjpeg -quality 90 -outfile t.jpg", shell=True, check=True)
    jpeg = open("t.jpg", "rb").read()
    found, data = segments(jpeg)
    if whole:
        # The strip is the part of the JPEG after its header.
        entries = header(6, 6, [8, 8, 8], t530=(SHORT, [2, 2]), t512=(SHORT, [1]))
        file = bytearray(tiff(entries, [jpeg], parts=[(513, [b""])]))
        begin = file.index(jpeg)
        at = struct.unpack("<I", file[4:8])[0] + 2
        for entry in range(at, len(file) - 11, 12):
            tag = struct.unpack("<H", file[entry : entry + 2])[0]
            if tag == 513:
                struct.pack_into("<I", file, entry + 8, begin)
            if tag == 273:
                struct.pack_into("<I", file, entry + 8, begin + len(jpeg) - len(data) - 2)
            if tag == 279:
                struct.pack_into("<I", file, entry + 8, len(data) + 2)
        open("f.tif", "wb").write(file)
        return
    entries = header(6, 6, [8, 8, 8], t530=(SHORT, [2, 2]), t512=(SHORT, [1]))
    if bare:
        for tag in (258, 262, 277):
            entries.pop(tag)
    write(entries, [data], parts=tables_of(found))


def tables_of(found):
    """Returns the tags that point to the tables of a JPEG in colour."""
    tables = {0xDB: [], 0xC4: []}
    for code, content in found:
        while code in tables and content:
            length = 64 if code == 0xDB else 16 + sum(content[1:17])
            tables[code].append((content[0], content[1 : 1 + length]))
            content = content[1 + length :]
    quantization = [table for _, table in sorted(tables[0xDB])]
    dc = [table for kind, table in sorted(tables[0xC4]) if kind < 16]
    ac = [table for kind, table in sorted(tables[0xC4]) if kind >= 16]
    each = lambda list: [list[0], list[-1], list[-1]]
    return [(519, each(quantization)), (520, each(dc)), (521, each(ac))]


def old_jpegs(width, height):
    """Writes old-style JPEG in tiles, or in strips if they are as wide as the picture: each a JPEG."""
    is_tiled = width != WIDTH
    chunks, shown = [], np.zeros_like(rgb)
    for top in range(0, HEIGHT, height):
        for left in range(0, WIDTH, width):
            tile = rgb[top : top + height, left : left + width]
            wide, high = (width - tile.shape[1], height - tile.shape[0]) if is_tiled else (0, 0)
            Image.fromarray(np.pad(tile, ((0, high), (0, wide), (0, 0)), "edge")).save("t.jpg", quality=90, subsampling="4:2:0")
            chunks.append(open("t.jpg", "rb").read())
            shown[top : top + height, left : left + width] = np.asarray(Image.open("t.jpg"))[: tile.shape[0], : tile.shape[1]]
    Image.fromarray(shown).save("shown.png")
    tags = {"t322": (LONG, [width]), "t323": (LONG, [height])} if is_tiled else {}
    entries = header(6, 6, [8, 8, 8], None if is_tiled else height, t512=(SHORT, [1]), t530=(SHORT, [2, 2]), **tags)
    if is_tiled:
        entries.pop(278)
    write(entries, chunks, tiled=is_tiled)


def planes(photometric, bits, extra, side=""):
    """Writes separate planes: grey (1), RGB (2), CMYK (5) or YCbCr (6) of this number of bits, and samples of these
    ExtraSamples, such as "2,0". They are in tiles if `side` is given. Writes contiguous.tif, too, with the same samples."""
    clear = np.asarray(Image.open("clear.png"))
    mode = {"1": "L", "2": "RGB", "5": "CMYK", "6": "YCbCr"}[photometric]
    colours = np.atleast_3d(np.asarray(Image.fromarray(clear[..., :3]).convert(mode)))
    kinds = [int(number) for number in extra.split(",")]
    if 1 in kinds:
        colours = (colours * (clear[..., 3:] / 255.0)).round().astype(np.uint8)
    others = [clear[..., 3] if number in (1, 2) else 255 - grey for number in kinds]
    stored = np.dstack([colours, *others]).astype("<u2" if bits == "16" else "u1") * (257 if bits == "16" else 1)
    entries = header(1, int(photometric), [int(bits)] * stored.shape[2], None if side else 50, t338=(SHORT, kinds))
    with open("contiguous.tif", "wb") as file:
        file.write(tiff({**entries, 278: (LONG, [HEIGHT])}, [stored.tobytes()]))
    step = int(side or 50)
    across = step if side else WIDTH
    padded = np.pad(stored, ((0, -HEIGHT % step), (0, -WIDTH % across), (0, 0)), "edge") if side else stored
    chunks = [
        padded[top : top + step, left : left + across, plane].tobytes()
        for plane in range(stored.shape[2]) for top in range(0, HEIGHT, step) for left in range(0, WIDTH, across)
    ]
    if side:
        entries.pop(278)
        entries.update({322: (LONG, [step]), 323: (LONG, [step])})
    write({**entries, 284: (SHORT, [2])}, chunks, tiled=bool(side))


def tiles_by(command, ending, compression, photometric, tags=None, size=(128, 96)):
    """Writes tiles that another program encodes. `command` converts t.png to t.<ending>."""
    chunks = []
    for top in range(0, HEIGHT, size[1]):
        for left in range(0, WIDTH, size[0]):
            tile = rgb[top : top + size[1], left : left + size[0]]
            tile = np.pad(tile, ((0, size[1] - tile.shape[0]), (0, size[0] - tile.shape[1]), (0, 0)), "edge")
            Image.fromarray(tile).save("t.png")
            subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
            chunks.append(open("t." + ending, "rb").read())
    sides = {"t322": (LONG, [size[0]]), "t323": (LONG, [size[1]])}
    entries = header(compression, photometric, [8, 8, 8], **sides, **(tags or {}))
    entries.pop(278)
    write(entries, chunks, tiled=True)


APERIO = {"t270": (TEXT, b"Aperio Image Library v11.2.1\r\n301x203 [0,0 301x203] (128x96) |AppMag = 20|MPP = 0.5\0")}


def palette_with_opacity():
    entries = np.arange(768, dtype=np.uint64).reshape(3, 256) * 257 % 65536
    pixels = np.stack([grey, 255 - grey], -1)
    write(header(1, 3, [8, 8], t320=(SHORT, entries.ravel().tolist()), t338=(SHORT, [2])), [pixels.tobytes()])
    colours = (entries.T / 257).round().astype(np.uint8)[grey]
    Image.fromarray(np.dstack([colours, 255 - grey])).save("shown.png")


def satellite(kind):
    """Writes a GeoTIFF whose bands have a few hundred values, and no data in the leftmost columns."""
    values = rgb.astype(float) * (3.0 if kind == "u2" else 10.0) + (200 if kind == "u2" else -500)
    none = 0 if kind == "u2" else -9999
    values[:, :20] = none
    data = values.astype("<" + kind)
    bits, sample_format = (16, 1) if kind == "u2" else (32, 3)
    geo = {"t33550": (DOUBLE, [30, 30, 0]), "t42113": (TEXT, f"{none}\0".encode())}
    geo["t339"] = (SHORT, [sample_format] * 3)
    write(header(1, 2, [bits] * 3, 8, **geo), [data[y : y + 8].tobytes() for y in range(0, HEIGHT, 8)])
    shown = np.zeros(rgb.shape)
    for band in range(3):
        known = data[..., band][data[..., band] != none].astype(float)
        low, high = np.percentile(known, 2), np.percentile(known, 98)
        shown[..., band] = np.where(data[..., band] == none, 0, (data[..., band] - low) / (high - low) * 255)
    seen = shown.clip(0, 255).round().astype(np.uint8)
    Image.fromarray(np.dstack([seen, np.where((data == none).all(-1), 0, 255).astype(np.uint8)])).save("shown.png")


def ndpi(wide):
    """Writes a Hamamatsu slide: one JPEG with restart markers. If `wide`, it exceeds the size that a JPEG header can hold."""
    sheet = np.tile(rgb[:192, :256], (1, 260 if wide else 2, 1))
    sheet = sheet[:48] if wide else sheet
    height, width = sheet.shape[:2]
    strips = []
    # Restart intervals of 16 MCUs of 16×16 pixels.
    for top in range(0, height, 16):
        for left in range(0, width, 256):
            Image.fromarray(np.ascontiguousarray(sheet[top : top + 16, left : left + 256])).save(
                "t.jpg", quality=97, subsampling="4:2:0")
            strips.append(segments(open("t.jpg", "rb").read()))
    head = b"\xff\xd8"
    for code, content in strips[0][0]:
        if code == 0xC0:
            sides = (0, 0) if wide else (height, width)
            content = content[:1] + struct.pack(">HH", *sides) + content[5:]
        if code == 0xDA:
            head += b"\xff\xdd\0\4\0\20"
        head += bytes([0xFF, code]) + struct.pack(">H", len(content) + 2) + content
    jpeg, starts = head, []
    for index, (_, data) in enumerate(strips):
        starts.append(len(jpeg))
        jpeg += data + bytes([0xFF, 0xD0 + index % 8])
    jpeg = jpeg[:-2] + b"\xff\xd9"
    tags = {"t530": (SHORT, [2, 2]), "t65420": (LONG, [1]), "t65421": (FLOAT, [20.0]), "t65422": (SIGNED, [0]),
            "t65423": (SIGNED, [0]), "t65424": (SIGNED, [0]), "t65426": (LONG, starts), "t271": (TEXT, b"Hamamatsu\0"),
            "t65441": (SIGNED, [0]), "t65442": (TEXT, b"1\0"), "t65443": (SIGNED, [0])}
    file = bytearray(tiff(header(7, 6, [8, 8, 8], size=(width, height), **tags), [jpeg]))
    # The offset of the next directory has 8 bytes. The upper halves of all values follow it.
    file += bytes(4 + 4 * (7 + len(tags) + 2))
    open("f.tif", "wb").write(file)
    Image.fromarray(np.ascontiguousarray(sheet)).save("shown.png")


KINDS = {
    "bits": lambda bits, order="<": of_bits(int(bits), order),
    "signed": lambda bits: signed(int(bits)),
    "ycbcr": lambda across, down: ycbcr(int(across), int(down)),
    "old-lzw": old_lzw,
    "old-jpeg": lambda: old_jpeg(False),
    "old-jpeg-bare": lambda: old_jpeg(False, bare=True),
    "old-jpeg-whole": lambda: old_jpeg(True),
    "old-jpegs": lambda width, height: old_jpegs(int(width), int(height)),
    "planes": planes,
    "jp2-rgb": lambda: tiles_by("opj_compress -i t.png -o t.j2k", "j2k", 33005, 2, APERIO),
    "jp2-ycbcr": lambda: tiles_by(
        "convert t.png -colorspace YCbCr -set colorspace sRGB u.png && opj_compress -mct 0 -i u.png -o t.j2k",
        "j2k", 33003, 6, APERIO),
    "jp2-lossy": lambda: tiles_by("opj_compress -I -r 4 -i t.png -o t.j2k", "j2k", 33004, 2),
    "jp2": lambda: tiles_by("opj_compress -i t.png -o t.j2k", "j2k", 34712, 2),
    "jxl": lambda: tiles_by("cjxl --quiet -d 0 t.png t.jxl", "jxl", 50002, 2),
    "palette-with-opacity": palette_with_opacity,
    "satellite": lambda: satellite("u2"),
    "heights": lambda: satellite("f4"),
    "ndpi": lambda: ndpi(False),
    "ndpi-wide": lambda: ndpi(True),
}
KINDS[sys.argv[1]](*sys.argv[2:])
