//! Web pages as sources: loads a page in Chromium and captures its screenshot in strips, from top to bottom.
//!
//! A page is a program by an unknown author that runs on our machine. So each page gets a browser of its own with a
//! fresh profile, confined as far as the system allows, whose only network is a proxy. The screenshot is a source like
//! any other: the renderer process decodes it.
//!
//! | question | answer |
//! |---|---|
//! | Why was this page refused? | [`PageError`], in `error.rs`: all reasons, each with the place that decides it |
//! | What may a page cost? | [`PageLimits`], in `limits.rs`: time, memory, traffic, connections, size |
//! | How is the browser started, confined and killed? | [`process`]: flags, [`supervisor`], namespaces, root directory |
//! | What does the proxy allow? | [`proxy`]: the checks of a request, in their order |
//! | How is a page loaded? | [`page_loader`]: the steps; `script/`: what runs in the page |
//! | When is it finished? | [`virtual_time`]: its clock; [`stillness`]: when its window is at rest |
//! | What if the machine is busy? | [`fair_clock`]: limits count what the browser does, not how long it waits |
//! | Which part of it is shown, and how is it unfolded? | [`layout`], and the scripts that it calls |
//! | What do options of a request change? | [`edgezoom_content::Capture`]: the options; [`tab`], [`layout`]: their use |
//! | What did the browser report? | [`page_state`]: events; [`document`] and [`interception`]: what they mean |
//! | Which words are on it? | [`text`] |
//! | How does it become a picture? | [`screenshot`]: the strips, and the pipe to the renderer |
//!
//! A [`drawing`] that resvg does not know is shown by the browser, too, without any network.
//!
//! [`Pages::open`] starts a [`process`] and a [`proxy`], opens a [`tab`] over the DevTools protocol ([`cdp`]), and lets
//! the [`page_loader`] load and freeze the page. [`OpenPage::stream`] captures it into a pipe.

mod cdp;
mod clock;
mod document;
mod drawing;
mod error;
mod fair_clock;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod html;
mod interception;
mod layout;
mod limits;
mod network_idle;
mod page_loader;
mod page_state;
mod pages;
mod process;
mod proxy;
mod screenshot;
mod stillness;
mod tab;
mod text;
mod virtual_time;

pub use drawing::{DrawingSize, OpenDrawing};
pub use error::PageError;
pub use html::Html;
pub use limits::PageLimits;
pub use pages::{PageSettings, Pages};
pub use process::namespaces::try_out as try_namespaces;
pub use process::{find_browser, supervisor};
pub use screenshot::{Capturing, OpenPage};
