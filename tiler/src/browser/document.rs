//! The document that the main frame shows, as the browser's events describe it.

/// A document in the main frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// Its URL. For an error page of the browser, the URL that could not be loaded.
    pub url: String,
    /// `DOMContentLoaded` has fired: its HTML is parsed.
    pub parsed: bool,
    /// `load` has fired: its subresources are loaded.
    pub loaded: bool,
    /// Its connection was closed before its end; the rest does not come.
    pub truncated: bool,
    /// Its `loaderId`, which is also the id of its request.
    pub loader: String,
    /// The network error for which the browser shows an error page instead.
    pub error: Option<String>,
    /// The status and media type of its response.
    pub response: Option<(u16, String)>,
}
