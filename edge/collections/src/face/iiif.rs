//! A collection for IIIF clients: as a Collection of the Presentation API 3.0, in parts of a thousand entries, and its
//! changes by the Change Discovery API 1.0, level 2 (<https://iiif.io/api/discovery/1.0/>). Parts are ranges of the order of
//! addition, and pages of changes are ranges of the journal, so neither moves when entries come.

use std::collections::BTreeMap;

use edgezoom_content::{CreditLine, EntryState};
use serde_json::{Value, json};

use super::{Found, PART, Shown};
use crate::entry::Row;

pub const PRESENTATION: &str = "http://iiif.io/api/presentation/3/context.json";
const DISCOVERY: &str = "http://iiif.io/api/discovery/1/context.json";

/// A document with the address of its context.
type Document = (&'static str, Value);

/// Returns true if the Collection lists its manifests itself.
pub fn is_one_part(counts: &BTreeMap<String, u64>) -> bool {
    number_of(counts, "entries") <= PART
}

fn number_of(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

impl Shown<'_> {
    /// Returns the Collection: of manifests, or of its parts if it is large.
    pub fn manifests(&self, rows: &[Row]) -> Document {
        let Self { base, settings, counts } = self;
        let home = format!("{base}/c/{}", settings.name);
        let mut fields = json!({
            "@context": PRESENTATION,
            "id": self.collection(),
            "type": "Collection",
            "label": in_language("none", self.title()),
            "homepage": [linked(&home, "Text", "The pictures", "text/html")],
            "seeAlso": [linked(&self.activity(), "Dataset", "Changes", "application/ld+json")],
        });
        credit(&mut fields, settings.credit.as_ref(), settings.rights.as_deref());
        let parts = 1..=number_of(counts, "entries").div_ceil(PART);
        fields["items"] = if is_one_part(counts) {
            rows.iter().map(|row| self.manifest(row)).collect()
        } else {
            parts.map(|part| self.named_part(part)).collect()
        };
        (PRESENTATION, fields)
    }

    /// Returns a part; `None` if the collection does not have as many.
    pub fn part(&self, part: u64, rows: &[Row]) -> Option<Document> {
        if part > number_of(self.counts, "entries").div_ceil(PART) {
            return None;
        }
        let mut fields = self.named_part(part);
        fields["@context"] = json!(PRESENTATION);
        fields["partOf"] = json!([{ "id": self.collection(), "type": "Collection" }]);
        fields["items"] = rows.iter().map(|row| self.manifest(row)).collect();
        Some((PRESENTATION, fields))
    }

    fn named_part(&self, part: u64) -> Value {
        let label = format!("{} {}–{}", self.title(), (part - 1) * PART + 1, part * PART);
        let id = format!("{}/{part}", self.collection());
        json!({ "id": id, "type": "Collection", "label": in_language("none", &label) })
    }

    /// Returns the reference to the manifest of an entry.
    fn manifest(&self, row: &Row) -> Value {
        let (Self { base, .. }, Row { id, entry, .. }) = (self, row);
        let thumbnail = format!("{base}/{id}/thumbnail.jpg");
        let mut fields = self.object(row);
        fields["label"] = in_language("none", &entry.label());
        fields["thumbnail"] = json!([{ "id": thumbnail, "type": "Image", "format": "image/jpeg" }]);
        credit(&mut fields, entry.credit.as_ref(), entry.rights.as_deref());
        fields
    }

    fn object(&self, row: &Row) -> Value {
        json!({ "id": format!("{}/iiif/{}/manifest.json", self.base, row.id), "type": "Manifest" })
    }

    /// Returns the list of changes. It has neither first nor last page if nothing was ever public.
    pub fn changes(&self, found: &Found) -> Document {
        let total = ["ready", "removed", "taken-down"].map(|state| number_of(self.counts, state));
        let mut fields = json!({
            "@context": DISCOVERY,
            "id": self.activity(),
            "type": "OrderedCollection",
            "totalItems": total.iter().sum::<u64>(),
        });
        self.link(&mut fields, ("first", found.next), ("last", found.before));
        if let Some(rights) = &self.settings.rights {
            fields["rights"] = json!(rights);
        }
        (DISCOVERY, fields)
    }

    /// Returns a page of changes; `None` if it has none. The page before and the next one have some.
    pub fn changes_page(&self, page: u64, found: &Found) -> Option<Document> {
        let items: Vec<Value> = found.rows.iter().map(|row| self.change(row)).collect();
        let mut fields = json!({
            "@context": DISCOVERY,
            "id": format!("{}/{page}", self.activity()),
            "type": "OrderedCollectionPage",
            "partOf": { "id": self.activity(), "type": "OrderedCollection" },
            "orderedItems": items,
        });
        self.link(&mut fields, ("prev", found.before), ("next", found.next));
        (!found.rows.is_empty()).then_some((DISCOVERY, fields))
    }

    /// Links the pages with two changes.
    fn link(&self, fields: &mut Value, one: (&str, Option<u64>), other: (&str, Option<u64>)) {
        for (name, seq) in [one, other] {
            if let Some(seq) = seq {
                let id = format!("{}/{}", self.activity(), seq.div_ceil(PART));
                fields[name] = json!({ "id": id, "type": "OrderedCollectionPage" });
            }
        }
    }

    fn change(&self, row: &Row) -> Value {
        let kind = match row.state {
            EntryState::Ready if row.entry.since == Some(row.entry.at) => "Create",
            EntryState::Ready => "Update",
            _ => "Delete",
        };
        json!({ "type": kind, "object": self.object(row), "endTime": row.entry.at.to_string() })
    }

    /// Returns the title, or the name of a collection without one.
    pub fn title(&self) -> &str {
        self.settings.title.as_ref().map_or(self.settings.name.as_str(), |title| title.as_str())
    }

    pub fn collection(&self) -> String {
        format!("{}/iiif/collection/{}", self.base, self.settings.name)
    }

    fn activity(&self) -> String {
        format!("{}/iiif/activity/{}", self.base, self.settings.name)
    }
}

/// Adds what a collection or an entry states about its rights.
fn credit(fields: &mut Value, credit: Option<&CreditLine>, rights: Option<&str>) {
    if let Some(line) = credit {
        let (label, value) = (in_language("en", "Attribution"), in_language("none", line.as_str()));
        fields["requiredStatement"] = json!({ "label": label, "value": value });
    }
    if let Some(rights) = rights {
        fields["rights"] = json!(rights);
    }
}

fn linked(address: &str, kind: &str, label: &str, format: &str) -> Value {
    json!({ "id": address, "type": kind, "label": in_language("en", label), "format": format })
}

/// Returns a language map with a plain text. One that begins and ends like an element would be HTML (4.2 of the
/// Presentation API), so it ends in a space.
fn in_language(language: &str, plain: &str) -> Value {
    let is_like_html = plain.starts_with('<') && plain.ends_with('>');
    json!({ language: [format!("{plain}{}", if is_like_html { " " } else { "" })] })
}
