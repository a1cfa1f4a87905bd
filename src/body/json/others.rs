//! The models that a body names beside its own.

use super::{JsonScanner, State, Text};
use crate::body::{BodyError, FoundModel};

/// How many may be named, so that memory is bounded. A batch of protocol C has one in each of its requests, 100 at most.
const MAX_OTHERS: usize = 1024;

/// What a model is named for that is not the request's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It may run beside the request's own or in its place: that of a tool, or a fallback.
    Runs,
    /// It is the path's model once more, in each request of a batch.
    OfPath,
}

/// A model that a body names beside its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// What for.
    pub role: Role,
    /// Its name, and where that stands.
    pub found: FoundModel,
}

impl JsonScanner {
    /// Takes the models that have been read since it was last asked, in their order.
    pub fn take_others(&mut self) -> Vec<OtherModel> {
        core::mem::take(&mut self.others)
    }

    /// Whether the bytes read so far end inside the name of the path's model in a batch, of bounded length.
    pub fn inside_other(&self) -> bool {
        let in_text = matches!(self.state, State::Text | State::Escape | State::Unicode(..));
        in_text
            && self.text == Text::Other(Role::OfPath)
            && !self.name.overflow()
            && self.progress.is_sound()
    }

    /// Notes one more.
    ///
    /// # Errors
    /// [`BodyError::TooManyModels`].
    pub(super) fn note_other(&mut self, other: OtherModel) -> Result<(), BodyError> {
        self.others_seen = self.others_seen.saturating_add(1);
        if self.others_seen > MAX_OTHERS {
            return Err(BodyError::TooManyModels);
        }
        self.others.push(other);
        Ok(())
    }

    /// Whether there is a tool that makes images.
    pub fn image_tool(&self) -> bool {
        self.image_tool
    }
}

#[cfg(test)]
mod tests;
