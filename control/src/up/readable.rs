//! Credentials that other users of this machine can read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::document::DocumentSummary;

/// The permissions of others.
const OTHERS: u32 = 0o007;

/// A warning for each credential of a document that others can read, with what to do.
pub fn warnings(document: &Path, credentials: &Path) -> Vec<String> {
    // Nobody gets to a file in a directory that others cannot enter.
    let open = |path: &Path| {
        let mode = fs::metadata(path).ok()?.permissions().mode();
        (mode & OTHERS != 0).then_some(mode & 0o777)
    };
    let document = DocumentSummary::read(document);
    let accounts = document.groups().flat_map(|group| &group.accounts);
    let mut files: Vec<_> = accounts
        .filter_map(|account| Some(credentials.join(account.credential.as_deref()?)))
        .collect();
    files.sort();
    files.dedup();
    let warning = |file: &std::path::PathBuf| {
        open(file.parent()?)?;
        let mode = open(file)?;
        let file = file.display();
        Some(format!(
            "warning: other users can read the credential {file} (mode {mode:04o}): chmod 0400 {file}"
        ))
    };
    files.iter().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_can_read() {
        let place = tempfile::tempdir().unwrap();
        let document = place.path().join("gateway.json");
        let text = r#"{"groups": [{"id": "s", "accounts": [{"id": "a", "credential": "a"}, {"id": "b", "credential": "a"},
            {"id": "c", "credential": "missing"}]}]}"#;
        fs::write(&document, text).unwrap();
        let file = place.path().join("a");
        fs::write(&file, "").unwrap();
        for (directory, mode, told) in [
            (0o755, 0o600, 0),
            (0o755, 0o440, 0),
            (0o755, 0o644, 1),
            (0o755, 0o604, 1),
            (0o700, 0o644, 0),
        ] {
            let set = |path: &Path, mode| {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            };
            set(place.path(), directory);
            set(&file, mode);
            let found = warnings(&document, place.path());
            assert_eq!(found.len(), told, "{directory:o} {mode:o}: {found:?}");
        }
    }
}
