//! Envoys that an earlier run of the same data directory left over.
//!
//! Envoy ends with its supervisor. Where the system does not see to that, or Envoy takes a while, it would still have the ports and
//! write to the ledger.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::running_envoys;

/// The longest time for such an Envoy to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval at which that is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// Ends every process of this user that runs on a configuration. Returns their ids.
///
/// The holder of the directory's lock owns them all: nobody else starts Envoy on that file.
pub fn end(envoy_yaml: &Path) -> Vec<i32> {
    let found = on_configuration(envoy_yaml);
    for pid in &found {
        send(*pid, Signal::TERM);
    }
    let begun = Instant::now();
    while !found.is_empty() {
        let left = on_configuration(envoy_yaml);
        if left.is_empty() {
            break;
        }
        if begun.elapsed() > PATIENCE {
            left.iter().for_each(|pid| send(*pid, Signal::KILL));
        }
        std::thread::sleep(EVERY);
    }
    found
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

fn on_configuration(envoy_yaml: &Path) -> Vec<i32> {
    running_envoys::all()
        .filter(|envoy| envoy.config_path == envoy_yaml)
        .map(|envoy| envoy.pid)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command};

    use super::*;

    /// A process with these arguments that ignores SIGTERM or not.
    fn process(file: &Path, ignores: bool) -> Child {
        let trap = if ignores { "trap '' TERM; " } else { "" };
        // It waits without a process of its own: that would have these arguments too, for a moment. It ends when its
        // standard input does, which is when the test does.
        let script = format!("{trap}echo; while read -r _; do :; done");
        let mut child = Command::new("sh")
            .args(["-c", &script, "envoy", "--config-path"])
            .arg(file)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Its first line comes when the trap is set.
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        // To wait for it would close this, and it would end by itself.
        std::mem::forget(child.stdin.take());
        child
    }

    #[test]
    fn what_is_left_over_is_ended() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (
            place.path().join("envoy.yaml"),
            place.path().join("other.yaml"),
        );
        let mut ours = process(&own, false);
        let mut neighbour = process(&other, false);
        // It is reaped at once, as an orphan is by the init process.
        let pid = i32::try_from(ours.id()).unwrap();
        let reaper = std::thread::spawn(move || ours.wait().unwrap());
        assert_eq!(end(&own), [pid]);
        assert_eq!(reaper.join().unwrap().signal(), Some(15));
        assert!(
            neighbour.try_wait().unwrap().is_none(),
            "it has another configuration"
        );
        neighbour.kill().unwrap();
        neighbour.wait().unwrap();
        assert!(end(&own).is_empty());
    }

    #[test]
    fn one_that_ignores_it_is_killed() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("envoy.yaml");
        let mut stubborn = process(&file, true);
        let reaper = std::thread::spawn(move || stubborn.wait().unwrap());
        assert_eq!(end(&file).len(), 1);
        assert_eq!(reaper.join().unwrap().signal(), Some(9));
    }
}
