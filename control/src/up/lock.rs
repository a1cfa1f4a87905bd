//! One gateway for each data directory: two would write the same files.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};

use rustix::fs::{FlockOperation, flock};

use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::run_directory::RunDirectory;

/// A data directory's lock. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held open, and never read")] File);

impl DirectoryLock {
    /// Takes it.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be written.
    pub fn take(data: &DataDirectory) -> Result<Self, Failure> {
        let path = RunDirectory::of(data).lock();
        let cannot = |error: std::io::Error| {
            let what = format!("lock the data directory by {}", path.display());
            Failure::at_place(&what, &error, "--data DIR")
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(cannot)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut owner = String::new();
            let _ = file.read_to_string(&mut owner);
            let root = data.root().display();
            let by = match owner.trim() {
                "" => String::new(),
                pid => format!(" (process {pid})"),
            };
            return Err(Failure::Data(format!(
                "another `trilane up`{by} runs in {root}. End it, or give this one a directory of its own with --data DIR"
            )));
        }
        // Who has it, for the message above.
        file.set_len(0).map_err(cannot)?;
        file.rewind().map_err(cannot)?;
        writeln!(file, "{}", std::process::id()).map_err(cannot)?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_never_share_one() {
        let place = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(place.path().to_owned());
        data.create().unwrap();
        let first = DirectoryLock::take(&data).unwrap();
        let Err(Failure::Data(text)) = DirectoryLock::take(&data) else {
            panic!("it is taken");
        };
        assert!(
            text.contains(&format!("(process {})", std::process::id())),
            "{text}"
        );
        drop(first);
        DirectoryLock::take(&data).unwrap();
    }
}
