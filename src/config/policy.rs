//! The policy: what the filter decides by. Only compiling a document makes one, so every reference in it is resolved and
//! every name in it is checked.

use core::cell::OnceCell;
use std::rc::Rc;

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::account::Accounts;
use super::cors::Cors;
use super::feed_source::FeedSource;
use super::labels::Label;
use crate::body::SteeringSet;
use crate::keys::KeyAccess;
use crate::limits::Subject;
use crate::limits::service::OnFailure;
use crate::model::{Catalog, Model};
use crate::money::{Multiplier, Price};
use crate::protocol::{Entry, Protocol};

/// A document, compiled. Account keys are not in it: each has a record of its own
/// ([`crate::keys`]).
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whether protocol C keys may come as the query parameter `key`.
    pub query_key: bool,
    /// The number of bytes of a request body that are held while its model is still unknown.
    pub inspect_window: u64,
    /// The longest request body, in bytes; a longer one is answered with 413.
    pub max_body: u64,
    /// The currency of all prices, such as `USD`; for records, nothing is converted.
    pub currency: Option<Rc<str>>,
    /// The feed of account keys that the document does not name.
    pub keys_feed: Option<FeedSource>,
    /// The feed that reports the spend of budgets elsewhere.
    pub spend_feed: Option<FeedSource>,
    /// Whether a service that many Envoys share counts requests, too, and what becomes of them while
    /// it does not answer.
    pub limits_service: Option<OnFailure>,
    /// Whether requests are refused while the ledger cannot be written, instead of served without a line.
    pub requires_ledger: bool,
    /// The web pages whose scripts may read answers; `None` for none.
    pub cors: Option<Cors>,
    /// The labels of requests in the ledger.
    pub labels: Vec<Label>,
    pub(super) groups: Vec<Rc<Group>>,
    pub(super) index: HashMap<String, usize>,
}

/// A group of keys.
#[derive(Debug, Clone)]
pub struct Group {
    /// The id by which keys and entries refer to it.
    pub id: SmolStr,
    /// The name for people.
    pub name: String,
    /// The clients that its keys serve.
    pub clients: Clients,
    /// The source, or the entries, that it gives access to.
    pub kind: GroupKind,
    /// Whether every model that its keys may use has prices, or is said to cost nothing. Keys under a budget may not use the
    /// others, which it could not count.
    pub priced: bool,
    /// The limits on all of its keys together; `None` for none.
    pub limits: Option<Subject>,
    /// The contact of its key holders who need more.
    pub contact: Option<Rc<str>>,
    /// The answers to its keys that ask for the whole list of models.
    pub lists: Lists,
    /// Of a source group: the sources that are asked after its own has failed, in this order.
    pub fallback: Vec<EntrySource>,
}

/// Answers that are the same for every key of a group: written when first asked for, in this policy's lifetime.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// For protocols A and B; where lists differ by protocol, for A.
    pub shared: OnceCell<Rc<[u8]>>,
    /// For protocol B, where lists differ by protocol.
    pub messages: OnceCell<Rc<[u8]>>,
    /// For protocol C.
    pub generate: OnceCell<Rc<[u8]>>,
}

/// The credential forms, versions and paths that a group's keys take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clients {
    /// The protocols as documented: `x-api-key` and the version constant on B, `/v1beta` for C.
    #[default]
    Strict,
    /// Also what current official SDKs and agents send: a Bearer credential and any dated version
    /// on B, `/v1/models…` for C.
    Current,
}

/// A group is either a source of models, or a choice of sources by entry.
#[derive(Debug, Clone)]
pub enum GroupKind {
    /// Models of one protocol, behind one Envoy cluster.
    Source(Rc<Source>),
    /// Entries, each leading to a source group.
    Mixed(Mixed),
}

/// A model that keys of a group may use.
#[derive(Debug, Clone, Copy)]
pub struct UsableModel<'a> {
    /// The source that has it: of several the first with a price for it.
    pub source: &'a Source,
    /// The model.
    pub model: &'a Model,
    /// The least final multiplier of the sources that have it.
    pub least_multiplier: Multiplier,
}

/// The models of one protocol behind one Envoy cluster.
#[derive(Debug, Clone)]
pub struct Source {
    /// The id of its group.
    pub group: SmolStr,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// The billing multiplier of requests that its own keys make.
    pub multiplier: Multiplier,
    /// The Envoy cluster that leads upstream: one written by hand, or the one of `accounts`.
    pub cluster: SmolStr,
    /// The upstream accounts, where the document has them.
    pub accounts: Option<Rc<Accounts>>,
    /// Protocol A: whether images may be made.
    pub image_generation: bool,
    /// Protocol B: whether the upstream counts tokens.
    pub count_tokens: bool,
    /// Protocol C: whether paths that name no model are forwarded. They are state of the upstream
    /// account, which all keys of the group share.
    pub account_resources: bool,
    /// Protocol C: the methods of models that are served beside the usual ones, and what a call of each costs, before
    /// the multiplier. A price of 0 says that it is meant to be free.
    pub methods: Vec<(String, Price)>,
    /// Protocol A: whether Chat Completions streams are made to report usage; `None`: those of models with prices.
    pub include_usage: Option<bool>,
    /// The members of a body that choose a model, provider or price elsewhere and go on all the same.
    pub passes: SteeringSet,
    /// Whether the text of a vendor's error is written into the ledger, masked.
    pub error_text: bool,
    /// Whether an answer that reports no usage costs nothing, instead of what its usage is estimated to be.
    pub unreported_free: bool,
    /// The models that the source serves.
    pub catalog: Catalog,
}

impl Group {
    /// The models that a key with this of its own loses under a budget, as that could not count them.
    pub fn unpriced(&self, access: Option<&KeyAccess>) -> Vec<String> {
        self.models_of(access, false)
    }

    /// The ids of the models without prices.
    pub fn unpriced_ids(&self) -> Vec<String> {
        let unpriced = self.kind.usable().filter(|of| !of.model.is_priced());
        unpriced.map(|of| of.model.id.to_string()).collect()
    }

    /// Whether a budget leaves a key with this of its own any model.
    pub fn can_have_budget(&self, access: Option<&KeyAccess>) -> bool {
        self.priced || !self.models_of(access, true).is_empty()
    }

    /// The models of a key, those with or those without prices. A Mixed group says of which source each is.
    fn models_of(&self, access: Option<&KeyAccess>, priced: bool) -> Vec<String> {
        let usable = self.kind.usable();
        let found = usable.filter(|UsableModel { model, .. }| {
            model.is_priced() == priced && access.is_none_or(|access| access.allows(&model.id))
        });
        let name = |UsableModel { source, model, .. }: UsableModel<'_>| match self.kind {
            GroupKind::Source(_) => model.id.to_string(),
            GroupKind::Mixed(_) => format!("{} (of {})", model.id, source.group),
        };
        found.map(name).collect()
    }
}

impl GroupKind {
    /// The models that keys of such a group may use.
    pub fn usable(&self) -> impl Iterator<Item = UsableModel<'_>> {
        let (source, mixed) = match self {
            Self::Source(source) => (Some(&**source), None),
            Self::Mixed(mixed) => (None, Some(mixed)),
        };
        let own = source.into_iter().flat_map(|source| {
            let models = source.catalog.models().iter();
            models.map(move |model| UsableModel {
                source,
                model,
                least_multiplier: source.multiplier,
            })
        });
        let shown = mixed.into_iter().flat_map(|mixed| {
            mixed.models.iter().filter_map(|shown| {
                let (offer, model) = mixed.offered_where(shown, |_, model| model.is_priced())?;
                let entitled = mixed.offers(shown).filter(|(_, model)| model.entitled);
                let least = entitled.map(|(offer, _)| offer.multiplier).min();
                Some(UsableModel {
                    source: &offer.source,
                    model,
                    least_multiplier: least.unwrap_or(offer.multiplier),
                })
            })
        });
        own.chain(shown).filter(|of| of.model.entitled)
    }
}

impl Source {
    /// Returns the price of a call of a further method of protocol C; `None` where it is none of them.
    pub fn method_price(&self, method: &str) -> Option<Price> {
        let found = self.methods.iter().find(|(name, _)| name == method);
        found.map(|(_, price)| *price)
    }

    /// Whether requests bring their path without the version along: an account has a version of its own in its URL.
    pub fn has_own_versions(&self) -> bool {
        let accounts = self.accounts.as_deref();
        accounts.is_some_and(|a| a.accounts.iter().any(|one| one.base.prefix.is_none()))
    }

    /// Returns the accounts, where failover is possible: there are several, or other sources come before or after this one.
    pub fn alternatives(&self) -> Option<&Accounts> {
        self.accounts.as_deref().filter(|it| it.are_alternatives())
    }
}

/// A choice of sources by entry.
#[derive(Debug, Clone)]
pub struct Mixed {
    pub(super) entries: Vec<MixedEntry>,
    /// The models its keys see, in the document's order.
    pub models: Vec<MixedModel>,
    /// Whether a list has only the models of the protocol that the client speaks, instead of all.
    pub lists_by_protocol: bool,
}

/// One entry of a Mixed group.
#[derive(Debug, Clone)]
pub struct MixedEntry {
    /// The protocol entry that requests use.
    pub entry: Entry,
    /// The sources that serve it, at least one, in the document's order.
    pub sources: Vec<EntrySource>,
}

/// A source of an entry.
#[derive(Debug, Clone)]
pub struct EntrySource {
    /// The final multiplier: the source's times the extra one.
    pub multiplier: Multiplier,
    /// The source.
    pub source: Rc<Source>,
}

/// A model that a Mixed group shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedModel {
    /// The id of the model in the source's catalog.
    pub id: String,
    /// The entry that serves it.
    pub entry: Entry,
    /// The sources of the entry that serve it, by their places there, in the order in which they are asked; at least one.
    pub sources: Vec<usize>,
}

impl Policy {
    /// The default of [`Policy::inspect_window`]: 256 KiB.
    pub const INSPECT_WINDOW: u64 = 256 * 1024;
    /// The default of [`Policy::max_body`]: 64 MiB.
    pub const MAX_BODY: u64 = 64 * 1024 * 1024;

    /// The group with this id.
    pub fn group(&self, id: &str) -> Option<&Rc<Group>> {
        self.index.get(id).and_then(|&i| self.groups.get(i))
    }

    /// All groups, in the document's order.
    pub fn groups(&self) -> &[Rc<Group>] {
        &self.groups
    }
}

impl Mixed {
    /// The configured entry, or `None` where the group lacks it.
    pub fn entry(&self, entry: Entry) -> Option<&MixedEntry> {
        self.entries.iter().find(|e| e.entry == entry)
    }

    /// The sources that serve a model of this group, in the order in which they are asked, each with the model there.
    pub fn offers(&self, shown: &MixedModel) -> impl Iterator<Item = (&EntrySource, &Rc<Model>)> {
        let sources = self
            .entry(shown.entry)
            .map_or(&[][..], |entry| &entry.sources);
        let places = shown.sources.iter();
        places.filter_map(|place| {
            let offer = sources.get(*place)?;
            Some((offer, offer.source.catalog.with_id(&shown.id)?))
        })
    }

    /// The source that is asked first for a model of this group, and the model there.
    pub fn offered(&self, shown: &MixedModel) -> Option<(&EntrySource, &Rc<Model>)> {
        self.offers(shown).next()
    }

    /// The first source for a model of this group that fits, and the model there; where none fits, the very first.
    pub fn offered_where(
        &self,
        shown: &MixedModel,
        fits: impl Fn(&EntrySource, &Model) -> bool,
    ) -> Option<(&EntrySource, &Rc<Model>)> {
        let mut offers = self.offers(shown);
        let fitting = offers.find(|(offer, model)| fits(offer, model));
        fitting.or_else(|| self.offered(shown))
    }

    /// The model that `name`, as a client wrote it, means at an entry, and the source that is asked first for it.
    pub fn find(&self, entry: Entry, name: &str) -> Option<(&EntrySource, &Rc<Model>)> {
        self.offered(self.shown(entry, name)?)
    }

    /// The model of this group that `name`, as a client wrote it, means at an entry. Where several have such a name, the one that
    /// is called so goes before those of which it is a variant. Names are those of the source that is asked first.
    pub fn shown(&self, entry: Entry, name: &str) -> Option<&MixedModel> {
        let sources = &*self.entry(entry)?.sources;
        let found = |find: &dyn Fn(&Catalog) -> Option<&Rc<Model>>| {
            sources.iter().enumerate().find_map(|(at, offer)| {
                let model = find(&offer.source.catalog)?;
                let mut shown = self.models.iter();
                shown.find(|shown| {
                    let is_first = shown.sources.first() == Some(&at);
                    shown.entry == entry && is_first && shown.id == model.id
                })
            })
        };
        let exact = || found(&|catalog| catalog.find_exact(name));
        let several = (sources.len() > 1).then(exact).flatten();
        several.or_else(|| found(&|catalog| catalog.find(name)))
    }
}
