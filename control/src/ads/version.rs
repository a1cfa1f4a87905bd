//! Versions of resources.
//!
//! A version follows the content alone, so it is the same after a restart. Envoy shows versions in its metrics: they are digests
//! with a key, from which nothing of a credential can be found out.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The length of the key, in bytes.
const KEY: usize = 32;
/// The length of a version, in bytes of the digest.
const SHOWN: usize = 12;

/// The key of versions. `Debug` does not print it.
pub struct VersionKey([u8; KEY]);

impl VersionKey {
    /// Reads the key in this file, or draws one and writes it there.
    ///
    /// # Errors
    /// The file can neither be read nor written, or there are no random numbers.
    pub fn open(file: &Path) -> io::Result<Self> {
        if let Ok(found) = fs::read(file)
            && let Ok(key) = <[u8; KEY]>::try_from(found)
        {
            return Ok(Self(key));
        }
        let mut key = [0; KEY];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        options.open(file)?.write_all(&key)?;
        Ok(Self(key))
    }

    /// The version of a resource with this content.
    pub fn version(&self, content: &[u8]) -> String {
        // HMAC takes a key of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(content);
        let digest = mac.finalize().into_bytes();
        hex::encode(digest.get(..SHOWN).unwrap_or_default())
    }
}

impl std::fmt::Debug for VersionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VersionKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_version_follows_the_content_and_tells_nothing_of_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("versions.key");
        let key = VersionKey::open(&file).unwrap();
        let again = VersionKey::open(&file).unwrap();
        assert_eq!(key.version(b"a"), again.version(b"a"), "after a restart");
        assert_ne!(key.version(b"a"), key.version(b"b"));
        let other = VersionKey::open(&place.path().join("other")).unwrap();
        assert_ne!(key.version(b"a"), other.version(b"a"), "another key");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&file, "short").unwrap();
        let new = VersionKey::open(&file).unwrap();
        assert_ne!(new.version(b"a"), key.version(b"a"), "a damaged key");
        assert_eq!(format!("{key:?}"), "VersionKey(..)");
    }
}
