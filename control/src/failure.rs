//! The failure of a command: its message and its exit code.

use std::io;
use std::process::ExitCode;

use crate::terminal::say;

/// The failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong: exit code 2, as for an unknown option.
    Usage(String),
    /// The input is wrong, or cannot be read: exit code 1.
    Data(String),
    /// The same, and it was reported already.
    Told,
    /// The input cannot be read, so there is no result: exit code 2.
    Unreadable(String),
    /// The reader of the output is gone (`| head`): nothing to report, exit code 0.
    Closed,
}

impl Failure {
    /// A failure of the system at something that is a matter of where: what could not be done, why, and the option that names
    /// another place.
    pub fn at_place(what: &str, error: &io::Error, option: &str) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "Free some space, or choose another place with"
            }
            io::ErrorKind::PermissionDenied => "Let this user do so, or choose another place with",
            _ => "Choose another with",
        };
        Self::Data(format!("cannot {what}: {error}. {advice} {option}"))
    }

    /// Converts an error in writing the output: a broken pipe only means that its reader has gone.
    pub fn of_output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Data(format!("cannot write the output: {error}"))
        }
    }

    /// Reports it on standard error.
    pub fn tell(&self) {
        match self {
            Self::Usage(text) => say(&format!("error: {text}\n\nFor more, try '--help'.")),
            Self::Data(text) | Self::Unreadable(text) => say(&format!("error: {text}")),
            Self::Told | Self::Closed => {}
        }
    }

    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Unreadable(_) => ExitCode::from(2),
            Self::Data(_) | Self::Told => ExitCode::FAILURE,
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}
