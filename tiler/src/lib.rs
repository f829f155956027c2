//! The native side of Edgezoom: pulls jobs, renders Deep Zoom pyramids and puts them where viewers find them.
//!
//! A job of the [`service`] is claimed from the edge, its source downloaded by [`fetch`] into a file that has no name, and
//! handed to a [`renderer`] process. In there a [`source`] decodes it to strips and the [`pyramid`] cuts tiles from them.
//! A web page is photographed by a browser that [`page`] keeps in check, and its picture goes the same way.
//! The tiles come back over a pipe and go into a [`sink`]. The command line is the same path with other ends.

pub mod browser;
pub mod fetch;
pub mod http_client;
pub mod limits;
pub mod renderer;
pub mod s3;
pub mod sandbox;
pub mod secret;
pub mod service;
