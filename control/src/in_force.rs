//! Whether a document is in force on this machine: a change of one that is not would change nothing.
//!
//! A document in a data directory is in force unless the gateway of that directory was last started with a console, or reads another
//! document. One elsewhere may be for a gateway elsewhere; a key that is made in it while this user's gateway reads another one, or
//! has a console, is most likely made in the wrong place.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::data_directory::{self, DataArg, DataDirectory};
use crate::envoy_config::CONSOLE_CLUSTER;
use crate::failure::Failure;
use crate::run_directory::RunDirectory;
use crate::running_envoys;
use crate::shell_line::shell_line;
use crate::terminal::say;

/// The holder of document and keys in place of a document.
#[derive(Debug)]
enum InCharge {
    /// A console.
    Console {
        /// Its address, where it is known.
        url: Option<String>,
        /// The file with its first admin's token, if it is here.
        token: Option<PathBuf>,
    },
    /// Another document.
    Document(PathBuf),
}

/// A document that is not in force.
#[derive(Debug)]
pub struct NotInForce {
    /// As it was named.
    document: PathBuf,
    by: InCharge,
}

impl InCharge {
    /// Of the gateway of a data directory: what has document and keys in place of this document; `None`: nothing has.
    fn of(data: &DataDirectory, document: &Path) -> Option<Self> {
        let run = RunDirectory::of(data);
        let config = fs::read_to_string(run.envoy_yaml()).ok()?;
        if config.contains(CONSOLE_CLUSTER) {
            let url = fs::read_to_string(run.console_address()).ok();
            let token = data.admin_token();
            return Some(Self::Console {
                url: url.map(|url| url.trim().to_owned()),
                token: token.exists().then_some(token),
            });
        }
        let read = PathBuf::from(fs::read_to_string(run.published_from()).ok()?);
        let is_other =
            is_running(data) && fs::canonicalize(&read).is_ok_and(|read| read != document);
        is_other.then_some(Self::Document(read))
    }
}

/// Whether the gateway of a data directory runs.
fn is_running(data: &DataDirectory) -> bool {
    let config = fs::canonicalize(RunDirectory::of(data).envoy_yaml());
    let runs_on = |running: running_envoys::RunningEnvoy| {
        let own = fs::canonicalize(running.config_path).ok();
        own.is_some() && own == config.as_ref().ok().cloned()
    };
    running_envoys::all().any(runs_on)
}

/// Whether a gateway that runs reads this document.
fn is_read(document: &Path) -> bool {
    let data =
        running_envoys::all().filter_map(|running| RunDirectory::data_of(&running.config_path));
    let read = data.filter_map(|data| {
        let read = fs::read_to_string(RunDirectory::of(&data).published_from()).ok()?;
        fs::canonicalize(read).ok()
    });
    read.into_iter().any(|read| read == document)
}

/// The data directory that has this document as its own.
fn own_directory(path: &Path) -> Option<DataDirectory> {
    let data = DataDirectory::new(path.parent()?.to_owned());
    (data.document() == path).then_some(data)
}

impl NotInForce {
    /// A document in a data directory whose gateway has something else in its place. `None`: it is in force, or may be.
    pub fn of(document: &Path) -> Option<Self> {
        let path = fs::canonicalize(document).ok()?;
        let by = InCharge::of(&own_directory(&path)?, &path)?;
        (!is_read(&path)).then(|| Self {
            document: document.to_owned(),
            by,
        })
    }

    /// The same, and a document elsewhere while the gateway of this user's data directory runs without it.
    pub fn beside_gateway(document: &Path) -> Option<Self> {
        let path = fs::canonicalize(document).ok()?;
        if own_directory(&path).is_some_and(|data| RunDirectory::of(&data).envoy_yaml().exists()) {
            return Self::of(document);
        }
        let data = env::var_os(data_directory::VARIABLE).map(PathBuf::from);
        let data = DataArg { data }.directory().ok()?;
        if !is_running(&data) || is_read(&path) {
            return None;
        }
        let by = InCharge::of(&data, &path)?;
        Some(Self {
            document: document.to_owned(),
            by,
        })
    }

    /// Refuses a change of it by the present command line.
    pub fn refusal(&self) -> Failure {
        Failure::Data(format!("{}{}", self.reason(), self.instead(false)))
    }

    /// The same for a key that is made, which may be for a gateway elsewhere.
    pub fn refusal_unless_elsewhere(&self) -> Failure {
        let (reason, instead) = (self.reason(), self.instead(false));
        Failure::Data(format!(
            "{reason}{instead}\nIf the document is for a gateway elsewhere, add --elsewhere"
        ))
    }

    /// Notes that what the present command line prints is not what the gateway has.
    pub fn note(&self) {
        say(&format!("note: {}{}", self.reason(), self.instead(false)));
    }

    /// Notes that a subcommand that asks no console answers by what is not in force, and the page that has the answer.
    pub fn note_of_pages(&self, page: &str) {
        let reason = self.reason();
        say(&match &self.by {
            InCharge::Console { .. } => format!("note: {reason}. Its {page} has what it says"),
            InCharge::Document(_) => format!("note: {reason}{}", self.instead(false)),
        });
    }

    /// Notes that the present command line checks it without what the console has.
    pub fn note_of_check(&self) {
        if matches!(self.by, InCharge::Console { .. }) {
            say(&format!("note: {}{}", self.reason(), self.instead(true)));
        }
    }

    fn reason(&self) -> String {
        let document = self.document.display();
        match &self.by {
            InCharge::Console { url, .. } => {
                let at = url.as_ref().map(|url| format!(" at {url}"));
                format!(
                    "{document} is not in force: the gateway was last started with the console{}, which has the document and the \
                     keys",
                    at.unwrap_or_default()
                )
            }
            InCharge::Document(read) => {
                let read = read.display();
                format!("{document} is not in force: the gateway that runs here reads {read}")
            }
        }
    }

    /// The line to run instead, which may still name the document.
    fn instead(&self, names_it: bool) -> String {
        match &self.by {
            InCharge::Console {
                url: Some(url),
                token,
            } => {
                let mut words = self.words(names_it);
                words.extend(["--server".to_owned(), url.clone()]);
                let token = token.iter();
                words.extend(
                    token.flat_map(|file| ["--token-file".to_owned(), file.display().to_string()]),
                );
                format!(". Run\n  {}", shell_line(words))
            }
            InCharge::Console { url: None, .. } => {
                let in_place = if names_it {
                    ""
                } else {
                    " in the place of the document"
                };
                format!(". Give the address of the console with --server{in_place}")
            }
            InCharge::Document(read) => {
                let mut words = self.words(names_it);
                words.extend(["--document".to_owned(), read.display().to_string()]);
                format!(". Run\n  {}", shell_line(words))
            }
        }
    }

    /// The present command line, with or without the document.
    fn words(&self, names_it: bool) -> Vec<String> {
        let mut words = vec!["trilane".to_owned()];
        if names_it {
            let given = env::args_os().skip(1);
            words.extend(given.map(|word| word.to_string_lossy().into_owned()));
            return words;
        }
        let mut given = env::args_os().skip(1);
        while let Some(word) = given.next() {
            if word == "--document" {
                given.next();
                continue;
            }
            let word = word.to_string_lossy().into_owned();
            if !word.starts_with("--document=") && Path::new(&word) != self.document {
                words.push(word);
            }
        }
        words
    }
}
