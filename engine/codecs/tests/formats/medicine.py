# Writes f.dcm of the kind named by the first argument, and shown.png as pydicom renders it. Behind " | " follow a
# program that compresses the file, or the part of its beginning that is removed.
import io, os, subprocess, sys
import numpy as np
from PIL import Image
from pydicom import dcmread, uid
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixel_data_handlers.rle_handler import rle_encode_frame
from pydicom.pixel_data_handlers.util import apply_color_lut, apply_modality_lut, apply_voi_lut, convert_color_space

grey = np.array(Image.open("grey.png"))
photo = np.array(Image.open("photo.png"))
density = (grey.astype(int) * 8 - 1000).astype("i2")
indexed = Image.open("photo.png").quantize(200)
GREY, RGB = "MONOCHROME2", "RGB"


def coded(picture, kind, **options):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, kind, **options)
    file = file.getvalue()
    # DICOM stores JPEG 2000 as a bare codestream.
    return file[file.index(b"\xff\x4f\xff\x51"):] if kind == "JPEG2000" else file


def part(pixels, bits=(8, 8), signed=0, colours=GREY, syntax=uid.ExplicitVRLittleEndian, **more):
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = syntax
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    file = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    file.SOPClassUID, file.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    file.is_little_endian, file.is_implicit_VR = syntax != uid.ExplicitVRBigEndian, syntax == uid.ImplicitVRLittleEndian
    file.Rows, file.Columns = grey.shape
    (file.BitsAllocated, file.BitsStored), file.PixelRepresentation = bits, signed
    file.HighBit = file.BitsStored - 1
    file.PhotometricInterpretation, file.SamplesPerPixel = colours, 3 if colours[:3] in ("RGB", "YBR") else 1
    if file.SamplesPerPixel == 3:
        file.PlanarConfiguration = 0
    icon = Dataset()
    icon.Rows = icon.Columns = icon.BitsAllocated = 8
    icon.PixelData = b"1234"
    file.IconImageSequence = [icon]
    for name, value in more.items():
        setattr(file, name, value)
    if isinstance(pixels, list):
        file.PixelData = encapsulate(pixels, fragments_per_frame=2 if len(pixels) == 1 and syntax != uid.RLELossless else 1)
        file["PixelData"].is_undefined_length = True
    else:
        file.PixelData = pixels + b"\0" * (len(pixels) % 2)
    return file


WINDOW = {"WindowCenter": [40, 50], "WindowWidth": [400, 2], "RescaleSlope": "1.5", "RescaleIntercept": "-100"}


def palette(bits):
    colours = np.array(indexed.getpalette()[:600]).reshape(-1, 3)
    tables = {}
    for index, name in enumerate(["Red", "Green", "Blue"]):
        channel = colours[:, index]
        table = channel.astype("u1") if bits == 8 else (channel * 257).astype("<u2")
        tables[name + "PaletteColorLookupTableDescriptor"] = [len(colours), 0, bits]
        tables[name + "PaletteColorLookupTableData"] = table.tobytes()
    return part(np.array(indexed).tobytes(), colours="PALETTE COLOR", **tables)


ybr = np.array(Image.open("photo.png").convert("YCbCr"))
kinds = {
    "grey": lambda: part(grey.tobytes()),
    "window": lambda: part(density.tobytes(), (16, 16), 1, **WINDOW),
    "implicit": lambda: part(density.tobytes(), (16, 16), 1, syntax=uid.ImplicitVRLittleEndian, **WINDOW),
    "big-endian": lambda: part(density.astype(">i2").tobytes(), (16, 16), 1, syntax=uid.ExplicitVRBigEndian, **WINDOW),
    "sigmoid": lambda: part(density.tobytes(), (16, 16), 1, VOILUTFunction="SIGMOID", **WINDOW),
    "all": lambda: part((grey.astype("u2") * 16).tobytes(), (16, 12), colours="MONOCHROME1"),
    "rgb": lambda: part(photo.tobytes(), colours=RGB),
    "planes": lambda: part(np.moveaxis(photo, -1, 0).tobytes(), colours=RGB, PlanarConfiguration=1),
    "ybr": lambda: part(ybr.tobytes(), colours="YBR_FULL"),
    "palette 8": lambda: palette(8),
    "palette 16": lambda: palette(16),
    "runs": lambda: part([rle_encode_frame(photo)], colours=RGB, syntax=uid.RLELossless),
    "runs 16": lambda: part([rle_encode_frame(density)], (16, 16), 1, syntax=uid.RLELossless, **WINDOW),
    "jpeg": lambda: part(
        [coded(photo, "JPEG", quality=92), coded(photo[::-1], "JPEG")],
        colours="YBR_FULL_422", syntax=uid.JPEGBaseline8Bit, NumberOfFrames=2,
    ),
    "jpeg grey": lambda: part(
        [coded(grey, "JPEG", quality=92)], syntax=uid.JPEGBaseline8Bit, WindowCenter=100, WindowWidth=120,
    ),
    "jpeg 2000": lambda: part([coded(photo, "JPEG2000")], colours="YBR_RCT", syntax=uid.JPEG2000Lossless),
    "jpeg 2000 16": lambda: part(
        [coded(grey.astype("u2") * 10, "JPEG2000")], (16, 16), syntax=uid.JPEG2000Lossless,
        WindowCenter=1500, WindowWidth=1000,
    ),
}

kind, _, then = sys.argv[1].partition(" | ")
kinds[kind]().save_as("f.dcm", write_like_original=False)
file = dcmread("f.dcm")
values = file.pixel_array if file.get("NumberOfFrames", 1) == 1 else file.pixel_array[0]
colours = file.PhotometricInterpretation
if colours == "PALETTE COLOR":
    values = apply_color_lut(values, file)
    values = values if values.dtype == np.uint8 else (values / 257).round()
elif colours == "YBR_FULL" or colours == "YBR_FULL_422":
    values = convert_color_space(values, "YBR_FULL", RGB)
elif file.SamplesPerPixel == 1 and file.BitsStored == 8 and "WindowWidth" not in file:
    pass
elif file.SamplesPerPixel == 1:
    values = apply_voi_lut(apply_modality_lut(values, file), file, 0)
    # Range of the window's output, or of all values.
    low, high = values.min(), values.max()
    if "WindowWidth" in file:
        measured = np.array([[np.iinfo("i2").min, np.iinfo("i2").max]], "i2")
        low, high = apply_voi_lut(apply_modality_lut(measured, file), file, 0)[0]
        if not file.PixelRepresentation:
            low, high = 0, (1 << file.BitsStored) - 1
    values = ((values - low) / (high - low) * 255).round()
    values = 255 - values if colours == "MONOCHROME1" else values
Image.fromarray(np.asarray(values).astype("u1")).save("shown.png")
if then.startswith("without"):
    whole = open("f.dcm", "rb").read()
    # The first element of group 2 has the length of the others.
    data = 144 + int.from_bytes(whole[140:144], "little")
    start = {"without zeros": 128, "without preamble": 132, "without group 2": data}[then]
    open("f.dcm", "wb").write(whole[start:])
elif then:
    subprocess.run([*then.split(), "f.dcm", "compressed.dcm"], check=True)
    os.replace("compressed.dcm", "f.dcm")
