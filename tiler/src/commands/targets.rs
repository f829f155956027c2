//! Arguments that may come from standard input.

use std::io::BufRead;

/// Returns the targets of a command. Replaces `-` by the lines of standard input.
pub(super) fn targets(given: &[String]) -> anyhow::Result<Vec<String>> {
    let mut targets = vec![];
    for target in given {
        if target == "-" {
            for line in std::io::stdin().lock().lines() {
                targets.push(line?.trim().to_owned());
            }
        } else {
            targets.push(target.clone());
        }
    }
    targets.retain(|target| !target.is_empty());
    Ok(targets)
}
