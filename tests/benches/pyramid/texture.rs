//! The pixels of the pictures that are measured: a photograph of [`picture`], with the fine detail and the grain that cameras
//! give. How much of it there is differs from place to place, as between sky and leaves. Decoders and encoders spend their
//! time on such detail, so it is set to what photographs have: about 1.5 bits a pixel as a JPEG of quality 88.

use std::io::{self, Write};

use edgezoom_tests::picture;

/// The texture's side. Larger pictures repeat it, mirrored at its edges, which no encoder notices.
const SIDE: u32 = 4096;

/// Detail by the side of its cells in pixels, and its strength.
const DETAIL: [(u32, i32); 3] = [(4, 14), (2, 10), (1, 6)];

pub struct Texture {
    rows: Vec<Vec<u8>>,
    mirrored: Vec<Vec<u8>>,
}

impl Texture {
    pub fn new() -> Self {
        let mut photograph = picture::photograph(SIDE, SIDE, 50);
        for (x, y, pixel) in photograph.enumerate_pixels_mut() {
            let richness = 16 + i32::from(random(x / 300, y / 300, 7) % 64);
            let detail: i32 = DETAIL
                .iter()
                .map(|&(side, strength)| {
                    let value = i32::from(random(x / side, y / side, side)) - 128;
                    value * strength * richness / (128 * 64)
                })
                .sum();
            for value in &mut pixel.0 {
                *value = (i32::from(*value) + detail).clamp(0, 255) as u8;
            }
        }
        let rows: Vec<Vec<u8>> =
            photograph.rows().map(|row| row.flat_map(|pixel| pixel.0).collect()).collect();
        let mirrored =
            rows.iter().map(|row| row.chunks_exact(3).rev().flatten().copied().collect()).collect();
        Self { rows, mirrored }
    }

    /// Writes a picture, row by row.
    pub fn write(&self, width: u32, height: u32, to: &mut impl Write) -> io::Result<()> {
        for y in 0..height {
            let (block, y) = (y / SIDE, y % SIDE);
            let y = if block % 2 == 0 { y } else { SIDE - 1 - y } as usize;
            let mut left = width;
            for number in 0.. {
                if left == 0 {
                    break;
                }
                let row = if number % 2 == 0 { &self.rows[y] } else { &self.mirrored[y] };
                let now = left.min(SIDE);
                to.write_all(&row[..3 * now as usize])?;
                left -= now;
            }
        }
        to.flush()
    }
}

/// A random value that is a function of a place.
fn random(x: u32, y: u32, seed: u32) -> u8 {
    let mut value =
        x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ seed.wrapping_mul(0xc2b2_ae3d);
    value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    (value >> 24) as u8
}
