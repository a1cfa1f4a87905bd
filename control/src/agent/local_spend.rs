//! The spend of budgets of a gateway without a console, by its own ledger.
//!
//! A process of Envoy that begins is told what those before it have spent, as one beside an agent is. The totals are kept in a
//! checkpoint with the positions in the ledger's files up to which they have them, and the rest is read from the files. A checkpoint
//! that is lost or damaged is made anew from the files that are there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::ballast::BallastKeeper;
use super::database::DatabaseProblem;
use super::spend_copy::SpendCopy;
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask, RunningTasks};
use super::writability;
use crate::agent_feeds::{DOCUMENT_PATH, LEDGER_PATH, SPEND_PATH};
use crate::failure::Failure;
use crate::serve::{self, FeedAnswer};

/// Tells a gateway what its ledger has spent, and keeps room beside the ledger, until this is dropped.
#[derive(Debug)]
pub struct LocalSpend {
    _tasks: RunningTasks,
    /// Ends the listener of the feed.
    _listens: tokio::sync::watch::Sender<bool>,
}

impl LocalSpend {
    /// Begins, with the totals in a checkpoint and this ledger. The document in force, which is in `document`, is served too. `tell`
    /// gets what is new, in lines.
    ///
    /// # Errors
    /// The checkpoint can neither be read nor made anew.
    pub fn begin(
        checkpoint: &Path,
        ledger: PathBuf,
        document: PathBuf,
        listener: TcpListener,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let standing = Arc::new(AgentProgress::new(tell));
        let failed = |why: String| {
            Failure::Data(format!("what is spent, in {}: {why}", checkpoint.display()))
        };
        let file = ledger.clone();
        let copy = open(checkpoint, &standing).and_then(|copy| copy.with_ledger(ledger));
        let copy = Arc::new(copy.map_err(failed)?);
        copy.has_none().map_err(failed)?;
        let (listens, stopped) = tokio::sync::watch::channel(false);
        let told = Arc::clone(&copy);
        let spend: FeedAnswer = Arc::new(move |query| told.page(query));
        let writability = writability::answer(&file, Arc::clone(&standing));
        let feeds = serve::of_feeds(vec![
            (SPEND_PATH, spend),
            (LEDGER_PATH, writability),
            (DOCUMENT_PATH, serve::of_published(document)),
        ]);
        tokio::spawn(serve::serve(listener, feeds, stopped));
        let mut tasks = RunningTasks::default();
        let ballast = BallastKeeper::new(&file, Arc::clone(&standing));
        tasks.begin(Checkpoint(copy), &standing)?;
        tasks.begin(ballast, &standing)?;
        Ok(Self {
            _tasks: tasks,
            _listens: listens,
        })
    }
}

/// Opens a checkpoint. One that is damaged is made anew.
fn open(checkpoint: &Path, standing: &AgentProgress) -> Result<SpendCopy, String> {
    let opened = SpendCopy::open(checkpoint);
    if let Err(newer @ DatabaseProblem::Newer(..)) = opened {
        return Err(newer.to_string());
    }
    let opened = opened.map_err(String::from).and_then(SpendCopy::checked);
    let Err(why) = opened else {
        return opened;
    };
    standing.tell(&format!(
        "budgets: the sums in {} cannot be read ({why}): they are added up from the ledger anew",
        checkpoint.display()
    ));
    for end in ["", "-wal", "-shm"] {
        let mut name = checkpoint.as_os_str().to_owned();
        name.push(end);
        match fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.to_string()),
            _ => {}
        }
    }
    Ok(SpendCopy::open(checkpoint)?)
}

/// Brings the checkpoint up to date.
#[derive(Debug)]
struct Checkpoint(Arc<SpendCopy>);

impl PeriodicTask for Checkpoint {
    const NAME: &'static str = "spend";
    const PAUSE: Duration = Duration::from_secs(2);

    fn run(&mut self) -> Result<Next, String> {
        self.0.take_ledger().map(|()| Next::Later)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use serde_json::{Value, json};
    use time::OffsetDateTime;

    use super::*;

    fn line(key: &str, charge: &str, instance: &str) -> String {
        let now = OffsetDateTime::now_utc();
        let at = now
            .format(&time::format_description::well_known::Rfc3339)
            .unwrap();
        let line = json!({
            "timestamp": at, "duration_ms": 0, "http.response.status_code": 200, "trilane.usage.status": "complete",
            "trilane.key.id": key, "trilane.group": "g", "trilane.charge": charge, "trilane.currency": "USD",
            "trilane.spent.key.day": "1", "trilane.instance": instance,
        });
        format!("{line}\n")
    }

    fn opened(checkpoint: &Path, ledger: &Path) -> SpendCopy {
        let standing = AgentProgress::new(|_| {});
        let copy = open(checkpoint, &standing)
            .unwrap()
            .with_ledger(ledger.to_owned())
            .unwrap();
        copy.has_none().unwrap();
        copy
    }

    /// Returns the amount for a key's month that the feed gives to the process with this number.
    fn told(copy: &SpendCopy, key: &str, instance: &str) -> Value {
        let page = copy
            .page(&format!("limit=100&currency=USD&instance={instance}"))
            .unwrap();
        let page: Value = serde_json::from_slice(&page).unwrap();
        let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
        // What comes later replaces what came before.
        let subjects = page["subjects"].as_array().unwrap().iter().rev();
        let mut of_key = subjects.filter(|of| of["kind"] == "key" && of["id"] == key);
        of_key
            .next()
            .map_or(Value::Null, |of| of["elsewhere"][&month].clone())
    }

    #[test]
    fn processes_are_told_what_those_before_have_spent() {
        let place = tempfile::tempdir().unwrap();
        let (checkpoint, ledger) = (
            place.path().join("spend.db"),
            place.path().join("ledger.jsonl"),
        );
        let write = |line: String| {
            let mut file = File::options()
                .append(true)
                .create(true)
                .open(&ledger)
                .unwrap();
            file.write_all(line.as_bytes()).unwrap();
        };
        write(line("k", "0.25", "one") + &line("k", "0.5", "two") + &line("other", "7", "one"));
        let copy = opened(&checkpoint, &ledger);
        let check = |copy: &SpendCopy, case: &str| {
            assert_eq!(
                told(copy, "k", "two"),
                "0.25",
                "{case}: its own is not told"
            );
            assert_eq!(told(copy, "k", "three"), "0.75", "{case}");
        };
        check(&copy, "from the files");
        copy.take_ledger().unwrap();
        check(&copy, "from the totals");
        copy.take_ledger().unwrap();
        check(&copy, "twice");
        write(line("k", "0.00000001", "three"));
        assert_eq!(told(&copy, "k", "two"), "0.25000001", "from both");
        copy.take_ledger().unwrap();
        assert_eq!(told(&copy, "k", "two"), "0.25000001");
        assert_eq!(told(&copy, "k", "three"), "0.75");
        drop(copy);

        // A restart of all; with the ledger rotated, and its file of before gone.
        let copy = opened(&checkpoint, &ledger);
        assert_eq!(told(&copy, "k", "four"), "0.75000001");
        drop(copy);
        for (case, damage) in [("lost", None), ("damaged", Some(vec![7; 5000]))] {
            match damage {
                None => fs::remove_file(&checkpoint).unwrap(),
                Some(bytes) => fs::write(&checkpoint, bytes).unwrap(),
            }
            let copy = opened(&checkpoint, &ledger);
            assert_eq!(told(&copy, "k", "four"), "0.75000001", "{case}");
            copy.take_ledger().unwrap();
            assert_eq!(told(&copy, "k", "four"), "0.75000001", "{case}, and taken");
        }
        fs::rename(&ledger, place.path().join("ledger-20261128T120000Z.jsonl")).unwrap();
        let copy = opened(&checkpoint, &ledger);
        assert_eq!(told(&copy, "k", "four"), "0.75000001", "rotated");
        fs::remove_file(place.path().join("ledger-20261128T120000Z.jsonl")).unwrap();
        let copy_of_later = opened(&checkpoint, &ledger);
        assert_eq!(
            told(&copy_of_later, "k", "four"),
            "0.75000001",
            "the file is gone, the totals have it"
        );
    }
}
