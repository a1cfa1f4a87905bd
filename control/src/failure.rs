//! How a command ends when it does not end well.

use std::io;
use std::process::ExitCode;

use crate::terminal::say;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that cannot be: exit code 2, as for an unknown option.
    Usage(String),
    /// What was read is not as it should be, or could not be read: exit code 1.
    Data(String),
    /// The same, and all of it was told already.
    Told,
    /// Something could not be read, so that there is nothing to say of it: exit code 2.
    Unreadable(String),
    /// Nobody reads the output any longer (`| head`): nothing to tell, exit code 0.
    Closed,
}

impl Failure {
    /// What a failure to write the output means.
    pub fn of_output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Data(format!("cannot write the output: {error}"))
        }
    }

    /// Says on standard error what is wrong.
    pub fn tell(&self) {
        match self {
            Self::Usage(text) => say(&format!("error: {text}\n\nFor more, try '--help'.")),
            Self::Data(text) | Self::Unreadable(text) => say(&format!("error: {text}")),
            Self::Told | Self::Closed => {}
        }
    }

    /// The code to end with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Unreadable(_) => ExitCode::from(2),
            Self::Data(_) | Self::Told => ExitCode::FAILURE,
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}
