//! Turns the WebAssembly that Cargo compiled into `edge/build`: `worker/` is what the Workers runtime loads, `assets/` what it serves as
//! static files. It downloads nothing: wasm-bindgen is linked into this program, esbuild and binaryen are npm packages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use wasm_bindgen_cli_support::Bindgen;
use xtask::command;
use xtask::project::Project;
use xtask::setup::WASM;

/// Maximum compressed size of the Worker: each new isolate loads and compiles all of it.
const MOST_BYTES: usize = 600_000;
/// Inputs of the build besides the wasm. This file is one, because changing it changes the output.
const INGREDIENTS: [&str; 11] = [
    "Cargo.toml",
    "docs/limits.md",
    "edge/entry.js",
    "edge/interface",
    "edge/src/admin",
    "edge/src/platform",
    "edge/viewer",
    "package.json",
    "package-lock.json",
    "tiler/src/bot/mod.rs",
    "xtask/tools/src/worker.rs",
];
/// WebAssembly features that rustc may use; wasm-opt rejects them unless they are named.
const WASM_FEATURES: [&str; 7] = [
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];

/// Builds `edge/build`, unless it was built from the same inputs.
pub fn build(project: &Project) -> Result<()> {
    let _lock = project.lock()?;
    let wasm = project.target.join(WASM).join("edge/edgezoom_edge.wasm");
    let ingredients = digest(project, &wasm)?;
    let folder = project.root.join("edge/build");
    let stamp = folder.join("made-of");
    if fs::read_to_string(&stamp).is_ok_and(|made_of| made_of == ingredients) {
        return Ok(());
    }
    eprintln!("xtask | building the Worker");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove edge/build")?;
    }
    worker(project, &wasm, &folder.join("worker"))?;
    command::run(project.npm()?.args(["run", "--silent", "build:viewer"]))?;
    let bytes = compressed_bytes(&folder.join("worker"))?;
    eprintln!("xtask | the Worker's compressed size is {:.0} KB", bytes as f64 / 1000.0);
    if bytes > MOST_BYTES {
        bail!(
            "the Worker's compressed size is {bytes} bytes, more than the limit of {MOST_BYTES}; make it smaller or raise the limit in xtask/tools/src/worker.rs"
        );
    }
    fs::write(stamp, ingredients).context("cannot write edge/build")
}

/// Turns rustc's output into what the Workers runtime loads: `index.js` and `index_bg.wasm`.
fn worker(project: &Project, wasm: &Path, folder: &Path) -> Result<()> {
    let staging = tempfile::tempdir_in(&project.target)?;
    let bindings = staging.path().join("index.js");
    Bindgen::new()
        .module(true)?
        .typescript(false)
        .reset_state_function(true)
        .input_path(wasm)
        .out_name("index")
        .generate(staging.path())?;
    // Neither wrangler nor workerd supports source phase imports.
    let script = fs::read_to_string(&bindings)?.replace("import source ", "import ");
    fs::write(&bindings, script)?;
    fs::create_dir_all(folder)?;
    let mut esbuild = project.node_tool("esbuild")?;
    esbuild.args(["edge/entry.js", "--bundle", "--minify", "--format=esm", "--target=es2022"]);
    esbuild.args(["--external:cloudflare:*", "--external:*.wasm", "--log-level=warning"]);
    esbuild.arg(format!("--alias:wasm-bindgen-output={}", bindings.display()));
    command::run(esbuild.arg(format!("--outfile={}", folder.join("index.js").display())))?;
    let mut wasm_opt = project.node_tool("wasm-opt")?;
    wasm_opt.arg(staging.path().join("index_bg.wasm")).arg("-O3").args(WASM_FEATURES);
    command::run(wasm_opt.arg("-o").arg(folder.join("index_bg.wasm")))
}

/// Returns a digest of all inputs.
fn digest(project: &Project, wasm: &Path) -> Result<String> {
    let mut files = vec![wasm.to_owned()];
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

/// Returns the size of a directory's files in bytes, compressed as for an upload.
fn compressed_bytes(folder: &Path) -> Result<usize> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for entry in fs::read_dir(folder)? {
        gzip.write_all(&fs::read(entry?.path())?)?;
    }
    Ok(gzip.finish()?.len())
}
