//! The mail server that the options name.

use std::path::{Path, PathBuf};

use trilane_console::named_file;
use trilane_console::webhooks::mail::MailServer;

use crate::failure::Failure;

/// The options of the mail server.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct SmtpArgs {
    /// The mail server for notices: smtps://USER@HOST:465 (TLS from the start) or smtp://USER@HOST:587 (STARTTLS; on loopback without TLS)
    #[arg(
        long,
        value_name = "URL",
        env = "TRILANE_SMTP_URL",
        requires = "smtp_from"
    )]
    pub smtp_url: Option<String>,

    /// The file with the password of that user
    #[arg(
        long,
        value_name = "FILE",
        env = "TRILANE_SMTP_PASSWORD_FILE",
        requires = "smtp_url"
    )]
    pub smtp_password_file: Option<PathBuf>,

    /// The sender's address of notices: trilane@example.com
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "TRILANE_SMTP_FROM",
        requires = "smtp_url"
    )]
    pub smtp_from: Option<String>,
}

impl SmtpArgs {
    /// The mail server, if one is named.
    ///
    /// # Errors
    /// The options are wrong, or the file of the password cannot be read.
    pub fn server(&self) -> Result<Option<MailServer>, Failure> {
        let (url, from) = match (&self.smtp_url, &self.smtp_from) {
            (Some(url), Some(from)) => (url, from),
            (None, None) if self.smtp_password_file.is_none() => return Ok(None),
            _ => {
                let text = "a mail server needs --smtp-url and --smtp-from".to_owned();
                return Err(Failure::Usage(text));
            }
        };
        let password = self.smtp_password_file.as_deref().map(password);
        let password = password.transpose()?;
        let server = MailServer::new(url, password, from);
        server.map(Some).map_err(Failure::Usage)
    }
}

fn password(file: &Path) -> Result<String, Failure> {
    let failed = |why: String| Failure::Data(format!("{} {why}", file.display()));
    let text = named_file::read_text(file, named_file::SECRET);
    let text = text.map_err(|error| failed(format!("cannot be read: {error}")))?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() {
        return Err(failed("has no password".to_owned()));
    }
    Ok(line.to_owned())
}
