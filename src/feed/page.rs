//! A page of changes as the feed's service writes it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::config::document::LimitsDocument;
use crate::config::error::Problems;
use crate::config::key::{CheckedKey, KeyFields, KeyPlace};
use crate::config::schema;
use crate::keys::{KeyDigest, KeyTerms};

/// The longest identity of a feed, in bytes.
const MAX_FEED: usize = 64;
/// The longest cursor, in bytes.
const MAX_CURSOR: usize = 256;
/// A page with more problems is as bad as one with this many.
const MAX_PROBLEMS: usize = 20;

/// A page that passed every check. It borrows from the text where that needs no unescaping.
#[derive(Debug)]
pub struct Page<'a> {
    /// The identity of the sequence of versions.
    pub feed: Cow<'a, str>,
    /// The greatest version that the feed has given away.
    pub version: u64,
    /// The position at which the next page begins.
    pub cursor: Cow<'a, str>,
    /// Whether there is a next page already.
    pub more: bool,
    changes: Vec<KeyChange<'a>>,
    /// Of each change, in the same order.
    checked: Vec<CheckedKey>,
}

/// A change of one key.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The key's digest.
    pub digest: KeyDigest,
    /// The version of the change.
    pub version: u64,
    /// The key as it is now; `None` where it was removed.
    pub terms: Option<KeyTerms<'a>>,
}

/// Text, borrowed where it can be. (serde borrows a bare `Cow` only, not one in an `Option`.)
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageText<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl From<String> for PageText<'_> {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// A page as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageDocument<'a> {
    /// The identity of the sequence of versions.
    #[serde(borrow)]
    pub feed: Option<PageText<'a>>,
    /// The greatest version that the feed has given away.
    pub version: Option<u64>,
    /// The position at which the next page begins.
    #[serde(borrow)]
    pub cursor: Option<PageText<'a>>,
    /// Whether there is a next page already.
    pub more: Option<bool>,
    /// The changes.
    #[serde(borrow)]
    pub changes: Option<Vec<KeyChange<'a>>>,
}

macro_rules! change {
    ($($(#[$attribute:meta])* $field:ident: $type:ty,)*) => {
        /// A change of a key as it is written: all of the key as it is now, or that it was removed.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct KeyChange<'a> {$(
            $(#[$attribute])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        )*}
    };
}

change! {
    /// The version of the change.
    version: u64,
    /// The key's digest, 64 hexadecimal digits.
    #[serde(borrow)]
    sha256: PageText<'a>,
    /// The key's id.
    #[serde(borrow)]
    id: PageText<'a>,
    /// The id of its group.
    #[serde(borrow)]
    group: PageText<'a>,
    /// The id of the owner.
    #[serde(borrow)]
    owner: PageText<'a>,
    /// The team that it belongs to.
    #[serde(borrow)]
    team: PageText<'a>,
    /// The id of the key in whose counters its limits count.
    #[serde(borrow)]
    counts_as: PageText<'a>,
    /// The models of its group that it may use. Most keys have none, and shall not carry the room for them.
    #[serde(borrow)]
    models: Box<Vec<PageText<'a>>>,
    /// The final multiplier of its requests.
    #[serde(borrow)]
    multiplier: PageText<'a>,
    /// The greatest final multiplier that it may pay.
    #[serde(borrow)]
    max_multiplier: PageText<'a>,
    /// The addresses from which it may be used.
    #[serde(borrow)]
    addresses: Box<Vec<PageText<'a>>>,
    /// The time at which the key expires, as RFC 3339.
    #[serde(borrow)]
    expires_at: PageText<'a>,
    /// Whether it is disabled.
    disabled: bool,
    /// The limits of the key. Most keys have none, and shall not carry the room for them.
    limits: Box<LimitsDocument>,
    /// Whether the key was removed; then there is nothing else but its digest.
    removed: bool,
}

impl<'a> Page<'a> {
    /// Reads a page.
    ///
    /// # Errors
    /// The first place of a wrong form, or every other problem with its place, until there are many; nothing of such a page may be
    /// used. No value is quoted.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Problems> {
        let document: PageDocument<'_> = schema::read(bytes)?;
        let mut problems = Problems::default();
        let feed = plain(document.feed, MAX_FEED, "feed", &mut problems);
        let cursor = plain(document.cursor, MAX_CURSOR, "cursor", &mut problems);
        let version = required(document.version, "version", &mut problems);
        let more = required(document.more, "more", &mut problems);
        let changes = required(document.changes, "changes", &mut problems);
        let mut checked = Vec::with_capacity(changes.len());
        for (position, change) in changes.iter().enumerate() {
            let place = KeyPlace::In("changes", position);
            checked.extend(change.check(version, place, &mut problems));
            if problems.0.len() >= MAX_PROBLEMS {
                break;
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            feed,
            version,
            cursor,
            more,
            changes,
            checked,
        })
    }

    /// Returns the changes as they are written.
    pub fn written(&self) -> &[KeyChange<'a>] {
        &self.changes
    }

    /// Returns the changes of the page, in the order in which they are written.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let both = self.changes.iter().zip(&self.checked);
        both.map(|(change, checked)| Change {
            digest: checked.digest,
            version: change.version.unwrap_or_default(),
            terms: (!change.is_removal()).then(|| KeyTerms {
                id: text(&change.id).unwrap_or_default(),
                group: text(&change.group).unwrap_or_default(),
                owner: text(&change.owner),
                team: text(&change.team),
                counts_as: text(&change.counts_as),
                expires_at: checked.expires_at,
                disabled: change.disabled.unwrap_or(false),
                limits: checked.limits.as_deref(),
                access: checked.access.as_deref(),
            }),
        })
    }
}

impl KeyChange<'_> {
    /// Whether the key was removed.
    pub fn is_removal(&self) -> bool {
        self.removed == Some(true)
    }

    /// Returns the key's digest as it is written.
    pub fn sha256(&self) -> &str {
        text(&self.sha256).unwrap_or_default()
    }

    /// Checks it as a reader of a page does, whatever the version of the page.
    ///
    /// # Errors
    /// Every problem, by its field. No value is quoted.
    pub fn checked(&self) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let checked = self.check(u64::MAX, KeyPlace::Alone, &mut problems);
        checked.map(drop).ok_or(problems)
    }

    /// Checks it; `None` where a problem was found.
    fn check(&self, head: u64, place: KeyPlace, problems: &mut Problems) -> Option<CheckedKey> {
        let before = problems.0.len();
        match self.version {
            None | Some(0) => problems.push(place.field("version"), "must be 1 or more"),
            Some(version) if version > head => {
                problems.push(place.field("version"), "is above the page's own version");
            }
            Some(_) => {}
        }
        let checked = if self.is_removal() {
            CheckedKey::of_removed(text(&self.sha256), place, problems)
        } else {
            let models = texts(self.models.as_deref().map(Vec::as_slice));
            let addresses = texts(self.addresses.as_deref().map(Vec::as_slice));
            let fields = KeyFields {
                id: text(&self.id),
                sha256: text(&self.sha256),
                group: text(&self.group),
                owner: text(&self.owner),
                team: text(&self.team),
                counts_as: text(&self.counts_as),
                models: models.as_deref(),
                multiplier: text(&self.multiplier),
                max_multiplier: text(&self.max_multiplier),
                addresses: addresses.as_deref(),
                expires_at: text(&self.expires_at),
            };
            CheckedKey::check(fields, self.limits.as_deref(), place, problems)
        };
        checked.filter(|_| problems.0.len() == before)
    }
}

fn text<'a>(text: &'a Option<PageText<'_>>) -> Option<&'a str> {
    text.as_ref().map(|text| &*text.0)
}

fn texts<'a>(list: Option<&'a [PageText<'_>]>) -> Option<Vec<&'a str>> {
    list.map(|list| list.iter().map(|PageText(text)| &**text).collect())
}

fn required<T: Default>(value: Option<T>, path: &str, problems: &mut Problems) -> T {
    if value.is_none() {
        problems.push(path, "is missing");
    }
    value.unwrap_or_default()
}

/// 1 to `longest` visible ASCII characters.
fn plain<'a>(
    value: Option<PageText<'a>>,
    longest: usize,
    path: &str,
    problems: &mut Problems,
) -> Cow<'a, str> {
    let value = value.map(|text| text.0).unwrap_or_default();
    let good = value.bytes().all(|b| b.is_ascii_graphic());
    if value.is_empty() || value.len() > longest || !good {
        problems.push(
            path,
            format!("must be 1 to {longest} visible ASCII characters"),
        );
    }
    value
}

#[cfg(test)]
mod tests;
