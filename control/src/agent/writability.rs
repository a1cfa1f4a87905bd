//! The answer to a gateway that asks whether its ledger can be written.

use std::path::Path;
use std::sync::Arc;

use trilane::ledger::Writability;
use trilane_console::feed::PageError;

use super::standing::AgentProgress;
use crate::ledger_disk::LedgerDisk;
use crate::serve::FeedAnswer;

/// The name of this part, for messages about it.
const NAME: &str = "the ledger's disk";

/// Answers for this ledger. The disk is looked at whenever somebody asks, and not otherwise.
pub fn answer(ledger: &Path, standing: Arc<AgentProgress>) -> FeedAnswer {
    let disk = LedgerDisk::of(ledger);
    Arc::new(move |_| {
        let found = disk.obstacle();
        let trouble = match &found {
            Ok(None) => None,
            Ok(Some(why)) => Some(format!(
                "the ledger cannot be written, and requests are refused: {why}"
            )),
            Err(error) => Some(format!(
                "whether the ledger can be written is not known, and requests are served: {error}"
            )),
        };
        standing.note(NAME, trouble.as_deref());
        let unknown = |why: String| PageError::Unready(why);
        let obstacle = found.map_err(|error| unknown(error.to_string()))?;
        let answer = Writability {
            writable: obstacle.is_none(),
        };
        serde_json::to_vec(&answer).map_err(|error| unknown(error.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_is_answered_and_told() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("ledgers");
        let told = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&told);
        let standing =
            AgentProgress::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        let answer = answer(&directory.join("ledger.jsonl"), Arc::new(standing));
        let gone = "the ledger's disk: the ledger cannot be written, and requests are refused: No such file or directory";
        for (case, there, want, said) in [
            ("gone", false, r#"{"writable":false}"#, Some(gone)),
            ("still gone", false, r#"{"writable":false}"#, None),
            (
                "there",
                true,
                r#"{"writable":true}"#,
                Some("the ledger's disk: goes on"),
            ),
            ("still there", true, r#"{"writable":true}"#, None),
        ] {
            if there {
                std::fs::create_dir_all(&directory).unwrap();
            }
            let got = answer("").unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), want, "{case}");
            let lines = std::mem::take(&mut *told.lock().unwrap());
            assert_eq!(lines.len(), usize::from(said.is_some()), "{case}");
            for (line, said) in lines.iter().zip(said) {
                assert!(line.starts_with(said), "{case}: {line}");
            }
        }
    }
}
