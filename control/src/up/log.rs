//! Envoy's log: new lines, and the end of it for messages.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The size at which the log is cut off, in bytes. What was in it stays beside it until the next time.
const MOST: u64 = 32 << 20;
/// The number of bytes of the end that are read for a message.
const TAIL: u64 = 16 << 10;
/// The number of lines of the end that are shown.
const LINES: usize = 20;

/// A reader of new lines.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
}

impl LogReader {
    /// From the present end on.
    pub fn from_end(path: PathBuf) -> Self {
        let at = fs::metadata(&path).map_or(0, |found| found.len());
        let rest = Vec::new();
        Self { path, at, rest }
    }

    /// The lines that are new since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        let mut new = Vec::new();
        // A log that cannot be read now is read the next time.
        let _ = self.read(&mut new);
        self.rest.extend(new);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8_lossy(&whole);
        text.lines().map(str::to_owned).collect()
    }

    fn read(&mut self, new: &mut Vec<u8>) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        if size < self.at {
            self.at = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.take(MOST).read_to_end(new)?;
        self.at = self
            .at
            .saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Cuts the log off if it is large. Envoy goes on at its end, wherever that is.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn cut_off(&self) -> io::Result<()> {
        if fs::metadata(&self.path)?.len() < MOST {
            return Ok(());
        }
        fs::copy(&self.path, self.path.with_extension("log.1"))?;
        OpenOptions::new().write(true).open(&self.path)?.set_len(0)
    }
}

/// The last lines of a log, for a message.
pub fn tail(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines
        .get(lines.len().saturating_sub(LINES)..)
        .unwrap_or_default();
    let shown: String = last.iter().map(|line| format!("\n  {line}")).collect();
    format!("The end of {}:{shown}", log.display())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_come_once_and_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("envoy.log");
        fs::write(&path, "before\n").unwrap();
        let mut log = LogReader::from_end(path.clone());
        assert_eq!(log.lines(), Vec::<String>::new());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        write!(file, "one\ntw").unwrap();
        assert_eq!(log.lines(), ["one"]);
        writeln!(file, "o").unwrap();
        assert_eq!(log.lines(), ["two"]);
        file.set_len(0).unwrap();
        assert_eq!(log.lines(), Vec::<String>::new());
        writeln!(file, "three").unwrap();
        assert_eq!(log.lines(), ["three"], "cut off meanwhile");
        assert!(tail(&path).ends_with("envoy.log:\n  three"));
        log.cut_off().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 6, "it is small");
        file.set_len(MOST).unwrap();
        log.cut_off().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}
