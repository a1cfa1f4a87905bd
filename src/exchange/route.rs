//! Route of a request: from a key's group, by entry, to a source and its final multiplier, and the rights there.

use std::rc::Rc;

use crate::config::policy::{EntrySource, Group, GroupKind, Mixed, Source};
use crate::keys::KeyAccess;
use crate::ledger::RouteTaken;
use crate::model::Model;
use crate::model::catalog::ModelKind;
use crate::money::Multiplier;
use crate::protocol::{Endpoint, Entry, Permission, Protocol, generate};
use crate::reply::{GroupProtocol, Rejection};

/// A resolved source and what its use costs.
#[derive(Debug, Clone)]
pub struct Route {
    /// The key's group.
    pub group: Rc<Group>,
    /// The source that serves the request. While the route is [open](Self::is_open) it is the entry's first.
    pub source: Rc<Source>,
    /// The entry taken; `None` for a key of the source group itself.
    pub entry: Option<Entry>,
    /// The final multiplier, with that source.
    pub multiplier: Multiplier,
    /// The key's own terms, in place of its group's; `None` for none.
    access: Option<Rc<KeyAccess>>,
    /// Whether the entry has several sources, and none was chosen yet.
    is_open: bool,
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
                is_open: false,
            }),
            GroupKind::Source(source) => Err(not_allowed(GroupProtocol::Only(source.protocol))),
            GroupKind::Mixed(mixed) => {
                let found = mixed.entry(protocol.entry());
                match found.and_then(|found| Some((found, found.sources.first()?))) {
                    Some((found, first)) => Ok(Self {
                        group: Rc::clone(group),
                        source: Rc::clone(&first.source),
                        entry: Some(found.entry),
                        multiplier: first.multiplier,
                        access: None,
                        is_open: found.sources.len() > 1,
                    }),
                    None => Err(not_allowed(GroupProtocol::Lacks(protocol.entry()))),
                }
            }
        }
    }

    /// Whether the entry has several sources, and the model that decides is not known yet.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The sources that the request may still go to.
    pub fn candidates(&self) -> impl Iterator<Item = &Source> {
        let all = self.mixed().filter(|_| self.is_open);
        let all = all.and_then(|(mixed, entry)| mixed.entry(entry));
        let several = all.into_iter().flat_map(|entry| &entry.sources);
        let only = (!self.is_open).then_some(&self.source);
        let sources = several.map(|offer| &offer.source).chain(only);
        sources.map(|source| &**source)
    }

    /// Chooses the source of an open route by the model that a client calls `name`: of several the first that fits, where one
    /// does. Whether the entry has the model.
    pub fn choose(&mut self, name: &str, fits: impl Fn(&Self, &Model) -> bool) -> bool {
        let found = self.mixed().and_then(|(mixed, entry)| {
            let shown = mixed.shown(entry, name)?;
            let is_only = shown.sources.len() == 1;
            let fits = |offer: &EntrySource, model: &Model| {
                is_only || (self.affords(offer) && fits(&self.at(offer), model))
            };
            mixed.offered_where(shown, fits)
        });
        let found = found.map(|(offer, _)| offer.clone());
        found.map(|offer| self.take(&offer)).is_some()
    }

    /// Chooses the first source of an open route that fits, for a request that names no model. Whether one does.
    pub fn choose_where(&mut self, fits: impl Fn(&Source) -> bool) -> bool {
        let entry = self.mixed().and_then(|(mixed, entry)| mixed.entry(entry));
        let mut sources = entry.into_iter().flat_map(|entry| &entry.sources);
        let found = sources.find(|offer| fits(&offer.source)).cloned();
        found.map(|offer| self.take(&offer)).is_some()
    }

    /// Takes the source with this id, if it is one that the group's requests of this protocol go to.
    pub fn take_source(&mut self, id: &str) -> bool {
        let of_entry = self.mixed().and_then(|(mixed, entry)| mixed.entry(entry));
        let of_entry = of_entry.into_iter().flat_map(|entry| &entry.sources);
        let mut all = of_entry.chain(&self.group.fallback);
        let found = all.find(|offer| offer.source.group == id).cloned();
        found.map(|offer| self.take(&offer)).is_some() || self.source.group == id
    }

    fn take(&mut self, offer: &EntrySource) {
        let own = self.access.as_ref().and_then(|access| access.multiplier);
        self.multiplier = own.unwrap_or(offer.multiplier);
        self.source = Rc::clone(&offer.source);
        self.is_open = false;
    }

    /// Whether the key may use a source.
    fn affords(&self, offer: &EntrySource) -> bool {
        let access = self.access.as_deref();
        access.is_none_or(|access| access.affords(offer.multiplier))
    }

    /// The same to another source.
    fn at(&self, offer: &EntrySource) -> Self {
        let mut route = self.clone();
        route.take(offer);
        route
    }

    /// The routes to the sources that are asked after this one's has failed, in this order: for a model, those that have it.
    pub fn later(&self, model: Option<&Model>) -> Vec<Self> {
        let of_model = self.mixed().zip(model).map(|((mixed, entry), model)| {
            let mut shown = mixed.models.iter();
            let shown = shown.find(|shown| shown.entry == entry && shown.id == model.id);
            let offers = shown.into_iter().flat_map(|shown| mixed.offers(shown));
            let earlier = |offer: &EntrySource| !Rc::ptr_eq(&offer.source, &self.source);
            offers.skip_while(move |(offer, _)| earlier(offer)).skip(1)
        });
        let of_model = of_model.into_iter().flatten().map(|(offer, _)| offer);
        let has = |offer: &&EntrySource| {
            let found = |model: &Model| offer.source.catalog.with_id(&model.id);
            model.is_none_or(|model| found(model).is_some_and(|it| it.entitled))
        };
        let all = self.group.fallback.iter().chain(of_model);
        let all = all.filter(|offer| self.affords(offer));
        all.filter(has).map(|offer| self.at(offer)).collect()
    }

    /// The Mixed group and the entry, where the key is of one.
    fn mixed(&self) -> Option<(&Mixed, Entry)> {
        match &self.group.kind {
            GroupKind::Mixed(mixed) => Some((mixed, self.entry?)),
            GroupKind::Source(_) => None,
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

    /// The source and what it costs, for the record; `None` where none was chosen.
    pub(super) fn taken(&self) -> Option<RouteTaken> {
        (!self.is_open).then(|| RouteTaken {
            source: self.source.group.clone(),
            entry: self.source.protocol.entry(),
            cluster: self.source.cluster.clone(),
            multiplier: self.multiplier,
        })
    }

    /// Checks whether a source that the request may go to allows the endpoint.
    ///
    /// # Errors
    /// None does.
    pub(super) fn check_rights(&self, endpoint: &Endpoint) -> Result<(), Rejection> {
        let mut sources = self.candidates();
        match endpoint.spec().needs {
            Some(Permission::Images) if !self.may_make_images() => {
                Err(Rejection::ImagesNotSupported)
            }
            Some(Permission::CountTokens) if !sources.any(|source| source.count_tokens) => {
                Err(Rejection::CountTokensNotSupported)
            }
            Some(Permission::AccountResources)
                if !sources.any(|source| source.account_resources) =>
            {
                Err(Rejection::ResourcesNotServed)
            }
            Some(Permission::Method) => self.check_method(endpoint.name()),
            _ => Ok(()),
        }
    }

    /// The methods of protocol C that run nothing unpaid, and those that the group prices.
    fn check_method(&self, method: &str) -> Result<(), Rejection> {
        let mut sources = self.candidates();
        if generate::METHODS.contains(&method)
            || sources.any(|source| source.method_price(method).is_some())
        {
            return Ok(());
        }
        let priced = self.candidates().flat_map(|source| &source.methods);
        let priced = priced.map(|(name, _)| name.as_str());
        let served = generate::METHODS.into_iter().chain(priced);
        Err(Rejection::MethodNotServed {
            served: served.map(str::to_owned).collect(),
        })
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
    /// [`Rejection::ModelNotEntitled`] where the source account may not use it, [`Rejection::ModelAboveMultiplier`] where the key may
    /// not pay the source, [`Rejection::ModelOfOtherSource`] where another
    /// source of the entry has it than that which was chosen.
    pub fn model(&self, name: &str) -> Result<&Rc<Model>, Rejection> {
        let (elsewhere, shown) = match self.mixed() {
            Some((mixed, entry)) => {
                let is_here = |offer: &EntrySource| Rc::ptr_eq(&offer.source, &self.source);
                let shown = mixed.shown(entry, name);
                let found = shown.and_then(|it| mixed.offered_where(it, |offer, _| is_here(offer)));
                found.map_or((false, None), |(offer, model)| {
                    (!is_here(offer), Some(model))
                })
            }
            None => (false, self.source.catalog.find(name)),
        };
        match shown.filter(|model| allows(self.access.as_deref(), &model.id)) {
            Some(model) if !model.entitled => Err(Rejection::ModelNotEntitled {
                name: name.to_owned(),
            }),
            Some(_) if elsewhere && !self.is_open => Err(Rejection::ModelOfOtherSource {
                name: name.to_owned(),
            }),
            Some(_) if !self.is_open && !self.is_affordable() => {
                Err(Rejection::ModelAboveMultiplier {
                    name: name.to_owned(),
                })
            }
            Some(model) => Ok(model),
            None => Err(Rejection::ModelNotFound {
                name: name.to_owned(),
                served_by: self.other_entry_for(name),
            }),
        }
    }

    /// Whether the key may pay this route's multiplier.
    fn is_affordable(&self) -> bool {
        let access = self.access.as_deref();
        access.is_none_or(|access| access.affords(self.multiplier))
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
        let found = mixed.find(entry, name);
        found.is_some_and(|(_, model)| model.entitled && allows(access, &model.id))
    })
}
