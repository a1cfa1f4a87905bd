//! Brings the credentials of accounts from the console to files of this machine.
//!
//! Each is a file in a directory that is named after its destination: `given/<destination>/<name>`. So an account that goes
//! elsewhere has another file, and neither the old address gets the new credential nor the new address the old one, whatever
//! is noticed first. A credential that the console has no more is overwritten by an empty file, which stops its account at
//! once; a removed file would not.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trilane_console::cases::CredentialsForAgent;
use trilane_console::credentials::{check_value, is_label, is_name};

use super::client::{ConsoleClient, ConsoleError};
use super::identity::AgentIdentity;
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};
use crate::files;

/// The path of the console's API.
const PATH: &str = "/api/v1/feed/credentials";

/// Follows the credentials.
#[derive(Debug)]
pub struct CredentialCopy {
    console: ConsoleClient,
    directory: PathBuf,
    etag: Option<String>,
    fingerprint: String,
    standing: Arc<AgentProgress>,
}

impl CredentialCopy {
    /// Those of this console for this agent, in this directory.
    pub fn new(
        console: ConsoleClient,
        identity: &AgentIdentity,
        directory: PathBuf,
        standing: Arc<AgentProgress>,
    ) -> Self {
        Self {
            console,
            directory,
            etag: None,
            fingerprint: identity.fingerprint(),
            standing,
        }
    }

    /// Reads them if they are others.
    ///
    /// # Errors
    /// The failure, as text.
    pub fn read(&mut self) -> Result<(), String> {
        let answer = match self.console.get(PATH, self.etag.as_deref(), &[]) {
            Ok(None) => return Ok(()),
            Ok(Some(answer)) => answer,
            Err(ConsoleError::NotApproved) => {
                return Err(format!(
                    "this agent waits for its approval; what is here stays in use. On the console's machine: trilane console \
                     approve {}",
                    self.fingerprint
                ));
            }
            Err(error) => return Err(error.to_string()),
        };
        // The error of the parser could have a part of the text.
        let given: CredentialsForAgent = serde_json::from_slice(&answer.body)
            .map_err(|_| "what the console gives are no credentials".to_owned())?;
        let (changed, lost) = put_all(&self.directory, &given)?;
        if changed > 0 {
            let line = format!("credentials: {changed} changed by the console");
            self.standing.tell(&line);
        }
        if !lost.is_empty() {
            return Err(format!(
                "the console cannot open {}: its sealing key is lost; what is here stays in use",
                lost.join(", ")
            ));
        }
        self.etag = answer.etag;
        Ok(())
    }
}

impl PeriodicTask for CredentialCopy {
    const NAME: &'static str = "credentials";
    const PAUSE: Duration = Duration::from_millis(500);

    fn run(&mut self) -> Result<Next, String> {
        self.read().map(|()| Next::Later)
    }
}

/// Makes the files those that are given. How many have changed, and the names of those that the console cannot open, whose
/// files stay as they are.
fn put_all(directory: &Path, given: &CredentialsForAgent) -> Result<(usize, Vec<String>), String> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", directory.display());
    let mut kept = BTreeSet::new();
    let (mut changed, mut lost) = (0_usize, Vec::new());
    for one in &given.items {
        // Nothing that the console says leads out of the directory.
        if !is_name(&one.name) || !is_label(&one.destination) {
            return Err("the console gives a credential with a name that is none".to_owned());
        }
        let file = directory.join(&one.destination).join(&one.name);
        match &one.value {
            None => lost.push(one.name.clone()),
            Some(value) if check_value(value.as_bytes()).is_err() => {
                return Err(format!("the credential {} is none", one.name));
            }
            Some(value) => {
                if put(&file, value.as_bytes()).map_err(failed)? {
                    changed = changed.saturating_add(1);
                }
            }
        }
        kept.insert(file);
    }
    for file in present(directory).map_err(failed)? {
        if !kept.contains(&file) && put(&file, b"").map_err(failed)? {
            changed = changed.saturating_add(1);
        }
    }
    Ok((changed, lost))
}

/// The files that are there.
fn present(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error),
    };
    for entry in entries {
        for file in fs::read_dir(entry?.path())? {
            let file = file?;
            // What an interrupted write has left begins with a dot.
            if file.file_name().to_str().is_some_and(is_name) {
                files.push(file.path());
            }
        }
    }
    Ok(files)
}

/// Renames a file into place that its owner alone reads, unless it is as it should be. Whether it did.
fn put(file: &Path, content: &[u8]) -> io::Result<bool> {
    match fs::read(file) {
        Ok(found) if found == content => return Ok(false),
        _ => {}
    }
    let parent = file.parent().unwrap_or(Path::new("/"));
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(parent)?;
    let name = file.file_name().unwrap_or_default();
    files::replace_as(0o400, parent, name, content)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use trilane_console::cases::CredentialForAgent;

    use super::*;

    const X: &str = "00000000000000000000000000000001";
    const Y: &str = "00000000000000000000000000000002";

    fn given(all: &[(&str, &str, Option<&str>)]) -> CredentialsForAgent {
        let items = all.iter().map(|(name, place, value)| CredentialForAgent {
            name: (*name).to_owned(),
            destination: (*place).to_owned(),
            value: value.map(str::to_owned),
        });
        CredentialsForAgent {
            items: items.collect(),
        }
    }

    #[test]
    fn files_are_those_that_are_given() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("given");
        let content =
            |place: &str, name: &str| fs::read_to_string(directory.join(place).join(name)).ok();
        let all = |all: &[(&str, &str, Option<&str>)]| put_all(&directory, &given(all));
        assert_eq!(all(&[]), Ok((0, vec![])));
        assert_eq!(
            all(&[("n", X, Some("one")), ("m", X, Some("two"))]),
            Ok((2, vec![]))
        );
        let mode = |file: &str| {
            let found = fs::metadata(directory.join(file)).unwrap();
            found.permissions().mode() & 0o777
        };
        assert_eq!((mode(&format!("{X}/n")), mode(X)), (0o400, 0o700));
        assert_eq!(
            all(&[("n", X, Some("one")), ("m", X, None)]),
            Ok((0, vec!["m".to_owned()])),
            "a lost key leaves the file"
        );
        // Elsewhere, and gone: empty, since Envoy does not notice that a file is removed.
        assert_eq!(all(&[("n", Y, Some("three"))]), Ok((3, vec![])));
        assert_eq!(content(X, "n").as_deref(), Some(""));
        assert_eq!(content(X, "m").as_deref(), Some(""));
        assert_eq!(content(Y, "n").as_deref(), Some("three"));
        assert_eq!(all(&[("n", Y, Some("three"))]), Ok((0, vec![])));
    }

    #[test]
    fn nothing_leads_out_of_the_directory() {
        for (case, name, place, value) in [
            ("a name upwards", "../n", X, "v"),
            ("a directory upwards", "n", "..", "v"),
            ("an absolute name", "/tmp/n", X, "v"),
            ("an absolute directory", "n", "/tmp", "v"),
            ("a hidden file", ".n", X, "v"),
            ("lines", "n", X, "a\nb"),
        ] {
            let place_of_all = tempfile::tempdir().unwrap();
            let directory = place_of_all.path().join("given");
            let put = put_all(&directory, &given(&[(name, place, Some(value))]));
            assert!(put.is_err(), "{case}");
            assert!(!directory.exists(), "{case}");
        }
    }
}
