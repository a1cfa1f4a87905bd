//! The file with the keys that seal. Its first line seals; the others still open what they have sealed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::sealed_for::SealedFor;
use super::sealed_value::SealedValue;
use super::sealing::SealingKey;
use crate::named_file;

/// The path of the file of sealing keys. The file is read at each use, so that a console notices a new key.
#[derive(Debug, Clone)]
pub struct SealingKeyFile(PathBuf);

/// The keys of a file.
#[derive(Debug, Clone)]
pub struct SealingKeys {
    sealing: SealingKey,
    others: Vec<SealingKey>,
}

impl SealingKeyFile {
    /// The one at this path.
    pub const fn new(file: PathBuf) -> Self {
        Self(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it with a new key, for its owner only, where there is none. Whether it did.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(&self) -> Result<bool, String> {
        let key = SealingKey::draw()?;
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.0);
        let mut file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(self.failed("made", &error)),
        };
        let written = writeln!(file, "{}", key.line().as_str()).and_then(|()| file.sync_all());
        let written = written.and_then(|()| self.sync_directory());
        written.map_err(|error| self.failed("written", &error))?;
        Ok(true)
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is missing, others may read it, or it has something else in it. No text has a key.
    pub fn read(&self) -> Result<SealingKeys, String> {
        let failed = |error: io::Error| self.failed("read", &error);
        let name = self.0.display();
        let mode = fs::metadata(&self.0).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(format!(
                "the file of sealing keys {name} may be read by others than its owner: chmod 600"
            ));
        }
        let text =
            Zeroizing::new(named_file::read_text(&self.0, named_file::SECRET).map_err(failed)?);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let keys: Option<Vec<SealingKey>> = lines.map(SealingKey::parse).collect();
        let mut keys = keys.unwrap_or_default().into_iter();
        let sealing = keys.next().ok_or_else(|| {
            format!("the file of sealing keys {name} must have lines of 64 hexadecimal digits, and nothing else")
        })?;
        Ok(SealingKeys {
            sealing,
            others: keys.collect(),
        })
    }

    /// Puts a new key before those that are there.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn add(&self) -> Result<(), String> {
        let keys = self.read()?;
        let new = SealingKey::draw()?;
        let before = keys.all().map(SealingKey::line);
        let lines: Vec<_> = core::iter::once(new.line()).chain(before).collect();
        self.replace(&lines)
    }

    /// Forgets all keys but the one that seals.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn forget_others(&self) -> Result<(), String> {
        let keys = self.read()?;
        self.replace(&[keys.sealing.line()])
    }

    /// Writes it anew, whole or not at all.
    fn replace(&self, lines: &[Zeroizing<String>]) -> Result<(), String> {
        let mut name = self.0.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let put = || {
            // What an attempt before has left.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&new)?;
            for line in lines {
                writeln!(file, "{}", line.as_str())?;
            }
            file.sync_all()?;
            fs::rename(&new, &self.0)?;
            self.sync_directory()
        };
        put().map_err(|error| self.failed("written", &error))
    }

    fn sync_directory(&self) -> io::Result<()> {
        match self.0.parent() {
            Some(parent) if parent != Path::new("") => File::open(parent)?.sync_all(),
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &str, error: &io::Error) -> String {
        let name = self.0.display();
        format!("the file of sealing keys {name} cannot be {what}: {error}")
    }
}

impl SealingKeys {
    /// The key that seals.
    pub const fn sealing(&self) -> &SealingKey {
        &self.sealing
    }

    fn all(&self) -> impl Iterator<Item = &SealingKey> {
        core::iter::once(&self.sealing).chain(&self.others)
    }

    /// Whether there is a key of this id.
    pub fn has(&self, id: &str) -> bool {
        self.all().any(|key| key.id() == id)
    }

    /// Opens a value with the key that sealed it. `None`: that key is not there, or it was sealed for something else.
    pub fn open(
        &self,
        bound_to: SealedFor<'_>,
        sealed: &SealedValue,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.all().find(|key| key.id() == sealed.key_id)?;
        key.open(bound_to, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_before_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = SealingKeyFile::new(directory.path().join("keys"));
        assert!(file.read().is_err(), "there is none");
        assert!(file.create().unwrap() && !file.create().unwrap());
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let of = SealedFor::WebhookSecret {
            id: "w",
            url: "https://a.example/",
        };
        let first = file.read().unwrap();
        let sealed = first.sealing().seal(of, b"v").unwrap();
        file.add().unwrap();
        let both = file.read().unwrap();
        assert_ne!(both.sealing().id(), first.sealing().id());
        assert!(both.open(of, &sealed).is_some(), "the old one opens");
        file.forget_others().unwrap();
        assert!(file.read().unwrap().open(of, &sealed).is_none());
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        let file = SealingKeyFile::new(path.clone());
        let secret = "ab".repeat(32);
        for (case, text, mode) in [
            ("empty", String::new(), 0o600),
            ("short", secret[1..].to_owned(), 0o600),
            (
                "a second line of something else",
                format!("{secret}\nx\n"),
                0o600,
            ),
            ("others may read it", secret.clone(), 0o640),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let why = file.read().unwrap_err();
            assert!(!why.contains(&secret[..10]), "{case}: {why}");
        }
    }
}
