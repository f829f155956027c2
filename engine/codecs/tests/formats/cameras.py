# Writes a camera raw file around small.jpg and large.jpg, with the container and tags but without sensor data. The
# first argument is the kind, the second the file extension. The layouts follow ExifTool's documentation
# (exiftool.org/TagNames).
import struct, sys

small, large = open("small.jpg", "rb").read(), open("large.jpg", "rb").read()
SHORT, LONG, UNDEFINED, ASCII, IFD = 3, 4, 7, 2, 13


class Tiff:
    """Writes TIFF directories. The value of an entry is a number, bytes, or a list of entries for a subdirectory."""

    def __init__(self, order, magic, head=b""):
        self.order, self.bytes = order, bytearray()
        self.bytes += (b"II" if order == "<" else b"MM") + self.pack("H", magic) + self.pack("I", 8 + len(head)) + head

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def directory(self, entries, base=0, following=None):
        start = len(self.bytes)
        self.bytes += bytes(2 + 12 * len(entries) + 4)
        self.bytes[start:start + 2] = self.pack("H", len(entries))
        for index, (tag, kind, value) in enumerate(sorted(entries, key=lambda entry: entry[0])):
            count, place = 1, None
            if isinstance(value, list):
                place = len(self.bytes)
                self.directory(value, base)
            elif isinstance(value, tuple):  # a maker note: its header and its directory
                place = len(self.bytes)
                self.bytes += value[0]
                self.directory(value[1], place)
                count = len(self.bytes) - place
            elif isinstance(value, bytes):
                count = len(value)
                place = len(self.bytes)
                self.bytes += value + bytes(len(value) % 2)
                count = 1 if kind == LONG else count
            stored = self.pack("HH", value, 0) if kind == SHORT and place is None else self.pack("I", value if place is None else place - base)
            at = start + 2 + 12 * index
            self.bytes[at:at + 12] = self.pack("HHI", tag, kind, count) + stored
        if following:
            at = start + 2 + 12 * len(entries)
            self.bytes[at:at + 4] = self.pack("I", len(self.bytes))
            self.directory(following, base)
        return self


def jpeg(file, offset=513, length=514):
    return [(offset, LONG, file), (length, LONG, len(file))]


def strip(file, compression):
    return [(259, SHORT, compression)] + jpeg(file, 273, 279)


def make(name):
    return (271, ASCII, name + b"\0")


SENSOR = [(254, LONG, 0), (262, SHORT, 32803), (259, SHORT, 1), (273, LONG, b"samples of a sensor"), (279, LONG, 19)]
THUMBNAIL = [(254, LONG, 1), (259, SHORT, 1), (262, SHORT, 2)]


def box(kind, content):
    return struct.pack(">I", len(content) + 8) + kind + content


def cr3():
    exif = bytes(Tiff("<", 42).directory([make(b"Canon"), (274, SHORT, 8)]).bytes)
    canon = box(b"uuid", bytes.fromhex("85c0b687820f11e08111f4ce462b6a48") + box(b"CMT1", exif))
    preview = box(b"PRVW", struct.pack(">IHHHHI", 0, 1, 80, 60, 1, len(small)) + small)
    previews = box(b"uuid", bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16") + bytes(7) + b"\x01" + preview)

    def moov(at):
        def track(start, length):
            lengths = box(b"stsz", struct.pack(">IIII", 0, 0, 1, length))
            places = box(b"co64", struct.pack(">IIQ", 0, 1, start))
            return box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", lengths + places))))
        return box(b"moov", canon + track(at, len(large)) + track(at + len(large), 19))

    head = box(b"ftyp", b"crx \0\0\0\x01crx isom")
    at = len(head) + len(moov(0)) + len(previews) + 8
    return head + moov(at) + previews + box(b"mdat", large + b"samples of a sensor")


def raf():
    head = b"FUJIFILMCCD-RAW 0201FF383501X-T2".ljust(84, b"\0")
    return (head + struct.pack(">II", 160, len(large))).ljust(160, b"\0") + large


NOTE = b"OLYMPUS\0II\x03\0"


def orf():
    # The offset of the preview is relative to the maker note.
    def note(start):
        settings = [(0x0100, LONG, 1), (0x0101, LONG, start), (0x0102, LONG, len(large))]
        return (NOTE, [(0x2020, IFD, settings)])
    file = Tiff("<", 0x4F52).directory([make(b"OLYMPUS"), (274, SHORT, 1), (34665, LONG, [(37500, UNDEFINED, note(0))])])
    at = file.bytes.index(NOTE)
    start = len(file.bytes) - at
    file = Tiff("<", 0x4F52).directory([make(b"OLYMPUS"), (274, SHORT, 1), (34665, LONG, [(37500, UNDEFINED, note(start))])])
    return bytes(file.bytes) + large


def tiff(order, magic, *directories, head=b"", following=None):
    return bytes(Tiff(order, magic, head).directory(*directories, following=following).bytes)


kinds = {
    "dng": lambda: tiff("<", 42, THUMBNAIL + [make(b"Google"), (274, SHORT, 6), (50706, LONG, 0x401),
                                             (330, LONG, [(254, LONG, 1)] + strip(large, 7))]),
    "dng big-endian": lambda: tiff(">", 42, strip(small, 7) + [make(b"Leica"), (50706, LONG, 0x104), (330, LONG, SENSOR)],
                                   following=[(254, LONG, 1)] + strip(large, 7)),
    "dng jxl": lambda: tiff("<", 42, strip(small, 7) + [(254, LONG, 1), make(b"Apple"), (274, SHORT, 6), (50706, LONG, 0x401),
                                             (330, LONG, [(254, LONG, 1), (256, LONG, 301), (257, LONG, 203), (262, SHORT, 6)]
                                              + strip(open("large.jxl", "rb").read(), 52546))]),
    "nef": lambda: tiff(">", 42, THUMBNAIL + [make(b"NIKON CORPORATION"), (274, SHORT, 8), (330, LONG, jpeg(large))]),
    "arw": lambda: tiff("<", 42, [(254, LONG, 1), make(b"SONY"), (274, SHORT, 3), (330, LONG, SENSOR)] + jpeg(large),
                        following=jpeg(small)),
    "pef": lambda: tiff(">", 42, SENSOR + [make(b"PENTAX")], following=jpeg(small) ),
    "cr2": lambda: tiff("<", 42, strip(large, 6) + [make(b"Canon"), (274, SHORT, 6)], head=b"CR\x02\0" + bytes(4),
                        following=jpeg(small)),
    "rw2": lambda: tiff("<", 0x55, [make(b"Panasonic"), (46, UNDEFINED, large)]),
    "orf": orf,
    "cr3": cr3,
    "raf": raf,
}
open("f." + sys.argv[2], "wb").write(kinds[sys.argv[1]]())
