//! The options that name the key of a request.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use trilane::config::{Compiled, suggestion};
use trilane_console::gateway::KeyHolder;

use crate::document::read_input;
use crate::failure::Failure;

/// The options that name the key of a request.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(multiple = false)]
pub struct KeyHolderArgs {
    /// The file with the key, with or without an end of line; `-`: standard input. Other users do not see it
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// The key itself. Other users of this host see it in the list of processes, and the shell may keep it in its
    /// history: prefer --key-file
    #[arg(long, value_name = "KEY")]
    pub key: Option<Secret>,

    /// The id of a key in the document, whatever its value is
    #[arg(long, value_name = "ID")]
    pub key_id: Option<String>,

    /// Some valid key of this group without limits of its own, such as one of a feed
    #[arg(long, value_name = "ID")]
    pub group: Option<String>,
}

/// An API key as given on the command line. `Debug` does not print it.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl From<OsString> for Secret {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl KeyHolderArgs {
    /// Whether a key or group is named.
    pub fn is_named(&self) -> bool {
        self.key_file.is_some()
            || self.key.is_some()
            || self.key_id.is_some()
            || self.group.is_some()
    }

    /// The holder that the options name; `None` if they name none.
    ///
    /// # Errors
    /// The file cannot be read or contains no key, or the document does not have the id.
    pub fn asker(&self, compiled: &Compiled) -> Result<Option<KeyHolder>, Failure> {
        let value = match (&self.key_file, &self.key) {
            (Some(file), _) => Some(read(file)?),
            (None, key) => key.clone(),
        };
        if let Some(Secret(value)) = value {
            return Ok(Some(KeyHolder::of_value(value)));
        }
        if let Some(id) = &self.key_id {
            let mut records = compiled.keys.iter().map(|(_, record)| record);
            let record = records.find(|record| record.id == *id).cloned();
            let record = record.ok_or_else(|| no_key(compiled))?;
            return Ok(Some(KeyHolder::of_record(record)));
        }
        let Some(group) = &self.group else {
            return Ok(None);
        };
        if compiled.policy.group(group).is_none() {
            return Err(Failure::Usage(no_group(group, compiled)));
        }
        Ok(Some(KeyHolder::anybody(group)))
    }
}

fn no_key(compiled: &Compiled) -> Failure {
    let feed = if compiled.policy.keys_feed.is_some() {
        "; for one of its feed name the group with --group"
    } else {
        ""
    };
    Failure::Usage(format!(
        "the document has no key with the id that --key-id names: `trilane key list` has all of them{feed}"
    ))
}

fn no_group(wanted: &str, compiled: &Compiled) -> String {
    let groups = compiled.policy.groups().iter();
    let known = suggestion(wanted, groups.map(|group| group.id.as_str()));
    format!("the document has no group of the id that --group names{known}")
}

/// The key in a file.
fn read(file: &Path) -> Result<Secret, Failure> {
    let failed = |error: io::Error| {
        Failure::Unreadable(format!(
            "cannot read the key in {}: {error}",
            file.display()
        ))
    };
    let bytes = read_input(file).map_err(failed)?;
    let key = bytes.trim_ascii_end();
    if key.is_empty() || key.contains(&b'\n') {
        let what = if key.is_empty() {
            "is empty"
        } else {
            "has more than one line"
        };
        return Err(Failure::Unreadable(format!(
            "{} {what}: it must hold the key and nothing else",
            file.display()
        )));
    }
    Ok(Secret(key.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_key() {
        let whose = KeyHolderArgs {
            key: Some(Secret(b"tl-secret".to_vec())),
            ..KeyHolderArgs::default()
        };
        assert!(!format!("{whose:?}").contains("tl-secret"));
    }
}
