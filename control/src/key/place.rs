//! The place of keys: a document, or a console.

use std::path::{Path, PathBuf};

use crate::console_api::{ConsoleApi, SERVER_VARIABLE, ServerArgs};
use crate::failure::Failure;

/// The options that name a document or a console.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct KeyPlaceArgs {
    /// The gateway's configuration document; `-`: standard input, where it is only read
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    document: Option<PathBuf>,

    /// The same without `--document`
    #[arg(value_name = "DOCUMENT", hide = true, conflicts_with_all = ["document", "server"])]
    positional: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,
}

/// A place of keys.
#[derive(Debug)]
pub enum KeyPlace<'a> {
    /// A document.
    Document(&'a Path),
    /// A console.
    Console(ConsoleApi),
}

impl KeyPlaceArgs {
    /// The document of this file.
    pub fn of(file: &Path) -> Self {
        Self {
            document: Some(file.to_owned()),
            ..Self::default()
        }
    }

    /// The place that is named.
    ///
    /// # Errors
    /// None is, or there is no token for the console.
    pub fn find(&self) -> Result<KeyPlace<'_>, Failure> {
        let document = self.document.as_deref().or(self.positional.as_deref());
        let console = self.server.console(document.is_some())?;
        match (console, document) {
            (Some(console), _) => Ok(KeyPlace::Console(console)),
            (None, Some(document)) => Ok(KeyPlace::Document(document)),
            (None, None) => Err(Failure::Usage(format!(
                "no keys are named: those of a document with --document FILE, or those of a console with --server URL or \
                 {SERVER_VARIABLE}"
            ))),
        }
    }
}
