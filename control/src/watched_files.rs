//! The files that a result was made from, and whether one of them has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files as they were before they were read; `None` for one that was missing, or could not be examined.
#[derive(Debug, Default)]
pub struct WatchedFiles {
    files: BTreeMap<PathBuf, Option<FileStamp>>,
    /// Their directories, which a rename changes: there are fewer of them.
    directories: BTreeMap<PathBuf, Option<FileStamp>>,
}

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
        if self.files.contains_key(file) {
            return;
        }
        if let Some(directory) = file.parent()
            && !self.directories.contains_key(directory)
        {
            let stamp = FileStamp::of(directory);
            self.directories.insert(directory.to_owned(), stamp);
        }
        self.files.insert(file.to_owned(), FileStamp::of(file));
    }

    /// Whether one of the files has changed.
    pub fn have_changed(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|(file, then)| FileStamp::of(file) != *then)
    }

    /// Whether something has come into one of their directories, or has gone, since they were noted or this was last asked.
    pub fn directories_have_changed(&mut self) -> bool {
        let mut changed = false;
        for (directory, then) in &mut self.directories {
            let now = FileStamp::of(directory);
            changed |= now != *then;
            *then = now;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn changes() {
        type FileChange = fn(&Path);
        let cases: [(&str, FileChange, bool, bool); 9] = [
            ("nothing", |_| {}, false, false),
            ("read", |at| drop(fs::read(at.join("file"))), false, false),
            (
                "a neighbour",
                |at| fs::write(at.join("other"), "").unwrap(),
                false,
                true,
            ),
            (
                "written in place",
                |at| fs::write(at.join("file"), "y").unwrap(),
                true,
                false,
            ),
            (
                "renamed over, with the same content",
                |at| {
                    fs::write(at.join("new"), "x").unwrap();
                    fs::rename(at.join("new"), at.join("file")).unwrap();
                },
                true,
                true,
            ),
            (
                "removed",
                |at| fs::remove_file(at.join("file")).unwrap(),
                true,
                true,
            ),
            (
                "come",
                |at| fs::write(at.join("missing"), "").unwrap(),
                true,
                true,
            ),
            (
                "permissions",
                |at| {
                    let mode = fs::Permissions::from_mode(0o600);
                    fs::set_permissions(at.join("file"), mode).unwrap();
                },
                true,
                false,
            ),
            (
                "a directory exchanged behind a link, as Kubernetes does",
                |at| {
                    symlink("two", at.join("link.new")).unwrap();
                    fs::rename(at.join("link.new"), at.join("link")).unwrap();
                },
                true,
                true,
            ),
        ];
        for (case, change, want, moved) in cases {
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
            assert_eq!(seen.directories_have_changed(), moved, "{case}");
            assert!(!seen.directories_have_changed(), "{case}: asked again");
        }
    }
}
