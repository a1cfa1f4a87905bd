//! Golden files: committed texts that promise something, compared whole with what the code makes now.
//!
//! A change of one is seen in review, and its commit says so. After a change that is meant, run the tests with
//! `TRILANE_WRITE_SNAPSHOTS=1` and read the difference.

use std::fs;
use std::path::Path;

use similar::TextDiff;

/// The lines of a difference that are printed.
const SHOWN: usize = 40;
/// The way to accept a difference.
pub const ACCEPT: &str = "If that is meant: TRILANE_WRITE_SNAPSHOTS=1, and the commit says so.";

/// Whether the files are written anew.
pub fn is_writing() -> bool {
    std::env::var_os("TRILANE_WRITE_SNAPSHOTS").is_some()
}

/// Fails if a file is not this text, or writes it.
pub fn compare(path: &Path, text: &str) {
    if let Some(difference) = difference(path, text) {
        panic!("{difference}{ACCEPT}");
    }
}

/// The difference between a file and this text; none when it is written.
pub fn difference(path: &Path, text: &str) -> Option<String> {
    if is_writing() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        return None;
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    if committed == text {
        return None;
    }
    let compared = TextDiff::from_lines(committed.as_str(), text);
    let mut unified = compared.unified_diff();
    let name = path.display().to_string();
    let unified = unified.context_radius(2).header(&name, "as it is now");
    let mut shown = String::new();
    let unified = unified.to_string();
    let mut lines = unified.lines();
    for line in lines.by_ref().take(SHOWN) {
        shown += &format!("{line}\n");
    }
    let more = lines.count();
    if more > 0 {
        shown += &format!("({more} more lines)\n");
    }
    Some(shown)
}
