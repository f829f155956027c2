//! A place in a picture, which the parameter `at` of a share link names: `x,y,zoom,turn`. `edge/viewer/zoom/place.js`
//! writes it and shows it. Its card is a picture of it for links; places that differ little have the same one.

use std::f64::consts::SQRT_2;
use std::fmt;

use edgezoom_content::{ContentId, Size};
use edgezoom_regions::{Colours, Format, Region, Rendering, Turn};

use super::decimal::parse_decimal;
use crate::config::Addresses;

/// A place in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The picture's pixel at the centre of the view.
    x: f64,
    y: f64,
    /// The picture's width in widths of the view; 0 for the view in which the picture opens, which depends on the
    /// window.
    zoom: f64,
    /// Clockwise rotation in degrees: 0, 90, 180 or 270.
    turn: u16,
}

/// The card of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The place that stands for all places with this card.
    pub place: Place,
    pub rendering: Rendering,
}

impl Card {
    /// The size that sites recommend for cards.
    pub const SIZE: Size = Size { width: 1200, height: 630 };
    /// Minimum width of the view in pixels of the picture: fewer would be blurred.
    const MIN_VIEW: f64 = 240.0;
    /// Views of cards are narrower than the widest by powers of the fourth root of 2. This is half such a step.
    const HALF_STEP: f64 = 1.090_507_732_665_257_7;
    /// Positions of cards are multiples of the view's side divided by this.
    const POSITIONS: f64 = 16.0;
}

/// Maximum number of digits before a figure's decimal point.
const MAX_DIGITS: usize = 9;

impl Place {
    /// Returns the address of the place's card in a picture of this size.
    pub fn card_address(self, id: ContentId, picture: Size, addresses: &Addresses) -> String {
        let place = self.within(picture).card(picture).place;
        format!("{}/{id}/at/{place}.jpg", addresses.share)
    }

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
        // At the largest scale of the viewer, a hundredth of a pixel is less than one of the screen.
        let place = Self { x: rounded(x, 2), y: rounded(y, 2), zoom, turn };
        figures.next().is_none().then_some(place)
    }

    /// Returns the place whose card shows a part of the picture (left, top, width and height) as a whole.
    pub fn of_part(part: [u32; 4], picture: Size) -> Self {
        let [left, top, width, height] = part.map(f64::from);
        let least = width.max(height * f64::from(Card::SIZE.width) / f64::from(Card::SIZE.height)).max(1.0);
        let view = least * Card::HALF_STEP; // the card's view may be half a step narrower
        let (x, y) = (rounded(left + width / 2.0, 1), rounded(top + height / 2.0, 1));
        Self { x, y, zoom: rounded(f64::from(picture.width) / view, 3), turn: 0 }
    }

    /// Returns the place moved into a picture.
    pub fn within(self, picture: Size) -> Self {
        Self { x: self.x.min(picture.width.into()), y: self.y.min(picture.height.into()), ..self }
    }

    /// Returns true for the view in which the picture opens.
    pub fn is_opening(self) -> bool {
        self.zoom == 0.0 && self.turn == 0
    }

    /// Returns the card. Its view lies within the picture, and has at most the place's zoom or the largest that shows
    /// the picture at five times its size.
    pub fn card(self, picture: Size) -> Card {
        let turn = Turn::ALL.into_iter().nth((self.turn / 90).into()).unwrap_or_default();
        // Sides as the view has them: a quarter turn swaps them.
        let turned = |width, height| if turn.is_quarter() { (height, width) } else { (width, height) };
        let (picture_width, picture_height) = (f64::from(picture.width), f64::from(picture.height));
        let (across, down) = turned(picture_width, picture_height);
        let ratio = f64::from(Card::SIZE.height) / f64::from(Card::SIZE.width);
        let widest = across.min(down / ratio);
        let wanted = if self.zoom > 0.0 { picture_width / self.zoom } else { widest };
        let mut view = widest;
        let step = SQRT_2.sqrt();
        while view > wanted * Card::HALF_STEP && view / step >= Card::MIN_VIEW {
            view /= step;
        }
        let (width, height) = turned(view, view * ratio);
        let snapped = |at: f64, side: f64, length: f64| {
            let step = length / Card::POSITIONS;
            ((at / step).round() * step).round().min(side)
        };
        let (x, y) = (snapped(self.x, picture_width, width), snapped(self.y, picture_height, height));
        let span = |centre: f64, length: f64, side: u32| {
            let length = (length.round() as u32).clamp(1, side);
            (((centre - f64::from(length) / 2.0).round() as u32).min(side - length), length)
        };
        let ((left, width), (top, height)) = (span(x, width, picture.width), span(y, height, picture.height));
        let (output_width, output_height) = turned(Card::SIZE.width.into(), Card::SIZE.height.into());
        let rendering = Rendering {
            region: Region { left, top, width, height },
            size: Size { width: output_width as u32, height: output_height as u32 },
            turn,
            mirrored: false,
            colours: Colours::Colour,
            format: Format::Jpg,
        };
        Card { place: Self { x, y, zoom: rounded(picture_width / view, 3), turn: self.turn }, rendering }
    }
}

/// Parses a number without sign and exponent, with a maximum number of decimals.
fn number(text: &str, max_decimals: usize) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').map_or((text, "0"), |(whole, decimals)| (whole, decimals));
    let is_filled =
        |part: &str, most| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_filled(whole, MAX_DIGITS) && is_filled(decimals, max_decimals)).then(|| parse_decimal(text))?
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
    use std::collections::HashMap;

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
            ("0500.04,4.257,6.1239,270", "500.04,4.26,6.124,270"),
            ("0,0,0.001,90", "0,0,0.001,90"),
            ("500,400,0,90", "500,400,0,90"),
            ("999999999,999999999.999,999999999.999999,180", "999999999,1000000000,1000000000,180"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(form), "{text}");
        }
    }

    #[test]
    fn places_have_the_grammar_of_the_viewer_which_is_tested_with_the_same_texts() {
        let texts = include_str!("../../viewer/tests/places.json");
        let texts: HashMap<&str, Vec<String>> = serde_json::from_str(texts).unwrap();
        for text in &texts["places"] {
            assert!(printed(text).is_some(), "{text}");
        }
        for text in &texts["others"] {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_beyond_the_edge_is_moved_into_the_picture() {
        let picture = Size { width: 6000, height: 4000 };
        let place = Place::parse("6000.5,3999.9,2,90").unwrap().within(picture);
        assert_eq!(place.to_string(), "6000,3999.9,2,90");
    }

    fn card(text: &str, (width, height): (u32, u32)) -> (String, [u32; 4]) {
        let Card { place, rendering } = Place::parse(text).unwrap().card(Size { width, height });
        let Region { left, top, width, height } = rendering.region;
        (place.to_string(), [left, top, width, height])
    }

    #[test]
    fn the_card_of_a_page_shows_all_of_it() {
        let picture = Size { width: 9000, height: 7000 };
        for part @ [left, top, width, height] in
            [[100, 100, 600, 800], [3000, 2000, 1700, 400], [8000, 6000, 1000, 1000]]
        {
            let Card { rendering: Rendering { region, .. }, .. } =
                Place::of_part(part, picture).card(picture);
            assert!(
                region.left <= left && region.left + region.width >= left + width,
                "{part:?}: {region:?}"
            );
            assert!(
                region.top <= top + 30 && region.top + region.height + 30 >= top + height,
                "{part:?}: {region:?}"
            );
            assert!(region.width < 3000, "{part:?}: {region:?}");
        }
    }

    #[test]
    fn a_card_shows_its_place() {
        for (text, place, region) in [
            ("3000,2000,1", "3000,1969,1", [0, 394, 6000, 3150]),
            ("3000,2000,4", "3000,2018,4", [2250, 1624, 1500, 788]),
            ("0,0,16", "0,0,16", [0, 0, 375, 197]),
            ("6000,4000,16", "6000,3999,16", [5625, 3803, 375, 197]),
            ("3000,2000,0.01", "3000,1969,1", [0, 394, 6000, 3150]),
            ("3000,2000,0", "3000,1969,1", [0, 394, 6000, 3150]),
            ("3000,2000,999", "3000,2001,22.627", [2868, 1932, 265, 139]),
        ] {
            let (name, seen) = card(text, (6000, 4000));
            assert_eq!((name.as_str(), seen), (place, region), "{text}");
        }
        // A quarter turn shows a part that is higher than wide.
        let (name, [_, _, width, height]) = card("3000,2000,4,90", (6000, 4000));
        assert!(name.ends_with(",90") && height > width, "{name}");
    }

    #[test]
    fn neighbours_share_a_card() {
        let (one, _) = card("3000,2000,4", (6000, 4000));
        for near in ["2990.5,2010,4.1", "3040,2030,3.8", "2960,1999,4.3"] {
            assert_eq!(card(near, (6000, 4000)).0, one, "{near}");
        }
        assert_ne!(card("3100,2000,4", (6000, 4000)).0, one);
        assert_ne!(card("3000,2000,4,180", (6000, 4000)).0, one);
    }

    proptest! {
        #[test]
        fn the_place_of_a_card_has_the_same_card(
            (width, height) in (1_u32..=1_000_000, 1_u32..=1_000_000),
            (x, y, zoom) in (0.0..1_000_000.0_f64, 0.0..1_000_000.0_f64, 0.0..20.0_f64),
            turn in prop_oneof![Just(0), Just(90), Just(180), Just(270)],
        ) {
            let picture = Size { width, height };
            let text = format!("{x:.1},{y:.1},{:.3},{turn}", zoom.exp2() - 1.0);
            let card = Place::parse(&text).unwrap().within(picture).card(picture);
            let again = Place::parse(&card.place.to_string()).unwrap().within(picture).card(picture);
            prop_assert_eq!(again, card);
            prop_assert_eq!(card.rendering.turned_size(), Card::SIZE);
            let dzi = edgezoom_content::Dzi { size: picture, tile_size: 512, tile_overlap: 0, tile_format: edgezoom_content::TileFormat::Jpg };
            prop_assert!(edgezoom_regions::Plan::new(&dzi, &card.rendering).is_ok());
        }

        #[test]
        fn any_text_is_read_without_panic_and_a_place_survives(text in "[0-9.,]{0,24}|.*") {
            if let Some(place) = Place::parse(&text) {
                prop_assert!(place.to_string().bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')));
            }
        }
    }
}
