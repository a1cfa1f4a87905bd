//! The progress of a scanner, and the error that ended it.

use super::BodyError;

/// The reading of one body, whatever its form.
#[derive(Debug, Default)]
pub(super) struct ScanProgress {
    /// The offset, in the whole body, of the next byte.
    at: u64,
    failed: Option<BodyError>,
}

/// The position of a scanner in its document when the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before its first byte.
    Before,
    /// Inside.
    Inside,
    /// Behind its end.
    Behind,
}

impl ScanProgress {
    /// The offset, in the whole body, of the next byte.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The offset of the end of the chunk that is read next.
    ///
    /// # Errors
    /// The error that ended the reading: it stays the answer for good.
    pub(super) fn begin(&self, chunk: &[u8]) -> Result<u64, BodyError> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.at.saturating_add(chunk.len() as u64)),
        }
    }

    /// Notes how the reading of a chunk that ends at `end` went.
    pub(super) fn settle(
        &mut self,
        end: u64,
        result: Result<(), BodyError>,
    ) -> Result<(), BodyError> {
        self.at = end;
        self.failed = result.err();
        result
    }

    /// Notes that the body ends here.
    ///
    /// # Errors
    /// The error that ended the reading, or that the document has not ended.
    pub(super) fn finish(&mut self, stage: Stage) -> Result<(), BodyError> {
        if self.failed.is_none() {
            self.failed = match stage {
                Stage::Before => Some(BodyError::Empty),
                Stage::Inside => Some(BodyError::Truncated),
                Stage::Behind => None,
            };
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Whether no error has ended the reading.
    pub(super) fn is_sound(&self) -> bool {
        self.failed.is_none()
    }
}
