# Makes a pyramid with pyvips and prints the wall-clock time and the processor time, without the interpreter's start-up.
import resource
import sys
import time

import pyvips


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


source, output, tile_size, overlap, quality = sys.argv[1:]
clock, cpu = time.perf_counter(), used()
image = pyvips.Image.new_from_file(source, access="sequential")
image.dzsave(output, tile_size=int(tile_size), overlap=int(overlap), suffix=f".jpg[Q={quality}]")
print(time.perf_counter() - clock, used() - cpu)
