//! The values of the API's objects, before they are printed as JSON or XML. Both formats print one small tree:
//! serializers for each type and format were a third of the Worker's size.

use edgezoom_content::Progress;

use crate::response::escape;

pub(crate) enum Element {
    Text(String),
    Flag(bool),
    Count(u64),
    Fraction(Progress),
    Object(Vec<(&'static str, Element)>),
    /// A value that is already printed in the same format.
    Printed(String),
}

impl Element {
    pub(crate) fn json(self) -> String {
        if let Self::Printed(json) = self {
            return json;
        }
        let mut json = String::new();
        self.write_json(&mut json);
        json
    }

    /// Returns an XML document with this root. The names of elements need no escaping.
    pub(crate) fn xml(&self, root: &str) -> String {
        let mut xml = r#"<?xml version="1.0" encoding="UTF-8"?>"#.to_owned();
        self.write_xml_element(root, &mut xml);
        xml
    }

    fn write_json(&self, json: &mut String) {
        match self {
            // A string always serializes.
            Self::Text(text) => json.push_str(&serde_json::to_string(text).unwrap_or_default()),
            Self::Object(fields) => {
                let mut before = '{';
                for (name, field) in fields {
                    json.extend([before, '"']);
                    json.extend([name, "\":"]);
                    field.write_json(json);
                    before = ',';
                }
                json.push('}');
            }
            Self::Flag(_) | Self::Count(_) | Self::Fraction(_) | Self::Printed(_) => self.write_bare(json),
        }
    }

    /// Writes the inside of an element.
    pub(crate) fn write_xml(&self, xml: &mut String) {
        match self {
            Self::Text(text) => xml.push_str(&quick_xml::escape::escape(escape::xml_characters(text))),
            Self::Object(fields) => {
                fields.iter().for_each(|(name, field)| field.write_xml_element(name, xml))
            }
            Self::Flag(_) | Self::Count(_) | Self::Fraction(_) | Self::Printed(_) => self.write_bare(xml),
        }
    }

    fn write_xml_element(&self, name: &str, xml: &mut String) {
        xml.extend(["<", name, ">"]);
        self.write_xml(xml);
        xml.extend(["</", name, ">"]);
    }

    /// Writes a value that is the same in JSON and in XML.
    fn write_bare(&self, to: &mut String) {
        match self {
            Self::Flag(flag) => to.push_str(if *flag { "true" } else { "false" }),
            Self::Count(count) => to.push_str(&count.to_string()),
            Self::Fraction(progress) => to.push_str(&progress.to_string()),
            Self::Printed(text) => to.push_str(text),
            Self::Text(_) | Self::Object(_) => {}
        }
    }
}
