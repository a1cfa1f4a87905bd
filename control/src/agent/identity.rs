//! The identity of an agent: the id of its Envoy and its credential, kept in a file.

use std::fs;
use std::io;
use std::path::Path;

use trilane_console::cases::{EnrolBody, EnrolledView};
use trilane_console::{envoys, secret};

use super::client::{AgentCredential, ConsoleClient, ConsoleError};
use crate::files;

/// The path of the console's API at which an agent enrols.
const ENROL: &str = "/api/v1/enrol";

/// The id of an Envoy and the credential of its agent.
#[derive(Debug, Clone)]
pub struct AgentIdentity {
    /// The id of its Envoy.
    pub envoy: String,
    /// The token with which it authenticates to the console.
    pub credential: AgentCredential,
}

impl From<EnrolledView> for AgentIdentity {
    fn from(enrolled: EnrolledView) -> Self {
        Self {
            envoy: enrolled.envoy,
            credential: AgentCredential::new(enrolled.token),
        }
    }
}

impl AgentIdentity {
    /// The identity in a file; `None`: there is none yet.
    ///
    /// # Errors
    /// The file cannot be read, or is another one.
    pub fn read(file: &Path) -> Result<Option<Self>, String> {
        let text = match fs::read(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
        };
        // The error of the parser could have a part of the text.
        let written: EnrolledView = serde_json::from_slice(&text).map_err(|_| {
            let name = file.display();
            format!("{name} is no credential of an agent. Remove it, and let the agent enrol again")
        })?;
        Ok(Some(written.into()))
    }

    /// The words that people compare before they approve this agent: the console shows the same.
    pub fn fingerprint(&self) -> String {
        envoys::fingerprint(&secret::digest(self.credential.reveal()))
    }

    /// Exchanges an enrolment token, or an enrolment secret under this id, for an identity, and keeps that in a file which only
    /// this user reads.
    ///
    /// # Errors
    /// The console refuses it or is away, or the file cannot be written.
    pub fn enrol(
        console: &ConsoleClient,
        token: &str,
        id: Option<&str>,
        file: &Path,
    ) -> Result<Self, String> {
        let token = token.trim();
        let id = || id.map_or_else(host_name, |id| Ok(id.to_owned()));
        let body = EnrolBody {
            token: token.to_owned(),
            envoy: secret::is_enrolment_secret(token).then(id).transpose()?,
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let answer = console.post(ENROL, "application/json", &body);
        let answer = answer.map_err(|error| match error {
            ConsoleError::Refused(why) => format!("the enrolment token is refused: {why}"),
            other => format!("this agent cannot enrol: {other}"),
        })?;
        let enrolled: EnrolledView = serde_json::from_slice(&answer.body)
            .map_err(|_| "this agent cannot enrol: what answers is no console".to_owned())?;
        let identity = Self::from(enrolled);
        identity
            .write(file)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(identity)
    }

    /// Keeps it in a file which only this user reads.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let written = EnrolledView {
            envoy: self.envoy.clone(),
            token: self.credential.reveal().to_owned(),
        };
        let directory = file.parent().unwrap_or(Path::new("."));
        let name = file.file_name().unwrap_or_default();
        files::replace_as(0o600, directory, name, serde_json::to_vec(&written)?)
    }
}

/// The name of this machine.
fn host_name() -> Result<String, String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    let name =
        name.map_err(|error| format!("this machine has no name ({error}): --envoy-id ID"))?;
    Ok(name.trim().to_owned())
}
