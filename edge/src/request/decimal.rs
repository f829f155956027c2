//! Decimal numbers of requests. The standard library's parser is exact for hundreds of digits, with 12 KB of compressed
//! code and tables in the module; nothing else in it parses such numbers.

/// Number of decimals that count. With as many digits, the numerator and the denominator are exact.
const MAX_DECIMALS: usize = 15;

/// Parses a number of digits with at most one point. The result is the nearest number up to 15 digits.
pub fn parse_decimal(text: &str) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = whole.bytes().chain(decimals.bytes());
    if (whole.is_empty() && decimals.is_empty()) || !digits.all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let append = |number: f64, digit: u8| number * 10.0 + f64::from(digit - b'0');
    let decimals = decimals.bytes().take(MAX_DECIMALS);
    let denominator = decimals.clone().fold(1.0, |unit, _| unit * 10.0);
    Some(whole.bytes().chain(decimals).fold(0.0, append) / denominator)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_has_digits_and_at_most_one_point() {
        for (text, number) in [("0", 0.0), ("007.50", 7.5), (".5", 0.5), ("5.", 5.0)] {
            assert_eq!(parse_decimal(text), Some(number), "{text}");
        }
        for text in ["", ".", "-1", "+1", "1e3", "1.2.3", "1,5", " 1", "NaN", "inf", "½"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_nearest_number_up_to_15_digits(text in "[0-9]{1,8}|[0-9]{0,8}\\.[0-9]{1,7}") {
            prop_assert_eq!(parse_decimal(&text), text.parse().ok());
        }

        #[test]
        fn it_is_near_with_more_digits(text in "[0-9]{9,40}|[0-9]{1,40}\\.[0-9]{8,40}") {
            let (number, nearest): (f64, f64) = (parse_decimal(&text).unwrap(), text.parse().unwrap());
            prop_assert!((number - nearest).abs() <= nearest * 1e-13 + 1e-15, "{number}, {nearest}");
        }
    }
}
