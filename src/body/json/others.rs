//! The models that a body names beside its own.

use super::made::OutputOptions;
use super::part::Parts;
use super::{JsonScanner, JsonState, StringRole};
use crate::body::steering::SteeringSet;
use crate::body::{BodyError, FoundModel};

/// The most models named beside a request's own, so that memory is bounded. A batch of protocol C names one per request, 100 at most.
const MAX_OTHERS: usize = 1024;

/// The purpose of a model that is not the request's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    /// It may run beside the request's own or in its place: that of a tool, or a fallback.
    Runs,
    /// It is the path's model once more, in each request of a batch.
    OfPath,
}

/// A model that a body names beside its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// The purpose for which the body names it.
    pub role: ModelRole,
    /// The name of the model, and its place in the body.
    pub found: FoundModel,
}

/// Members that few bodies have.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// The greatest number of outputs requested so far.
    pub candidates: Option<u64>,
    pub service_tier: Option<Box<str>>,
    pub speed: Option<Box<str>>,
    pub inference_geo: Option<Box<str>>,
    /// The words on how its answer is made.
    pub made: OutputOptions,
    /// The models named beside the request's own that have not been taken yet.
    others: Vec<OtherModel>,
    /// The number of models named so far beside the request's own.
    seen: usize,
    /// Whether there is a tool that makes images.
    pub image_tool: bool,
    /// Whether such a tool names no model.
    pub image_tool_unnamed: bool,
    /// The members that choose elsewhere and are refused.
    pub steering: SteeringSet,
    /// Whether something is named that a vendor keeps for an account.
    pub holds_state: bool,
    /// The parts of the input that are no text.
    pub parts: Option<Parts>,
}

impl JsonScanner {
    /// Returns the members that few bodies have, created at first use.
    #[inline(never)]
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Takes the models that have been read since it was last asked, in their order.
    pub fn take_others(&mut self) -> Vec<OtherModel> {
        match &mut self.rare {
            Some(rare) => core::mem::take(&mut rare.others),
            None => Vec::new(),
        }
    }

    /// Returns the offset of the name of the path's model in a batch, of bounded length, if the bytes read so far end inside it.
    pub fn inside_other(&self) -> Option<u64> {
        let in_text = matches!(self.state, JsonState::Text | JsonState::Escape);
        let inside = in_text
            && self.text == StringRole::Other(ModelRole::OfPath)
            && !self.name.overflow()
            && self.progress.is_sound();
        inside.then_some(self.model_start)
    }

    /// Notes one more.
    ///
    /// # Errors
    /// [`BodyError::TooManyModels`].
    pub(super) fn note_other(&mut self, other: OtherModel) -> Result<(), BodyError> {
        let rare = self.rare();
        rare.seen = rare.seen.saturating_add(1);
        if rare.seen > MAX_OTHERS {
            return Err(BodyError::TooManyModels);
        }
        rare.others.push(other);
        Ok(())
    }

    /// Whether there is a tool that makes images.
    pub fn image_tool(&self) -> bool {
        let rare = self.rare.as_ref();
        rare.is_some_and(|rare| rare.image_tool)
    }

    /// Whether there is a tool that makes images and names no model.
    pub fn image_tool_unnamed(&self) -> bool {
        let rare = self.rare.as_ref();
        rare.is_some_and(|rare| rare.image_tool_unnamed)
    }

    /// Whether something is named that a vendor keeps for an account: an earlier response, a conversation, encrypted reasoning,
    /// a file, a container, a cache.
    pub fn holds_state(&self) -> bool {
        let rare = self.rare.as_ref();
        rare.is_some_and(|rare| rare.holds_state)
    }

    /// The members that choose a model, provider or price elsewhere, but for the models, which are named like others.
    pub fn steering(&self) -> SteeringSet {
        let rare = self.rare.as_ref();
        rare.map(|rare| rare.steering).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
