//! A key as a feed gives it: checked by itself, for whether its group exists is seen when it is used.

use crate::config::compile::keys::{self, Checked, KeyFields, KeyPlace};
use crate::config::compile::limits;
use crate::config::document::{KeyDocument, LimitsDocument};
use crate::config::error::Problems;
use crate::config::record::KeyDigest;
use crate::limits::Limits;

/// What a key says in other words than it is kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// Its digest.
    pub digest: KeyDigest,
    /// When it ends, seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// What it may use; `None` for without limit.
    pub limits: Option<Box<Limits>>,
}

impl Meaning {
    /// Checks a key as the gateway checks one that a feed gives.
    ///
    /// # Errors
    /// Every problem, by its field. No value is quoted.
    pub fn of(key: &KeyDocument) -> Result<Self, Problems> {
        let fields = KeyFields {
            id: key.id.as_deref(),
            sha256: key.sha256.as_deref(),
            group: key.group.as_deref(),
            owner: key.owner.as_deref(),
            expires_at: key.expires_at.as_deref(),
        };
        let mut problems = Problems::default();
        Self::check(fields, key.limits.as_ref(), KeyPlace::Alone, &mut problems).ok_or(problems)
    }

    /// The same of a key at some place; `None` where a problem was found.
    pub(super) fn check(
        fields: KeyFields<'_>,
        limits: Option<&LimitsDocument>,
        place: KeyPlace,
        problems: &mut Problems,
    ) -> Option<Self> {
        let before = problems.0.len();
        let Checked {
            digest, expires_at, ..
        } = fields.check(keys::any_group, place, problems);
        let limits =
            limits.and_then(|limits| limits::compile(limits, &place.field("limits"), problems));
        let digest = digest.filter(|_| problems.0.len() == before)?;
        Some(Self {
            digest,
            expires_at,
            limits,
        })
    }

    /// Of a key that was removed, of which only the digest is known.
    pub(super) fn of_removed(
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
        })
    }
}
