//! Sends the ledger to the console.
//!
//! The console says of each file from where it goes on, so nothing is remembered here: after a crash of anything the sender
//! asks again. Files that were set aside are sent whole, the oldest first, and are [acknowledged](LedgerSender::acknowledged)
//! then; until that they must not be removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::client::{ConsoleAnswer, ConsoleClient, ConsoleError};
use super::ledger_file::SentFile;
use super::settled::SettledFiles;
use super::standing::{AgentProgress, SentCounts};
use super::worker::{Chore, Next};
use crate::ledger_files;

/// Files that were set aside and that the console has all of.
#[derive(Debug, Clone, Default)]
pub struct AcknowledgedFiles(Arc<Mutex<BTreeMap<PathBuf, u64>>>);

impl AcknowledgedFiles {
    /// Whether the console has all of a file, which has got no more since.
    pub fn has(&self, path: &Path) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let length = fs::metadata(path).map(|found| found.len());
        length.is_ok_and(|length| all.get(path) == Some(&length))
    }

    fn add(&self, path: &Path, length: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), length);
    }

    fn keep(&self, paths: &[PathBuf]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|path, _| paths.contains(path));
    }
}

/// What the console answers.
#[derive(Deserialize)]
struct Position {
    position: u64,
    /// Lines of the batch, or of the file where none was sent.
    #[serde(default)]
    lines: u64,
    #[serde(default)]
    aside: u64,
}

/// Sends the ledger.
#[derive(Debug)]
pub struct LedgerSender {
    console: ConsoleClient,
    envoy: String,
    ledger: PathBuf,
    acknowledged: AcknowledgedFiles,
    /// Where each open file goes on, by its identity.
    positions: BTreeMap<String, u64>,
    /// The files of which that is not certain.
    asked_again: BTreeSet<String>,
    settled: SettledFiles,
    standing: Arc<AgentProgress>,
}

impl LedgerSender {
    /// The ledger of this Envoy, in this file and those that were set aside from it.
    pub fn new(
        console: ConsoleClient,
        envoy: &str,
        ledger: PathBuf,
        acknowledged: AcknowledgedFiles,
        standing: Arc<AgentProgress>,
    ) -> Self {
        Self {
            console,
            envoy: envoy.to_owned(),
            ledger,
            acknowledged,
            positions: BTreeMap::new(),
            asked_again: BTreeSet::new(),
            settled: SettledFiles::default(),
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
        let position = answer.map_or(Ok(0), |answer| {
            position(&answer).map(|found| found.position)
        })?;
        // What was taken though it was not said.
        let more = known.map_or(0, |known| position.saturating_sub(known));
        self.standing.has_acknowledged(more);
        self.asked_again.remove(&file.id);
        self.positions.insert(file.id.clone(), position);
        Ok(position)
    }

    /// Whether a file that was set aside gets no more.
    fn has_settled(&mut self, path: &Path) -> bool {
        let length = fs::metadata(path).map(|found| found.len());
        length.is_ok_and(|length| self.settled.has(path, length, Instant::now()))
    }

    /// The bytes of a file that are not acknowledged, as far as that is known here: where the console was not asked yet, all.
    fn waiting_of(&self, path: &Path) -> u64 {
        let Ok(Some(file)) = SentFile::open(path, true) else {
            return 0;
        };
        let position = self.positions.get(&file.id).copied();
        let length = file.length().unwrap_or_default();
        length.saturating_sub(position.unwrap_or_default())
    }

    /// Sends what comes next in a file. How much is left, and whether anything was sent.
    fn send(&mut self, path: &Path, is_aside: bool) -> Result<(u64, bool), String> {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let told = |error: ConsoleError| error.to_string();
        let settled = is_aside && self.has_settled(path);
        let Some(mut file) = SentFile::open(path, settled).map_err(failed)? else {
            if settled {
                self.acknowledged.add(path, 0);
            }
            return Ok((0, false));
        };
        let from = self.position(&file).map_err(told)?;
        let chunk = file.after(from, settled).map_err(failed)?;
        let ends = settled && chunk.left == 0;
        if chunk.bytes.is_empty() {
            if ends {
                self.acknowledged.add(path, from);
            }
            return Ok((chunk.left, false));
        }
        let batch = format!("{}?from={from}&ends={ends}", self.path(&file));
        let sent = self
            .console
            .post(&batch, "application/x-ndjson", &chunk.bytes);
        let next = match sent {
            Ok(answer) => {
                let taken = position(&answer).map_err(told)?;
                self.standing.count_sent(|sent| {
                    sent.taken = sent.taken.saturating_add(1);
                    sent.counted = sent.counted.saturating_add(taken.lines);
                    sent.aside = sent.aside.saturating_add(taken.aside);
                });
                taken.position
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
                return Err(error.to_string());
            }
        };
        self.standing.has_acknowledged(next.saturating_sub(from));
        self.positions.insert(file.id.clone(), next);
        let length = file.length().map_err(failed)?;
        Ok((length.saturating_sub(next), next != from))
    }
}

impl Chore for LedgerSender {
    const NAME: &'static str = "ledger";
    const PAUSE: Duration = Duration::from_millis(200);

    fn run(&mut self) -> Result<Next, String> {
        let aside = ledger_files::aside(&self.ledger).unwrap_or_default();
        self.acknowledged.keep(&aside);
        self.settled.keep(&aside);
        let mut waiting = 0_u64;
        let mut more = false;
        let mut problem = None;
        let files = aside.iter().map(|path| (path.clone(), true));
        let files: Vec<_> = files.chain([(self.ledger.clone(), false)]).collect();
        for (path, is_aside) in &files {
            if *is_aside && self.acknowledged.has(path) {
                continue;
            }
            let left = match problem {
                None => self.send(path, *is_aside),
                // Nothing is sent before what is older; how much waits is said all the same.
                Some(_) => Ok((self.waiting_of(path), false)),
            };
            let (left, sent) = left.unwrap_or_else(|why| {
                problem = Some(why);
                (self.waiting_of(path), false)
            });
            waiting = waiting.saturating_add(left);
            more |= sent && left > 0;
        }
        self.standing.has_waiting(waiting);
        match problem {
            Some(why) => Err(why),
            None if more => Ok(Next::AtOnce),
            None => Ok(Next::Later),
        }
    }
}

fn position(answer: &ConsoleAnswer) -> Result<Position, ConsoleError> {
    let position = serde_json::from_slice::<Position>(&answer.body);
    position.map_err(|_| ConsoleError::Other("with something else than a position".to_owned()))
}
