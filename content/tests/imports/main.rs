//! Checks the imports against docs/architecture.md: no import cycle within a crate, and no import against the direction
//! between modules. Reads the sources as text (`modules.rs`), so it needs neither the crates' dependencies nor a
//! nightly compiler.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod modules;

use std::fs;
use std::path::{Path, PathBuf};

use modules::Modules;

/// Folders of the crates that are checked for import cycles.
const CRATES: [&str; 8] = [
    "content",
    "edge",
    "engine/codecs",
    "engine/geometry",
    "engine/jpeg",
    "engine/pyramid",
    "engine/regions",
    "tiler",
];

/// Crate, importing module and imported module of each forbidden import, including submodules.
const FORBIDDEN: [(&str, &str, &str); 15] = [
    ("edge", "durable", "entry"),
    ("edge", "durable", "handlers"),
    ("edge", "durable", "pages"),
    ("edge", "durable", "repository"),
    ("edge", "durable", "tiler_api"),
    ("edge", "representation", "repository"),
    ("edge", "representation::cached_content", "representation::response"),
    ("edge", "pages", "platform"),
    ("edge", "response", "representation"),
    ("edge", "request", "representation"),
    ("edge", "request", "uploads::files"),
    ("edge", "config", "response"),
    ("edge", "platform", "durable"),
    ("edge", "platform", "regions"),
    ("edge", "platform", "uploads"),
];

/// Modules of the edge that are tested natively and must not use the `worker` crate.
const PURE: [&str; 10] = [
    "admission::client",
    "admission::policy",
    "admission::scheduler",
    "config",
    "pages",
    "regions::tile_runs",
    "representation",
    "request",
    "response",
    "uploads::request",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn no_crate_has_an_import_cycle() {
    for name in CRATES {
        let modules = Modules::read(&root().join(name).join("src"));
        assert_eq!(modules.cycle(), None, "in {name}");
    }
}

#[test]
fn no_javascript_has_an_import_cycle() {
    let modules = Modules::read_javascript(&root(), &["edge", "deploy", "tests/browser"]);
    let entry = ("edge/entry.js".to_owned(), "edge/src/admin/calls.js".to_owned());
    assert!(modules.imports().any(|import| import == entry), "no imports were found");
    assert_eq!(modules.cycle(), None);
}

#[test]
fn modules_import_in_one_direction() {
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
fn pure_modules_of_the_edge_do_not_use_the_platform() {
    let modules = Modules::read(&root().join("edge/src"));
    for pure in PURE {
        let used: Vec<_> = modules.crates().filter(|(module, _)| is_under(module, pure)).collect();
        assert!(!used.is_empty(), "{pure} is not a module of the edge");
        assert!(!used.iter().any(|(_, name)| name == "worker"), "{pure} uses the worker crate");
    }
}

#[test]
fn an_import_cycle_is_reported() {
    let folder = std::env::temp_dir().join(format!("imports-{}", std::process::id()));
    fs::create_dir_all(folder.join("b")).unwrap();
    fs::write(folder.join("lib.rs"), "mod a; mod b;\n#[cfg(test)]\nmod tests { use crate::a; }").unwrap();
    fs::write(folder.join("a.rs"), "// use crate::a\nuse crate::{b::{One, two}, c};").unwrap();
    fs::write(folder.join("b/mod.rs"), "mod one; pub use one::One; pub fn two() {}").unwrap();
    fs::write(folder.join("b/one.rs"), "struct One; fn f() { super::super::a::g(\"crate::b\") }").unwrap();
    let cycle = Modules::read(&folder).cycle();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(cycle.as_deref(), Some("a → b::one → a"));
}

#[test]
fn a_javascript_import_cycle_is_reported() {
    let folder = std::env::temp_dir().join(format!("imports-js-{}", std::process::id()));
    fs::create_dir_all(folder.join("src/inner")).unwrap();
    fs::write(folder.join("src/a.js"), "import {\n  one,\n} from \"./inner/b.mjs\";").unwrap();
    fs::write(folder.join("src/inner/b.mjs"), "import \"other\"; export { c } from \"./c.js\";").unwrap();
    fs::write(folder.join("src/inner/c.js"), "const late = () => import(\"../a.js\");").unwrap();
    let cycle = Modules::read_javascript(&folder, &["src"]).cycle();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(cycle.as_deref(), Some("src/a.js → src/inner/b.mjs → src/inner/c.js → src/a.js"));
}

fn is_under(module: &str, ancestor: &str) -> bool {
    module.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
