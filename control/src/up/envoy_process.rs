//! The Envoy that runs.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::launcher;
use super::plan::Plan;

/// This very program, even if its file was replaced meanwhile.
const SELF: &str = "/proc/self/exe";
/// The interval at which Envoy writes what it has gathered for the ledger, in milliseconds.
const FLUSH: &str = "200";

/// A running Envoy. It ends with this process.
#[derive(Debug)]
pub struct EnvoyProcess {
    child: Child,
    /// The process id.
    pub pid: u32,
}

/// The arguments that Envoy has in every case.
fn arguments(plan: &Plan) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![plan.envoy.file.clone().into()];
    arguments.extend([
        "--config-path".into(),
        plan.run.envoy_yaml().into_os_string(),
    ]);
    // Hot restart would make two Envoys of one machine fight for one shared memory segment.
    arguments.push("--disable-hot-restart".into());
    arguments.extend(["--concurrency".into(), plan.concurrency.to_string().into()]);
    arguments.extend(["--log-level".into(), plan.log_level.clone().into()]);
    arguments
}

impl EnvoyProcess {
    /// Starts it. Call this on a thread that lives as long as Envoy shall.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn start(plan: &Plan) -> io::Result<Self> {
        let admin = plan.run.admin_address();
        match std::fs::remove_file(&admin) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // To the end, always, so that the log can be cut off while Envoy writes to it.
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(plan.run.envoy_log())?;
        let mut command = if cfg!(target_os = "linux") {
            Command::new(SELF)
        } else {
            Command::new(std::env::current_exe()?)
        };
        let child = command
            .args([
                launcher::SUBCOMMAND,
                "--supervisor",
                &std::process::id().to_string(),
                "--",
            ])
            .args(arguments(plan))
            .arg("--admin-address-path")
            .arg(admin)
            .args(["--file-flush-interval-msec", FLUSH])
            // Once it drains, every answer asks its client for another connection.
            .args(["--drain-strategy", "immediate"])
            .arg("--drain-time-s")
            .arg(plan.drain.as_secs().saturating_add(1).to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C in the terminal goes to the supervisor alone, which ends Envoy in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().unwrap_or_default();
        Ok(Self { child, pid })
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends SIGTERM, on which Envoy writes the rest of the ledger and ends, and SIGKILL after `patience`.
    pub async fn stop(&mut self, patience: Duration) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.has_ended().is_none()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(patience, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

/// Lets Envoy check the configuration. Returns what it said, if it refuses it.
///
/// # Errors
/// As the system gives them.
pub async fn check(plan: &Plan) -> io::Result<Result<(), String>> {
    let mut arguments = arguments(plan).into_iter();
    let mut command = Command::new(arguments.next().unwrap_or_default());
    let output = command
        .args(arguments)
        .args(["--mode", "validate"])
        .stdin(Stdio::null())
        .output()
        .await?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let said = [output.stdout, output.stderr].concat();
    Ok(Err(String::from_utf8_lossy(&said).trim().to_owned()))
}
