//! How like two pictures are that should be the same but were not drawn by the same program.

use crate::Picture;

/// The structural similarity of two pictures, 1 when they are the same: the mean over squares of 8 pixels (Wang et al.,
/// Image quality assessment, 2004).
pub fn similarity(one: &Picture, other: &Picture) -> f64 {
    assert_eq!((one.size(), one.layout), (other.size(), other.layout));
    let (columns, rows) = (one.width / 8, one.height / 8);
    let squares = (0..rows).flat_map(|row| (0..columns).map(move |column| (column * 8, row * 8)));
    let similar = squares.map(|(left, top)| {
        let grey = |picture: &Picture, x, y| {
            picture.at(x, y).iter().map(|&channel| f64::from(channel)).sum::<f64>() / 3.0
        };
        let pixels = (0..64).map(|index| (left + index % 8, top + index / 8));
        let pairs: Vec<(f64, f64)> = pixels.map(|(x, y)| (grey(one, x, y), grey(other, x, y))).collect();
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / 64.0;
        let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let variance = mean(&|pair| (pair.0 - a).powi(2)) + mean(&|pair| (pair.1 - b).powi(2));
        let covariance = mean(&|pair| (pair.0 - a) * (pair.1 - b));
        let (c1, c2) = ((0.01_f64 * 255.0).powi(2), (0.03_f64 * 255.0).powi(2));
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variance + c2))
    });
    similar.sum::<f64>() / f64::from(columns * rows)
}

/// How far values of two pictures are apart in the mean, of 255.
pub fn mean_difference(one: &Picture, other: &Picture) -> f64 {
    assert_eq!((one.size(), one.layout), (other.size(), other.layout));
    let differences =
        one.pixels.iter().zip(&other.pixels).map(|(one, other)| f64::from(one.abs_diff(*other)));
    differences.sum::<f64>() / one.pixels.len() as f64
}

/// How many values of two pictures are more than `most` apart, of 255.
pub fn count_apart(one: &Picture, other: &Picture, most: u8) -> usize {
    assert_eq!((one.size(), one.layout), (other.size(), other.layout));
    one.pixels.iter().zip(&other.pixels).filter(|(one, other)| one.abs_diff(**other) > most).count()
}
