"""Writes f.jpg, an Ultra HDR file as phones write it. The argument is the kind of primary picture (see MAKE).

Inserts before the first quantization table of the primary picture, one.jpg: XMP that announces a gain map (Ultra HDR Image
Format 1.1: hdrgm:Version, Container:Directory), the version of ISO 21496-1, and an index of both pictures (CIPA DC-007,
MPF). Appends the gain map, a JPEG with the hdrgm values.
"""
import struct
import subprocess
import sys

MAKE = {
    "plain": "vips jpegsave photo.png one.jpg --Q 95",
    "progressive": "vips jpegsave photo.png one.jpg --Q 90 --interlace",
    "phone": "vips icc_transform photo.png t.v p3 && vips jpegsave t.v one.jpg --Q 95"
             " && exiftool -q -overwrite_original -n -Orientation=6 one.jpg",
}
ISO = b"urn:iso:std:iso:ts:21496:-1\0"
XMP = b"http://ns.adobe.com/xap/1.0/\0"


def segment(marker, content):
    return struct.pack(">BBH", 0xff, marker, len(content) + 2) + content


def xmp(attributes, content=""):
    return segment(0xe1, XMP + f"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:Container="http://ns.google.com/photos/1.0/container/"
 xmlns:Item="http://ns.google.com/photos/1.0/container/item/" hdrgm:Version="1.0" {attributes}>{content}
</rdf:Description></rdf:RDF></x:xmpmeta>""".encode())


subprocess.run(f"{MAKE[sys.argv[1]]} && vips resize grey.png quarter.png 0.25 && vips jpegsave quarter.png map.jpg",
               shell=True, check=True)
one, gain_map = (open(name, "rb").read() for name in ("one.jpg", "map.jpg"))
limits = 'hdrgm:GainMapMin="0" hdrgm:GainMapMax="2.3" hdrgm:Gamma="1" hdrgm:OffsetSDR="0.015625"' \
         ' hdrgm:OffsetHDR="0.015625" hdrgm:HDRCapacityMin="0" hdrgm:HDRCapacityMax="2.3"'
gain_map = gain_map[:2] + xmp(limits) + segment(0xe2, ISO + struct.pack(">HHB", 0, 0, 0x40) + bytes(8)) + gain_map[2:]
item = '<rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="image/jpeg" {}/></rdf:li>'
directory = "<Container:Directory><rdf:Seq>" + item.format('Item:Semantic="Primary"') \
    + item.format(f'Item:Semantic="GainMap" Item:Length="{len(gain_map)}"') + "</rdf:Seq></Container:Directory>"
before = xmp("", directory) + segment(0xe2, ISO + bytes(4))
at = one.index(b"\xff\xdb")
index_bytes = 4 + 4 + 4 + 2 + 3 * 12 + 4 + 2 * 16
total = len(one) + len(before) + 4 + index_bytes
tiff_at = at + len(before) + 4 + 4
entry = lambda tag, kind, count, value: struct.pack(">HHI", tag, kind, count) + value
index = b"MPF\0" + b"MM\0\x2a" + struct.pack(">I", 8) + struct.pack(">H", 3) \
    + entry(0xb000, 7, 4, b"0100") + entry(0xb001, 4, 1, struct.pack(">I", 2)) \
    + entry(0xb002, 7, 32, struct.pack(">I", 8 + 2 + 3 * 12 + 4)) + bytes(4) \
    + struct.pack(">IIIHH", 0x030000, total, 0, 0, 0) + struct.pack(">IIIHH", 0, len(gain_map), total - tiff_at, 0, 0)
assert len(index) == index_bytes
open("f.jpg", "wb").write(one[:at] + before + segment(0xe2, index) + one[at:] + gain_map)
