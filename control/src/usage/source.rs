//! The sources of ledger lines: files or standard input, plain or gzip.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use crate::failure::Failure;

/// The size of reads, in bytes.
const BUFFER: usize = 256 << 10;

/// A place to read ledger lines from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerSource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// An open source.
pub struct Input {
    /// The lines of the source, inflated.
    pub lines: Box<dyn BufRead>,
    /// Whether it is gzip.
    pub gzip: bool,
}

impl LedgerSource {
    /// The sources of the command line, `-` being standard input.
    ///
    /// # Errors
    /// One is named twice: its records would count twice.
    pub fn all(files: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut sources = Vec::new();
        let mut known = Vec::new();
        for file in files {
            let source = if file.as_os_str() == "-" {
                Self::Stdin
            } else {
                Self::File(file.clone())
            };
            let place = match &source {
                // Whatever name it has. A missing file fails when it is opened.
                Self::File(path) => std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
                Self::Stdin => PathBuf::from("-"),
            };
            if known.contains(&place) {
                let name = source.name();
                return Err(Failure::Usage(format!(
                    "{name} is named twice: its records would count twice"
                )));
            }
            known.push(place);
            sources.push(source);
        }
        if sources.is_empty() {
            sources.push(Self::Stdin);
        }
        Ok(sources)
    }

    /// Returns the name of the source, for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Returns the stored size in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Stdin => None,
            Self::File(path) => {
                let about = std::fs::metadata(path).ok()?;
                about.is_file().then_some(about.len())
            }
        }
    }

    /// Opens it. `taken` counts the bytes read from it.
    ///
    /// # Errors
    /// It cannot be read, or has an unknown compression.
    pub fn open(&self, taken: &Rc<Cell<u64>>) -> Result<Input, Failure> {
        let stored: Box<dyn Read> = match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => {
                Box::new(File::open(path).map_err(|error| self.unreadable(&error))?)
            }
        };
        let mut stored = CountedReader {
            stored,
            taken: Rc::clone(taken),
        };
        let mut start = Vec::new();
        let magic = (&mut stored).take(6).read_to_end(&mut start);
        magic.map_err(|error| self.unreadable(&error))?;
        let gzip = start.starts_with(&[0x1f, 0x8b]);
        if let Some(tool) = other_compression(&start) {
            let name = self.name();
            return Err(Failure::Data(format!(
                "{name} is compressed by {tool}, which is not read here: \
                 {tool} -dc FILE | trilane usage"
            )));
        }
        let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(stored));
        let lines: Box<dyn BufRead> = if gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        Ok(Input { lines, gzip })
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::Data(format!("cannot read {}: {error}", self.name()))
    }

    /// The failure for an error after so many whole lines.
    pub fn broken(&self, error: &io::Error, gzip: bool, lines: u64) -> Failure {
        let name = self.name();
        let broken = match error.kind() {
            io::ErrorKind::UnexpectedEof if gzip => {
                "its gzip data end too early: cut, or still being written"
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => {
                "its gzip data are damaged"
            }
            _ => return self.unreadable(error),
        };
        Failure::Data(format!(
            "cannot read all of {name}: {broken} (after {lines} whole lines: {error}). Nothing is added up. \
             Get the file anew, or take what is there: gzip -dc FILE | trilane usage"
        ))
    }
}

/// The tool for a compression other than gzip, by a file's first bytes.
fn other_compression(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], _); 3] = [
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
    ];
    known
        .into_iter()
        .find_map(|(magic, tool)| start.starts_with(magic).then_some(tool))
}

/// Counts the bytes that are read.
struct CountedReader {
    stored: Box<dyn Read>,
    taken: Rc<Cell<u64>>,
}

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stored.read(buffer)?;
        let taken = u64::try_from(count).unwrap_or(u64::MAX);
        self.taken.set(self.taken.get().saturating_add(taken));
        Ok(count)
    }
}
