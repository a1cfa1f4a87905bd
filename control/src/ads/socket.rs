//! The socket on which an Envoy of this machine is served.
//!
//! Whoever connects gets every secret, so it is in a directory that only its owner enters.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::UnixListener;

/// The longest path of a socket, in bytes, on any system.
const LONGEST: usize = 100;
/// The permissions of others than the owner.
const OTHERS: u32 = 0o077;

/// The place of a socket.
#[derive(Debug)]
pub struct SocketPlace {
    path: PathBuf,
    /// The directory, where it is made for one run.
    _own: Option<TempDir>,
}

impl SocketPlace {
    /// The one at this path. Its directory is made where it is missing.
    ///
    /// # Errors
    /// The path is too long for a socket, others can enter the directory, or another process serves there.
    pub fn at(path: PathBuf) -> Result<Self, String> {
        if path.as_os_str().len() > LONGEST {
            let path = path.display();
            return Err(format!(
                "{path} is longer than a socket's path may be, which is {LONGEST} bytes"
            ));
        }
        make_private(path.parent().unwrap_or(Path::new("/")))?;
        if UnixStream::connect(&path).is_ok() {
            let path = path.display();
            return Err(format!(
                "another process serves an Envoy on {path}: end it first, or name another socket"
            ));
        }
        Ok(Self { path, _own: None })
    }

    /// The one at this path, or where that is too long, one in a directory of its own for temporary files.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn near(path: PathBuf) -> Result<Self, String> {
        if path.as_os_str().len() <= LONGEST {
            return Self::at(path);
        }
        let own = tempfile::Builder::new()
            .prefix("trilane-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir();
        let own = own.map_err(|error| format!("no directory for a socket can be made: {error}"))?;
        make_private(own.path())?;
        Ok(Self {
            path: own.path().join("ads.sock"),
            _own: Some(own),
        })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Listens, in the place of a socket that an ended process has left.
    ///
    /// # Errors
    /// Another process listens there, or it cannot be done.
    pub fn listen(&self) -> io::Result<UnixListener> {
        if UnixStream::connect(&self.path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        UnixListener::bind(&self.path)
    }
}

/// Makes a directory that only its owner enters.
fn make_private(directory: &Path) -> Result<(), String> {
    let shown = directory.display();
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    let found = made.and_then(|()| fs::metadata(directory));
    let found = found.map_err(|error| format!("cannot make the directory {shown}: {error}"))?;
    let (mode, owner) = (found.permissions().mode(), found.uid());
    let own = rustix::process::geteuid().as_raw();
    if mode & OTHERS != 0 || owner != own {
        return Err(format!(
            "others may enter the directory {shown} (mode {:04o}), and whoever reaches the socket in it gets every credential: \
             chmod 0700 {shown}, or name a socket in a directory of this user alone",
            mode & 0o7777
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_owner_reaches_it() {
        let place = tempfile::tempdir().unwrap();
        let made = SocketPlace::at(place.path().join("made/ads.sock")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(made.path().parent().unwrap()), 0o700);
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        for (mode, taken) in [
            (0o700, true),
            (0o750, false),
            (0o701, false),
            (0o777, false),
        ] {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            let at = SocketPlace::at(open.join("ads.sock"));
            assert_eq!(at.is_ok(), taken, "{mode:o}: {at:?}");
        }
        let long = place.path().join("x".repeat(LONGEST)).join("ads.sock");
        assert!(SocketPlace::at(long.clone()).is_err());
        let near = SocketPlace::near(long).unwrap();
        assert!(near.path().as_os_str().len() <= LONGEST);
        assert_eq!(mode(near.path().parent().unwrap()), 0o700);
        let directory = near.path().parent().unwrap().to_owned();
        drop(near);
        assert!(!directory.exists(), "nothing is left behind");
    }

    #[tokio::test]
    async fn one_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("private/ads.sock");
        let socket = SocketPlace::near(path.clone()).unwrap();
        let first = socket.listen().unwrap();
        let second = socket.listen().unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        assert!(SocketPlace::at(path).is_err(), "it is told at the start");
        drop(first);
        socket.listen().unwrap();
    }
}
