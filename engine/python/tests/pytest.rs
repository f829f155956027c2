//! Runs pytest on the package and the module that Cargo has compiled with this program. It takes the arguments that
//! `cargo xtask test` passes to Rust's test programs, and `conftest.py` prints the same events.

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Debian's, for which set-up installs pytest and NumPy.
const PYTHON: &str = "/usr/bin/python3";

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env::current_exe()?;
    let compiled = program.parent().ok_or("the program is in no folder")?; // target/debug/deps
    let path = compiled.with_file_name("python");
    let package = path.join("edgezoom");
    let _ = fs::remove_dir_all(&package); // it may not exist
    fs::create_dir_all(&package)?;
    for file in fs::read_dir(here.join("edgezoom"))? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), package.join(file.file_name()))?;
        }
    }
    fs::copy(compiled.join("libedgezoom_python.so"), package.join("_edgezoom.abi3.so"))?;

    let arguments: Vec<String> = env::args().skip(1).collect();
    let tests = arguments.iter().skip_while(|argument| *argument != "--exact").nth(1);
    let mut pytest = Command::new(PYTHON);
    // The sources beside the tests lack the module, so the folder is not on the path.
    pytest.args(["-P", "-m", "pytest", "-p", "no:cacheprovider", "--quiet"]).current_dir(here);
    if arguments.iter().any(|argument| argument == "--format=json") {
        pytest.args(["--no-summary", "--events"]);
    }
    pytest.arg(tests.map_or("tests", String::as_str));
    let pdfium = env::var_os("EDGEZOOM_PDFIUM").filter(|named| !named.is_empty());
    pytest
        .env("EDGEZOOM_PDFIUM", pdfium.unwrap_or_else(|| compiled.join("../../pdfium/libpdfium.so").into()));
    let paths = env::join_paths([path, compiled.join("../../notebook")])?;
    pytest.env("EDGEZOOM_TILER", compiled.with_file_name("tiler"));
    pytest.env("PYTHONPATH", paths).env("PYTHONDONTWRITEBYTECODE", "1");
    Err(pytest.exec().into())
}
