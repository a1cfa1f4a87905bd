//! The directory of the snapshots.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::golden::{self, ACCEPT};

/// A directory of golden files, all of which one test makes.
pub struct SnapshotDirectory {
    path: PathBuf,
    made: BTreeSet<String>,
    faults: Vec<String>,
}

impl SnapshotDirectory {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            made: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// Compares a file, or writes it.
    pub fn compare(&mut self, name: &str, text: &str) {
        assert!(self.made.insert(name.to_owned()), "{name} is made twice");
        self.faults
            .extend(golden::difference(&self.path.join(name), text));
    }

    /// Fails if a file differs, is missing, or is one that nothing makes any more.
    pub fn finish(mut self) {
        for entry in fs::read_dir(&self.path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if self.made.contains(&name) {
                continue;
            }
            if golden::is_writing() {
                fs::remove_file(entry.path()).unwrap();
            } else {
                self.faults.push(format!("{name}: no page makes it\n"));
            }
        }
        let faults = self.faults.len();
        assert!(
            faults == 0,
            "{}{faults} of {} files differ. {ACCEPT}",
            self.faults.join("\n"),
            self.made.len(),
        );
    }
}
