//! The colour space of a PNG. Several chunks may describe it: cICP counts before iCCP, sRGB, and gAMA with cHRM.
//!
//! Source: PNG Specification (Third Edition), 4.3 and 11.3.2.

use ::png::Info;

use crate::colour::icc::Profile;

/// Values of gAMA so close to sRGB's that the file means sRGB: programs write 45455 for it.
const SRGB_GAMMAS: std::ops::Range<f32> = 0.43..0.48;
/// The chromaticities of sRGB's white, red, green and blue, and the tolerance.
const SRGB: [(f32, f32); 4] = [(0.3127, 0.329), (0.64, 0.33), (0.3, 0.6), (0.15, 0.06)];
const TOLERANCE: f32 = 0.005;

/// The colour space. `None` when it is sRGB or not described.
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
    let gamma = info.gama_chunk?.into_value();
    let chromaticities = info.chrm_chunk.map(|chunk| {
        [chunk.white, chunk.red, chunk.green, chunk.blue].map(|(x, y)| (x.into_value(), y.into_value()))
    });
    let chromaticities = chromaticities.filter(|points| !is_srgb(points));
    match (SRGB_GAMMAS.contains(&gamma), chromaticities) {
        (true, None) => None,
        (is_srgb, chromaticities) if gamma > 0.0 => {
            Some(Profile::of_gamma(if is_srgb { 2.2 } else { 1.0 / gamma }, chromaticities))
        }
        _ => None,
    }
}

fn is_srgb(points: &[(f32, f32); 4]) -> bool {
    let is_near = |one: f32, other: f32| (one - other).abs() < TOLERANCE;
    points.iter().zip(SRGB).all(|(point, srgb)| is_near(point.0, srgb.0) && is_near(point.1, srgb.1))
}
