# Writes f.dds, 64×48 pixels of random blocks, which use every mode of the compression.
import random, struct, sys

random.seed(3)
kind = sys.argv[1]
blocks = bytes(random.randrange(256) for _ in range(16 * 12 * 16))
four, more = (b"DX10", struct.pack("<5I", int(kind), 3, 0, 1, 0)) if kind.isdigit() else (kind.encode(), b"")
head = struct.pack("<7I44x", 124, 0x81007, 48, 64, len(blocks), 0, 0)
head += struct.pack("<2I4s5I", 32, 4, four, 0, 0, 0, 0, 0) + struct.pack("<5I", 0x1000, 0, 0, 0, 0)
open("f.dds", "wb").write(b"DDS " + head + more + blocks)
