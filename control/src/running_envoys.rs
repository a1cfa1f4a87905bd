//! The Envoys of this user that run on this machine, by their configuration.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A process that runs on a configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct RunningEnvoy {
    /// Its id.
    pub pid: i32,
    /// The file that follows `--config-path` among its arguments.
    pub config_path: PathBuf,
}

/// Finds those of this user, but for this process. Without `/proc` there are none.
///
/// Somebody else's process may claim any configuration: nothing here reads a file, or ends a process, on its word.
pub fn all() -> impl Iterator<Item = RunningEnvoy> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let user = owner(Path::new("/proc/self"));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_own = move |pid: &i32| {
        let process = PathBuf::from(format!("/proc/{pid}"));
        *pid != own && user.is_some() && owner(&process) == user
    };
    pids.filter(is_own).filter_map(of_process)
}

fn owner(process: &Path) -> Option<u32> {
    Some(fs::metadata(process).ok()?.uid())
}

fn of_process(pid: i32) -> Option<RunningEnvoy> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut arguments = line.split(|byte| *byte == 0);
    arguments.find(|argument| *argument == b"--config-path")?;
    let config_path = OsStr::from_bytes(arguments.next()?).into();
    Some(RunningEnvoy { pid, config_path })
}
