//! API keys, in the document and in a feed.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;

use super::diagnostics::Diagnostics;
use super::{coverage, fields, limits, names};
use crate::config::document::KeyDocument;
use crate::config::error::Problems;
use crate::config::policy::{Group, Policy};
use crate::config::suggestion::suggestion;
use crate::keys::{AddressList, AddressRange, KeyAccess, KeyDigest, KeyRecord};
use crate::model::{ModelSubset, ModelTag};
use crate::money::Multiplier;

/// An API key as written, in the document or in a feed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyFields<'a, 'm> {
    pub id: Option<&'a str>,
    pub sha256: Option<&'a str>,
    pub group: Option<&'a str>,
    pub owner: Option<&'a str>,
    pub team: Option<&'a str>,
    pub counts_as: Option<&'a str>,
    pub models: Option<&'m [&'m str]>,
    pub multiplier: Option<&'a str>,
    pub max_multiplier: Option<&'a str>,
    pub addresses: Option<&'m [&'m str]>,
    pub expires_at: Option<&'a str>,
}

/// The fields that are valid.
#[derive(Debug, Clone)]
pub(in crate::config) struct Checked<'a> {
    pub id: Option<&'a str>,
    pub digest: Option<KeyDigest>,
    pub group: Option<&'a str>,
    pub expires_at: Option<i64>,
    pub access: Option<Box<KeyAccess>>,
}

/// The place at which a key is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyPlace {
    /// In this list, at this position.
    In(&'static str, usize),
    /// By itself.
    Alone,
}

impl KeyPlace {
    /// The path of one of its fields.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Self::In(list, position) => format!("{list}[{position}].{name}"),
            Self::Alone => name.to_owned(),
        }
    }
}

impl<'a> KeyFields<'a, '_> {
    /// Checks each field by itself. A path is built only for a problem.
    pub(in crate::config) fn check(
        &self,
        good_group: impl FnOnce(Option<&'a str>) -> Result<&'a str, Cow<'static, str>>,
        place: KeyPlace,
        problems: &mut Problems,
    ) -> Checked<'a> {
        let id = names::checked_id(self.id);
        let digest = digest(self.sha256);
        let group = good_group(self.group);
        let owner = self.owner.map(names::checked_display).transpose();
        let named = |id: Option<&'a str>| id.map(|id| names::checked_id(Some(id)));
        let (team, counts_as) = (named(self.team), named(self.counts_as));
        let multiplier = self.multiplier.map(Multiplier::parse).transpose();
        let max_multiplier = match (self.max_multiplier, self.multiplier) {
            (Some(_), Some(_)) => {
                Err("has no meaning beside multiplier, which holds for every source")
            }
            (most, _) => most.map(Multiplier::parse).transpose(),
        };
        let expires_at = self.expires_at.map(fields::checked_timestamp).transpose();
        for (field, problem) in [
            ("id", id.err().map(Cow::Borrowed)),
            ("sha256", digest.err().map(Cow::Borrowed)),
            ("group", group.as_ref().err().cloned()),
            ("owner", owner.err().map(Cow::Borrowed)),
            ("team", team.and_then(Result::err).map(Cow::Borrowed)),
            (
                "counts_as",
                counts_as.and_then(Result::err).map(Cow::Borrowed),
            ),
            ("multiplier", multiplier.err().map(Cow::Borrowed)),
            ("max_multiplier", max_multiplier.err().map(Cow::Borrowed)),
            ("expires_at", expires_at.err().map(Cow::Borrowed)),
        ] {
            if let Some(reason) = problem {
                problems.push(place.field(field), reason);
            }
        }
        let models = self.models.and_then(|names| subset(names, place, problems));
        let addresses = self
            .addresses
            .and_then(|ranges| addresses(ranges, place, problems));
        let access = KeyAccess {
            models,
            multiplier: multiplier.ok().flatten(),
            max_multiplier: max_multiplier.ok().flatten(),
            addresses,
        };
        Checked {
            id: id.ok(),
            digest: digest.ok(),
            group: group.ok(),
            expires_at: expires_at.ok().flatten(),
            access: (!access.is_none()).then(|| Box::new(access)),
        }
    }
}

/// The models that a key names; `None` where a problem was found. Whether its group has them is another question.
fn subset(names: &[&str], place: KeyPlace, problems: &mut Problems) -> Option<ModelSubset> {
    let before = problems.0.len();
    let most = ModelSubset::MAX;
    if names.is_empty() || names.len() > most {
        problems.push(
            place.field("models"),
            format!("must name 1 to {most} models; without it the key has all of its group"),
        );
        return None;
    }
    let mut known = HashSet::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        let reason = match names::checked_model(name) {
            Err(reason) => reason,
            Ok(_) if !known.insert(*name) => "is listed twice",
            Ok(_) => continue,
        };
        problems.push(place.field(&format!("models[{position}]")), reason);
    }
    let tags = names.iter().map(|name| ModelTag::of(name));
    ModelSubset::new(tags).filter(|_| problems.0.len() == before)
}

/// The addresses from which a key may be used; `None` where a problem was found.
fn addresses(texts: &[&str], place: KeyPlace, problems: &mut Problems) -> Option<AddressList> {
    let most = AddressList::MAX;
    if texts.len() > most {
        let reason = format!("must name at most {most} addresses and ranges");
        problems.push(place.field("addresses"), reason);
        return None;
    }
    let before = problems.0.len();
    let mut ranges: Vec<AddressRange> = Vec::with_capacity(texts.len());
    for (position, text) in texts.iter().enumerate() {
        match text.parse() {
            Ok(range) => ranges.push(range),
            Err(reason) => problems.push(place.field(&format!("addresses[{position}]")), reason),
        }
    }
    (problems.0.len() == before).then(|| AddressList::new(ranges))
}

/// Names every model of a key that its group does not have.
fn check_models(names: &[&str], group: &Group, place: KeyPlace, problems: &mut Problems) {
    let has = |name: &str| group.kind.usable().any(|of| of.model.id == name);
    for (position, name) in names.iter().enumerate() {
        if !has(name) {
            let known = group.kind.usable().map(|of| of.model.id.as_str());
            problems.push(
                place.field(&format!("models[{position}]")),
                format!(
                    "is no model that the group \"{}\" may use{}",
                    group.id,
                    suggestion(name, known)
                ),
            );
        }
    }
}

/// The digest by which a key is named.
pub(in crate::config) fn digest(sha256: Option<&str>) -> Result<KeyDigest, &'static str> {
    sha256
        .and_then(KeyDigest::from_hex)
        .ok_or("must be the 64 hexadecimal digits of the key's SHA-256")
}

/// A group that the policy need not have yet.
pub(in crate::config) fn any_group(id: Option<&str>) -> Result<&str, Cow<'static, str>> {
    names::checked_id(id).map_err(Cow::Borrowed)
}

/// A group of the policy. Only the first problems of a document list the known groups: a list takes a look at all.
fn known_group<'a>(
    id: Option<&'a str>,
    policy: &Policy,
    problems: usize,
) -> Result<&'a str, Cow<'static, str>> {
    const UNKNOWN: &str = "names no group of this document";
    id.filter(|id| policy.index.contains_key(*id))
        .ok_or_else(|| {
            if problems >= TOLD_GROUPS {
                return Cow::Borrowed(UNKNOWN);
            }
            let groups = names::in_order(&policy.index);
            let known = suggestion(id.unwrap_or_default(), groups);
            Cow::Owned(format!("{UNKNOWN}{known}"))
        })
}

/// The number of problems after which a message no longer lists the known groups.
const TOLD_GROUPS: usize = 100;

pub(super) fn compile(
    documents: &[KeyDocument],
    policy: &Policy,
    diagnostics: &mut Diagnostics,
) -> Vec<(KeyDigest, KeyRecord)> {
    let mut ids: HashSet<&str> = HashSet::with_capacity(documents.len());
    let mut digests: HashMap<KeyDigest, usize> = HashMap::with_capacity(documents.len());
    let mut records = Vec::with_capacity(documents.len());
    for (position, document) in documents.iter().enumerate() {
        let problems = &mut diagnostics.problems;
        let before = problems.0.len();
        let place = KeyPlace::In("keys", position);
        let models: Option<Vec<&str>> = document
            .models
            .as_ref()
            .map(|models| models.iter().map(String::as_str).collect());
        let addresses: Option<Vec<&str>> = document
            .addresses
            .as_ref()
            .map(|ranges| ranges.iter().map(String::as_str).collect());
        let fields = KeyFields {
            id: document.id.as_deref(),
            sha256: document.sha256.as_deref(),
            group: document.group.as_deref(),
            owner: document.owner.as_deref(),
            team: document.team.as_deref(),
            counts_as: document.counts_as.as_deref(),
            models: models.as_deref(),
            multiplier: document.multiplier.as_deref(),
            max_multiplier: document.max_multiplier.as_deref(),
            addresses: addresses.as_deref(),
            expires_at: document.expires_at.as_deref(),
        };
        let checked = fields.check(|id| known_group(id, policy, before), place, problems);
        if checked.id.is_some_and(|id| !ids.insert(id)) {
            problems.push(place.field("id"), "is the id of another key too");
        }
        if let Some(other) = checked.digest.and_then(|d| digests.insert(d, position)) {
            problems.push(
                place.field("sha256"),
                format!("is the digest of keys[{other}] too"),
            );
        }
        let limits = document
            .limits
            .as_ref()
            .and_then(|limits| limits::compile(limits, &place.field("limits"), problems));
        // Where another group has a problem, positions may be shifted: then that one is told alone.
        let group = checked
            .group
            .and_then(|id| policy.group(id).filter(|group| group.id == id));
        let access = checked.access.as_deref();
        if let (Some(group), Some(_), Some(names)) = (
            group,
            access.and_then(|access| access.models.as_ref()),
            &models,
        ) {
            check_models(names, group, place, problems);
        }
        if limits.as_ref().is_some_and(|l| l.budget.is_set())
            && let Some(group) = group.filter(|group| !group.priced)
        {
            let path = place.field("limits.budget");
            coverage::check(group, (checked.id, access), path, diagnostics);
        }
        if let (
            Checked {
                id: Some(id),
                digest: Some(digest),
                group: Some(group),
                expires_at,
                access,
            },
            true,
        ) = (checked, diagnostics.problems.0.len() == before)
        {
            let record = KeyRecord {
                id: id.into(),
                group: group.into(),
                owner: document.owner.as_deref().map(SmolStr::from),
                team: document.team.as_deref().map(SmolStr::from),
                counts_as: document.counts_as.as_deref().map(SmolStr::from),
                expires_at,
                disabled: document.disabled.unwrap_or(false),
                limits,
                access,
            };
            records.push((digest, record));
        }
    }
    records
}
