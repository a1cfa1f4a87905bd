//! Whether a credential's file is one that Envoy can send. What is in it is looked at and forgotten.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The longest credential, in bytes: more than any vendor's, less than a request's head may hold.
const LONGEST: usize = 8192;

/// The state of a credential's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// One line of visible ASCII.
    Good,
    /// Not there, not readable or empty: Envoy answers 401 in the account's stead, until a good one is
    /// renamed to this name.
    Absent(&'static str),
    /// Envoy would send it, or a part of it: a blank credential leaves the request with none, and other
    /// characters break it.
    Unfit(&'static str),
    /// Its directory is not there. An Envoy that starts without it never sees what comes later.
    NoDirectory,
}

/// Looks at a credential's file.
pub fn look(file: &Path) -> State {
    // A pipe would keep us waiting when it is opened; so would a directory read as empty in Envoy.
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => return State::Unfit("is no plain file"),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = file.parent().is_some_and(Path::is_dir);
            return if directory {
                State::Absent("is missing")
            } else {
                State::NoDirectory
            };
        }
        Err(_) => return State::Absent("cannot be read"),
    }
    let mut value = Vec::new();
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::open(file).and_then(|file| file.take(most).read_to_end(&mut value));
    match read {
        Ok(_) => of_value(&value),
        Err(_) => State::Absent("cannot be read"),
    }
}

fn of_value(value: &[u8]) -> State {
    if value.len() > LONGEST {
        return State::Unfit("is longer than 8192 bytes");
    }
    // Envoy leaves these out.
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = value.iter().rev().take_while(|byte| is_end(byte)).count();
    let value = value
        .get(..value.len().saturating_sub(ends))
        .unwrap_or_default();
    if value.is_empty() {
        State::Absent("is empty")
    } else if value.iter().any(is_end) {
        State::Unfit("has more than one line")
    } else if !value.iter().all(u8::is_ascii_graphic) {
        State::Unfit("has blanks, or other characters than visible ASCII")
    } else {
        State::Good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let long = "x".repeat(LONGEST);
        let longer = "x".repeat(LONGEST + 1);
        let cases: [(&str, &[u8], State); 15] = [
            ("plain", b"sk-1_2.3/+=", State::Good),
            ("line", b"sk\n", State::Good),
            ("DOS line", b"sk\r\n", State::Good),
            ("empty lines behind", b"sk\n\n", State::Good),
            ("longest", long.as_bytes(), State::Good),
            ("nothing", b"", State::Absent("is empty")),
            ("line of nothing", b"\r\n", State::Absent("is empty")),
            (
                "too long",
                longer.as_bytes(),
                State::Unfit("is longer than 8192 bytes"),
            ),
            (
                "two lines",
                b"sk\nsk\n",
                State::Unfit("has more than one line"),
            ),
            (
                "return within",
                b"s\rk",
                State::Unfit("has more than one line"),
            ),
            (
                "blanks only",
                b" \t\n",
                State::Unfit("has blanks, or other characters than visible ASCII"),
            ),
            (
                "blank behind",
                b"sk \n",
                State::Unfit("has blanks, or other characters than visible ASCII"),
            ),
            (
                "empty line before",
                b"\nsk",
                State::Unfit("has more than one line"),
            ),
            (
                "NUL",
                b"s\0k",
                State::Unfit("has blanks, or other characters than visible ASCII"),
            ),
            (
                "mark of UTF-8",
                b"\xef\xbb\xbfsk",
                State::Unfit("has blanks, or other characters than visible ASCII"),
            ),
        ];
        let files = tempfile::tempdir().unwrap();
        for (case, value, want) in cases {
            let file = files.path().join("credential");
            fs::write(&file, value).unwrap();
            assert_eq!(look(&file), want, "{case}");
        }
    }

    #[test]
    fn places() {
        let files = tempfile::tempdir().unwrap();
        let at = |name: &str| look(&files.path().join(name));
        fs::create_dir(files.path().join("directory")).unwrap();
        fs::write(files.path().join("file"), "x").unwrap();
        assert_eq!(at("none"), State::Absent("is missing"));
        assert_eq!(at("nowhere/none"), State::NoDirectory);
        assert_eq!(at("directory"), State::Unfit("is no plain file"));
        assert_eq!(
            at("file/none"),
            State::Absent("cannot be read"),
            "a file for a directory"
        );
    }
}
