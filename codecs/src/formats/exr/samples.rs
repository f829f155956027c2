//! Samples of all types as floats.

use exr::meta::attribute::SampleType;

use crate::colour::samples::half;

/// A line's samples, stored in the machine's byte order.
pub fn read_line(stored: &[u8], kind: SampleType, out: &mut [f32]) {
    match kind {
        SampleType::F16 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = half(u16::from_ne_bytes(stored));
            }
        }
        SampleType::F32 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = f32::from_ne_bytes(stored);
            }
        }
        SampleType::U32 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = u32::from_ne_bytes(stored) as f32;
            }
        }
    }
}
