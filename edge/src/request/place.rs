//! A place in a picture, which the parameter `at` of a share link names: `x,y,zoom,turn`. `edge/viewer/zoom/place.js`
//! writes it and shows it.

use std::fmt;

use edgezoom_content::Size;

/// A place in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The picture's pixel at the centre of the view.
    x: f64,
    y: f64,
    /// The picture's width in widths of the view; 0 for the view in which the picture opens, which depends on the window.
    zoom: f64,
    /// Clockwise rotation in degrees: 0, 90, 180 or 270.
    turn: u16,
}

/// Maximum number of digits before a figure's decimal point.
const MAX_DIGITS: usize = 9;

impl Place {
    /// Parses a place. `None`: the text is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut figures = text.split(',');
        let mut figure = |decimals| figures.next().and_then(|text| number(text, decimals));
        let (x, y, zoom) = (figure(3)?, figure(3)?, rounded(figure(6)?, 3));
        let turn = match figures.next() {
            None | Some("0") => 0,
            Some("90") => 90,
            Some("180") => 180,
            Some("270") => 270,
            Some(_) => return None,
        };
        let place = Self { x: rounded(x, 1), y: rounded(y, 1), zoom, turn };
        figures.next().is_none().then_some(place)
    }

    /// Returns the place moved into a picture.
    pub fn within(self, picture: Size) -> Self {
        Self { x: self.x.min(picture.width.into()), y: self.y.min(picture.height.into()), ..self }
    }
}

/// Parses a number without sign and exponent, with a maximum number of decimals.
fn number(text: &str, max_decimals: usize) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').map_or((text, "0"), |(whole, decimals)| (whole, decimals));
    let is_filled =
        |part: &str, most| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_filled(whole, MAX_DIGITS) && is_filled(decimals, max_decimals)).then(|| text.parse().ok())?
}

fn rounded(figure: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    (figure * unit).round() / unit
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { x, y, zoom, turn } = self;
        write!(f, "{x},{y},{zoom}")?;
        if *turn == 0 { Ok(()) } else { write!(f, ",{turn}") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(text: &str) -> Option<String> {
        Place::parse(text).map(|place| place.to_string())
    }

    #[test]
    fn a_place_has_one_form() {
        for (text, form) in [
            ("500,400,6", "500,400,6"),
            ("500,400,6,0", "500,400,6"),
            ("0500.04,4.25,6.1239,270", "500,4.3,6.124,270"),
            ("0,0,0.001,90", "0,0,0.001,90"),
            ("500,400,0,90", "500,400,0,90"),
            ("999999999,999999999.999,999999999.999999,180", "999999999,1000000000,1000000000,180"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(form), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_places() {
        for text in [
            "",
            "1,2",
            "1,2,3,4",
            "1,2,3,-90",
            "1,2,3,90,1",
            "-1,2,3",
            "+1,2,3",
            "1e3,2,3",
            "NaN,2,3",
            "inf,2,3",
            "1,2,3;",
            ".5,2,3",
            "1.,2,3",
            "1.2.3,2,3",
            "1.2345,2,3",
            "1234567890,2,3",
            "1, 2,3",
            "1,2,3,",
            "1,2,3\"><script>",
        ] {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_beyond_the_edge_is_moved_into_the_picture() {
        let picture = Size { width: 6000, height: 4000 };
        let place = Place::parse("6000.5,3999.9,2,90").unwrap().within(picture);
        assert_eq!(place.to_string(), "6000,3999.9,2,90");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic_and_a_place_survives(text in "[0-9.,]{0,24}|.*") {
            if let Some(place) = Place::parse(&text) {
                prop_assert!(place.to_string().bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')));
            }
        }
    }
}
