# Makes a pyramid with pyvips or edgezoom, and prints the wall-clock time and the processor time, without the interpreter's
# start-up. A PPM is passed as an array.
import importlib
import resource
import sys
import time


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def array(path):
    import numpy

    with open(path, "rb") as file:
        _, size, _ = file.readline(), file.readline(), file.readline()
        width, height = map(int, size.split())
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(height, width, 3)


module, source, output, tile_size, overlap, quality = sys.argv[1:]
Image = importlib.import_module(module).Image
pixels = array(source) if source.endswith(".ppm") else None
clock, cpu = time.perf_counter(), used()
if pixels is None:
    image = Image.new_from_file(source, access="sequential")
elif module == "pyvips":
    image = Image.new_from_memory(pixels, pixels.shape[1], pixels.shape[0], 3, "uchar")
else:
    image = Image.new_from_array(pixels)
image.dzsave(output, tile_size=int(tile_size), overlap=int(overlap), suffix=f".jpg[Q={quality}]")
print(time.perf_counter() - clock, used() - cpu)
