//! Reads a credential's file, and checks that Envoy can send what it holds. The content is never shown or logged.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use trilane_console::credentials::{LONGEST, ValueFault, check_value};
use trilane_console::named_file;

use crate::ads::SecretValue;

/// The state of a credential's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialState {
    /// One line of visible ASCII, without its end.
    Valid(SecretValue),
    /// Missing or empty: Envoy answers 401 in the account's place, until a valid one is renamed to this name.
    Unavailable(&'static str),
    /// Nobody here can say what is in it. Envoy goes on with what it has.
    Unreadable(&'static str),
    /// Envoy would send it, or a part of it: a blank credential leaves the request without one, and other characters
    /// break the request.
    Invalid(&'static str),
    /// The directory is missing. An Envoy that starts without it never notices files that are added later.
    NoDirectory,
}

/// Reads a credential's file.
pub fn read(file: &Path) -> CredentialState {
    // Envoy reads a directory as an empty file.
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => return CredentialState::Invalid("is no plain file"),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = file.parent().is_some_and(Path::is_dir);
            return if directory {
                CredentialState::Unavailable("is missing")
            } else {
                CredentialState::NoDirectory
            };
        }
        Err(_) => return CredentialState::Unreadable("cannot be read"),
    }
    let mut value = Vec::new();
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    let read = named_file::open(file).and_then(|file| file.take(most).read_to_end(&mut value));
    match read {
        Ok(_) => of_value(&value),
        Err(_) => CredentialState::Unreadable("cannot be read"),
    }
}

/// Checks a credential, with or without an end of line.
fn of_value(value: &[u8]) -> CredentialState {
    match check_value(value) {
        Ok(value) => CredentialState::Valid(SecretValue::Credential(value.to_owned())),
        Err(ValueFault::Empty) => CredentialState::Unavailable("is empty"),
        Err(ValueFault::Invalid(what)) => CredentialState::Invalid(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(value: &[u8]) -> CredentialState {
        CredentialState::Valid(SecretValue::Credential(value.to_owned()))
    }

    #[test]
    fn values() {
        let long = "x".repeat(LONGEST);
        let longer = "x".repeat(LONGEST + 1);
        let cases: [(&str, &[u8], CredentialState); 15] = [
            ("plain", b"sk-1_2.3/+=", valid(b"sk-1_2.3/+=")),
            ("line", b"sk\n", valid(b"sk")),
            ("DOS line", b"sk\r\n", valid(b"sk")),
            ("empty lines behind", b"sk\n\n", valid(b"sk")),
            ("longest", long.as_bytes(), valid(long.as_bytes())),
            ("nothing", b"", CredentialState::Unavailable("is empty")),
            (
                "line of nothing",
                b"\r\n",
                CredentialState::Unavailable("is empty"),
            ),
            (
                "too long",
                longer.as_bytes(),
                CredentialState::Invalid("is longer than 8192 bytes"),
            ),
            (
                "two lines",
                b"sk\nsk\n",
                CredentialState::Invalid("has more than one line"),
            ),
            (
                "return within",
                b"s\rk",
                CredentialState::Invalid("has more than one line"),
            ),
            (
                "blanks only",
                b" \t\n",
                CredentialState::Invalid("has blanks, or other characters than visible ASCII"),
            ),
            (
                "blank behind",
                b"sk \n",
                CredentialState::Invalid("has blanks, or other characters than visible ASCII"),
            ),
            (
                "empty line before",
                b"\nsk",
                CredentialState::Invalid("has more than one line"),
            ),
            (
                "NUL",
                b"s\0k",
                CredentialState::Invalid("has blanks, or other characters than visible ASCII"),
            ),
            (
                "mark of UTF-8",
                b"\xef\xbb\xbfsk",
                CredentialState::Invalid("has blanks, or other characters than visible ASCII"),
            ),
        ];
        let files = tempfile::tempdir().unwrap();
        for (case, value, want) in cases {
            let file = files.path().join("credential");
            fs::write(&file, value).unwrap();
            assert_eq!(read(&file), want, "{case}");
        }
    }

    #[test]
    fn paths() {
        let files = tempfile::tempdir().unwrap();
        let at = |name: &str| read(&files.path().join(name));
        fs::create_dir(files.path().join("directory")).unwrap();
        fs::write(files.path().join("file"), "x").unwrap();
        assert_eq!(at("none"), CredentialState::Unavailable("is missing"));
        assert_eq!(at("nowhere/none"), CredentialState::NoDirectory);
        assert_eq!(
            at("directory"),
            CredentialState::Invalid("is no plain file")
        );
        assert_eq!(
            at("file/none"),
            CredentialState::Unreadable("cannot be read"),
            "a file for a directory"
        );
    }
}
