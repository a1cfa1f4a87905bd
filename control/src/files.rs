//! Replaces files: whole or not at all, and those that Envoy watches only if the content differs.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Whether a file has another content, or is missing.
pub fn differs(file: &Path, content: impl AsRef<[u8]>) -> io::Result<bool> {
    match fs::read(file) {
        Ok(found) => Ok(found != content.as_ref()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Writes a file in a directory, in place of one with that name.
///
/// Envoy notices renames only, and a reader sees the old file or the new one, even after a power failure. Everybody may
/// read the file: Envoy has a user of its own, and nothing written here is secret.
pub fn replace(
    directory: &Path,
    name: impl AsRef<OsStr>,
    content: impl AsRef<[u8]>,
) -> io::Result<()> {
    replace_as(0o644, directory, name, content)
}

/// The same with another mode.
pub fn replace_as(
    mode: u32,
    directory: &Path,
    name: impl AsRef<OsStr>,
    content: impl AsRef<[u8]>,
) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".render-")
        .suffix(".new")
        .tempfile_in(directory)?; // with mode 0600
    file.write_all(content.as_ref())?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(directory.join(name.as_ref()))
        .map_err(|failed| failed.error)?;
    File::open(directory)?.sync_all()
}

/// Writes a file unless it has this content already; returns whether it wrote.
pub fn put(file: &Path, content: &[u8]) -> io::Result<bool> {
    let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let differs = differs(file, content)?;
    if differs {
        replace(directory, name, content)?;
    }
    Ok(differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_reader_of_the_old_file_keeps_it_whole() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("a.json");
        fs::write(&file, "old").unwrap();
        let mut reader = File::open(&file).unwrap();
        replace(files.path(), "a.json", "new").unwrap();
        let mut old = String::new();
        io::Read::read_to_string(&mut reader, &mut old).unwrap();
        assert_eq!(old, "old", "the file was replaced, not written to");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(names(files.path()), ["a.json"], "nothing is left behind");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "Envoy's user can read it");
    }

    #[test]
    fn what_cannot_be_replaced_leaves_nothing_behind() {
        let files = tempfile::tempdir().unwrap();
        fs::create_dir(files.path().join("a.json")).unwrap();
        replace(files.path(), "a.json", "new").unwrap_err();
        assert_eq!(names(files.path()), ["a.json"]);
    }

    #[test]
    fn differences() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("a.json");
        assert!(differs(&file, "x").unwrap(), "missing");
        fs::write(&file, "x").unwrap();
        assert!(!differs(&file, "x").unwrap(), "the same");
        assert!(differs(&file, "y").unwrap(), "another");
        assert!(differs(files.path(), "y").is_err(), "a directory");
    }
}
