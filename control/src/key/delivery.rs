//! Writes a new key to a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use trilane_console::secret::NewSecret;

/// A file for a new key. It is removed again unless the key is where gateways have it from.
#[derive(Debug)]
pub struct Delivery {
    file: PathBuf,
    kept: bool,
}

impl Delivery {
    /// Writes the key to a new file that only its owner can read.
    ///
    /// # Errors
    /// The file exists already, or cannot be written.
    pub fn new(file: &Path, key: &NewSecret) -> Result<Self, String> {
        let delivery = Self::begin(file)?;
        delivery.write(key.reveal())?;
        Ok(delivery)
    }

    /// Makes the new file, which only its owner can read, before there is a key.
    ///
    /// # Errors
    /// The file exists already, or cannot be written.
    pub fn begin(file: &Path) -> Result<Self, String> {
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(file);
        opened.map_err(|error| failed(file, &error))?;
        Ok(Self {
            file: file.to_owned(),
            kept: false,
        })
    }

    /// Writes the key.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, key: &str) -> Result<(), String> {
        let opened = OpenOptions::new().write(true).open(&self.file);
        let written = opened.and_then(|mut opened| {
            writeln!(opened, "{key}")?;
            opened.sync_all()
        });
        written.map_err(|error| failed(&self.file, &error))
    }

    /// Keeps the file: gateways have the key.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

fn failed(file: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::AlreadyExists {
        ": name one that is not there yet"
    } else {
        ""
    };
    format!(
        "cannot write the key into {}: {error}{hint}",
        file.display()
    )
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_key_of_the_document_stays() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("key");
        let deliver = || {
            let delivery = Delivery::begin(&file).unwrap();
            delivery.write("tl-key").unwrap();
            delivery
        };
        drop(deliver());
        assert!(!file.exists(), "it did not come into the document");
        deliver().keep();
        assert_eq!(fs::read_to_string(&file).unwrap(), "tl-key\n");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Delivery::begin(&file).is_err(), "nothing is overwritten");
        assert!(file.exists(), "nor taken away");
    }
}
