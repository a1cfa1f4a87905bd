//! Runs Envoy until a signal.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::back_off::BackOff;
use super::envoy_process::{self, EnvoyProcess};
use super::log::{self, LogReader};
use super::plan::Plan;
use super::prepare::PreparedGateway;
use super::refusal::Refusals;
use super::watchdog::{EnvoyHang, Watchdog};
use super::{metrics, overview, tell};
use crate::envoy_admin::{Admin, AdminPlace};
use crate::failure::Failure;
use crate::render::Follower;
use crate::signals::{EndSignal, TerminalSignals};

/// The longest time until the gateway is ready at first.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval at which that is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The interval at which log and ledger are looked at.
const PERIODIC_TASKS: Duration = Duration::from_millis(250);
/// The same for lines of the ledger that were lost.
const COUNTS: Duration = Duration::from_secs(10);
/// The longest time for Envoy to end after SIGTERM.
const LAST: Duration = Duration::from_secs(5);
/// The time for clients to notice that the gateway drains, before requests are counted.
const SETTLE: Duration = Duration::from_millis(500);

/// Starts the gateway, and runs it until a signal.
///
/// # Errors
/// It cannot be started.
pub async fn run(plan: Plan) -> Result<(), Failure> {
    // From here on, so that a signal leaves nothing behind.
    let mut signals = TerminalSignals::catch()?;
    if plan.check {
        return check(plan).await;
    }
    tell("starting ...");
    let gateway = tokio::select! {
        gateway = PreparedGateway::new(plan) => gateway?,
        // Somebody may have to make the document first.
        _ = signals.received() => return Ok(()),
    };
    let mut envoy = start(&gateway)?;
    let began = tokio::select! {
        began = first_ready(&gateway, &mut envoy) => began,
        _ = signals.received() => {
            envoy.stop(LAST).await;
            return Ok(());
        }
    };
    let admin = match began {
        Ok(admin) => admin,
        Err(failure) => {
            envoy.stop(LAST).await;
            return Err(failure);
        }
    };
    overview::lines(&gateway, admin.address(), envoy.pid)
        .iter()
        .for_each(|line| tell(line));
    let follower = Follower::begin(gateway.render_args(), |line| {
        tell(&format!("document: {line}"))
    })?;
    let metrics = match metrics::serve(&gateway, follower.warnings()).await {
        Ok(metrics) => metrics,
        Err(failure) => {
            envoy.stop(LAST).await;
            return Err(failure);
        }
    };
    let mut watch = Supervisor::new(gateway, envoy);
    let signal = watch.until_signal(&mut signals).await;
    // It may be in the middle of a document, which it does not begin with a signal anew.
    let follower = tokio::task::spawn_blocking(move || drop(follower));
    watch.end(signal, &mut signals).await;
    drop(metrics);
    let _ = follower.await;
    Ok(())
}

async fn check(plan: Plan) -> Result<(), Failure> {
    let gateway = PreparedGateway::new(plan).await?;
    let checked = envoy_process::check(&gateway.plan).await;
    let cannot = |error: io::Error| cannot_start(&gateway.plan, &error);
    match checked.map_err(cannot)? {
        Ok(()) => {
            tell(&format!(
                "Envoy {} takes {}",
                gateway.plan.envoy.version,
                gateway.plan.run.envoy_yaml().display()
            ));
            Ok(())
        }
        Err(said) => Err(Failure::Data(format!(
            "Envoy refuses its configuration:\n{said}"
        ))),
    }
}

fn start(gateway: &PreparedGateway) -> Result<EnvoyProcess, Failure> {
    started(gateway).map_err(|error| cannot_start(&gateway.plan, &error))
}

/// Starts an Envoy where none runs.
fn started(gateway: &PreparedGateway) -> io::Result<EnvoyProcess> {
    match gateway.ledger.end_last_line() {
        Ok(false) => {}
        Ok(true) => tell("ledger: the last line was cut off when Envoy was killed"),
        Err(error) => tell(&format!("ledger: its end cannot be read: {error}")),
    }
    EnvoyProcess::start(&gateway.plan)
}

fn cannot_start(plan: &Plan, error: &io::Error) -> Failure {
    Failure::Data(format!(
        "Envoy cannot be started ({}): {error}",
        plan.envoy.file.display()
    ))
}

/// Waits until the gateway is ready for the first time.
async fn first_ready(
    gateway: &PreparedGateway,
    envoy: &mut EnvoyProcess,
) -> Result<Admin, Failure> {
    let log = gateway.plan.run.envoy_log();
    let begun = Instant::now();
    loop {
        if let Some(status) = envoy.has_ended() {
            let end = log::tail(&log);
            return Err(Failure::Data(format!(
                "Envoy ended at its start ({status}). Its log says the rest, and more with --log-level debug.\n{end}"
            )));
        }
        let last = match ready(gateway).await {
            Ok(admin) => return Ok(admin),
            Err(last) => last,
        };
        if begun.elapsed() > PATIENCE {
            return Err(Failure::Data(format!(
                "the gateway was not ready within {} s: {last}.\n{}",
                PATIENCE.as_secs(),
                log::tail(&log)
            )));
        }
        sleep(LOOK).await;
    }
}

/// Whether the gateway is ready.
async fn ready(gateway: &PreparedGateway) -> Result<Admin, String> {
    let served_at = AdminPlace::At(gateway.plan.reached_at(gateway.port.number));
    let admin = match served_at.ask(Admin::is_ready).await {
        Ok(()) => gateway.plan.run.admin().find(),
        Err(error) => Err(error),
    };
    admin.map_err(|error| error.to_string())
}

/// A gateway that runs.
struct Supervisor {
    gateway: PreparedGateway,
    envoy: EnvoyProcess,
    hang: EnvoyHang,
    started: Instant,
    /// Whether the Envoy of now was ready already.
    was_ready: bool,
    back_off: BackOff,
    log: LogReader,
    refusals: Refusals,
    /// A ledger file that was set aside and to which Envoy still writes.
    aside: Option<PathBuf>,
    /// The reason that the latest rotation failed.
    not_rotated: String,
    /// The number of ledger lines that were lost, and the time of that count.
    lost: (u64, Instant),
}

fn watchdog(gateway: &PreparedGateway) -> Watchdog {
    Watchdog {
        admin: gateway.plan.run.admin(),
        patience: gateway.plan.unresponsive_after,
    }
}

impl Supervisor {
    fn new(gateway: PreparedGateway, envoy: EnvoyProcess) -> Self {
        let log = LogReader::from_end(gateway.plan.run.envoy_log());
        Self {
            hang: watchdog(&gateway).hang(true),
            gateway,
            envoy,
            started: Instant::now(),
            was_ready: true,
            back_off: BackOff::new(),
            log,
            refusals: Refusals::default(),
            aside: None,
            not_rotated: String::new(),
            lost: (0, Instant::now()),
        }
    }

    /// Starts Envoy again whenever it ends, and sees to log and ledger, until a signal.
    async fn until_signal(&mut self, signals: &mut TerminalSignals) -> EndSignal {
        let mut periodic_tasks = interval(PERIODIC_TASKS);
        periodic_tasks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let ended = tokio::select! {
                ended = self.envoy.ended() => ended,
                () = &mut self.hang => self.end_hanging().await,
                signal = signals.received() => return signal,
                _ = periodic_tasks.tick() => {
                    self.periodic_tasks().await;
                    continue;
                }
            };
            if let Some(signal) = self.start_again(ended, signals).await {
                return signal;
            }
        }
    }

    /// Ends an Envoy that hangs.
    async fn end_hanging(&mut self) -> io::Result<ExitStatus> {
        tell(&format!(
            "Envoy (process {}) has answered nothing for {} s; it is ended",
            self.envoy.pid,
            self.gateway.plan.unresponsive_after.as_secs()
        ));
        self.envoy.stop(LAST).await;
        self.envoy.ended().await
    }

    /// Starts Envoy again, after a while, or returns the signal that came meanwhile.
    async fn start_again(
        &mut self,
        mut ended: io::Result<ExitStatus>,
        signals: &mut TerminalSignals,
    ) -> Option<EndSignal> {
        loop {
            let why = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            let wait = self.back_off.after(self.started.elapsed());
            tell(&format!(
                "Envoy ended ({why}); it is started again in {} ms",
                wait.as_millis()
            ));
            tokio::select! {
                () = sleep(wait) => {}
                signal = signals.received() => return Some(signal),
            }
            self.started = Instant::now();
            self.was_ready = false;
            self.lost.0 = 0;
            match started(&self.gateway) {
                Ok(envoy) => {
                    self.envoy = envoy;
                    self.hang = watchdog(&self.gateway).hang(false);
                    return None;
                }
                Err(error) => ended = Err(error),
            }
        }
    }

    async fn periodic_tasks(&mut self) {
        for line in self.log.lines() {
            let plan = &self.gateway.plan;
            if let Some(text) = self.refusals.tell(&line, &plan.document, &plan.credentials) {
                tell(&text);
            }
        }
        let _ = self.log.cut_off();
        if !self.was_ready && ready(&self.gateway).await.is_ok() {
            self.was_ready = true;
            let took = self.started.elapsed().as_millis();
            tell(&format!(
                "ready again, {took} ms after the start of Envoy (process {})",
                self.envoy.pid
            ));
        }
        let rotated = self.rotate().await.and_then(|()| self.remove_old());
        let why = rotated.map_or_else(|error| error.to_string(), |()| String::new());
        if !why.is_empty() && why != self.not_rotated {
            tell(&format!("ledger: cannot be rotated: {why}"));
        }
        self.not_rotated = why;
        self.count_lost().await;
    }

    /// Begins another ledger file, if it is due.
    async fn rotate(&mut self) -> io::Result<()> {
        let now = OffsetDateTime::now_utc();
        if self.aside.is_none() && !self.gateway.ledger.is_due(now) {
            return Ok(());
        }
        // Without an Envoy that opens the file again its lines would go on going to the old one.
        let admin = self.gateway.plan.run.admin();
        admin.find()?;
        let aside = match self.aside.clone() {
            Some(aside) => aside,
            None => self.gateway.ledger.set_aside(now)?,
        };
        self.aside = Some(aside.clone());
        admin.ask(Admin::reopen_logs).await?;
        self.aside = None;
        tell(&format!("ledger: {} is complete", aside.display()));
        Ok(())
    }

    /// Removes ledger files that are not kept. With a console those that it has all of.
    fn remove_old(&self) -> io::Result<()> {
        let link = self.gateway.console.as_ref();
        let acknowledged = link.map(|link| link.agent().acknowledged());
        let may_go = |file: &Path| acknowledged.is_none_or(|all| all.has(file));
        for removed in self.gateway.ledger.remove_old(may_go)? {
            tell(&format!("ledger: removed {}", removed.display()));
        }
        Ok(())
    }

    /// Says when lines of the ledger are lost.
    async fn count_lost(&mut self) {
        let (before, counted) = self.lost;
        if counted.elapsed() < COUNTS {
            return;
        }
        let plan = &self.gateway.plan;
        let lost = plan.run.admin().ask(Admin::lost_lines).await;
        let lost = lost.unwrap_or(before);
        if lost > before {
            let file = plan.ledger.display();
            tell(&format!(
                "ledger: {file} cannot be written, lines are lost: is the disk full? Envoy tries again with each line"
            ));
        }
        self.lost = (lost, Instant::now());
    }

    /// Ends Envoy: after SIGTERM when requests in flight are over, and with another signal at once.
    async fn end(&mut self, signal: EndSignal, signals: &mut TerminalSignals) {
        if signal == EndSignal::Terminate {
            tokio::select! {
                () = self.drain() => {}
                _ = signals.received() => {}
            }
        }
        tokio::select! {
            () = self.envoy.stop(LAST) => {}
            _ = signals.received() => self.envoy.stop(Duration::ZERO).await,
        }
        // What Envoy said at last.
        self.log.lines();
        if let Some(link) = self.gateway.console.take() {
            link.end().await;
        }
        tell("ended");
    }

    /// Waits until no request is in flight, for as long as the plan says.
    async fn drain(&mut self) {
        let patience = self.gateway.plan.drain;
        let admin = self.gateway.plan.run.admin();
        if admin.clone().ask(Admin::drain).await.is_err() {
            return; // it is not there, or not well
        }
        tell(&format!(
            "draining: requests in flight have {} s to end",
            patience.as_secs()
        ));
        let begun = Instant::now();
        sleep(SETTLE.min(patience)).await;
        while begun.elapsed() < patience && self.envoy.has_ended().is_none() {
            match admin.clone().ask(Admin::active_requests).await {
                Ok(0) | Err(_) => return,
                Ok(_) => sleep(PERIODIC_TASKS).await,
            }
        }
        if let Ok(left @ 1..) = admin.ask(Admin::active_requests).await {
            tell(&format!("draining: {left} requests are cut off"));
        }
    }
}
