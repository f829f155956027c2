//! Responses and errors of requests for documents. The browser reports them before the main frame navigates to the
//! document, so they are kept by request until then.

use std::collections::HashMap;

use serde_json::Value;

/// The responses of documents, by the id of their request.
#[derive(Debug, Default)]
pub(super) struct DocumentResponses(HashMap<String, DocumentResponse>);

/// The result of a request for a document.
#[derive(Debug, Default)]
pub(super) struct DocumentResponse {
    /// Status and media type.
    pub response: Option<(u16, String)>,
    /// Why the request failed.
    pub error: Option<String>,
}

/// The number of responses kept. A page with more requests for documents at a time never loads anyway.
const MAX_RESPONSES: usize = 10_000;

impl DocumentResponses {
    /// Records a `Response` of the Network domain.
    pub(super) fn received(&mut self, request: &str, response: &Value) {
        let status = response["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(0);
        let media_type = response["mimeType"].as_str().unwrap_or_default().to_ascii_lowercase();
        self.entry(request).response = Some((status, media_type));
    }

    /// Records why a request failed.
    pub(super) fn failed(&mut self, request: &str, error: &str) {
        self.entry(request).error = Some(error.to_owned());
    }

    /// Removes and returns the result for a document. Its `loaderId` is the id of its request.
    pub(super) fn take(&mut self, loader: &str) -> DocumentResponse {
        self.0.remove(loader).unwrap_or_default()
    }

    fn entry(&mut self, request: &str) -> &mut DocumentResponse {
        if self.0.len() >= MAX_RESPONSES {
            self.0.clear();
        }
        self.0.entry(request.to_owned()).or_default()
    }
}
