//! What a PNG's chunks say of its colours. Several may speak; which one counts is an order of the specification.
//!
//! Source: PNG, third edition, 11.3.2.

use ::png::Info;

use crate::Profile;

/// A power so near sRGB's that the file means sRGB: 45455 is what programs write for it.
const SRGB_POWERS: std::ops::Range<f32> = 0.43..0.48;
/// sRGB's white, red, green and blue, and how far others may be from them to count as the same.
const SRGB: [(f32, f32); 4] = [(0.3127, 0.329), (0.64, 0.33), (0.3, 0.6), (0.15, 0.06)];
const NEAR: f32 = 0.005;

/// The meaning of the colours; `None` when it is sRGB, or the file does not say.
pub fn profile(info: &Info<'_>) -> Option<Profile> {
    if let Some(points) = info.coding_independent_code_points {
        return Profile::of_cicp(u16::from(points.color_primaries), u16::from(points.transfer_function));
    }
    if let Some(profile) = &info.icc_profile {
        return Profile::of_icc(profile);
    }
    if info.srgb.is_some() {
        return None;
    }
    let power = info.gama_chunk?.into_value();
    let chromaticities = info.chrm_chunk.map(|chunk| {
        [chunk.white, chunk.red, chunk.green, chunk.blue].map(|(x, y)| (x.into_value(), y.into_value()))
    });
    let chromaticities = chromaticities.filter(|points| !is_srgb(points));
    match (SRGB_POWERS.contains(&power), chromaticities) {
        (true, None) => None,
        (is_srgb, chromaticities) if power > 0.0 => {
            Some(Profile::of_measures(if is_srgb { 2.2 } else { 1.0 / power }, chromaticities))
        }
        _ => None,
    }
}

fn is_srgb(points: &[(f32, f32); 4]) -> bool {
    let is_near = |one: f32, other: f32| (one - other).abs() < NEAR;
    points.iter().zip(SRGB).all(|(point, srgb)| is_near(point.0, srgb.0) && is_near(point.1, srgb.1))
}
