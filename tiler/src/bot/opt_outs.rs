//! Reservations of publishers, in the responses of their servers and the tags of their pages. The operator chooses which
//! ones the tiler honours. By default it honours none: a reservation against training models does not concern showing a
//! picture zoomed in.
//!
//! | reservation | where it stands |
//! |---|---|
//! | `noai`, `noimageai` | `X-Robots-Tag: noai`, `X-Robots-Tag: edgezoom: noai`, `<meta name="robots" content="noai">` |
//! | `tdm` | `TDM-Reservation: 1`, `<meta name="tdm-reservation" content="1">`: <https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/> |

use std::fmt;
use std::str::FromStr;

use reqwest::header::HeaderMap;

use super::PRODUCT;

/// The reservations that are honoured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptOuts {
    noai: bool,
    noimageai: bool,
    tdm: bool,
}

/// The use that a publisher reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// Use of text by artificial intelligence.
    NoAi,
    /// Use of pictures by artificial intelligence.
    NoImageAi,
    /// Text and data mining.
    Tdm,
}

/// The name is not that of a reservation.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an opt-out; use noai, noimageai or tdm")]
pub struct UnknownOptOut(String);

/// The header with rules for robots.
const ROBOTS_TAG: &str = "x-robots-tag";
/// The header and the tag of the TDM Reservation Protocol.
const TDM_RESERVATION: &str = "tdm-reservation";
/// Rules with a value after a colon. The name before the colon is not that of a robot.
const WITH_VALUES: [&str; 4] = ["max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"];

impl OptOuts {
    /// Returns the first honoured reservation in the headers of a response.
    #[must_use]
    pub fn in_headers(&self, headers: &HeaderMap) -> Option<Reservation> {
        let texts = |name| headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        let is_reserved = texts(TDM_RESERVATION).any(|value| value.trim() == "1");
        texts(ROBOTS_TAG)
            .flat_map(rules_for_us)
            .find_map(|rule| self.honoured(rule))
            .or_else(|| (self.tdm && is_reserved).then_some(Reservation::Tdm))
    }

    /// Returns the honoured reservation in a tag of a page: `<meta name="…" content="…">`.
    #[must_use]
    pub fn in_tag(&self, name: &str, content: &str) -> Option<Reservation> {
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(PRODUCT) {
            content.split(',').find_map(|rule| self.honoured(rule))
        } else {
            let is_reserved = name.eq_ignore_ascii_case(TDM_RESERVATION) && content.trim() == "1";
            (self.tdm && is_reserved).then_some(Reservation::Tdm)
        }
    }

    fn honoured(&self, rule: &str) -> Option<Reservation> {
        let rule = rule.trim();
        if self.noai && rule.eq_ignore_ascii_case("noai") {
            Some(Reservation::NoAi)
        } else if self.noimageai && rule.eq_ignore_ascii_case("noimageai") {
            Some(Reservation::NoImageAi)
        } else {
            None
        }
    }
}

/// Returns the rules in a header for all robots or for this one: `rule, rule`, or `robot: rule, rule`.
fn rules_for_us(header: &str) -> impl Iterator<Item = &str> {
    let mut is_for_us = true;
    header.split(',').filter_map(move |item| {
        let (robot, rule) = match item.split_once(':') {
            Some((name, _)) if WITH_VALUES.iter().any(|known| name.trim().eq_ignore_ascii_case(known)) => {
                return None;
            }
            Some((robot, rule)) => (Some(robot.trim()), rule),
            None => (None, item),
        };
        if let Some(robot) = robot {
            is_for_us = robot == "*" || robot.eq_ignore_ascii_case(PRODUCT);
        }
        is_for_us.then_some(rule)
    })
}

impl FromStr for OptOuts {
    type Err = UnknownOptOut;

    /// Parses names separated by commas.
    fn from_str(names: &str) -> Result<Self, UnknownOptOut> {
        let mut opt_outs = Self::default();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "noai" => opt_outs.noai = true,
                "noimageai" => opt_outs.noimageai = true,
                "tdm" => opt_outs.tdm = true,
                _ => return Err(UnknownOptOut(name.to_owned())),
            }
        }
        Ok(opt_outs)
    }
}

impl fmt::Display for Reservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoAi => "noai",
            Self::NoImageAi => "noimageai",
            Self::Tdm => "TDM-Reservation",
        })
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn found(honoured: &str, headers: &[(&'static str, &'static str)]) -> Option<Reservation> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        honoured.parse::<OptOuts>().unwrap().in_headers(&map)
    }

    #[test]
    fn a_reservation_counts_only_if_the_operator_honours_it() {
        let header = [("x-robots-tag", "noindex, NoAI, noimageai"), ("tdm-reservation", "1")];
        assert_eq!(found("", &header), None);
        assert_eq!(found("noai", &header), Some(Reservation::NoAi));
        assert_eq!(found("noimageai", &header), Some(Reservation::NoImageAi));
        assert_eq!(found("tdm", &header), Some(Reservation::Tdm));
        assert_eq!(found(" noai , tdm ", &[("tdm-reservation", " 1 ")]), Some(Reservation::Tdm));
        assert_eq!(found("tdm", &[("tdm-reservation", "0")]), None);
        assert!("noai,robots".parse::<OptOuts>().is_err());
    }

    #[test]
    fn a_header_may_address_another_robot() {
        for (header, is_ours) in [
            ("noai", true),
            ("*: noai", true),
            ("edgezoom: noindex, noai", true),
            ("otherbot: noai", false),
            ("otherbot: noai, edgezoom: noai", true),
            ("edgezoom: noindex, otherbot: noai", false),
            ("unavailable_after: 25 Jun 2030 15:00:00 PST, noai", true),
            ("max-snippet: 5, noai", true),
            ("noaid", false),
            ("", false),
        ] {
            assert_eq!(found("noai", &[("x-robots-tag", header)]).is_some(), is_ours, "{header}");
        }
        let two = [("x-robots-tag", "otherbot: noai"), ("x-robots-tag", "noai")];
        assert_eq!(found("noai", &two), Some(Reservation::NoAi));
    }

    #[test]
    fn tags_of_pages_reserve_like_headers() {
        let all: OptOuts = "noai,noimageai,tdm".parse().unwrap();
        for (name, content, reserved) in [
            ("robots", "index, noai", Some(Reservation::NoAi)),
            ("Edgezoom", "noimageai", Some(Reservation::NoImageAi)),
            ("googlebot", "noai", None),
            ("tdm-reservation", "1", Some(Reservation::Tdm)),
            ("tdm-reservation", "0", None),
            ("description", "noai", None),
        ] {
            assert_eq!(all.in_tag(name, content), reserved, "{name} {content}");
        }
        assert_eq!(OptOuts::default().in_tag("robots", "noai"), None);
    }
}
