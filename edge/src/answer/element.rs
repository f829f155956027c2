//! What the interface's objects are made of, before they are written as JSON or XML. One small tree for both: a printer for
//! each type and format would be a third of the Worker.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::escape;

/// A value of the interface.
pub(in crate::answer) enum Element {
    Text(String),
    Flag(bool),
    Count(u64),
    Fraction(f64),
    Object(Vec<(&'static str, Element)>),
}

impl Element {
    pub(in crate::answer) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // no text, number or object fails
    }

    /// An XML document with this root. Names are ours, and need no escaping.
    pub(in crate::answer) fn xml(&self, root: &str) -> String {
        let mut xml = r#"<?xml version="1.0" encoding="UTF-8"?>"#.to_owned();
        self.write_xml(root, &mut xml);
        xml
    }

    fn write_xml(&self, name: &str, xml: &mut String) {
        xml.extend(["<", name, ">"]);
        match self {
            Self::Object(fields) => fields.iter().for_each(|(name, field)| field.write_xml(name, xml)),
            Self::Text(text) => xml.push_str(&quick_xml::escape::escape(escape::xml_characters(text))),
            Self::Flag(_) | Self::Count(_) | Self::Fraction(_) => xml.push_str(&self.json()),
        }
        xml.extend(["</", name, ">"]);
    }
}

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Fraction(whole) if whole.fract() == 0.0 => serializer.serialize_u64(*whole as u64),
            Self::Fraction(fraction) => serializer.serialize_f64(*fraction),
            Self::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (name, field) in fields {
                    object.serialize_entry(name, field)?;
                }
                object.end()
            }
        }
    }
}
