//! The edits that each subcommand makes to a document's text.

use time::{Duration, OffsetDateTime};
use trilane::config::Document;
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane_console::secret::NewSecret;

use super::access::AccessArgs;
use super::args::KeyCreateArgs;
use super::terms::{self, LimitArgs};
use super::text::{DocumentText, Edit, KeyText};
use crate::timestamp;

/// The longest id, in bytes.
const MAX_ID: usize = 64;

/// A document that was read: its text and its keys.
#[derive(Debug)]
pub struct Opened<'a> {
    text: DocumentText<'a>,
    keys: Vec<KeyDocument>,
}

/// A key of the document.
struct DocumentKey<'o> {
    position: usize,
    key: &'o KeyText,
    says: &'o KeyDocument,
}

/// A change of a key that gives it no new value.
#[derive(Debug)]
pub enum KeyChange<'c> {
    /// It is disabled, or enabled.
    Disable(bool),
    /// It ends then; `None`: never.
    Expire(Option<OffsetDateTime>),
    /// It has other limits; with `true`, no others than these.
    Limit(&'c LimitArgs, bool),
    /// It has other models, another multiplier or another team.
    Access(&'c AccessArgs),
    /// It is removed.
    Remove,
}

impl KeyChange<'_> {
    /// The word for it once it is done.
    pub const fn done(&self) -> &'static str {
        match self {
            Self::Disable(true) => "disabled",
            Self::Disable(false) => "enabled",
            Self::Expire(_) => "expires",
            Self::Limit(..) => "limited",
            Self::Access(_) => "access changed",
            Self::Remove => "removed",
        }
    }

    /// Whether requests with the key are refused by it, so that old values that are still good are worth a word.
    pub const fn ends(&self) -> bool {
        matches!(self, Self::Disable(true) | Self::Remove)
    }
}

/// The message for an id that the document does not have.
pub fn no_key(id: &str) -> String {
    format!("the document has no key with the id {id}: `trilane key list` has all of them")
}

/// The new text, or `None` if there is nothing to do.
pub type Changed = Result<Option<Vec<u8>>, String>;

impl<'a> Opened<'a> {
    /// `None` if the bytes are not a document.
    pub fn new(bytes: &'a [u8], document: Document) -> Option<Self> {
        let text = DocumentText::new(bytes)?;
        let keys = document.keys.unwrap_or_default();
        Some(Self { text, keys })
    }

    /// Adds a key.
    ///
    /// # Errors
    /// There is already a key with this id.
    pub fn create(
        &self,
        args: &KeyCreateArgs,
        ends: Option<OffsetDateTime>,
        new: &NewSecret,
    ) -> Changed {
        let id = &args.one.id;
        if self.position(id).is_some() {
            return Err(format!(
                "there is a key with the id {id} already: `trilane key rotate` gives it a new value"
            ));
        }
        let mut members = vec![
            ("id", json(id)),
            ("sha256", json(&new.digest())),
            ("group", json(&args.group)),
        ];
        if let Some(owner) = &args.owner {
            members.push(("owner", json(owner)));
        }
        let own = args
            .access
            .changes(&KeyDocument::default(), self.text.is_compact());
        for (name, value) in own {
            members.extend(value.map(|value| (name, value)));
        }
        if let Some(ends) = ends {
            members.push(("expires_at", json(&timestamp::text(ends))));
        }
        if let Some(limits) = args.terms.apply(None) {
            let limits = terms::written(&limits, self.text.is_compact());
            members.push(("limits", limits));
        }
        let key = self.text.new_key(&members);
        let edit = self.text.insert(&key, None).ok_or_else(misread)?;
        Ok(Some(self.text.with(&[edit])))
    }

    /// Disables or enables a key.
    ///
    /// # Errors
    /// There is no such key.
    pub fn disable(&self, id: &str, disabled: bool) -> Changed {
        let DocumentKey { key, says, .. } = self.find(id)?;
        if says.disabled.unwrap_or(false) == disabled {
            return Ok(None);
        }
        let edit = if disabled {
            self.text.set(key, "disabled", "true")
        } else {
            self.text.unset(key, "disabled").ok_or_else(misread)?
        };
        Ok(Some(self.text.with(&[edit])))
    }

    /// Sets when a key expires; `None` for never.
    ///
    /// # Errors
    /// There is no such key.
    pub fn expire(&self, id: &str, ends: Option<OffsetDateTime>) -> Changed {
        let DocumentKey { key, says, .. } = self.find(id)?;
        if seconds(ends) == seconds(end_of(says)) && ends.is_some() == says.expires_at.is_some() {
            return Ok(None);
        }
        let edit = match ends {
            Some(ends) => self
                .text
                .set(key, "expires_at", &json(&timestamp::text(ends))),
            None => self.text.unset(key, "expires_at").ok_or_else(misread)?,
        };
        Ok(Some(self.text.with(&[edit])))
    }

    /// Changes the limits of a key; with `anew`, those that are not named are removed.
    ///
    /// # Errors
    /// There is no such key.
    pub fn limit(&self, id: &str, terms: &LimitArgs, anew: bool) -> Changed {
        let DocumentKey { key, says, .. } = self.find(id)?;
        let before = says.limits.as_ref();
        let limits = terms.apply(before.filter(|_| !anew));
        let written = |limits: &LimitsDocument| terms::written(limits, self.text.is_compact());
        if limits.as_ref().map(written) == before.map(written) {
            return Ok(None);
        }
        let edit = match &limits {
            Some(limits) => self.text.set(key, "limits", &written(limits)),
            None => self.text.unset(key, "limits").ok_or_else(misread)?,
        };
        Ok(Some(self.text.with(&[edit])))
    }

    /// Changes what a key has of its own.
    ///
    /// # Errors
    /// There is no such key.
    pub fn access(&self, id: &str, access: &AccessArgs) -> Changed {
        let DocumentKey { position, says, .. } = self.find(id)?;
        let changes = access.changes(says, self.text.is_compact());
        if changes.is_empty() {
            return Ok(None);
        }
        // One after another: the edits of neighbours would overlap.
        let mut bytes = self.text.with(&[]);
        for (name, value) in changes {
            let text = DocumentText::new(&bytes).ok_or_else(misread)?;
            let key = text.key(position).ok_or_else(misread)?;
            let edit = match value {
                Some(value) => text.set(key, name, &value),
                None => text.unset(key, name).ok_or_else(misread)?,
            };
            bytes = text.with(&[edit]);
        }
        Ok(Some(bytes))
    }

    /// Gives a key a new value; the old one stays valid for the overlap, under the id that is returned.
    ///
    /// # Errors
    /// There is no such key, or the overlap is too long.
    pub fn rotate(
        &self,
        id: &str,
        overlap: Option<Duration>,
        new: &NewSecret,
    ) -> Result<(Vec<u8>, Option<String>), String> {
        let DocumentKey {
            position,
            key,
            says,
        } = self.find(id)?;
        let mut edits = vec![self.text.set(key, "sha256", &json(&new.digest()))];
        let old = overlap
            .map(|overlap| self.old(key, says, overlap))
            .transpose()?;
        let old_id = old.map(|(old_id, text)| {
            edits.extend(self.text.insert(&text, Some(position)));
            old_id
        });
        Ok((self.text.with(&edits), old_id))
    }

    /// The old key, under another id and with an end.
    fn old(
        &self,
        key: &KeyText,
        says: &KeyDocument,
        overlap: Duration,
    ) -> Result<(String, Vec<u8>), String> {
        let ends = timestamp::from_now(overlap)?;
        let ends = end_of(says).map_or(ends, |before| before.min(ends));
        let id = self.old_id(says.id.as_deref().unwrap_or_default());
        let edits: [Edit; 2] = [
            self.text.set(key, "id", &json(&id)),
            self.text
                .set(key, "expires_at", &json(&timestamp::text(ends))),
        ];
        Ok((id, self.text.key_with(key, &edits)))
    }

    /// A free id for an old value.
    fn old_id(&self, id: &str) -> String {
        let time: String = timestamp::now()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let named = |number: u32| {
            let more = if number == 0 {
                String::new()
            } else {
                format!("-{number}")
            };
            let end = format!("-old-{time}{more}");
            let room = MAX_ID.saturating_sub(end.len());
            format!("{}{end}", id.get(..room).unwrap_or(id))
        };
        let free = (0..).map(named).find(|id| self.position(id).is_none());
        free.unwrap_or_else(|| named(0))
    }

    /// Removes a key.
    ///
    /// # Errors
    /// There is no such key.
    pub fn remove(&self, id: &str) -> Changed {
        let edit = self
            .text
            .remove(self.find(id)?.position)
            .ok_or_else(misread)?;
        Ok(Some(self.text.with(&[edit])))
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.keys
            .iter()
            .position(|key| key.id.as_deref() == Some(id))
    }

    fn find(&self, id: &str) -> Result<DocumentKey<'_>, String> {
        let position = self.position(id).ok_or_else(|| no_key(id))?;
        let key = self.text.key(position).ok_or_else(misread)?;
        let says = self.keys.get(position).ok_or_else(misread)?;
        Ok(DocumentKey {
            position,
            key,
            says,
        })
    }
}

/// Parses the time at which a key expires. An invalid time is reported when the whole document is compiled.
fn end_of(key: &KeyDocument) -> Option<OffsetDateTime> {
    timestamp::parse(key.expires_at.as_deref()?)
}

fn seconds(time: Option<OffsetDateTime>) -> Option<i64> {
    time.map(OffsetDateTime::unix_timestamp)
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The message for what is not expected: the document was parsed as JSON before.
fn misread() -> String {
    "the keys cannot be found in the document's text".to_owned()
}
