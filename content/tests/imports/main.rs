//! The arrows of docs/architecture.md, held against the code: no circle of imports within a crate, and no import
//! against the direction that a room has. It reads the sources as text (`modules.rs`), so that it needs neither the
//! crates' dependencies nor a nightly compiler.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod modules;

use std::fs;
use std::path::{Path, PathBuf};

use modules::Modules;

/// The crates without circles, by their folders.
const CRATES: [&str; 7] = ["codecs", "content", "edge", "geometry", "jpeg", "pyramid", "tiler"];

/// In a crate, the modules under the first path must not import what is under the second.
const FORBIDDEN: [(&str, &str, &str); 12] = [
    ("edge", "durable", "entry"),
    ("edge", "durable", "handlers"),
    ("edge", "durable", "pages"),
    ("edge", "durable", "tiler_api"),
    ("edge", "durable", "content::repository"),
    ("edge", "content::representation", "content"),
    ("edge", "content::cached_content", "content::response"),
    ("edge", "pages", "platform"),
    ("edge", "response", "content"),
    ("edge", "request", "content"),
    ("edge", "config", "response"),
    ("edge", "platform", "durable"),
];

/// Modules of the edge that are tested natively and must not name the platform's crate.
const PURE: [&str; 11] = [
    "admission::client",
    "admission::policy",
    "admission::scheduler",
    "config",
    "content::cached_content",
    "content::events",
    "content::representation",
    "content::response",
    "durable::messages",
    "pages",
    "request",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn no_crate_has_a_circle_of_imports() {
    for name in CRATES {
        let modules = Modules::read(&root().join(name).join("src"));
        assert_eq!(modules.circle(), None, "of {name}");
    }
}

#[test]
fn no_javascript_has_a_circle_of_imports() {
    let modules = Modules::read_javascript(&root(), &["edge", "deploy", "tests/browser"]);
    let entry = ("edge/entry.js".to_owned(), "edge/src/admin/calls.js".to_owned());
    assert!(modules.imports().any(|import| import == entry), "no imports were found");
    assert_eq!(modules.circle(), None);
}

#[test]
fn rooms_import_in_one_direction() {
    for (name, from, to) in FORBIDDEN {
        let modules = Modules::read(&root().join(name).join("src"));
        let against: Vec<_> = modules
            .imports()
            .filter(|(importer, imported)| is_under(importer, from) && is_under(imported, to))
            .filter(|(_, imported)| !is_under(imported, from))
            .collect();
        assert!(against.is_empty(), "{name}: {from} must not import {to}: {against:?}");
    }
}

#[test]
fn the_pure_half_of_the_edge_does_not_name_the_platform() {
    let modules = Modules::read(&root().join("edge/src"));
    for room in PURE {
        let named: Vec<_> = modules.crates().filter(|(module, _)| is_under(module, room)).collect();
        assert!(!named.is_empty(), "{room} is no module of the edge");
        assert!(!named.iter().any(|(_, name)| name == "worker"), "{room} names the platform's crate");
    }
}

#[test]
fn a_circle_is_noticed() {
    let folder = std::env::temp_dir().join(format!("imports-{}", std::process::id()));
    fs::create_dir_all(folder.join("b")).unwrap();
    fs::write(folder.join("lib.rs"), "mod a; mod b;\n#[cfg(test)]\nmod tests { use crate::a; }").unwrap();
    fs::write(folder.join("a.rs"), "// use crate::a\nuse crate::{b::{One, two}, c};").unwrap();
    fs::write(folder.join("b/mod.rs"), "mod one; pub use one::One; pub fn two() {}").unwrap();
    fs::write(folder.join("b/one.rs"), "struct One; fn f() { super::super::a::g(\"crate::b\") }").unwrap();
    let circle = Modules::read(&folder).circle();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(circle.as_deref(), Some("a → b::one → a"));
}

#[test]
fn a_circle_of_javascript_is_noticed() {
    let folder = std::env::temp_dir().join(format!("imports-js-{}", std::process::id()));
    fs::create_dir_all(folder.join("src/inner")).unwrap();
    fs::write(folder.join("src/a.js"), "import {\n  one,\n} from \"./inner/b.mjs\";").unwrap();
    fs::write(folder.join("src/inner/b.mjs"), "import \"other\"; export { c } from \"./c.js\";").unwrap();
    fs::write(folder.join("src/inner/c.js"), "const late = () => import(\"../a.js\");").unwrap();
    let circle = Modules::read_javascript(&folder, &["src"]).circle();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(circle.as_deref(), Some("src/a.js → src/inner/b.mjs → src/inner/c.js → src/a.js"));
}

fn is_under(module: &str, room: &str) -> bool {
    module.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
