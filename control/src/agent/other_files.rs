//! Files of the ledger under names that are not ours: somebody else rotates it, or has put a copy there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use trilane_console::ledger::{LedgerRecord, Unread};

use super::ledger_file::FileMark;
use crate::ledger_files;

/// The most of a file that is looked at, in bytes.
const HEAD: u64 = 64 << 10;

/// Finds the files beside the ledger that are of it, by their contents.
#[derive(Debug, Default)]
pub struct OtherFiles(BTreeMap<PathBuf, (FileMark, bool)>);

impl OtherFiles {
    /// Lists the files that have lines of a ledger, the longest first. A file is looked at again when it has become another one.
    pub fn of(&mut self, ledger: &Path) -> Vec<PathBuf> {
        let all = ledger_files::of_others(ledger).unwrap_or_default();
        self.0.retain(|path, _| all.contains(path));
        let is_ledger = |path: &PathBuf| {
            let Ok(mark) = FileMark::at(path) else {
                return false;
            };
            match self.0.get(path) {
                // What has begun with a line of the ledger goes on so.
                Some((before, is)) if before == &mark || *is && before.is_same_file(&mark) => *is,
                _ => {
                    // One that cannot be read is not passed over: whoever sends it says so.
                    let is = has_line(path).unwrap_or(true);
                    self.0.insert(path.clone(), (mark, is));
                    is
                }
            }
        };
        all.into_iter().filter(is_ledger).collect()
    }
}

/// Whether one of the first lines is of a ledger, whole or not.
fn has_line(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    let mut lines = head.split(|byte| *byte == b'\n');
    Ok(lines.any(|line| {
        let is_foreign = matches!(LedgerRecord::parse(line), Err(Unread::Foreign(_)));
        !line.trim_ascii().is_empty() && !is_foreign
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_has_lines_of_a_ledger() {
        let place = tempfile::tempdir().unwrap();
        let ledger = place.path().join("ledger.jsonl");
        let line =
            r#"{"timestamp":"2026-11-24T11:00:00Z","duration_ms":0,"http.response.status_code":200,
            "trilane.usage.status":"complete","trilane.key.id":"k","trilane.group":"g"}"#
                .replace("\n            ", "");
        let mut files = OtherFiles::default();
        for (case, text, want) in [
            ("text", "notes\n".to_owned(), false),
            ("other lines of JSON", "{\"a\": 1}\n".to_owned(), false),
            ("nothing", String::new(), false),
            (
                "a line that was cut off before others",
                format!("6Z\"}}\n{line}\n"),
                true,
            ),
        ] {
            fs::write(place.path().join("ledger.jsonl.1"), &text).unwrap();
            let found = files.of(&ledger);
            assert_eq!(found.len(), usize::from(want), "{case}");
        }
    }
}
