//! The program that becomes Envoy.
//!
//! Process settings survive the change into another program. So this command starts itself, sees to
//! it that it ends with its supervisor, and becomes Envoy: same process, same id.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getppid, getrlimit, setrlimit};

use crate::failure::Failure;

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "become-envoy";

/// Ends with its supervisor, and becomes another program.
#[derive(Debug, clap::Args)]
pub struct LaunchArgs {
    /// The process id of the supervisor
    #[arg(long)]
    pub supervisor: u32,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Does that.
///
/// # Errors
/// The program cannot be run.
pub fn run(args: &LaunchArgs) -> Result<(), Failure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::Usage("no program is named".to_owned()));
    };
    end_with_supervisor(args.supervisor)?;
    // Each connection is an open file.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, most);
    let error = Command::new(program).args(arguments).exec();
    let name = program.to_string_lossy();
    Err(Failure::Data(format!("{name} cannot be run: {error}")))
}

#[cfg(target_os = "linux")]
fn end_with_supervisor(supervisor: u32) -> Result<(), Failure> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    let asked = set_parent_process_death_signal(Some(Signal::TERM));
    asked.map_err(|error| Failure::Data(format!("cannot follow the supervisor: {error}")))?;
    // It may have ended before it was followed.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent.and_then(|pid| u32::try_from(pid).ok()) == Some(supervisor) {
        Ok(())
    } else {
        Err(Failure::Data("the supervisor has ended".to_owned()))
    }
}

#[cfg(not(target_os = "linux"))]
fn end_with_supervisor(_: u32) -> Result<(), Failure> {
    let _ = getppid();
    Ok(()) // the next run ends what is left over
}
