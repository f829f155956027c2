//! The SBOM of an archive: a CycloneDX document (https://cyclonedx.org/docs/1.6/json/) with each crate in the tiler, by
//! name, version, licence and checksum, and with PDFium. C libraries are in the crates that compile them. It has no
//! time and no serial number, so that the same commit makes the same document.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::packages::{Package, TILER};
use crate::command;
use crate::setup::pinned;

/// Returns the document for the packages of the tiler, and the SHA-256 of the PDFium beside it.
pub fn cyclonedx(packages: &[Package], pdfium: &str, target: &str) -> Result<String> {
    let tiler = packages.iter().find(|package| package.name == TILER).context("the tiler is no package")?;
    let rustc = command::output(Command::new("rustc").arg("--version"))?;
    let pdfium = pdfium_component(pdfium);
    let mut uses: Vec<Value> = packages.iter().map(|package| dependencies(package, &pdfium)).collect();
    uses.push(json!({ "ref": pdfium["bom-ref"] }));
    let libraries = packages.iter().filter(|package| package.name != TILER);
    let mut components: Vec<Value> = libraries.map(|package| component(package, "library")).collect();
    components.push(pdfium);
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component(tiler, "application"),
            "properties": [
                { "name": "edgezoom:rustc", "value": rustc.trim() },
                { "name": "edgezoom:target", "value": target },
            ],
        },
        "components": components,
        "dependencies": uses,
    });
    Ok(format!("{document:#}\n"))
}

/// Returns the package URL of a crate (https://github.com/package-url/purl-spec).
fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn component(package: &Package, kind: &str) -> Value {
    let url = purl(&package.name, &package.version);
    let mut component = json!({
        "type": kind,
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "licenses": [{ "expression": package.licence }],
        "purl": url,
    });
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if !package.repository.is_empty() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": package.repository }]);
    }
    component
}

fn pdfium_component(sum: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": "pdfium",
        "name": "pdfium",
        "version": pinned::PDFIUM_VERSION,
        "licenses": [{ "expression": "BSD-3-Clause AND Apache-2.0" }],
        "purl": format!("pkg:generic/pdfium@{}", pinned::PDFIUM_VERSION),
        "hashes": [{ "alg": "SHA-256", "content": sum }],
        "externalReferences": [
            { "type": "vcs", "url": "https://pdfium.googlesource.com/pdfium" },
            { "type": "distribution", "url": format!("https://pypi.org/project/{}/", pinned::PDFIUM.replace("==", "/")) },
        ],
    })
}

/// Returns what a package uses. The tiler loads PDFium.
fn dependencies(package: &Package, pdfium: &Value) -> Value {
    let mut uses: Vec<Value> =
        package.uses.iter().map(|(name, version)| purl(name, version).into()).collect();
    if package.name == TILER {
        uses.push(pdfium["bom-ref"].clone());
    }
    json!({ "ref": purl(&package.name, &package.version), "dependsOn": uses })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::project::Project;
    use crate::release::packages;

    #[test]
    fn the_sbom_has_every_linked_package_with_its_checksum_and_what_it_uses() {
        let project = Project::locate().unwrap();
        for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
            let packages = packages::linked(&project, TILER, target).unwrap();
            let text = cyclonedx(&packages, &"0".repeat(64), target).unwrap();
            let document: Value = serde_json::from_str(&text).unwrap();
            let components = document["components"].as_array().unwrap();
            assert_eq!(components.len(), packages.len()); // without the tiler, with PDFium
            let reference = |component: &Value| component["bom-ref"].as_str().unwrap().to_owned();
            let mut known: BTreeSet<String> = components.iter().map(reference).collect();
            known.insert(reference(&document["metadata"]["component"]));
            for crates in ["mozjpeg-sys", "libwebp-sys", "zstd-sys", "libdeflate-sys", "fearless_simd"] {
                let component = components.iter().find(|component| component["name"] == crates).unwrap();
                assert_eq!(component["hashes"][0]["content"].as_str().unwrap().len(), 64, "{component}");
            }
            for entry in document["dependencies"].as_array().unwrap() {
                assert!(known.contains(entry["ref"].as_str().unwrap()), "{entry}");
                for used in entry["dependsOn"].as_array().into_iter().flatten() {
                    assert!(known.contains(used.as_str().unwrap()), "{entry}");
                }
            }
            assert!(!text.contains(project.root.to_str().unwrap()), "a path of this machine");
        }
    }
}
