//! Fails the build when libjpeg has no SIMD. Without an assembler `mozjpeg-sys` builds without it and only warns, which
//! cargo hides for a dependency; JPEG is then several times slower. So this reads the configuration of what was built.

use std::path::Path;
use std::{env, fs, process};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // mozjpeg-sys tells its dependents where its headers are; the configured ones come first.
    println!("cargo::rerun-if-env-changed=DEP_JPEG_INCLUDE");
    let include = env::var_os("DEP_JPEG_INCLUDE").unwrap_or_default();
    let has_simd = env::split_paths(&include).any(|folder| defines_simd(&folder.join("jconfig.h")));
    // docs.rs compiles no program, and may have no assembler.
    if !has_simd && env::var_os("DOCS_RS").is_none() {
        println!(
            "cargo::error=libjpeg was built without SIMD, which makes JPEG several times slower: nasm was missing. \
             Install it (Debian, Ubuntu: `apt-get install nasm`; Fedora: `dnf install nasm`; macOS: `brew \
             install nasm`), then run `cargo clean -p mozjpeg-sys` and build again."
        );
        process::exit(1);
    }
}

fn defines_simd(header: &Path) -> bool {
    fs::read_to_string(header)
        .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("#define WITH_SIMD")))
}
