//! Statements on formats in the documentation agree with the list of formats.

use std::fs;
use std::path::Path;

use edgezoom_codecs::Format;

/// Finds a format by its name ("PNG") or a file extension ("PPM").
fn find(name: &str) -> Option<&'static Format> {
    let has_ending = |format: &&Format| format.endings.iter().any(|ending| ending.eq_ignore_ascii_case(name));
    Format::all().find(|format| format.name == name).or_else(|| Format::all().find(has_ending))
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_number_of_formats_is_right() {
    let number = format!("{} formats", Format::all().count());
    for path in ["README.md", "engine/codecs/README.md", "engine/codecs/Cargo.toml"] {
        assert!(read(path).contains(&number), "{path} should say {number}");
    }
}

#[test]
fn documented_formats_are_read_as_documented() {
    let text = read("docs/limits.md");
    let (_, table) = text.split_once("|---|---|---|\n").unwrap();
    let mut documented = 0;
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, formats, reading, ..] = cells.as_slice() else { panic!("{row}") };
        if *formats == "web page" {
            continue;
        }
        // Variants follow a colon.
        for name in formats.split(':').next().unwrap().split(", ") {
            let format = find(name).unwrap_or_else(|| panic!("{name} is not in the table of formats"));
            assert!(
                reading.contains(&format.reading.to_string()),
                "{format} is read {}: {row}",
                format.reading
            );
            documented += 1;
        }
    }
    assert!(documented >= 20, "the table was not found");
}
