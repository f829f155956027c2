"""Writes kinds of JPEG 2000 that no available program writes, from codestreams of OpenJPEG's encoder. The arguments are a kind
and its options. Makes f.j2k or f.jp2 from photo.png or clear.png, and shown.png for some kinds."""
import struct
import subprocess
import sys

import numpy as np
from PIL import Image

SOT, SOD, SIZ, COD, COC, PLT, QCD, QCC, POC = 0x90, 0x93, 0x51, 0x52, 0x53, 0x58, 0x5C, 0x5D, 0x5F
rgb = np.asarray(Image.open("photo.png").convert("RGB"))


def encode(pixels, name, options):
    Image.fromarray(pixels).save("t.png")
    subprocess.run(f"opj_compress -i t.png -o {name} {options}", shell=True, check=True, stdout=subprocess.DEVNULL)
    return open(name, "rb").read()


def segments(data, at, end):
    """Returns the marker segments from `at` to the marker `end`, and the offset of that marker."""
    found = []
    while data[at + 1] != end:
        length = 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
        found.append((data[at + 1], data[at + 4 : at + length]))
        at += length
    return found, at


def parsed(data):
    """Returns the segments of the main header, and each tile-part as its number, its segments and its packets."""
    main, at = segments(data, 2, SOT)
    parts = []
    while data[at : at + 2] == bytes([0xFF, SOT]):
        number, length, part, count = struct.unpack(">HIBB", data[at + 4 : at + 12])
        head, body = segments(data, at + 12, SOD)
        parts.append((number, part, count, head, data[body + 2 : at + length]))
        at += length
    return main, parts


def written(main, parts):
    stored = lambda list: b"".join(struct.pack(">BBH", 0xFF, code, len(body) + 2) + body for code, body in list)
    out = b"\xff\x4f" + stored(main)
    for number, part, count, head, packets in parts:
        content = stored(head) + bytes([0xFF, SOD]) + packets
        out += struct.pack(">BBHHIBB", 0xFF, SOT, 10, number, 12 + len(content), part, count) + content
    return out + b"\xff\xd9"


def components(place, *options):
    """Writes a picture whose components are coded with different options. Packets are in the order of components, so that
    the codestreams of the components follow each other. Their COC and QCC are in the `place`: main header or tiles."""
    encoded = [encode(rgb[..., i].copy(), "t.j2k", "-p CPRL " + options[i]) for i in range(3)]
    of_component = [parsed(data) for data in encoded]
    main, parts = of_component[0]
    first = dict(main)
    own = []
    for i in (1, 2):
        other = dict(of_component[i][0])
        own.append((COC, bytes([i, other[COD][0] & 1]) + other[COD][5:]))
        own.append((QCC, bytes([i]) + other[QCD]))
    siz = first[SIZ][:34] + struct.pack(">H", 3) + first[SIZ][36:] * 3
    head = [(SIZ, siz), (COD, first[COD]), (QCD, first[QCD])]
    if place == "main":
        head += own
    if place == "replaced":
        # The main header has the parameters of the last component for all, and other ones for the second.
        last = dict(of_component[2][0])
        head[1:] = [(COD, last[COD]), (QCD, last[QCD]), (COC, b"\1" + last[COD][:1] + last[COD][5:])]
        own = [(COD, first[COD]), (QCD, first[QCD])] + own
    joined = []
    for index, (number, part, count, _, packets) in enumerate(parts):
        packets = packets + of_component[1][1][index][4] + of_component[2][1][index][4]
        joined.append((number, part, count, [] if place == "main" else own, packets))
    open("f.j2k", "wb").write(written(head, joined))


def progressions(place, options):
    """Writes a picture whose packets change their order, as the main header or each tile's says."""
    main, parts = parsed(encode(rgb, "t.j2k", options))
    assert any(code == POC for _, _, _, head, _ in parts for code, _ in head)
    if place == "main":
        changes = next(body for _, _, _, head, _ in parts for code, body in head if code == POC)
        main.append((POC, changes))
        parts = [(*part[:3], [it for it in part[3] if it[0] != POC], part[4]) for part in parts]
    open("f.j2k", "wb").write(written(main, parts))


def layers(options):
    """Writes a picture of 3 layers, 4 resolutions and 3 components that begins with two layers of the lowest resolutions of
    the second component, goes on by resolution and ends by component. OpenJPEG's encoder loses packets of such changes."""
    main, [(*tile, head, packets)] = parsed(encode(rgb, "t.j2k", "-mct 0 -n 4 -PLT " + options))
    lengths, length = [], 0
    for byte in b"".join(body[1:] for code, body in head if code == PLT):
        length = length << 7 | byte & 127
        if byte < 128:
            lengths.append(length)
            length = 0
    assert len(lengths) == 3 * 4 * 3
    order = [(layer, resolution, component) for layer in range(3) for resolution in range(4) for component in range(3)]
    stored, at = {}, 0
    for key, length in zip(order, lengths):
        stored[key] = packets[at : at + length]
        at += length
    # First resolution and component, ends of layers, resolutions and components, order.
    changes = [(0, 1, 2, 2, 2, 0), (0, 0, 2, 3, 3, 1), (0, 0, 3, 4, 3, 4)]
    sorted_by = {0: lambda key: key, 1: lambda key: (key[1], key[0], key[2]), 4: lambda key: (key[2], key[1], key[0])}
    out = b""
    for first_resolution, first_component, *ends, by in changes:
        inside = [
            key for key in stored if first_resolution <= key[1] and first_component <= key[2]
            and all(number < end for number, end in zip(key, ends))
        ]
        out += b"".join(stored.pop(key) for key in sorted(inside, key=sorted_by[by]))
    assert not stored
    body = b"".join(struct.pack(">BBHBBB", *change) for change in changes)
    open("f.j2k", "wb").write(written(main, [(*tile, [(POC, body)], out)]))


def channels(definition, options=""):
    """Writes a picture whose channels have these meanings: R, G, B, A for opacity, M for opacity that the colours are
    multiplied with, X for infrared."""
    clear = np.asarray(Image.open("clear.png"))
    planes = {"R": clear[..., 0], "G": clear[..., 1], "B": clear[..., 2], "A": clear[..., 3], "X": 255 - clear[..., 0]}
    planes["M"] = planes["A"]
    if "M" in definition:
        for colour in "RGB":
            planes[colour] = (planes[colour] * (planes["A"] / 255.0)).round().astype(np.uint8)
    stored = np.dstack([planes[letter] for letter in definition])
    data = encode(stored, "t.jp2", "-mct 0 " + options)
    kinds = {"A": (1, 0), "M": (2, 0), "X": (65535, 65535)}
    entries = [(i, *kinds.get(letter, (0, "RGB".find(letter) + 1))) for i, letter in enumerate(definition)]
    cdef = b"".join(struct.pack(">HHH", *entry) for entry in entries)
    cdef = struct.pack(">I4sH", 10 + len(cdef), b"cdef", len(entries)) + cdef
    at = data.index(b"jp2h") - 4
    length = struct.unpack(">I", data[at : at + 4])[0]
    boxes = data[at + 8 : at + length]
    if b"cdef" in boxes:
        old = boxes.index(b"cdef") - 4
        boxes = boxes[:old] + boxes[old + struct.unpack(">I", boxes[old : old + 4])[0] :]
    header = struct.pack(">I4s", 8 + len(boxes) + len(cdef), b"jp2h") + boxes + cdef
    open("f.jp2", "wb").write(data[:at] + header + data[at + length :])
    if "M" in definition:
        alpha = np.maximum(planes["A"].astype(int), 1)
        divided = [np.minimum((planes[colour].astype(int) * 255 + alpha // 2) // alpha, 255) for colour in "RGB"]
        clear = np.dstack([*divided, planes["A"]]).astype(np.uint8)
    shown = clear if set("AM") & set(definition) else clear[..., :3]
    Image.fromarray(np.ascontiguousarray(shown)).save("shown.png")


KINDS = {"components": components, "progressions": progressions, "layers": layers, "channels": channels}
KINDS[sys.argv[1]](*sys.argv[2:])
