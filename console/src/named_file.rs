//! Files that a document or a command line names: read with a bound, and only where they are plain files. A pipe or a device would
//! keep whoever opens or reads it, for ever or until memory is full.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// The longest file of certificate authorities, in bytes: that of a system has a quarter of a megabyte.
pub const AUTHORITIES: u64 = 4 << 20;
/// The longest file with a secret or an address in it, in bytes.
pub const SECRET: u64 = 64 << 10;

/// Opens a plain file to read it.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn open(file: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    // Opening a pipe waits for whoever writes to it.
    let opened = File::options().read(true).custom_flags(flags).open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no plain file",
        ));
    }
    Ok(opened)
}

/// Reads a plain file of so many bytes at most.
///
/// # Errors
/// It cannot be read, is something else, or is longer.
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        let why = format!("it is longer than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

/// Reads a plain file of text, of so many bytes at most.
///
/// # Errors
/// It cannot be read, is something else, is longer, or is no UTF-8.
pub fn read_text(file: &Path, most: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8");
    String::from_utf8(read(file, most)?).map_err(not_text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_plain_files_of_a_length() {
        let directory = tempfile::tempdir().unwrap();
        let (file, pipe) = (directory.path().join("file"), directory.path().join("pipe"));
        std::fs::write(&file, "12345").unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        std::os::unix::fs::symlink(&file, directory.path().join("link")).unwrap();
        for (case, file, most, want) in [
            ("as long as may be", file.clone(), 5, Ok("12345")),
            ("by a link", directory.path().join("link"), 5, Ok("12345")),
            ("longer", file, 4, Err("it is longer than 4 bytes")),
            ("a pipe", pipe, 5, Err("it is no plain file")),
            (
                "a directory",
                directory.path().to_owned(),
                5,
                Err("it is no plain file"),
            ),
            (
                "a device",
                "/dev/zero".into(),
                5,
                Err("it is no plain file"),
            ),
        ] {
            let got = read_text(&file, most).map_err(|error| error.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{case}");
        }
    }
}
