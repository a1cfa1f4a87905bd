//! A ledger file as it is sent: its identity, and what comes after a position.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use memchr::memrchr;
use sha2::{Digest as _, Sha256};

/// The most of a first line that tells a file from others, in bytes.
const HEAD: u64 = 64 << 10;
/// The size of a chunk, in bytes. More than the longest line that the console reads.
const CHUNK: u64 = 4 << 20;

/// A ledger file.
#[derive(Debug)]
pub struct SentFile {
    file: File,
    /// The identity among all files of this Envoy: the SHA-256 of the first line.
    pub id: String,
}

/// The identity of a file, under any name, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    inode: (u64, u64),
    /// The length of the file, in bytes.
    pub length: u64,
}

impl FileMark {
    /// Reads the mark of the file at a path.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|about| Self::of(&about))
    }

    fn of(about: &Metadata) -> Self {
        Self {
            inode: (about.dev(), about.ino()),
            length: about.len(),
        }
    }

    /// The same file with this length.
    pub const fn with_length(self, length: u64) -> Self {
        Self { length, ..self }
    }

    /// Whether this is the same file, of whatever length.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
    }
}

/// The next part of a file to send.
#[derive(Debug, PartialEq, Eq)]
pub struct LedgerChunk {
    /// The bytes, as far as lines are whole.
    pub bytes: Vec<u8>,
    /// The number of bytes behind them in the file.
    pub left: u64,
}

impl SentFile {
    /// Opens a file; `None`: it is not there, or has no whole line yet. `whole`: it gets no more, so that whatever it has is.
    ///
    /// Its identity is the digest of its first line, which has the time and the id of a request. So it stays the same wherever
    /// the file is moved or copied, and no other file has it, whatever inodes are given anew.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn open(path: &Path, whole: bool) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut line = Vec::new();
        let mut head = BufReader::new((&file).take(HEAD));
        head.read_until(b'\n', &mut line)?;
        let has_line = line.ends_with(b"\n") || u64::try_from(line.len()).ok() == Some(HEAD);
        let id = hex::encode(Sha256::digest(&line));
        Ok((has_line || whole && !line.is_empty()).then(|| Self { file, id }))
    }

    /// The length of the file, in bytes.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn length(&self) -> io::Result<u64> {
        self.mark().map(|mark| mark.length)
    }

    /// Gives its identity and length.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn mark(&self) -> io::Result<FileMark> {
        self.file.metadata().map(|about| FileMark::of(&about))
    }

    /// Reads the lines after a position. `whole`: an incomplete last line too, for the file gets no more.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn after(&mut self, position: u64, whole: bool) -> io::Result<LedgerChunk> {
        let length = self.length()?;
        self.file.seek(SeekFrom::Start(position))?;
        let mut bytes = Vec::new();
        (&self.file).take(CHUNK).read_to_end(&mut bytes)?;
        let size = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        // A line that is longer than a chunk is sent in parts: the console skips it.
        if !whole && size(&bytes) < CHUNK {
            bytes.truncate(memrchr(b'\n', &bytes).map_or(0, |end| end.saturating_add(1)));
        }
        let left = length.saturating_sub(position).saturating_sub(size(&bytes));
        Ok(LedgerChunk { bytes, left })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_identity_of_a_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ledger.jsonl");
        assert!(SentFile::open(&path, false).unwrap().is_none(), "not there");
        for text in ["", "{\"a\":1}"] {
            fs::write(&path, text).unwrap();
            assert!(
                SentFile::open(&path, false).unwrap().is_none(),
                "{text}: no whole line"
            );
        }
        fs::write(&path, "{\"a\":1}\n").unwrap();
        let first = SentFile::open(&path, false).unwrap().unwrap();
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"b\":2}\n")
            .unwrap();
        let moved = place.path().join("ledger-20261124T000000Z.jsonl");
        fs::rename(&path, &moved).unwrap();
        let again = SentFile::open(&moved, true).unwrap().unwrap();
        assert_eq!(again.id, first.id);
        let copy = place.path().join("copy");
        fs::copy(&moved, &copy).unwrap();
        assert_eq!(SentFile::open(&copy, true).unwrap().unwrap().id, first.id);
        fs::write(&path, "{\"a\":2}\n").unwrap();
        assert_ne!(SentFile::open(&path, false).unwrap().unwrap().id, first.id);
        fs::write(&path, "{\"a\":").unwrap();
        assert!(
            SentFile::open(&path, true).unwrap().is_some(),
            "a line that was cut off"
        );
        fs::write(&path, "x".repeat(70_000)).unwrap();
        assert!(
            SentFile::open(&path, false).unwrap().is_some(),
            "a line without an end"
        );
    }

    #[test]
    fn what_comes_next() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ledger.jsonl");
        fs::write(&path, "one\ntwo\nthr").unwrap();
        let mut file = SentFile::open(&path, false).unwrap().unwrap();
        for (position, whole, bytes, left) in [
            (0, false, "one\ntwo\n", 3),
            (4, false, "two\n", 3),
            (8, false, "", 3),
            (8, true, "thr", 0),
            (11, true, "", 0),
            (99, false, "", 0),
        ] {
            let chunk = file.after(position, whole).unwrap();
            let got = (String::from_utf8(chunk.bytes).unwrap(), chunk.left);
            assert_eq!(got, (bytes.to_owned(), left), "{position} {whole}");
        }
        let chunk = usize::try_from(CHUNK).unwrap();
        fs::write(&path, "x".repeat(chunk + 5)).unwrap();
        let mut file = SentFile::open(&path, false).unwrap().unwrap();
        assert_eq!(
            file.after(0, false).unwrap().bytes.len(),
            chunk,
            "a part of a line"
        );
    }
}
