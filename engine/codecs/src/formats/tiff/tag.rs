//! Numbers of the tags that are read, and of their values.
//!
//! Source: TIFF 6.0, appendix A; TIFF Technical Notes 1 and 2; GeoTIFF 1.1, annex; the registry in libtiff's tiff.h.

pub const NEW_SUBFILE_TYPE: u16 = 254;
pub const WIDTH: u16 = 256;
pub const LENGTH: u16 = 257;
pub const BITS_PER_SAMPLE: u16 = 258;
pub const COMPRESSION: u16 = 259;
pub const PHOTOMETRIC: u16 = 262;
pub const FILL_ORDER: u16 = 266;
pub const DESCRIPTION: u16 = 270;
pub const STRIP_OFFSETS: u16 = 273;
pub const ORIENTATION: u16 = 274;
pub const SAMPLES_PER_PIXEL: u16 = 277;
pub const ROWS_PER_STRIP: u16 = 278;
pub const STRIP_BYTE_COUNTS: u16 = 279;
pub const X_RESOLUTION: u16 = 282;
pub const Y_RESOLUTION: u16 = 283;
pub const PLANAR: u16 = 284;
pub const GROUP_3_OPTIONS: u16 = 292;
pub const RESOLUTION_UNIT: u16 = 296;
pub const PREDICTOR: u16 = 317;
pub const COLOR_MAP: u16 = 320;
pub const TILE_WIDTH: u16 = 322;
pub const TILE_LENGTH: u16 = 323;
pub const TILE_OFFSETS: u16 = 324;
pub const TILE_BYTE_COUNTS: u16 = 325;
pub const EXTRA_SAMPLES: u16 = 338;
pub const SAMPLE_FORMAT: u16 = 339;
pub const JPEG_TABLES: u16 = 347;
/// Old-style JPEG (TIFF 6.0, section 22).
pub const JPEG_FORMAT: u16 = 513;
pub const JPEG_FORMAT_LENGTH: u16 = 514;
pub const JPEG_RESTART_INTERVAL: u16 = 515;
pub const JPEG_Q_TABLES: u16 = 519;
pub const JPEG_DC_TABLES: u16 = 520;
pub const JPEG_AC_TABLES: u16 = 521;
pub const YCBCR_COEFFICIENTS: u16 = 529;
pub const YCBCR_SUBSAMPLING: u16 = 530;
pub const REFERENCE_BLACK_WHITE: u16 = 532;
pub const ICC_PROFILE: u16 = 34675;
/// GeoTIFF's scale, tie points, matrix and keys, and GDAL's metadata: a file with any of these is a map or a picture of
/// a satellite.
pub const GEO: [u16; 5] = [GEO_SCALE, 33922, GEO_TRANSFORMATION, GEO_KEYS, 42112];
pub const GEO_SCALE: u16 = 33550;
pub const GEO_TRANSFORMATION: u16 = 34264;
pub const GEO_KEYS: u16 = 34735;
/// XMP, or another XML.
pub const XML: u16 = 700;
/// The value that means no data, as text (GDAL).
pub const NO_DATA: u16 = 42113;
/// Hamamatsu's tag for the format's version.
pub const NDPI: u16 = 65420;
/// Hamamatsu's tags for the low and the high half of each restart interval's offset.
pub const MCU_STARTS: u16 = 65426;
pub const MCU_STARTS_HIGH: u16 = 65432;

/// Values of Compression.
pub mod compression {
    pub const NONE: u16 = 1;
    pub const RUN_LENGTHS: u16 = 2;
    pub const GROUP_3: u16 = 3;
    pub const GROUP_4: u16 = 4;
    pub const LZW: u16 = 5;
    pub const OLD_JPEG: u16 = 6;
    pub const JPEG: u16 = 7;
    pub const DEFLATE: u16 = 8;
    pub const PACKBITS: u16 = 32773;
    pub const OLD_DEFLATE: u16 = 32946;
    pub const JP2_YCBCR: u16 = 33003;
    pub const JP2_LOSSY: u16 = 33004;
    pub const JP2_RGB: u16 = 33005;
    pub const APERIO_JPEG: u16 = 33007;
    pub const JP2: u16 = 34712;
    pub const LZMA: u16 = 34925;
    pub const ZSTD: u16 = 50000;
    pub const WEBP: u16 = 50001;
    pub const JXL: u16 = 50002;
    /// JPEG XL in DNG.
    pub const JXL_DNG: u16 = 52546;
}

/// Values of PhotometricInterpretation.
pub mod photometric {
    pub const WHITE_IS_0: u16 = 0;
    pub const GREY: u16 = 1;
    pub const RGB: u16 = 2;
    pub const PALETTE: u16 = 3;
    pub const MASK: u16 = 4;
    pub const CMYK: u16 = 5;
    pub const YCBCR: u16 = 6;
    pub const LAB: u16 = 8;
    pub const ICC_LAB: u16 = 9;
}
