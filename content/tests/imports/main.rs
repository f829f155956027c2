//! Checks the imports against docs/architecture.md: no import cycle within a crate, and no import against the direction
//! between modules. Reads the sources as text (`modules.rs`), so it needs neither the crates' dependencies nor a
//! nightly compiler.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod modules;

use std::fs;
use std::path::{Path, PathBuf};

use modules::Modules;

/// Crates with the order of their rooms: each imports only from those before it.
#[rustfmt::skip]
const FLOORS: [(&str, &[&str]); 2] = [
    ("edge", &[
        "config", "containers", "admission", "response", "request", "representation", "pages", "platform", "durable",
        "lookup", "uploads", "text", "regions", "tiler_api", "handlers", "entry", "fuzz",
    ]),
    ("tiler", &[
        "descriptors", "secret", "credentials", "limits", "nat64", "local_networks", "proc", "bot", "http_client", "sandbox", "renderer",
        "fetch", "browser", "s3", "pipeline", "failure", "service", "edge_metrics", "commands",
    ]),
];

/// Modules of the edge that are tested natively and must not use the `worker` crate.
const PURE: [&str; 8] = [
    "admission",
    "config",
    "containers",
    "pages",
    "regions::tile_runs",
    "representation",
    "request",
    "response",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the folders of the workspace's crates.
fn crates() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    members.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn neither_files_nor_rooms_import_in_a_circle() {
    let cycles: Vec<_> = crates()
        .iter()
        .flat_map(|name| {
            let modules = Modules::read(&root().join(name).join("src"));
            [modules.cycle(), modules.rooms().cycle()].map(|cycle| Some(format!("{name}: {}", cycle?)))
        })
        .flatten()
        .collect();
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn rooms_import_only_from_lower_floors() {
    for (name, rooms) in FLOORS {
        let modules = Modules::read(&root().join(name).join("src")).rooms();
        let floor = |room: &str| rooms.iter().position(|of| *of == room);
        let upward: Vec<_> = modules.imports().filter(|(from, to)| floor(from) <= floor(to)).collect();
        assert!(upward.is_empty(), "{name}: {upward:?}");
    }
}

#[test]
fn no_javascript_has_an_import_cycle() {
    let modules = Modules::read_javascript(&root(), &["edge", "deploy", "tests/browser"]);
    let entry = ("edge/objects.js".to_owned(), "edge/src/admin/calls.js".to_owned());
    assert!(modules.imports().any(|import| import == entry), "no imports were found");
    assert_eq!(modules.cycle(), None);
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
    let modules = Modules::read(&folder);
    fs::write(folder.join("a.rs"), "use crate::b;").unwrap();
    fs::write(folder.join("b/mod.rs"), "mod one;").unwrap();
    let rooms = Modules::read(&folder);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(modules.cycle().as_deref(), Some("a → b::one → a"));
    assert_eq!((rooms.cycle(), rooms.rooms().cycle().as_deref()), (None, Some("a → b → a")));
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
