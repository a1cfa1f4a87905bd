//! The files that a result was made from, and whether one of them has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files as they were before they were read; `None` for one that was missing, or could not be examined.
#[derive(Debug, Default)]
pub struct WatchedFiles(BTreeMap<PathBuf, Option<FileStamp>>);

/// The metadata that a rename, a write, or a change of permissions alters. For a symbolic link it is that of the target.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    file: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(file: &Path) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        Some(Self {
            file: (found.dev(), found.ino()),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl WatchedFiles {
    /// Notes a file. Call it before reading the file, so that a write in between counts as a change.
    pub fn note(&mut self, file: &Path) {
        if !self.0.contains_key(file) {
            self.0.insert(file.to_owned(), FileStamp::of(file));
        }
    }

    /// Whether one of the files has changed.
    pub fn have_changed(&self) -> bool {
        self.0
            .iter()
            .any(|(file, then)| FileStamp::of(file) != *then)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn changes() {
        type FileChange = fn(&Path);
        let cases: [(&str, FileChange, bool); 9] = [
            ("nothing", |_| {}, false),
            ("read", |at| drop(fs::read(at.join("file"))), false),
            (
                "a neighbour",
                |at| fs::write(at.join("other"), "").unwrap(),
                false,
            ),
            (
                "written in place",
                |at| fs::write(at.join("file"), "y").unwrap(),
                true,
            ),
            (
                "renamed over, with the same content",
                |at| {
                    fs::write(at.join("new"), "x").unwrap();
                    fs::rename(at.join("new"), at.join("file")).unwrap();
                },
                true,
            ),
            (
                "removed",
                |at| fs::remove_file(at.join("file")).unwrap(),
                true,
            ),
            (
                "come",
                |at| fs::write(at.join("missing"), "").unwrap(),
                true,
            ),
            (
                "permissions",
                |at| {
                    let mode = fs::Permissions::from_mode(0o600);
                    fs::set_permissions(at.join("file"), mode).unwrap();
                },
                true,
            ),
            (
                "a directory exchanged behind a link, as Kubernetes does",
                |at| {
                    symlink("two", at.join("link.new")).unwrap();
                    fs::rename(at.join("link.new"), at.join("link")).unwrap();
                },
                true,
            ),
        ];
        for (case, change, want) in cases {
            let files = tempfile::tempdir().unwrap();
            let at = files.path();
            for directory in ["one", "two"] {
                fs::create_dir(at.join(directory)).unwrap();
                fs::write(at.join(directory).join("key"), "k").unwrap();
            }
            symlink("one", at.join("link")).unwrap();
            fs::write(at.join("file"), "x").unwrap();
            let mut seen = WatchedFiles::default();
            for name in ["file", "missing", "link/key"] {
                seen.note(&at.join(name));
            }
            // Clocks of file systems move in steps of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change(at);
            seen.note(&at.join("file"));
            assert_eq!(seen.have_changed(), want, "{case}");
        }
    }
}
