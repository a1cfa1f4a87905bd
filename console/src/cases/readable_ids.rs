//! Ids that the console makes, of labels of keys and names of teams, so that people can read them. They stay in sums for good, so that
//! none is made of who a person is: then, and without a label, an id is drawn.

use std::collections::BTreeSet;

use super::key_models::document_in_force;
use super::problem::ApiProblem;
use crate::secret;
use crate::store::{StoreError, Transaction, keys, people, teams};

/// The longest id of a label, in bytes, without what makes it unique.
const LONGEST: usize = 40;
/// The letters that make an id unique: without those that are taken for others.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
/// The number of them.
const ADDED: usize = 4;

/// The words of a text: its ASCII letters and digits, in lower case. A word with other letters is left out, as what is left of it would be another one.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && word.is_ascii());
    words.map(str::to_ascii_lowercase)
}

/// An id of a label; `None`: nothing is left of it.
fn slug(label: &str) -> Option<String> {
    // The address of a person, for all that is known.
    if label.contains('@') {
        return None;
    }
    let mut slug = String::new();
    for word in words(label) {
        let joined = usize::from(!slug.is_empty());
        let room = LONGEST.saturating_sub(slug.len().saturating_add(joined));
        let Some(part) = word
            .get(..word.len().min(room))
            .filter(|part| !part.is_empty())
        else {
            break;
        };
        if joined > 0 {
            slug.push('-');
        }
        slug.push_str(part);
        if part.len() < word.len() {
            break;
        }
    }
    (!slug.is_empty()).then_some(slug)
}

/// Whether a label tells who a person is: it has a word of the person's id, up to the `@`, or name.
fn tells_of(label: &str, person: &people::Person) -> bool {
    let id = person.id.split('@').next().unwrap_or_default();
    let joined = |text: &str| words(text).collect::<String>();
    let theirs: BTreeSet<String> = [id, &person.name]
        .into_iter()
        .flat_map(|text| words(text).chain([joined(text)]))
        .filter(|word| word.len() > 1)
        .collect();
    words(label).any(|word| theirs.contains(&word))
}

/// The holders of ids among which one must be unique.
enum Others {
    /// Keys, and those that the document in force names.
    Keys(BTreeSet<String>),
    /// Teams.
    Teams,
}

impl Others {
    async fn have(&self, transaction: &mut Transaction, id: &str) -> Result<bool, StoreError> {
        match self {
            Self::Keys(named) => Ok(named.contains(id) || keys::is_known(transaction, id).await?),
            Self::Teams => teams::is_known(transaction, id).await,
        }
    }
}

/// A label's id that nobody has, or one that is drawn.
async fn unique(
    transaction: &mut Transaction,
    slug: Option<String>,
    others: Others,
) -> Result<String, ApiProblem> {
    let Some(slug) = slug else {
        let kind = match others {
            Others::Keys(_) => "key",
            Others::Teams => "team",
        };
        let id = secret::new_id().map_err(ApiProblem::internal)?;
        return Ok(format!("{kind}_{id}"));
    };
    let mut id = slug.clone();
    while others.have(transaction, &id).await? {
        let more = secret::random_letters(LETTERS, ADDED).map_err(ApiProblem::internal)?;
        id = format!("{slug}-{more}");
    }
    Ok(id)
}

/// The id of a new key. The transaction has its turn to change keys.
///
/// # Errors
/// Those of the database.
pub(super) async fn of_key(
    transaction: &mut Transaction,
    label: Option<&str>,
    owner: Option<&str>,
) -> Result<String, ApiProblem> {
    let owner = owner.filter(|owner| !owner.contains('\0'));
    let mut slug = label.and_then(slug);
    if let (Some(label), Some(owner), true) = (label, owner, slug.is_some())
        && let Some(person) = people::find(transaction, owner).await?
        && tells_of(label, &person)
    {
        slug = None;
    }
    let document = document_in_force(transaction).await?;
    let named = document.and_then(|document| document.keys);
    let named: BTreeSet<String> = named
        .into_iter()
        .flatten()
        .filter_map(|key| key.id)
        .collect();
    unique(transaction, slug, Others::Keys(named)).await
}

/// The id of a new team. Nobody adds another one meanwhile.
///
/// # Errors
/// Those of the database.
pub(super) async fn of_team(
    transaction: &mut Transaction,
    name: &str,
) -> Result<String, ApiProblem> {
    unique(transaction, slug(name), Others::Teams).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_labels() {
        for (label, want) in [
            ("CI review", Some("ci-review")),
            ("  --CI: review!  ", Some("ci-review")),
            ("Übung 2", Some("2")),
            ("Übung", None),
            ("评测", None),
            ("", None),
            ("ann@example.com", None),
            ("the key of ann@example.com", None),
            (
                "a very long label that goes on and on and on",
                Some("a-very-long-label-that-goes-on-and-on-an"),
            ),
            (
                "abcdefghij abcdefghij abcdefghij abcdefg x",
                Some("abcdefghij-abcdefghij-abcdefghij-abcdefg"),
            ),
        ] {
            assert_eq!(slug(label).as_deref(), want, "{label:?}");
            assert!(want.is_none_or(|id| id.len() <= LONGEST), "{label:?}");
        }
    }

    #[test]
    fn who_a_person_is() {
        let person = people::Person {
            id: "ann.archer@example.com".to_owned(),
            name: "Ann-Marie Archer B.".to_owned(),
            role: "member".to_owned(),
            disabled: false,
            created_at: 0,
            key_group: None,
        };
        for (label, want) in [
            ("CI review", false),
            ("Ann's laptop", true),
            ("laptop ARCHER", true),
            ("annarcher", true),
            ("annotations", false),
            ("example", false),
            ("plan b", false),
            ("marie", true),
        ] {
            assert_eq!(tells_of(label, &person), want, "{label}");
        }
    }
}
