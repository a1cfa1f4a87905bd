//! A file beside the ledger that holds room on its disk: it is given up when the disk is full, so that the ledger goes on for a
//! while and somebody can make room.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The size of the ballast, in bytes: some 20 000 lines.
const SIZE: u64 = 32 << 20;
/// With less room than this the disk is full, in bytes.
const FULL: u64 = 4 << 20;
/// With as much room as this it is made, in bytes.
const ROOM: u64 = 256 << 20;

/// A ballast.
#[derive(Debug)]
pub struct LedgerBallast {
    file: PathBuf,
}

impl LedgerBallast {
    /// Returns the ballast of this ledger. Its name is none that a file of the ledger may have.
    pub fn beside(ledger: &Path) -> Self {
        let mut name = OsString::from(".");
        name.push(ledger.file_name().unwrap_or_default());
        name.push(".ballast");
        Self {
            file: ledger.with_file_name(name),
        }
    }

    /// Returns the room that the ballast holds, in bytes.
    pub fn bytes(&self) -> u64 {
        let blocks = fs::metadata(&self.file).map_or(0, |found| found.blocks());
        blocks.saturating_mul(512)
    }

    /// Gives it up when the disk is full, and makes it when there is room. What there is to say.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn keep(&self) -> io::Result<Option<String>> {
        let free = free_beside(&self.file)?;
        self.keep_with(free)
    }

    fn keep_with(&self, free: u64) -> io::Result<Option<String>> {
        let is_there = self.file.exists();
        if is_there && free < FULL {
            fs::remove_file(&self.file)?;
            return Ok(Some(format!(
                "its disk is full: {} is given up, so that lines are written for a while. Make room now",
                self.file.display()
            )));
        }
        if is_there || free < ROOM {
            return Ok(None);
        }
        let mut options = File::options();
        let file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.file)?;
        if let Err(error) = fallocate(&file, FallocateFlags::empty(), 0, SIZE) {
            drop(file);
            fs::remove_file(&self.file)?;
            return Err(error.into());
        }
        Ok(None)
    }
}

/// The room that is free beside a file, in bytes.
pub fn free_beside(file: &Path) -> io::Result<u64> {
    let of = statvfs(directory_of(file))?;
    Ok(of.f_bavail.saturating_mul(of.f_frsize))
}

/// The directory of a file.
pub fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger_files;

    #[test]
    fn it_is_given_up_when_the_disk_is_full() {
        let place = tempfile::tempdir().unwrap();
        let ledger = place.path().join("ledger.jsonl");
        let ballast = LedgerBallast::beside(&ledger);
        // (free, whether something is said, what it holds then)
        for (case, free, said, bytes) in [
            ("little room", ROOM - 1, false, 0),
            ("room", ROOM, false, SIZE),
            ("less room", FULL, false, SIZE),
            ("full", FULL - 1, true, 0),
            ("still full", FULL - 1, false, 0),
            ("what it held", FULL - 1 + SIZE, false, 0),
            ("room again", ROOM, false, SIZE),
        ] {
            let kept = ballast.keep_with(free).unwrap();
            assert_eq!((kept.is_some(), ballast.bytes()), (said, bytes), "{case}");
        }
        assert!(ledger_files::all(&ledger).is_empty());
        assert!(ledger_files::of_others(&ledger).unwrap().is_empty());
        assert!(free_beside(&ledger).unwrap() > 0);
    }
}
