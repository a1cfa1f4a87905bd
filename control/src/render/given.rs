//! Credentials that a console has given, as an agent keeps them: `<directory>/<destination>/<name>`.

use std::fs;
use std::path::PathBuf;

use trilane::config::account::Account;
use trilane_console::credentials::is_name;

use super::paths::Paths;
use crate::watched_files::WatchedFiles;

/// A credential that was given for the destination of an account.
#[derive(Debug, PartialEq, Eq)]
pub struct GivenFile {
    /// The name of the destination.
    pub destination: String,
    /// The file.
    pub file: PathBuf,
}

/// That of an account, for the destination of this name. `None`: the console has none for where the account goes, so a file that the operator put there counts.
/// An empty file, whose credential was taken back, counts only where there is no other.
pub fn find(
    paths: &Paths,
    account: &Account,
    destination: &str,
    seen: &mut WatchedFiles,
) -> Option<GivenFile> {
    let directory = paths.given.as_ref()?;
    if !is_name(&account.credential) {
        return None;
    }
    let file = directory.join(destination).join(&account.credential);
    seen.note(&file);
    let is_empty = fs::metadata(&file).ok()?.len() == 0;
    if is_empty {
        let own = paths.named(&account.credential)?;
        seen.note(&own);
        if own.exists() {
            return None;
        }
    }
    Some(GivenFile {
        destination: destination.to_owned(),
        file,
    })
}
