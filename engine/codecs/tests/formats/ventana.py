"""Writes f.tif from photo.png like a BIF from a Ventana scanner: two areas of overlapping tiles, and one that was not
scanned. Every other tile is darker, to show which of two overlapping tiles is visible."""
import io
import struct

import numpy as np
from PIL import Image

TEXT, SHORT, LONG = 2, 3, 4
SIDE = 64
photo = np.asarray(Image.open("photo.png").convert("RGB").resize((602, 406)))
# For each area: its first tile in the file's grid, its columns and rows of tiles, and its position in the photograph.
AREAS = [((0, 0), (4, 3), (10, 20)), ((4, 1), (2, 2), (300, 60)), ((4, 0), (1, 1), (0, 0))]
OVERLAPS = [(7, 9), (4, 5)]
GRID = (6, 3)
out = bytearray(b"II*\0\0\0\0\0")


def put(data):
    out.extend(b"\0" * (len(out) % 2))
    out.extend(data)
    return len(out) - len(data)


def directory(entries):
    stored = b""
    for tag, (kind, values) in sorted(entries.items()):
        data = values if kind == TEXT else struct.pack(f"<{len(values)}{'HI'[kind - SHORT]}", *values)
        value = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", put(data))
        stored += struct.pack("<HHI", tag, kind, len(values)) + value
    return put(struct.pack("<H", len(entries)) + stored + bytes(4))


def jpeg(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=95, subsampling=0)
    return file.getvalue()


def picture(width, height, description, xml, **more):
    entries = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8] * 3), 259: (SHORT, [7]), 262: (SHORT, [6])}
    entries.update({270: (TEXT, description), 277: (SHORT, [3]), 284: (SHORT, [1]), 530: (SHORT, [1, 1])})
    entries[700] = (TEXT, xml.encode() + b"\0")
    entries.update({int(tag[1:]): (LONG, values) for tag, values in more.items()})
    return directory(entries)


def number(column, row, columns, rows):
    """Returns the number of a tile. Tiles are numbered from the bottom row, in alternating directions."""
    up = rows - 1 - row
    return up * columns + (column if up % 2 == 0 else columns - 1 - column) + 1


def joints(columns, rows):
    for row in range(rows):
        for column in range(columns):
            first = f'Tile1="{number(column, row, columns, rows)}"'
            across, down = OVERLAPS[0][(column + row) % 2], OVERLAPS[1][column % 2]
            if column + 1 < columns:
                tiles = f'{first} Tile2="{number(column + 1, row, columns, rows)}"'
                yield f'Confidence="95" Direction="RIGHT" {tiles} OverlapX="{across}" OverlapY="0"'
            if row > 0:
                tiles = f'{first} Tile2="{number(column, row - 1, columns, rows)}"'
                yield f'Confidence="80" Direction="UP" {tiles} OverlapX="0" OverlapY="{down}"'


def area(index):
    (_, (columns, rows), (left, top)) = AREAS[index]
    bottom = 400 - top - round((rows - 1) * (SIDE - sum(OVERLAPS[1]) / 2) + SIDE)
    inside = "".join(f"<TileJointInfo FlagJoined=\"1\" {joint}/>" for joint in joints(columns, rows))
    return (f'<ImageInfo AOIScanned="{int(index < 2)}" AOIIndex="{index}" Width="{SIDE}" Height="{SIDE}" '
            f'NumRows="{rows}" NumCols="{columns}" Pos-X="{left}.0" Pos-Y="{bottom}">{inside}</ImageInfo>')


origins = "".join(f'<AOI{i} OriginX="{x * SIDE}" OriginY="{y * SIDE}"/>' for i, ((x, y), _, _) in enumerate(AREAS))
stitch = "".join(map(area, range(len(AREAS))))
xml = f"<SlideStitchInfo>{stitch}</SlideStitchInfo><AoiOrigin>{origins}</AoiOrigin>"
xml = f'<?xml version="1.0"?><EncodeInfo Ver="2">{xml}</EncodeInfo>'
tiles = [jpeg(np.full((SIDE, SIDE, 3), 200, np.uint8))] * (GRID[0] * GRID[1])
for (first_column, first_row), (columns, rows), (left, top) in AREAS[:2]:
    for row in range(rows):
        for column in range(columns):
            x = left + round(column * (SIDE - sum(OVERLAPS[0]) / 2))
            y = top + round(row * (SIDE - sum(OVERLAPS[1]) / 2))
            cut = photo[y : y + SIDE, x : x + SIDE] * (0.9 if (row + column) % 2 else 1.0)
            tiles[(first_row + row) * GRID[0] + first_column + column] = jpeg(cut.astype(np.uint8))
label = jpeg(np.full((16, 16, 3), 90, np.uint8))
first = picture(16, 16, b"Label Image\0", '<iScan Z-layers="1" Magnification="40" ScanRes="0.25"/>', t273=[put(label)],
                t278=[16], t279=[len(label)])
level = picture(GRID[0] * SIDE, GRID[1] * SIDE, b"level=0 mag=40 quality=95\0", xml, t322=[SIDE], t323=[SIDE],
                t324=[put(tile) for tile in tiles], t325=[len(tile) for tile in tiles])
struct.pack_into("<I", out, 4, first)
count = struct.unpack_from("<H", out, first)[0]
struct.pack_into("<I", out, first + 2 + 12 * count, level)
open("f.tif", "wb").write(out)
