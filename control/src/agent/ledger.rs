//! Sends the ledger to the console.
//!
//! The console says of each file from where it goes on, so nothing is remembered here: after a crash of anything the sender
//! asks again. Files that were set aside are sent whole, the oldest first, and are [acknowledged](LedgerSender::acknowledged)
//! then; until that they must not be removed. [Those that somebody else has set aside](OtherFiles) are sent last, and nobody here
//! removes them. Of files with the same lines, copies, one is sent.
//!
//! When the open file becomes shorter, or one is gone before the console had all of it, lines may be lost; that is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use trilane_console::cases::{PositionView, TakenView};

use super::client::{ConsoleAnswer, ConsoleClient, ConsoleError};
use super::ledger_file::{FileMark, SentFile};
use super::ledger_watch::LedgerWatch;
use super::other_files::OtherFiles;
use super::settled::SettledFiles;
use super::spend_copy::SpendCopy;
use super::standing::{AgentProgress, SentCounts};
use super::worker::{Next, PeriodicTask};
use crate::ledger_files;

/// Files that were set aside and that the console has all of.
#[derive(Debug, Clone, Default)]
pub struct AcknowledgedFiles(Arc<Mutex<BTreeMap<PathBuf, FileMark>>>);

impl AcknowledgedFiles {
    /// Whether the console has all of a file, which has got no more since.
    pub fn has(&self, path: &Path) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        FileMark::at(path).is_ok_and(|mark| all.get(path) == Some(&mark))
    }

    fn add(&self, path: &Path, mark: FileMark) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), mark);
    }

    fn keep(&self, paths: &[PathBuf]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|path, _| paths.contains(path));
    }
}

/// Sends the ledger.
#[derive(Debug)]
pub struct LedgerSender {
    console: ConsoleClient,
    envoy: String,
    ledger: PathBuf,
    acknowledged: AcknowledgedFiles,
    spent: Arc<SpendCopy>,
    /// The position of the next byte to send in each open file, by the file's identity.
    positions: BTreeMap<String, u64>,
    /// The files of which that is not certain.
    asked_again: BTreeSet<String>,
    settled: SettledFiles,
    others: OtherFiles,
    watch: LedgerWatch,
    standing: Arc<AgentProgress>,
}

/// A file of the ledger as a pass finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Set aside by us.
    Aside,
    /// The one that Envoy writes.
    Open,
    /// Set aside by somebody else, or a copy.
    Other,
}

impl LedgerSender {
    /// The ledger of this Envoy, in this file and those that were set aside from it.
    pub fn new(
        console: ConsoleClient,
        envoy: &str,
        ledger: PathBuf,
        acknowledged: AcknowledgedFiles,
        spent: Arc<SpendCopy>,
        standing: Arc<AgentProgress>,
    ) -> Self {
        Self {
            console,
            envoy: envoy.to_owned(),
            ledger,
            acknowledged,
            spent,
            positions: BTreeMap::new(),
            asked_again: BTreeSet::new(),
            settled: SettledFiles::default(),
            others: OtherFiles::default(),
            watch: LedgerWatch::default(),
            standing,
        }
    }

    fn path(&self, file: &SentFile) -> String {
        format!("/api/v1/ledger/{}/{}", self.envoy, file.id)
    }

    fn position(&mut self, file: &SentFile) -> Result<u64, ConsoleError> {
        let known = self.positions.get(&file.id).copied();
        if let Some(position) = known
            && !self.asked_again.contains(&file.id)
        {
            return Ok(position);
        }
        let answer = self.console.get(&self.path(file), None, &[])?;
        let found: Option<PositionView> = answer.as_ref().map(read).transpose()?;
        let position = found.map_or(0, |found| found.position.unsigned_abs());
        // What was taken though it was not said.
        let more = known.map_or(0, |known| position.saturating_sub(known));
        self.standing.has_acknowledged(more);
        self.asked_again.remove(&file.id);
        self.has(&file.id, position);
        Ok(position)
    }

    /// The console has a file up to this position.
    fn has(&mut self, id: &str, position: u64) {
        self.positions.insert(id.to_owned(), position);
        self.spent.unsent().acknowledge(id, position);
    }

    /// Whether a file that was set aside gets no more.
    fn has_settled(&mut self, path: &Path) -> bool {
        let length = fs::metadata(path).map(|found| found.len());
        length.is_ok_and(|length| self.settled.has(path, length, Instant::now()))
    }

    /// The bytes of a file that are not acknowledged, as far as that is known here: where the console was not asked yet, all.
    fn waiting_of(&mut self, path: &Path) -> u64 {
        let Ok(Some(file)) = SentFile::open(path, true) else {
            return 0;
        };
        if !self.watch.sees(&file.id, path) {
            return 0;
        }
        let position = self.positions.get(&file.id).copied();
        let length = file.length().unwrap_or_default();
        let left = length.saturating_sub(position.unwrap_or_default());
        self.watch.has_left(&file.id, left);
        left
    }

    /// Sends what comes next in a file. How much is left, and whether anything was sent.
    fn send(&mut self, path: &Path, kind: Kind) -> Result<(u64, bool), SendFault> {
        let failed = |error: std::io::Error| {
            SendFault::File(format!("cannot read {}: {error}", path.display()))
        };
        let told = |error: ConsoleError| SendFault::Console(error.to_string());
        let settled = kind != Kind::Open && self.has_settled(path);
        let Some(mut file) = SentFile::open(path, settled).map_err(failed)? else {
            if let Ok(mark) = FileMark::at(path)
                && settled
            {
                self.acknowledged.add(path, mark);
            }
            return Ok((0, false));
        };
        // A copy of one that comes before: its end may be within a line that goes on there.
        if !self.watch.sees(&file.id, path) {
            return Ok((0, false));
        }
        let from = self.position(&file).map_err(told)?;
        let chunk = file.after(from, settled).map_err(failed)?;
        let ends = settled && chunk.left == 0;
        if chunk.bytes.is_empty() {
            let mark = file.mark().map_err(failed)?;
            if ends && mark.length <= from {
                self.acknowledged.add(path, mark);
            }
            if kind == Kind::Open && mark.length < from {
                self.watch.is_shorter(path);
            }
            self.watch.has_left(&file.id, chunk.left);
            return Ok((chunk.left, false));
        }
        let batch = format!("{}?from={from}&ends={ends}", self.path(&file));
        let sent = self
            .console
            .post(&batch, "application/x-ndjson", &chunk.bytes);
        let next = match sent {
            Ok(answer) => {
                let taken: TakenView = read(&answer).map_err(told)?;
                let number = |lines| u64::try_from(lines).unwrap_or(u64::MAX);
                self.standing.count_sent(|sent| {
                    sent.taken = sent.taken.saturating_add(1);
                    sent.counted = sent.counted.saturating_add(number(taken.lines));
                    sent.aside = sent.aside.saturating_add(number(taken.aside));
                });
                taken.position.unsigned_abs()
            }
            // Somebody else has sent it, or a database was set back.
            Err(ConsoleError::Elsewhere(position)) => {
                let count =
                    |sent: &mut SentCounts| sent.elsewhere = sent.elsewhere.saturating_add(1);
                self.standing.count_sent(count);
                position
            }
            Err(error) => {
                let count = |sent: &mut SentCounts| sent.failed = sent.failed.saturating_add(1);
                self.standing.count_sent(count);
                // It may have been taken all the same.
                self.asked_again.insert(file.id.clone());
                return Err(told(error));
            }
        };
        self.standing.has_acknowledged(next.saturating_sub(from));
        self.has(&file.id, next);
        let length = file.length().map_err(failed)?;
        let left = length.saturating_sub(next);
        self.watch.has_left(&file.id, left);
        Ok((left, next != from))
    }

    /// Tells what somebody else has done to the files.
    fn tell_faults(&mut self) {
        let told = self.watch.end_of_pass();
        for (line, is_gone) in &told {
            self.standing.tell(&format!("ledger: {line}"));
            self.standing.count_fault(|faults| {
                let count = match is_gone {
                    true => &mut faults.gone,
                    false => &mut faults.shortened,
                };
                *count = count.saturating_add(1);
            });
        }
        self.standing
            .note("files of the ledger", self.watch.lasting().as_deref());
    }
}

/// The reason that a file was not sent.
#[derive(Debug)]
enum SendFault {
    /// The file itself.
    File(String),
    /// The console, or the way there.
    Console(String),
}

impl PeriodicTask for LedgerSender {
    const NAME: &'static str = "ledger";
    const PAUSE: Duration = Duration::from_millis(200);

    fn run(&mut self) -> Result<Next, String> {
        let aside = ledger_files::aside(&self.ledger).unwrap_or_default();
        let others = self.others.of(&self.ledger);
        let all = [aside.clone(), others.clone()].concat();
        self.acknowledged.keep(&all);
        self.settled.keep(&all);
        self.watch.begin_pass(&self.ledger);
        let mut waiting = 0_u64;
        let mut more = false;
        let mut problem = None;
        let mut of_others = None;
        let files = aside.iter().map(|path| (path.clone(), Kind::Aside));
        let files = files.chain([(self.ledger.clone(), Kind::Open)]);
        let files = files.chain(others.iter().map(|path| (path.clone(), Kind::Other)));
        for (path, kind) in files.collect::<Vec<_>>() {
            if kind != Kind::Open && self.acknowledged.has(&path) {
                continue;
            }
            let left = match problem {
                None => self.send(&path, kind),
                // Nothing is sent before what is older; how much waits is said all the same.
                Some(_) => Ok((self.waiting_of(&path), false)),
            };
            let (left, sent) = left.unwrap_or_else(|fault| {
                match (fault, kind) {
                    // Whatever lies there keeps nothing of ours.
                    (SendFault::File(why), Kind::Other) => of_others = Some(why),
                    (SendFault::File(why) | SendFault::Console(why), _) => problem = Some(why),
                }
                (self.waiting_of(&path), false)
            });
            waiting = waiting.saturating_add(left);
            more |= sent && left > 0;
        }
        self.standing.has_waiting(waiting);
        self.tell_faults();
        match problem.or(of_others) {
            Some(why) => Err(why),
            None if more => Ok(Next::AtOnce),
            None => Ok(Next::Later),
        }
    }
}

fn read<T: DeserializeOwned>(answer: &ConsoleAnswer) -> Result<T, ConsoleError> {
    let position = serde_json::from_slice(&answer.body);
    position.map_err(|_| ConsoleError::Other("with something else than a position".to_owned()))
}
