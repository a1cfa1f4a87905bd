//! The effects of a draft in words: the keys that gain and lose models or pay other prices, other changes, and missing credentials.

use trilane::limits::SubjectKind;

use crate::cases::document_check::CheckView;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::{Caller, ConsoleState};
use crate::pages::PageProblem;
use crate::pages::text::{in_path, path_with};

/// The most keys that a line names.
const NAMED: usize = 5;

/// An effect on some keys.
pub struct KeyEffect {
    pub sentence: String,
    /// The first of the keys, each with the path of its page.
    pub keys: Vec<(Name, String)>,
    /// The number of the other ones.
    pub more: u64,
}

/// An account that has no credential yet.
pub struct MissingLine {
    pub account: String,
    pub group: String,
    pub url: String,
    /// The path of the form for it.
    pub path: String,
}

/// The effects of a draft.
#[derive(Default)]
pub struct DraftWords {
    pub models: Vec<KeyEffect>,
    pub prices: Vec<KeyEffect>,
    pub nobody_pays_more: bool,
    pub settings: Vec<String>,
    /// The accounts that are new, or send their credential elsewhere, without one that is kept here.
    pub missing: Vec<MissingLine>,
}

impl DraftWords {
    /// Those of a draft that was checked.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn of(
        state: &ConsoleState,
        caller: &Caller,
        draft: &str,
        checked: &CheckView,
    ) -> Result<Self, PageProblem> {
        let mut wanted = WantedNames::default();
        let models = checked.model_changes.iter().map(|of| &of.key_ids);
        let prices = checked.price_changes.iter().map(|of| &of.key_ids);
        for ids in models.chain(prices) {
            let named = ids.iter().take(NAMED).map(String::as_str);
            wanted.all(SubjectKind::Key, named);
        }
        let names = wanted.find(state, caller).await?;
        let models = checked.model_changes.iter();
        let models = models.map(|of| effect(&of.plain, of.keys, &of.key_ids, &names));
        let prices = checked.price_changes.iter();
        let prices = prices.map(|of| effect(&of.plain, of.keys, &of.key_ids, &names));
        // A console that keeps none leaves them to the gateways' files.
        let keeps = state.sealing_keys.is_some();
        let missing = checked.missing_credentials.iter().flatten();
        let missing = missing.filter(|of| keeps && of.is_new).map(|of| {
            let path = format!("/accounts/credentials/{}", in_path(&of.credential));
            MissingLine {
                account: of.account.clone(),
                group: of.group.clone(),
                url: of.destination.url.clone(),
                path: path_with(&path, &[("draft", draft)]),
            }
        });
        Ok(Self {
            models: models.collect(),
            prices: prices.collect(),
            nobody_pays_more: checked.nobody_pays_more,
            settings: checked.setting_changes.clone(),
            missing: missing.collect(),
        })
    }
}

fn effect(sentence: &str, count: u64, ids: &[String], names: &Names) -> KeyEffect {
    let keys = ids.iter().take(NAMED).map(|id| {
        let name = names.key(id);
        let path = format!("/keys/{}", in_path(id));
        (name, path)
    });
    let keys: Vec<_> = keys.collect();
    KeyEffect {
        sentence: sentence.to_owned(),
        more: count.saturating_sub(keys.len() as u64),
        keys,
    }
}
