//! Finds the viewer of `--viewer`, and names the source on its page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use edgezoom_content::Title;
use edgezoom_pyramid::sinks::Site;
use percent_encoding::percent_decode_str;
use url::Url;

const NO_VIEWER: &str = "--viewer needs the built viewer: take the program from a release, which has it in viewer/, or set \
                         EDGEZOOM_VIEWER to the path of such a folder";

/// Returns the contents of the built viewer's files.
///
/// # Errors
/// The viewer is not installed.
pub(super) fn viewer() -> anyhow::Result<[String; 3]> {
    let folder = locate().context(NO_VIEWER)?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("{NO_VIEWER}: {}", path.display()))
    };
    let [script, style, page] = Site::FILES;
    Ok([read(script)?, read(style)?, read(page)?])
}

/// Finds the built viewer: the folder named by `EDGEZOOM_VIEWER`, or else `viewer/` beside the executable (as in a
/// release), or the repository's. Returns `None` if it is not installed.
fn locate() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("EDGEZOOM_VIEWER").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let [.., page] = Site::FILES;
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?;
    // The programs are in target/debug/, their tests one folder deeper, as are programs for another machine.
    let built = folder.ancestors().take(4).map(|above| above.join("edge/build/site"));
    std::iter::once(folder.join("viewer")).chain(built).find(|folder| folder.join(page).is_file())
}

/// Returns the title of a source that has none: the name of its file without the ending, or its host.
pub(super) fn name_of(source: &Path) -> String {
    let url = source.to_str().filter(|text| text.starts_with("http")).and_then(|text| Url::parse(text).ok());
    let file = match &url {
        Some(url) => {
            let last = url.path_segments().and_then(|parts| parts.rev().find(|part| !part.is_empty()));
            last.map(|part| percent_decode_str(part).decode_utf8_lossy())
        }
        None => source.file_name().map(|name| name.to_string_lossy()),
    };
    let title = file.and_then(|file| Title::of_file(&file)).map(|title| title.to_string());
    let host = || url.as_ref().and_then(Url::host_str).unwrap_or("Picture").to_owned();
    title.unwrap_or_else(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_the_name_of_its_file_or_host() {
        for (source, name) in [
            ("scans/old town.jpg", "old town"),
            ("https://example.com/maps/old%20town.jpg?size=9#x", "old town"),
            ("https://example.com/", "example.com"),
            ("httpd.png", "httpd"),
            ("/", "Picture"),
        ] {
            assert_eq!(name_of(Path::new(source)), name, "{source}");
        }
    }
}
