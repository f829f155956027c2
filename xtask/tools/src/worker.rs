//! Turns the WebAssembly that Cargo compiled into `edge/build`: `worker/` is what the Workers runtime loads, `assets/`
//! what it serves as static files. It downloads nothing: wasm-bindgen is linked into this program, esbuild is an npm
//! package.

use std::fs;
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use wasm_bindgen_cli_support::Bindgen;
use xtask::command;
use xtask::project::Project;
use xtask::setup::WASM;

/// Names of the other modules with wasm, which isolates load that need them, with the maximum compressed size of each: that which
/// renders regions (`edge/src/regions/render.js` imports it), and the rules of collections (`edge/src/collections/rules.js`).
const OTHERS: [(&str, usize); 2] = [("regions", 200_000), ("collections", 300_000)];
/// The files that each new isolate loads and compiles, and their maximum compressed size together (docs/decisions/0047).
/// `shared.js` is what the first and the second module of JavaScript both import.
const FIRST: [&str; 3] = ["index.js", "index_bg.wasm", "shared.js"];
const MOST_BYTES: usize = 535_000;
/// The second module of JavaScript (`edge/objects.js`), and its maximum compressed size.
const SECOND: &str = "objects.js";
const MOST_BYTES_OF_SECOND: usize = 25_000;
/// The statements with which wasm-bindgen's script makes the module's instance. The others' scripts go
/// without: their loaders call `__wbg_reset_state`, which does the same and can be repeated if it fails.
const START: &str = "let wasmInstance = new WebAssembly.Instance(wasmModule, __wbg_get_imports());\n\
                     let wasm = wasmInstance.exports;\nwasm.__wbindgen_start();\n";
/// Inputs of the build besides the wasm. This file is one, because changing it changes the output.
const INGREDIENTS: [&str; 13] = [
    "Cargo.toml",
    "docs/limits.md",
    "edge/entry.js",
    "edge/interface",
    "edge/objects.js",
    "edge/queue",
    "edge/src",
    "edge/text",
    "edge/viewer",
    "package.json",
    "package-lock.json",
    "tiler/src/bot.rs",
    "xtask/tools/src/worker.rs",
];

/// Builds `edge/build`, unless it was built from the same inputs.
pub fn build(project: &Project) -> Result<()> {
    let _lock = project.lock()?;
    let built = project.target.join(WASM).join("edge");
    let wasm = built.join("edgezoom_edge.wasm");
    let others = OTHERS.map(|(name, most)| (name, built.join(format!("edgezoom_edge_{name}.wasm")), most));
    let files = others.iter().map(|(_, file, _)| file).chain([&wasm]).cloned().collect();
    let ingredients = digest(project, files)?;
    let folder = project.root.join("edge/build");
    let stamp = folder.join("made-of");
    if fs::read_to_string(&stamp).is_ok_and(|made_of| made_of == ingredients) {
        return Ok(());
    }
    eprintln!("xtask | building the Worker");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove edge/build")?;
    }
    let worker = folder.join("worker");
    fs::create_dir_all(&worker)?;
    module(project, &wasm, "index", true, &worker)?;
    check_size(&worker, &FIRST, "the Worker", MOST_BYTES)?;
    check_size(&worker, &[SECOND], "its second module", MOST_BYTES_OF_SECOND)?;
    for (name, wasm, most) in others {
        module(project, &wasm, name, false, &worker)?;
        let files = [&*format!("{name}.js"), &*format!("{name}_bg.wasm")];
        check_size(&worker, &files, &format!("its module {name}"), most)?;
    }
    command::run(project.npm()?.args(["run", "--silent", "build:viewer"]))?;
    fs::write(stamp, ingredients).context("cannot write edge/build")
}

/// Turns rustc's output into what the Workers runtime loads: `<name>_bg.wasm` and `<name>.js`. That of the first module has
/// `edge/entry.js`, and is built with `edge/objects.js`. Loading the script of another one does not [start](START) an
/// instance.
fn module(project: &Project, wasm: &Path, name: &str, is_first: bool, folder: &Path) -> Result<()> {
    let staging = tempfile::tempdir_in(&project.target)?;
    let bindings = staging.path().join(name).with_added_extension("js");
    let mut bindgen = Bindgen::new();
    bindgen.module(true)?.typescript(false).reset_state_function(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let mut output = bindgen.input_path(wasm).out_name(name).generate_output()?;
    // Each name of an import ends in a hash, which does not compress, here and in the script: 6 KB.
    let mut names = vec![];
    for (number, import) in output.wasm_mut().imports.iter_mut().enumerate() {
        let short = format!("i{number}");
        names.push((mem::replace(&mut import.name, short.clone()), short));
    }
    output.wasm_mut().customs.remove_raw("target_features"); // for linkers alone
    output.emit(staging.path())?;
    link_sources(project, &staging.path().join("snippets"))?;
    // Neither wrangler nor workerd supports source phase imports.
    let mut script = fs::read_to_string(&bindings)?.replace("import source ", "import ");
    script = names.iter().fold(script, |script, (name, short)| script.replace(name, short));
    // So that esbuild drops the classes that nothing uses. No code has a `using` of one.
    script = script.replace("new FinalizationRegistry(", "/* @__PURE__ */ new FinalizationRegistry(");
    script = script
        .lines()
        .filter(|line| !line.starts_with("if (Symbol.dispose)"))
        .fold(String::with_capacity(script.len()), |kept, line| kept + line + "\n");
    if !is_first {
        ensure!(script.contains(START), "wasm-bindgen starts an instance in other words than {START:?}");
        script = script.replace(START, "let wasmInstance, wasm;\n");
    }
    fs::write(&bindings, script)?;
    let mut esbuild = project.node_tool("esbuild")?;
    esbuild.args(["--minify", "--format=esm", "--target=es2022", "--log-level=warning"]);
    if is_first {
        esbuild.args([&*format!("{name}=edge/entry.js"), "objects=edge/objects.js"]);
        esbuild.args(["--bundle", "--splitting", "--chunk-names=shared"]);
        esbuild.args(["--external:cloudflare:*", "--external:*.wasm"]);
        // Loaded when they are needed.
        esbuild.args(OTHERS.map(|(name, _)| format!("--external:*/{name}.js")));
        esbuild.arg(format!("--alias:wasm-bindgen-output={}", bindings.display()));
    } else {
        esbuild.arg(&bindings);
    }
    command::run(esbuild.arg(format!("--outdir={}", folder.display())))?;
    let output = format!("{name}_bg.wasm");
    fs::copy(staging.path().join(&output), folder.join(&output)).context("cannot copy the module")?;
    Ok(())
}

/// Replaces the copies of our scripts that wasm-bindgen makes, `<crate>/src/…`, by links to the scripts. A copy cannot
/// import its neighbours, and it would be in the Worker beside the script itself, with a state of its own.
fn link_sources(project: &Project, copies: &Path) -> Result<()> {
    let mut files = vec![];
    if copies.exists() {
        collect(copies, &mut files)?;
    }
    for copy in files {
        let within: PathBuf = copy.strip_prefix(copies)?.components().skip(1).collect();
        let script = project.root.join("edge").join(within);
        if script.exists() {
            fs::remove_file(&copy)?;
            std::os::unix::fs::symlink(script, &copy)?;
        }
    }
    Ok(())
}

/// Returns a digest of all inputs.
fn digest(project: &Project, mut files: Vec<PathBuf>) -> Result<String> {
    for ingredient in INGREDIENTS {
        collect(&project.root.join(ingredient), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        hash.update(file.to_string_lossy().as_bytes());
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Adds a file, or all files of a directory tree.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

/// Prints the size of a directory's files with these names, compressed as for an upload, and checks it.
fn check_size(folder: &Path, files: &[&str], what: &str, most: usize) -> Result<()> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for file in files {
        gzip.write_all(&fs::read(folder.join(file))?)?;
    }
    let bytes = gzip.finish()?.len();
    eprintln!("xtask | the compressed size of {what} is {:.0} KB", bytes as f64 / 1000.0);
    if bytes > most {
        bail!(
            "the compressed size of {what} is {bytes} bytes, more than the limit of {most}; make it smaller or raise the limit in xtask/tools/src/worker.rs"
        );
    }
    Ok(())
}
