//! Terms of a key where its group says something else.

use super::addresses::AddressList;
use crate::model::ModelSubset;
use crate::money::Multiplier;

/// A key's own models, multiplier and addresses. What is `None` is the group's, and a group has no addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyAccess {
    /// The models of its group that it may use.
    pub models: Option<ModelSubset>,
    /// The final multiplier of its requests, whichever source serves them.
    pub multiplier: Option<Multiplier>,
    /// The greatest final multiplier of a source that serves its requests; a key with a multiplier of its own has none.
    pub max_multiplier: Option<Multiplier>,
    /// The addresses from which it may be used.
    pub addresses: Option<AddressList>,
}

impl KeyAccess {
    /// Whether the key has nothing of its own.
    pub const fn is_none(&self) -> bool {
        self.models.is_none()
            && self.multiplier.is_none()
            && self.max_multiplier.is_none()
            && self.addresses.is_none()
    }

    /// Whether the key may use a source with this final multiplier.
    pub fn affords(&self, multiplier: Multiplier) -> bool {
        self.max_multiplier.is_none_or(|most| multiplier <= most)
    }

    /// Whether the key may use the model with this id, if its group may.
    pub fn allows(&self, id: &str) -> bool {
        self.models
            .as_ref()
            .is_none_or(|models| models.contains(id))
    }
}
