//! Route of a request: from a key's group, by entry, to a source and its final multiplier.

use std::rc::Rc;

use crate::config::policy::{Group, GroupKind, Mixed, Source};
use crate::keys::KeyAccess;
use crate::ledger::RouteTaken;
use crate::model::Model;
use crate::model::catalog::ModelKind;
use crate::money::Multiplier;
use crate::protocol::{Entry, Protocol};
use crate::reply::{GroupProtocol, Rejection};

/// A resolved source and what its use costs.
#[derive(Debug, Clone)]
pub struct Route {
    /// The key's group.
    pub group: Rc<Group>,
    /// The source that serves the request.
    pub source: Rc<Source>,
    /// The entry taken; `None` for a key of the source group itself.
    pub entry: Option<Entry>,
    /// The final multiplier.
    pub multiplier: Multiplier,
    /// The key's own terms, in place of its group's; `None` for none.
    access: Option<Rc<KeyAccess>>,
}

impl Route {
    /// The route of `group` for requests of `protocol`.
    ///
    /// # Errors
    /// [`Rejection::ProtocolNotAllowed`] where the group does not serve the protocol.
    pub fn find(group: &Rc<Group>, protocol: Protocol) -> Result<Self, Rejection> {
        let not_allowed = |group| Rejection::ProtocolNotAllowed {
            wanted: protocol,
            group,
        };
        match &group.kind {
            GroupKind::Source(source) if source.protocol == protocol => Ok(Self {
                group: Rc::clone(group),
                source: Rc::clone(source),
                entry: None,
                multiplier: source.multiplier,
                access: None,
            }),
            GroupKind::Source(source) => Err(not_allowed(GroupProtocol::Only(source.protocol))),
            GroupKind::Mixed(mixed) => match mixed.entry(protocol.entry()) {
                Some(found) => Ok(Self {
                    group: Rc::clone(group),
                    source: Rc::clone(&found.source),
                    entry: Some(found.entry),
                    multiplier: found.multiplier,
                    access: None,
                }),
                None => Err(not_allowed(GroupProtocol::Lacks(protocol.entry()))),
            },
        }
    }

    /// The route for a key of the group that has this of its own.
    #[must_use]
    pub fn with_access(self, access: Option<&Rc<KeyAccess>>) -> Self {
        let own = access.and_then(|access| access.multiplier);
        Self {
            multiplier: own.unwrap_or(self.multiplier),
            access: access.map(Rc::clone),
            ..self
        }
    }

    /// The source and what it costs, for the record.
    pub(super) fn taken(&self) -> RouteTaken {
        RouteTaken {
            source: self.source.group.clone(),
            entry: self.source.protocol.entry(),
            cluster: self.source.cluster.clone(),
            multiplier: self.multiplier,
        }
    }

    /// Whether images may be made: keys of Mixed groups never may.
    pub fn may_make_images(&self) -> bool {
        self.source.image_generation && self.entry.is_none()
    }

    /// Whether the key's list has a model that makes images.
    pub fn has_image_model(&self) -> bool {
        self.image_models().next().is_some()
    }

    /// A model of the key's list that makes images, where none of these has a price.
    pub fn unpriced_image_model(&self) -> Option<&Rc<Model>> {
        let is_priced = self.image_models().any(|model| model.is_priced());
        self.image_models().next().filter(|_| !is_priced)
    }

    fn image_models(&self) -> impl Iterator<Item = &Rc<Model>> {
        let models = self.source.catalog.models().iter();
        models.filter(|model| {
            model.kind == ModelKind::Image
                && model.entitled
                && allows(self.access.as_deref(), &model.id)
        })
    }

    /// The model that `name`, as a client wrote it, means on this route.
    ///
    /// # Errors
    /// [`Rejection::ModelNotFound`] where the key's list does not have it under this entry,
    /// [`Rejection::ModelNotEntitled`] where the source account may not use it.
    pub fn model(&self, name: &str) -> Result<&Rc<Model>, Rejection> {
        let found = self.source.catalog.find(name);
        let shown = match (&self.group.kind, self.entry) {
            (GroupKind::Mixed(mixed), Some(entry)) => found.filter(|m| mixed.shows(entry, m)),
            _ => found,
        };
        match shown.filter(|model| allows(self.access.as_deref(), &model.id)) {
            Some(model) if model.entitled => Ok(model),
            Some(_) => Err(Rejection::ModelNotEntitled {
                name: name.to_owned(),
            }),
            None => Err(Rejection::ModelNotFound {
                name: name.to_owned(),
                served_by: self.other_entry_for(name),
            }),
        }
    }

    /// The entry by which this Mixed key reaches a model that its route does not have.
    fn other_entry_for(&self, name: &str) -> Option<Entry> {
        let GroupKind::Mixed(mixed) = &self.group.kind else {
            return None;
        };
        entry_for(mixed, name, self.access.as_deref())
    }
}

/// Whether a key with this of its own may use a model, if its group may.
fn allows(access: Option<&KeyAccess>, id: &str) -> bool {
    access.is_none_or(|access| access.allows(id))
}

/// The entry of a Mixed group that serves the model that `name` means to a key with this of its own.
pub fn entry_for(mixed: &Mixed, name: &str, access: Option<&KeyAccess>) -> Option<Entry> {
    Entry::ALL.into_iter().find(|&entry| {
        mixed
            .entry(entry)
            .and_then(|e| e.source.catalog.find(name))
            .is_some_and(|model| {
                model.entitled && mixed.shows(entry, model) && allows(access, &model.id)
            })
    })
}
