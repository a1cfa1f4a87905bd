//! Writes a new key to a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use trilane_console::secret::NewSecret;

/// A file with a new key. It is removed again unless the key is in the document.
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
        let failed = |error: io::Error| {
            let hint = if error.kind() == io::ErrorKind::AlreadyExists {
                ": name one that is not there yet"
            } else {
                ""
            };
            format!(
                "cannot write the key into {}: {error}{hint}",
                file.display()
            )
        };
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file);
        let mut opened = opened.map_err(failed)?;
        let delivery = Self {
            file: file.to_owned(),
            kept: false,
        };
        let written = writeln!(opened, "{}", key.reveal()).and_then(|()| opened.sync_all());
        written.map_err(failed)?;
        Ok(delivery)
    }

    /// Keeps the file: the key is in the document.
    pub fn keep(mut self) {
        self.kept = true;
    }
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
    use super::*;

    #[test]
    fn only_a_key_of_the_document_stays() {
        let files = tempfile::tempdir().unwrap();
        let (file, key) = (files.path().join("key"), NewSecret::key().unwrap());
        drop(Delivery::new(&file, &key).unwrap());
        assert!(!file.exists(), "it did not come into the document");
        Delivery::new(&file, &key).unwrap().keep();
        let kept = fs::read_to_string(&file).unwrap();
        assert_eq!(kept, format!("{}\n", key.reveal()));
        assert!(
            Delivery::new(&file, &key).is_err(),
            "nothing is overwritten"
        );
        assert!(file.exists(), "nor taken away");
    }
}
