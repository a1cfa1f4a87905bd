//! A part of a ledger file, as an agent sends it.

use core::fmt;

/// A part of a ledger file.
#[derive(Debug, Clone, Copy)]
pub struct LedgerBatch<'a> {
    envoy: &'a str,
    file: &'a str,
    from: i64,
    bytes: &'a [u8],
    ends: bool,
}

/// The reason that bytes cannot be a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidBatch {
    /// The id of the Envoy or of the file is not 1 to 128 letters, digits or any of `- _ . :`.
    Name,
    /// It begins or ends past what a file can have.
    Offset,
    /// It is longer than [`LedgerBatch::LONGEST`].
    TooLong,
}

impl fmt::Display for InvalidBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => {
                "the ids of Envoy and file are 1 to 128 letters, digits or any of - _ . :"
            }
            Self::Offset => "it begins or ends past what a file can have",
            Self::TooLong => "a batch has at most 8 MiB",
        })
    }
}

impl<'a> LedgerBatch<'a> {
    /// The most bytes of a batch.
    pub const LONGEST: usize = 8 << 20;

    /// The bytes of a file from an offset on. `ends`: the file has no more, and gets no more.
    ///
    /// # Errors
    /// The reason that it cannot be a batch.
    pub fn new(
        envoy: &'a str,
        file: &'a str,
        from: u64,
        bytes: &'a [u8],
        ends: bool,
    ) -> Result<Self, InvalidBatch> {
        let is_name = |name: &str| {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
            (1..=128).contains(&name.len()) && name.bytes().all(good)
        };
        if !is_name(envoy) || !is_name(file) {
            return Err(InvalidBatch::Name);
        }
        if bytes.len() > Self::LONGEST {
            return Err(InvalidBatch::TooLong);
        }
        let from = i64::try_from(from).map_err(|_| InvalidBatch::Offset)?;
        let length = i64::try_from(bytes.len()).map_err(|_| InvalidBatch::Offset)?;
        from.checked_add(length).ok_or(InvalidBatch::Offset)?;
        Ok(Self {
            envoy,
            file,
            from,
            bytes,
            ends,
        })
    }

    /// The Envoy's id.
    pub fn envoy(&self) -> &'a str {
        self.envoy
    }

    /// The file's identity.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// Returns the byte offset at which the batch begins.
    pub fn from(&self) -> i64 {
        self.from
    }

    /// Returns the byte offset at which the batch ends.
    pub fn to(&self) -> i64 {
        let length = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        self.from.saturating_add(length)
    }

    /// Returns the bytes of the batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the file ends with it.
    pub fn ends(&self) -> bool {
        self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_batch() {
        let long = "x".repeat(129);
        let cases = [
            ("ordinary", "envoy-1", "2049:77", 0, Ok(4)),
            ("no Envoy", "", "f", 0, Err(InvalidBatch::Name)),
            ("a blank", "envoy 1", "f", 0, Err(InvalidBatch::Name)),
            (
                "a long name",
                "e",
                long.as_str(),
                0,
                Err(InvalidBatch::Name),
            ),
            (
                "the last place",
                "e",
                "f",
                i64::MAX as u64 - 4,
                Ok(i64::MAX),
            ),
            (
                "past it",
                "e",
                "f",
                i64::MAX as u64 - 3,
                Err(InvalidBatch::Offset),
            ),
            ("far past it", "e", "f", u64::MAX, Err(InvalidBatch::Offset)),
        ];
        for (case, envoy, file, from, want) in cases {
            let batch = LedgerBatch::new(envoy, file, from, b"abc\n", false);
            assert_eq!(batch.map(|batch| batch.to()), want, "{case}");
        }
        let bytes = vec![0; LedgerBatch::LONGEST + 1];
        let batch = LedgerBatch::new("e", "f", 0, &bytes, false);
        assert_eq!(batch.map(|batch| batch.to()), Err(InvalidBatch::TooLong));
    }
}
