//! The time, for rules that take it as an argument.

use edgezoom_content::conversion::Timestamp;
use worker::Date;

/// Now. The runtime's clock stands still between I/O.
pub fn now() -> Timestamp {
    Timestamp(Date::now().as_millis())
}
