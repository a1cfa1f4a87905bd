//! The destinations of a credential of the machine's own, when the document is a console's.
//!
//! The editor of that document says where accounts are, so a file that the machine's operator put there is of use only for
//! destinations that the operator has bound it to: those of the operator's own document, and those in a file beside it, such as
//! `openai.destinations` beside `openai`. It has a line for each: `https://api.openai.com`, and behind it `proxy=URL` and
//! `ca=NAME` where the account has them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use trilane_console::credentials::{CredentialDestination, CredentialDestinations};

use crate::watched_files::WatchedFiles;

/// The end of such a file's name.
const ENDING: &str = ".destinations";
/// The most of it that is read, in bytes.
const MOST: u64 = 64 << 10;

/// Whether a credential's file is bound to a destination.
///
/// # Errors
/// It is not; what the operator may do.
pub fn check(
    file: &Path,
    name: &str,
    destination: &CredentialDestination,
    own: &CredentialDestinations,
    seen: &mut WatchedFiles,
) -> Result<(), String> {
    let beside = beside(file);
    seen.note(&beside);
    if own.get(name).is_some_and(|all| all.contains(destination)) {
        return Ok(());
    }
    let shown = beside.display();
    let lines = match read(&beside) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
    };
    let mut wrong = None;
    for (number, line) in lines.lines().enumerate() {
        match parse(line) {
            Ok(Some(bound)) if bound == *destination => return Ok(()),
            Ok(_) => {}
            Err(why) => {
                wrong.get_or_insert_with(|| {
                    let number = number.saturating_add(1);
                    format!(". Line {number} there {why}")
                });
            }
        }
    }
    Err(format!(
        "{} is not bound to it: whoever runs this machine may do so with the line `{}` in {shown}{}",
        file.display(),
        line(destination),
        wrong.unwrap_or_default()
    ))
}

/// The file beside a credential that says where it may be sent.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().map_or_else(OsString::new, OsString::from);
    name.push(ENDING);
    file.with_file_name(name)
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// The destination in a line; `None`: the line is empty or a comment.
fn parse(line: &str) -> Result<Option<CredentialDestination>, String> {
    let mut words = line.split_whitespace();
    let Some(url) = words.next().filter(|word| !word.starts_with('#')) else {
        return Ok(None);
    };
    let mut destination = CredentialDestination {
        url: url.to_owned(),
        proxy: None,
        ca: None,
    };
    for word in words {
        match word.split_once('=') {
            Some(("proxy", proxy)) => destination.proxy = Some(proxy.to_owned()),
            Some(("ca", ca)) => destination.ca = Some(ca.to_owned()),
            _ => return Err("has something else than `proxy=` and `ca=` behind the URL".to_owned()),
        }
    }
    let normal = destination.normal();
    normal
        .map(Some)
        .map_err(|(member, why)| format!("has a {member} that {why}"))
}

/// A destination as a line.
pub fn line(destination: &CredentialDestination) -> String {
    let CredentialDestination { url, proxy, ca } = destination;
    let mut line = url.clone();
    for (name, value) in [("proxy", proxy), ("ca", ca)] {
        if let Some(value) = value {
            line.push_str(&format!(" {name}={value}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The destination of a line.
    fn read(line: &str) -> CredentialDestination {
        parse(line).unwrap().unwrap()
    }

    #[test]
    fn only_where_the_operator_says() {
        let here = read("https://api.openai.com");
        let proxied = read("https://api.openai.com proxy=http://proxy:3128 ca=own.pem");
        for (case, lines, asked, want) in [
            ("no file", None, &here, false),
            ("an empty file", Some(""), &here, false),
            ("bound", Some("https://api.openai.com\n"), &here, true),
            (
                "the scheme's own port",
                Some("https://api.openai.com:443"),
                &here,
                true,
            ),
            (
                "a comment, others, blanks",
                Some("# ours\n\n https://x\n  https://api.openai.com/  "),
                &here,
                true,
            ),
            (
                "a line that is none before it",
                Some("nonsense\nhttps://api.openai.com"),
                &here,
                true,
            ),
            (
                "a comment is no line",
                Some("# https://api.openai.com"),
                &here,
                false,
            ),
            (
                "another host",
                Some("https://api.openai.com.evil.example"),
                &here,
                false,
            ),
            (
                "another port",
                Some("https://api.openai.com:444"),
                &here,
                false,
            ),
            (
                "another scheme",
                Some("http://api.openai.com"),
                &here,
                false,
            ),
            (
                "through a proxy that is not named",
                Some("https://api.openai.com"),
                &proxied,
                false,
            ),
            (
                "with authorities that are not named",
                Some("https://api.openai.com proxy=http://proxy:3128"),
                &proxied,
                false,
            ),
            (
                "all named",
                Some("https://api.openai.com ca=own.pem proxy=http://proxy:3128"),
                &proxied,
                true,
            ),
            (
                "named, and not used",
                Some("https://api.openai.com ca=own.pem"),
                &here,
                false,
            ),
            (
                "something else behind it",
                Some("https://api.openai.com or=any"),
                &here,
                false,
            ),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("openai");
            if let Some(lines) = lines {
                fs::write(directory.path().join("openai.destinations"), lines).unwrap();
            }
            let mut seen = WatchedFiles::default();
            let own = CredentialDestinations::new();
            let checked = check(&file, "openai", asked, &own, &mut seen);
            assert_eq!(checked.is_ok(), want, "{case}: {checked:?}");
            if let Err(why) = checked {
                assert!(why.contains(&line(asked)), "{case}: {why}");
            }
            let own = CredentialDestinations::from([("openai".to_owned(), [asked.clone()].into())]);
            assert_eq!(
                check(&file, "openai", asked, &own, &mut seen),
                Ok(()),
                "{case}: the operator's own document"
            );
            assert!(
                check(&file, "other", &read("https://y"), &own, &mut seen).is_err(),
                "{case}"
            );
        }
    }

    #[test]
    fn what_is_said_is_what_is_read() {
        for said in [
            "https://a.example",
            "http://127.0.0.1:9101 proxy=http://proxy:3128",
            "https://a.example:8443 proxy=https://proxy ca=own.pem",
        ] {
            assert_eq!(line(&read(said)), said);
        }
    }
}
