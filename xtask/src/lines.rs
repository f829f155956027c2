//! `cargo xtask lines`: the lines of each room, beside the table in `docs/lines.md`. A test fails when a room has outgrown
//! the table, so growth is a decision, which its commit explains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use anyhow::{Context, Result};

use crate::command;
use crate::project::Project;

/// The table, in the repository.
const TABLE: &str = "docs/lines.md";
/// The columns after a room's name.
const COLUMNS: [&str; 5] = ["Rust", "JavaScript", "Python", "tests", "documents"];
/// Folders of tests, wherever they are; they count as such for their rooms.
const TESTS: [&str; 2] = ["tests", "benches"];
/// Folders that hold rooms, and not only files of their own.
const HOUSES: [&str; 5] = ["engine", "edge", "edge/src", "tiler", "tiler/src"];

/// Lines by room and column.
type Lines = BTreeMap<String, [usize; COLUMNS.len()]>;

/// Prints the lines of each room and those in the table. With `write`, the table gets the lines of today.
pub fn run(project: &Project, write: bool) -> Result<()> {
    let (now, path) = (count(project)?, project.root.join(TABLE));
    let text = fs::read_to_string(&path).context(TABLE)?;
    if write {
        let (head, _) = text.split_once("| room |").context("the table has no head")?;
        fs::write(path, format!("{head}{}", table(&now)))?;
        return Ok(());
    }
    let before = parse(&text);
    println!("{:24}{}", "room", COLUMNS.map(|name| format!("{name:>18}")).concat());
    for (room, lines) in &now {
        let old = before.get(room).copied().unwrap_or_default();
        let columns =
            lines.iter().zip(old).map(|(lines, old)| match lines.cast_signed() - old.cast_signed() {
                0 => format!("{lines:>18}"),
                grown => format!("{:>18}", format!("{lines} ({grown:+})")),
            });
        println!("{room:24}{}", columns.collect::<String>());
    }
    Ok(())
}

/// Counts the lines of the files that Git knows.
fn count(project: &Project) -> Result<Lines> {
    let mut lines = Lines::new();
    for path in command::output(project.command("git").args(["ls-files"]))?.lines().map(Path::new) {
        let Some((room, column)) = place(path) else { continue };
        if let Ok(text) = fs::read_to_string(project.root.join(path)) {
            lines.entry(room).or_default()[column] += text.lines().count();
        }
    }
    Ok(lines)
}

/// Returns the room of a file and its column; `None` for files that are neither code nor documents.
fn place(path: &Path) -> Option<(String, usize)> {
    let folders: Vec<&str> = path
        .parent()?
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None })
        .collect();
    let name = path.file_name()?.to_str()?;
    let is_test = folders.iter().any(|folder| TESTS.contains(folder)) || name == "tests.rs";
    let column = match name.rsplit_once('.')?.1 {
        "rs" | "js" | "mjs" | "py" if is_test => 3,
        "rs" => 0,
        "js" | "mjs" | "css" => 1,
        "py" | "pyi" => 2,
        "md" => 4,
        _ => return None,
    };
    let depth =
        (1..folders.len()).take_while(|depth| HOUSES.contains(&&*folders[..*depth].join("/"))).count() + 1;
    let room = folders.iter().take(depth).filter(|folder| !TESTS.contains(folder) || depth == 1);
    let room = room.copied().collect::<Vec<_>>().join("/");
    Some((if room.is_empty() { ".".to_owned() } else { room }, column))
}

/// Returns the rows of the table.
fn parse(text: &str) -> Lines {
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let room = cells.next()?.trim_matches('`').to_owned();
        let lines: Vec<usize> = cells.map_while(|cell| cell.parse().ok()).collect();
        Some((room, lines.try_into().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn table(lines: &Lines) -> String {
    let mut text = format!("| room | {} |\n|---{}|\n", COLUMNS.join(" | "), "|---".repeat(COLUMNS.len()));
    for (room, lines) in lines {
        text += &format!("| `{room}` | {} |\n", lines.map(|lines| lines.to_string()).join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A room may have this many lines more than the table says, if a twentieth is less.
    const SLACK: usize = 40;

    #[test]
    fn no_room_has_outgrown_the_table() {
        let project = Project::locate().unwrap();
        let table = parse(&fs::read_to_string(project.root.join(TABLE)).unwrap());
        assert!(!table.is_empty());
        let mut outgrown = vec![];
        for (room, lines) in count(&project).unwrap() {
            for ((lines, old), column) in
                lines.into_iter().zip(table.get(&room).copied().unwrap_or_default()).zip(COLUMNS)
            {
                if lines > old + SLACK.max(old / 20) {
                    outgrown.push(format!("{room}: {lines} lines of {column}, in place of {old}"));
                }
            }
        }
        assert!(
            outgrown.is_empty(),
            "delete something, or say why in the commit that writes {TABLE} anew: {outgrown:#?}"
        );
    }

    #[test]
    fn a_file_has_a_room_and_a_column() {
        for (path, expected) in [
            ("engine/codecs/src/formats/psd/mod.rs", Some(("engine/codecs", 0))),
            ("engine/codecs/tests/formats/variant.rs", Some(("engine/codecs", 3))),
            ("engine/python/edgezoom/options.py", Some(("engine/python", 2))),
            ("edge/src/text/text.js", Some(("edge/src/text", 1))),
            ("edge/src/lib.rs", Some(("edge/src", 0))),
            ("edge/src/tests/mod.rs", Some(("edge/src", 3))),
            ("edge/tests/iiif.test.mjs", Some(("edge", 3))),
            ("edge/viewer/zoom/viewer.css", Some(("edge/viewer", 1))),
            ("edge/viewer/tests/zoom.test.mjs", Some(("edge/viewer", 3))),
            ("tests/src/lib.rs", Some(("tests", 3))),
            ("README.md", Some((".", 4))),
            ("Cargo.toml", None),
        ] {
            let placed = place(Path::new(path));
            assert_eq!(placed.as_ref().map(|(room, column)| (room.as_str(), *column)), expected, "{path}");
        }
    }

    #[test]
    fn a_written_table_is_read_as_it_was() {
        let lines =
            Lines::from([("edge/src".to_owned(), [1, 2, 3, 4, 5]), (".".to_owned(), [0, 0, 0, 0, 9])]);
        assert_eq!(parse(&table(&lines)), lines);
    }
}
