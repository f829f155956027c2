//! Finds the imports between the modules of a crate in the text of its sources. Understands only `use` trees, paths
//! that begin with `crate`, `self` or `super`, and re-exports, which count as an import of the module that defines the
//! item. Ignores tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Name = Vec<String>;

/// Modules of one crate and their imports.
pub struct Modules {
    imports: BTreeMap<Name, BTreeSet<Name>>,
    crates: BTreeSet<(String, String)>,
}

/// Imports and paths in a source file, without comments, string literals and tests.
struct Source {
    uses: Vec<(bool, Name)>,
    paths: Vec<Name>,
    /// Names of the modules in files of their own that only tests have.
    tests: Vec<String>,
}

impl Modules {
    /// Reads all modules of a `src` folder.
    pub fn read(src: &Path) -> Self {
        let mut sources = BTreeMap::new();
        collect(src, &vec![], &mut sources);
        let tests: Vec<Name> = sources
            .iter()
            .flat_map(|(module, source)| {
                source.tests.iter().map(|name| [&module[..], std::slice::from_ref(name)].concat())
            })
            .collect();
        sources.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let mut exports = BTreeMap::new();
        for (module, source) in &sources {
            for (_, path) in source.uses.iter().filter(|(public, _)| *public) {
                if let (Some(path), Some(name)) = (absolute(module, path, &sources), path.last()) {
                    exports.insert((module.clone(), name.clone()), path);
                }
            }
        }
        let mut imports = BTreeMap::new();
        let mut crates = BTreeSet::new();
        for (module, source) in &sources {
            let used = source.uses.iter().filter(|(public, _)| !public).map(|(_, path)| path);
            let mut targets = BTreeSet::new();
            for path in used.chain(&source.paths) {
                match absolute(module, path, &sources) {
                    Some(path) => {
                        targets.insert(resolve(&path, &sources, &exports));
                    }
                    None => {
                        crates.insert((module.join("::"), path[0].clone()));
                    }
                }
            }
            targets.remove(module);
            imports.insert(module.clone(), targets);
        }
        Self { imports, crates }
    }

    /// Reads the JavaScript modules in some folders of the repository. A module's name is its path.
    pub fn read_javascript(root: &Path, folders: &[&str]) -> Self {
        let mut imports = BTreeMap::new();
        for folder in folders {
            collect_javascript(root, Path::new(folder), &mut imports);
        }
        Self { imports, crates: BTreeSet::new() }
    }

    /// Returns the rooms and the imports between them: a room is a file or folder beside the crate's root, with all that
    /// is below it.
    pub fn rooms(&self) -> Self {
        let mut imports: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let room = |module: &Name| module.first().map(|room| vec![room.clone()]);
        for (from, to) in &self.imports {
            let Some(from) = room(from) else { continue }; // the root names all rooms
            let others = to.iter().filter_map(room).filter(|to| *to != from);
            imports.entry(from.clone()).or_default().extend(others);
        }
        Self { imports, crates: BTreeSet::new() }
    }

    /// Returns each import as the importing and the imported module.
    pub fn imports(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = |(from, to): (&Name, &BTreeSet<Name>)| {
            to.iter().map(|to| (from.join("::"), to.join("::"))).collect::<Vec<_>>()
        };
        self.imports.iter().flat_map(pairs)
    }

    /// Returns pairs of a module and another crate that it uses.
    pub fn crates(&self) -> impl Iterator<Item = &(String, String)> {
        self.crates.iter()
    }

    /// Returns the modules of an import cycle, if there is one.
    pub fn cycle(&self) -> Option<String> {
        let mut done = BTreeSet::new();
        self.imports.keys().find_map(|module| self.cycle_from(module, &mut vec![], &mut done))
    }

    fn cycle_from<'a>(
        &'a self,
        module: &'a Name,
        path: &mut Vec<&'a Name>,
        done: &mut BTreeSet<&'a Name>,
    ) -> Option<String> {
        if let Some(first) = path.iter().position(|before| *before == module) {
            let names = path[first..].iter().chain([&module]).map(|name| name.join("::"));
            return Some(names.collect::<Vec<_>>().join(" → "));
        }
        if done.contains(module) {
            return None;
        }
        let imports = self.imports.get(module)?;
        path.push(module);
        // Imports of an ancestor do not count: a submodule may use its parent's items.
        let imports = imports.iter().filter(|next| !module.starts_with(next));
        let found = imports.into_iter().find_map(|next| self.cycle_from(next, path, done));
        path.pop();
        done.insert(module);
        found
    }
}

fn collect(folder: &Path, under: &Name, sources: &mut BTreeMap<Name, Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = [under.clone(), vec![name.clone()]].concat();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            collect(&path, &module, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = matches!(name.as_str(), "lib" | "main" | "mod");
            let source = Source::read(&fs::read_to_string(&path).unwrap());
            sources.insert(if is_root { under.clone() } else { module }, source);
        }
    }
}

fn collect_javascript(root: &Path, folder: &Path, imports: &mut BTreeMap<Name, BTreeSet<Name>>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        if path.ends_with("node_modules") || path.ends_with("edge/build") {
            continue;
        }
        if root.join(&path).is_dir() {
            collect_javascript(root, &path, imports);
        } else if path.extension().is_some_and(|extension| extension == "js" || extension == "mjs") {
            let text = fs::read_to_string(root.join(&path)).unwrap();
            let module = |path: &Path| vec![path.to_string_lossy().into_owned()];
            let targets = relative_imports(&text).map(|target| module(&joined(folder, target))).collect();
            imports.insert(module(&path), targets);
        }
    }
}

/// Returns the relative paths after `from`, `import` and `import(`.
fn relative_imports(text: &str) -> impl Iterator<Item = &str> {
    ["from \"", "import \"", "import(\""].into_iter().flat_map(move |before| {
        let quoted = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
        quoted.filter(|target| target.starts_with('.'))
    })
}

/// Joins a relative path to a folder and resolves `.` and `..`.
fn joined(folder: &Path, target: &str) -> PathBuf {
    let mut joined = folder.to_owned();
    for part in target.split('/').filter(|part| *part != ".") {
        if part == ".." {
            joined.pop();
        } else {
            joined.push(part);
        }
    }
    joined
}

/// Converts a path to one from the crate's root. Returns `None` if it leads to another crate.
fn absolute(module: &Name, path: &Name, sources: &BTreeMap<Name, Source>) -> Option<Name> {
    let mut base = module.clone();
    let mut rest = path.as_slice();
    match rest.first()?.as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            while rest.first()? == "super" && rest.get(1).is_some_and(|next| next == "super") {
                base.pop();
                rest = &rest[1..];
            }
            base.pop();
        }
        first => {
            let child = [base, vec![first.to_owned()]].concat();
            return sources.contains_key(&child).then(|| [module, path.as_slice()].concat());
        }
    }
    Some([base.as_slice(), &rest[1..]].concat())
}

/// Returns the module that defines the item at a path.
fn resolve(path: &Name, sources: &BTreeMap<Name, Source>, exports: &BTreeMap<(Name, String), Name>) -> Name {
    let mut module = vec![];
    for (index, name) in path.iter().enumerate() {
        let child = [module.clone(), vec![name.clone()]].concat();
        if sources.contains_key(&child) {
            module = child;
        } else if let Some(exported) = exports.get(&(module.clone(), name.clone())) {
            return resolve(&[exported.as_slice(), &path[index + 1..]].concat(), sources, exports);
        } else {
            break;
        }
    }
    module
}

impl Source {
    fn read(text: &str) -> Self {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let tokens = tokens(text);
        let (mut uses, mut paths) = (vec![], vec![]);
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let end =
                    tokens[at..].iter().position(|token| token == ";").map_or(tokens.len(), |end| at + end);
                let public = tokens[..at]
                    .iter()
                    .rev()
                    .take(4)
                    .take_while(|token| !ends(token))
                    .any(|token| token == "pub");
                expand(&tokens[at + 1..end], &vec![], &mut |path| uses.push((public, path)));
                at = end;
            } else if at + 1 < tokens.len() && tokens[at + 1] == "::" && (at == 0 || tokens[at - 1] != "::") {
                let mut path = vec![tokens[at].clone()];
                while tokens.get(at + 1).is_some_and(|token| token == "::") {
                    path.extend(tokens.get(at + 2).cloned());
                    at += 2;
                }
                if matches!(path[0].as_str(), "crate" | "self" | "super" | "worker") {
                    paths.push(path);
                }
            }
            at += 1;
        }
        let tests = text.split("#[cfg(test)]").skip(1).filter_map(|rest| {
            let (declared, _) = rest.split_once(';')?;
            let name = declared
                .trim()
                .strip_prefix("pub(crate) ")
                .unwrap_or(declared.trim())
                .strip_prefix("mod ")?;
            name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
        });
        Self { uses, paths, tests: tests.collect() }
    }
}

fn ends(token: &str) -> bool {
    matches!(token, ";" | "{" | "}")
}

/// Calls `give` with each path of a `use` tree.
fn expand(tree: &[String], prefix: &Name, give: &mut impl FnMut(Name)) {
    let mut path = prefix.clone();
    let mut at = 0;
    while let Some(token) = tree.get(at) {
        match token.as_str() {
            "::" => {}
            "{" => {
                let mut depth = 0;
                let mut begin = at + 1;
                for (index, token) in tree.iter().enumerate().skip(at) {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    if depth == 0 || (depth == 1 && token == ",") {
                        if begin < index {
                            expand(&tree[begin..index], &path, give);
                        }
                        begin = index + 1;
                    }
                }
                return;
            }
            "as" => break,
            "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    give(path);
}

/// Splits Rust source into names, `::` and single characters. Drops comments and string literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if first == '"' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let closes = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                closes
            });
            end.map_or(rest.len(), |(at, _)| at + 1)
        } else if rest.starts_with("'\"'") || rest.starts_with("b'\"'") {
            rest.find("\"'").map_or(1, |at| at + 2)
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}
