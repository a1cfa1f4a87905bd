//! The credential of an account whose document is a console's: one that the console has given, as an agent keeps it
//! (`<directory>/<destination>/<name>`), or one of the machine's own that is bound to the destination.

use std::fs;
use std::path::PathBuf;

use trilane::config::account::Account;
use trilane_console::credentials::CredentialDestination;

use super::binding;
use super::paths::Paths;
use crate::watched_files::WatchedFiles;

/// The credential of an account for one destination.
#[derive(Debug, PartialEq, Eq)]
pub struct GivenFile {
    /// The name of the destination.
    pub destination: String,
    /// The file.
    pub file: PathBuf,
    /// The reason that a file of the machine's own is not used; `None`: one is, or the console's is.
    pub unused: Option<String>,
}

/// Returns the file of an account; `None`: its document is no console's.
///
/// A file of the console comes first; an empty one, whose credential was taken back, counts as none where there is one of the
/// machine's own. Where there is neither, the file is where the console's would be.
///
/// # Errors
/// The account names no file here.
pub fn find(
    paths: &Paths,
    account: &Account,
    destination: &CredentialDestination,
    seen: &mut WatchedFiles,
) -> Option<Result<GivenFile, &'static str>> {
    let directory = paths.given.as_ref()?;
    Some(paths.named(&account.credential).map(|own| {
        let label = destination.label();
        let given = directory.join(&label).join(&account.credential);
        seen.note(&given);
        let found = |file: PathBuf, unused| GivenFile {
            destination: label,
            file,
            unused,
        };
        if fs::metadata(&given).is_ok_and(|given| given.len() > 0) {
            return found(given, None);
        }
        seen.note(&own);
        let name = &account.credential;
        match own
            .exists()
            .then(|| binding::check(&own, name, destination, &paths.bound, seen))
        {
            Some(Ok(())) => found(own, None),
            Some(Err(why)) => found(given, Some(why)),
            None => found(given, Some(format!("there is no {}", own.display()))),
        }
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trilane::config::policy::GroupKind;
    use trilane::config::{Document, compile};

    use super::*;
    use crate::render::Args;

    fn account(credential: &str, url: &str) -> Account {
        let document = json!({"currency": "USD", "keys": [], "groups": [
            {"id": "s", "protocol": "A", "clients": "current", "multiplier": "1",
             "accounts": [{"id": "one", "url": url, "credential": credential}], "models": [{"id": "m", "free": true}]},
        ]});
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let policy = compile(&document).unwrap().policy;
        let GroupKind::Source(source) = &policy.groups()[0].kind else {
            panic!("a source");
        };
        source.accounts.as_ref().unwrap().accounts[0].clone()
    }

    #[test]
    fn whose_credential_is_used() {
        const HERE: &str = "https://api.openai.com";
        // The console's and the machine's own file, the lines beside that, the account's URL, and which file is used.
        for (case, given, own, lines, url, want) in [
            ("the console's", Some("v"), None, "", HERE, "given"),
            (
                "the console's before one's own",
                Some("v"),
                Some("own"),
                HERE,
                HERE,
                "given",
            ),
            ("one's own, bound", None, Some("own"), HERE, HERE, "own"),
            (
                "taken back, one's own bound",
                Some(""),
                Some("own"),
                HERE,
                HERE,
                "own",
            ),
            ("one's own, unbound", None, Some("own"), "", HERE, "none"),
            (
                "taken back, one's own unbound",
                Some(""),
                Some("own"),
                "",
                HERE,
                "none",
            ),
            (
                "one's own, bound elsewhere",
                None,
                Some("own"),
                HERE,
                "https://mallory.example",
                "none",
            ),
            (
                "one's own, sent in the clear",
                None,
                Some("own"),
                HERE,
                "http://api.openai.com",
                "none",
            ),
            ("neither", None, None, HERE, HERE, "none"),
        ] {
            let place = tempfile::tempdir().unwrap();
            let credentials = place.path().join("credentials");
            let mut args = Args::new(place.path().join("gateway.json"));
            args.credentials = Some(credentials.clone());
            args.given = Some(place.path().join("given"));
            let paths = Paths::new(&args).unwrap();
            let account = account("openai", url);
            let destination = CredentialDestination::of(&account);
            let of_console = place
                .path()
                .join("given")
                .join(destination.label())
                .join("openai");
            fs::create_dir_all(&credentials).unwrap();
            if let Some(given) = given {
                fs::create_dir_all(of_console.parent().unwrap()).unwrap();
                fs::write(&of_console, given).unwrap();
            }
            if let Some(own) = own {
                fs::write(credentials.join("openai"), own).unwrap();
            }
            fs::write(credentials.join("openai.destinations"), lines).unwrap();
            let mut seen = WatchedFiles::default();
            let found = find(&paths, &account, &destination, &mut seen)
                .unwrap()
                .unwrap();
            let file = match want {
                "own" => credentials.join("openai"),
                _ => of_console.clone(),
            };
            assert_eq!(found.file, file, "{case}");
            assert_eq!(
                found.unused.is_some(),
                want == "none",
                "{case}: {:?}",
                found.unused
            );
        }
    }

    #[test]
    fn no_path_of_a_console_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let mut args = Args::new(place.path().join("gateway.json"));
        args.credentials = Some(place.path().join("credentials"));
        let own = Paths::new(&args).unwrap();
        args.given = Some(place.path().join("given"));
        let of_console = Paths::new(&args).unwrap();
        for name in ["/etc/shadow", "../agent/agent.json", "a/b", ".env", "."] {
            let account = account(name, "https://mallory.example");
            let destination = CredentialDestination::of(&account);
            let mut seen = WatchedFiles::default();
            let found = find(&of_console, &account, &destination, &mut seen);
            assert!(matches!(found, Some(Err(_))), "{name}: {found:?}");
            assert!(of_console.named(name).is_err(), "{name}");
            // The operator's own document is free to name any.
            assert!(own.named(name).is_ok(), "{name}");
            assert_eq!(find(&own, &account, &destination, &mut seen), None);
        }
    }
}
