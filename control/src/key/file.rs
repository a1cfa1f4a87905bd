//! The document's file: one writer at a time, replaced whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;
use trilane_console::prices::CatalogueFile;

/// The longest wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The interval between attempts to lock.
const LOOK: Duration = Duration::from_millis(20);

/// A document, locked against other runs of this command.
#[derive(Debug)]
pub struct LockedDocument {
    /// The canonical path: a rename must not replace a symbolic link to it.
    path: PathBuf,
    directory: PathBuf,
    /// The content of the document.
    pub bytes: Vec<u8>,
    found: Metadata,
    /// The directory, locked until this is dropped: that leaves no lock file behind.
    _lock: File,
}

impl LockedDocument {
    /// The prices beside it.
    pub fn prices(&self) -> CatalogueFile {
        CatalogueFile::beside(&self.path)
    }

    /// Waits for other writers, then reads.
    ///
    /// # Errors
    /// The document cannot be read, or another writer does not end.
    pub fn open(document: &Path) -> Result<Self, String> {
        let shown = document.display();
        let failed = |error: io::Error| format!("cannot read the document {shown}: {error}");
        let path = fs::canonicalize(document).map_err(failed)?;
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        let lock =
            File::open(&directory).and_then(|directory| lock(&directory).map(|()| directory));
        let lock = lock.map_err(|error| {
            let hint = if error.kind() == io::ErrorKind::WouldBlock {
                ": another `trilane key` is at work in it; try again"
            } else {
                ""
            };
            format!(
                "cannot lock the directory {}: {error}{hint}",
                directory.display()
            )
        })?;
        // After locking: another writer may have replaced the file.
        let found = fs::metadata(&path).map_err(failed)?;
        let bytes = fs::read(&path).map_err(failed)?;
        Ok(Self {
            path,
            directory,
            bytes,
            found,
            _lock: lock,
        })
    }

    /// Replaces the document: with the same mode and owner, and durably before this returns.
    ///
    /// # Errors
    /// It cannot be written, or somebody else has changed the document meanwhile. Then it is unchanged.
    pub fn replace(&self, new: &[u8]) -> Result<(), String> {
        let shown = self.path.display();
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::ResourceBusy => {
                    ": it is mounted by itself, and then it cannot be replaced; mount its directory"
                }
                io::ErrorKind::PermissionDenied => {
                    ": this user must be root, or own the file and be able to write into its directory"
                }
                _ => "",
            };
            format!("cannot write the document {shown}: {error}{hint}")
        };
        let file = self.alike(new).map_err(failed)?;
        // Editors do not know the lock.
        if fs::read(&self.path).map_err(failed)? != self.bytes {
            return Err(format!(
                "{shown} was changed by somebody else meanwhile: try again"
            ));
        }
        file.persist(&self.path)
            .map_err(|error| failed(error.error))?;
        File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)
    }

    /// A new file in the document's directory, with these bytes.
    fn alike(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .prefix(".trilane-")
            .suffix(".new")
            .tempfile_in(&self.directory)?;
        file.write_all(bytes)?;
        self.make_alike(file.as_file())?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Gives a file the owner and the mode of the document.
    fn make_alike(&self, file: &File) -> io::Result<()> {
        let own = file.metadata()?;
        let differs = |own: u32, wanted: u32| (own != wanted).then_some(wanted);
        let (user, group) = (
            differs(own.uid(), self.found.uid()),
            differs(own.gid(), self.found.gid()),
        );
        if user.is_some() || group.is_some() {
            fchown(file, user, group)?;
        }
        // After the owner: a change of owner clears bits of the mode.
        file.set_permissions(self.found.permissions())
    }
}

fn lock(directory: &File) -> io::Result<()> {
    let patience = Instant::now().checked_add(PATIENCE);
    loop {
        match flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR)
                if patience.is_none_or(|end| Instant::now() < end) =>
            {
                sleep(LOOK)
            }
            done => return done.map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn mode_owner_and_links_stay() {
        let files = tempfile::tempdir().unwrap();
        let (document, link) = (files.path().join("a.json"), files.path().join("link.json"));
        fs::write(&document, "old").unwrap();
        fs::set_permissions(&document, fs::Permissions::from_mode(0o640)).unwrap();
        let is_root = fs::metadata(files.path()).unwrap().uid() == 0;
        if is_root {
            std::os::unix::fs::chown(&document, Some(1234), Some(4321)).unwrap();
        }
        let before = fs::metadata(&document).unwrap();
        symlink("a.json", &link).unwrap();
        LockedDocument::open(&link)
            .unwrap()
            .replace(b"new")
            .unwrap();
        assert_eq!(fs::read(&document).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let after = fs::metadata(&document).unwrap();
        let alike = |found: &Metadata| (found.mode(), found.uid(), found.gid());
        assert_eq!(alike(&after), alike(&before));
        assert_ne!(after.ino(), before.ino(), "replaced, not written to");
        assert_eq!(
            fs::read_dir(files.path()).unwrap().count(),
            2,
            "nothing is left behind"
        );
    }

    #[test]
    fn what_somebody_else_wrote_stays() {
        let files = tempfile::tempdir().unwrap();
        let document = files.path().join("a.json");
        fs::write(&document, "old").unwrap();
        let held = LockedDocument::open(&document).unwrap();
        fs::write(&document, "another's").unwrap();
        let why = held.replace(b"new").unwrap_err();
        assert!(
            why.ends_with("was changed by somebody else meanwhile: try again"),
            "{why}"
        );
        assert_eq!(fs::read(&document).unwrap(), b"another's");
        assert_eq!(
            fs::read_dir(files.path()).unwrap().count(),
            1,
            "nothing is left behind"
        );
    }
}
