//! A key checked by itself, as a feed gives it: whether its group exists is only known when it is used.

use super::compile::keys::{self, Checked};
use super::compile::limits;
use super::document::{KeyDocument, LimitsDocument};
use super::error::Problems;
use crate::keys::{KeyAccess, KeyDigest};
use crate::limits::Limits;

pub(crate) use super::compile::keys::{KeyFields, KeyPlace};

/// The fields of a valid key that are not kept as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedKey {
    /// The digest of the key's value.
    pub digest: KeyDigest,
    /// The time at which the key expires, in seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// The limits of the key; `None` for none.
    pub limits: Option<Box<Limits>>,
    /// The key's own terms, in place of its group's; `None` for none.
    pub access: Option<Box<KeyAccess>>,
}

impl CheckedKey {
    /// Checks a key as the gateway checks one that a feed gives.
    ///
    /// # Errors
    /// Every problem, by its field. No value is quoted.
    pub fn of(key: &KeyDocument) -> Result<Self, Problems> {
        let models: Option<Vec<&str>> = key
            .models
            .as_ref()
            .map(|models| models.iter().map(String::as_str).collect());
        let addresses: Option<Vec<&str>> = key
            .addresses
            .as_ref()
            .map(|ranges| ranges.iter().map(String::as_str).collect());
        let fields = KeyFields {
            id: key.id.as_deref(),
            sha256: key.sha256.as_deref(),
            group: key.group.as_deref(),
            owner: key.owner.as_deref(),
            team: key.team.as_deref(),
            counts_as: key.counts_as.as_deref(),
            models: models.as_deref(),
            multiplier: key.multiplier.as_deref(),
            max_multiplier: key.max_multiplier.as_deref(),
            addresses: addresses.as_deref(),
            expires_at: key.expires_at.as_deref(),
        };
        let mut problems = Problems::default();
        Self::check(fields, key.limits.as_ref(), KeyPlace::Alone, &mut problems).ok_or(problems)
    }

    /// Checks a key at some place; `None` where a problem was found.
    pub(crate) fn check(
        fields: KeyFields<'_, '_>,
        limits: Option<&LimitsDocument>,
        place: KeyPlace,
        problems: &mut Problems,
    ) -> Option<Self> {
        let before = problems.0.len();
        let Checked {
            digest,
            expires_at,
            access,
            ..
        } = fields.check(keys::any_group, place, problems);
        let limits =
            limits.and_then(|limits| limits::compile(limits, &place.field("limits"), problems));
        let digest = digest.filter(|_| problems.0.len() == before)?;
        Some(Self {
            digest,
            expires_at,
            limits,
            access,
        })
    }

    /// Checks a key that was removed, of which only the digest is known.
    pub(crate) fn of_removed(
        sha256: Option<&str>,
        place: KeyPlace,
        problems: &mut Problems,
    ) -> Option<Self> {
        let digest = keys::digest(sha256);
        let digest = digest.map_err(|reason| problems.push(place.field("sha256"), reason));
        Some(Self {
            digest: digest.ok()?,
            expires_at: None,
            limits: None,
            access: None,
        })
    }
}
