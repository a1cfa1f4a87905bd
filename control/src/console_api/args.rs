//! The options that name a console.

use std::env;
use std::path::PathBuf;

use super::client::ConsoleApi;
use super::token::ApiToken;
use crate::console_http::ConsoleUrl;
use crate::failure::Failure;

/// The variable that names the console where no file is named.
pub const SERVER_VARIABLE: &str = "TRILANE_SERVER";

/// The options that name a console.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct ServerArgs {
    /// Ask the console at this address, over its API [default: $TRILANE_SERVER, where no file is named]
    #[arg(long, value_name = "URL")]
    pub server: Option<ConsoleUrl>,

    /// The file with a token of that API [default: the token in $TRILANE_TOKEN, else that of trilane login --api]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Trust the certificate authorities in this file for that console instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

impl ServerArgs {
    /// The console that is named on the command line, or in the environment where no file is named.
    ///
    /// # Errors
    /// There is no token for it, or it is no address.
    pub fn console(&self, names_file: bool) -> Result<Option<ConsoleApi>, Failure> {
        if let Some(url) = &self.server {
            return self.open(url.clone()).map(Some);
        }
        let named = env::var(SERVER_VARIABLE).unwrap_or_default();
        if !named.is_empty() && !names_file {
            let url = named.parse();
            let url = url.map_err(|why| Failure::Usage(format!("{SERVER_VARIABLE}: {why}")))?;
            return self.open(url).map(Some);
        }
        if self.token_file.is_some() || self.ca.is_some() {
            let why = "--token-file and --ca are for a console: name it with --server URL";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(None)
    }

    /// The same for a command that always asks a console.
    ///
    /// # Errors
    /// None is named, or as [`console`](Self::console).
    pub fn must(&self) -> Result<ConsoleApi, Failure> {
        self.console(false)?.ok_or_else(|| {
            Failure::Usage(format!(
                "no console is named: --server https://console.example.com, or {SERVER_VARIABLE}"
            ))
        })
    }

    fn open(&self, url: ConsoleUrl) -> Result<ConsoleApi, Failure> {
        let (token, stored_ca) = ApiToken::find(&url, self.token_file.as_deref())?;
        let ca = self.ca.clone().or(stored_ca);
        ConsoleApi::new(url, ca.as_deref(), token).map_err(Failure::Usage)
    }
}
