# Writes f.fits of the kind named by the first argument, and shown.png as astropy renders it.
import sys
import numpy as np
from astropy.io import fits
from astropy.visualization import AsymmetricPercentileInterval
from PIL import Image

grey = np.array(Image.open("grey.png"))
planes = np.moveaxis(np.array(Image.open("photo.png")), -1, 0)
counts = grey.astype(float) * 13 - 500 + np.random.default_rng(2).normal(0, 20, grey.shape)


def holed(values):
    values[20:60, 30:80] = np.nan
    return values


def blank(values):
    part = fits.PrimaryHDU(values)
    part.header["BLANK"] = int(values[50, 50])
    return part


def tiles(values, kind, **options):
    return fits.CompImageHDU(values, compression_type=kind, **options)


table = fits.BinTableHDU.from_columns([fits.Column("a", "D", array=np.arange(500.0))])
kinds = {
    "8": lambda: [fits.PrimaryHDU(grey)],
    "16": lambda: [fits.PrimaryHDU(counts.astype("i2"))],
    "16 unsigned": lambda: [fits.PrimaryHDU(grey.astype("u2") * 200)],
    "32": lambda: [fits.PrimaryHDU((counts * 1000).astype("i4"))],
    "64": lambda: [fits.PrimaryHDU((counts * 1e9).astype("i8"))],
    "-32": lambda: [fits.PrimaryHDU(holed(counts.astype("f4")))],
    "-64": lambda: [fits.PrimaryHDU(counts)],
    "blank": lambda: [blank(counts.astype("i2"))],
    "rgb": lambda: [fits.PrimaryHDU(planes)],
    "rgb -32": lambda: [fits.PrimaryHDU(planes.astype("f4") * 3 + 10)],
    "later": lambda: [fits.PrimaryHDU(), table, fits.ImageHDU(counts.astype("i2"))],
    "rice 8": lambda: [fits.PrimaryHDU(), tiles(grey, "RICE_1")],
    "rice 16": lambda: [fits.PrimaryHDU(), tiles(counts.astype("i2"), "RICE_1", tile_size=(64, 50))],
    "rice 32": lambda: [fits.PrimaryHDU(), tiles((counts * 1000).astype("i4"), "RICE_1")],
    "rice -32": lambda: [fits.PrimaryHDU(), tiles(holed(counts.astype("f4")), "RICE_1")],
    "rice dithered": lambda: [fits.PrimaryHDU(), tiles(counts.astype("f4"), "RICE_1", quantize_method=1, dither_seed=7)],
    "rice dithered but zeros": lambda: [
        fits.PrimaryHDU(),
        tiles(counts, "RICE_1", quantize_method=2, quantize_level=1, dither_seed=7),
    ],
    "rice rgb": lambda: [fits.PrimaryHDU(), tiles(planes.astype("i2"), "RICE_1")],
    "gzip 16": lambda: [fits.PrimaryHDU(), tiles(counts.astype("i2"), "GZIP_1")],
    "gzip 32": lambda: [fits.PrimaryHDU(), tiles((counts * 1000).astype("i4"), "GZIP_2")],
    "gzip -32": lambda: [fits.PrimaryHDU(), tiles(counts.astype("f4"), "GZIP_1", quantize_level=0)],
}

fits.HDUList(kinds[sys.argv[1]]()).writeto("f.fits")
with fits.open("f.fits") as parts:
    values = next(part.data for part in parts if part.is_image and part.data is not None)
    if values.dtype != np.uint8:
        values = values.astype(float)
        low, high = AsymmetricPercentileInterval(0.25, 99.75).get_limits(values[np.isfinite(values)])
        values = np.nan_to_num((values - low) / (high - low)).clip(0, 1)
        values = (values * 255).round().astype("u1")
    values = np.moveaxis(values, 0, -1) if values.ndim == 3 else values
    Image.fromarray(values[::-1]).save("shown.png")
