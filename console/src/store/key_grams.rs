//! An index of the texts of keys, so that a search does not read all of them: of each key the sequences of three characters that
//! its id, owner, label and hint have. Triggers note which keys were changed, by whatever program; what is noted is brought into the
//! index in the background, a bounded number of keys at a time.
//!
//! The index may find too many keys, but never too few: a search compares its keys with all that was asked for.
//!
//! Both engines have the same sequences, as hexadecimal digits of their UTF-8: words that neither engine reads in its own way. The
//! beginning of one is a shorter text, which is why each text has two more characters at its end.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;

use super::conditions::Conditions;
use super::{Store, StoreError, Transaction, fetch, on_either};
use crate::in_transaction;

/// The keys that one transaction brings into the index.
const STEP: usize = 500;
/// The characters of a sequence.
const GRAM: usize = 3;
/// The most characters of a text that the index has, for another program may write a label of any length.
const LONGEST: usize = 1000;
/// The word for all sequences of a key with a longer text: every search includes it. No sequence has these letters.
const LONG: &str = "long";
/// The most sequences of a search that the index is asked for.
const ASKED: usize = 24;
/// The character that marks the end of a text.
const END: char = '\n';
/// The lock of PostgreSQL that whoever changes the index holds: "keygrams" in hexadecimal.
const LOCK: i64 = 0x6b65_7967_7261_6d73;

/// A key's id, owner, label and hint.
type KeyTexts = (String, Option<String>, Option<String>, Option<String>);

fn word(letters: &[char]) -> String {
    hex::encode(String::from_iter(letters))
}

/// All sequences of some texts, each once, with spaces between them.
fn grams<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut words = BTreeSet::new();
    for text in texts {
        let mut letters: Vec<char> = text
            .chars()
            .take(LONGEST.saturating_add(1))
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if letters.len() > LONGEST {
            return LONG.to_owned();
        }
        letters.resize(letters.len().saturating_add(GRAM).saturating_sub(1), END);
        words.extend(letters.windows(GRAM).map(word));
    }
    Vec::from_iter(words).join(" ")
}

/// Makes the index query for keys that may have a text; `None`: the text is at most one letter or digit, which most keys have.
pub(super) fn question(transaction: &Transaction, search: &str) -> Option<String> {
    let letters: Vec<char> = search.chars().map(|c| c.to_ascii_lowercase()).collect();
    let words = match letters.as_slice() {
        [] => return None,
        [one] if one.is_ascii_alphanumeric() => return None,
        short if short.len() < GRAM => vec![word(short)],
        long => long.windows(GRAM).take(ASKED).map(word).collect(),
    };
    let is_beginning = letters.len() < GRAM;
    Some(match transaction {
        Transaction::Sqlite(..) => {
            // A word that begins with a digit has to be quoted.
            let words = words.join("\" AND \"");
            let end = if is_beginning { "*" } else { "" };
            format!("(\"{words}\"{end}) OR {LONG}")
        }
        Transaction::Postgres(_) => {
            let words = words.join(" & ");
            let end = if is_beginning { ":*" } else { "" };
            format!("({words}{end}) | {LONG}")
        }
    })
}

/// Brings all that is due into the index, a bounded number of keys in each transaction.
///
/// # Errors
/// Those of the database; some may be done.
pub async fn index_all(store: &Store) -> Result<(), StoreError> {
    while is_due(store).await? {
        in_transaction!(store, transaction => index_some(transaction).await)?;
    }
    Ok(())
}

async fn is_due(store: &Store) -> Result<bool, StoreError> {
    let mut transaction = store.read().await?;
    let found: Result<Option<i64>, sqlx::Error> = on_either!(&mut transaction, connection => {
        sqlx::query_scalar("SELECT number FROM key_search_due LIMIT 1").fetch_optional(connection).await
    });
    transaction.rollback().await;
    Ok(found?.is_some())
}

async fn index_some(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(LOCK)
            .execute(&mut **inner)
            .await?;
    }
    let due = format!(
        "DELETE FROM key_search_due WHERE number IN (SELECT number FROM key_search_due ORDER BY number LIMIT {STEP}) RETURNING id"
    );
    let mut ids: Vec<String> = fetch!(
        &mut *transaction,
        query_scalar.fetch_all,
        AssertSqlSafe(due),
        ()
    );
    ids.sort_unstable();
    ids.dedup();
    // They are read after that: whoever changes one later notes it anew.
    let asked = Conditions::default().and_among("id", Some(&ids));
    let texts = format!("SELECT id, owner, label, hint FROM keys {}", asked.sql());
    let found: Vec<KeyTexts> = fetch!(
        &mut *transaction,
        query_as.fetch_all,
        AssertSqlSafe(texts),
        [..&ids]
    );
    forget(transaction, &ids).await?;
    for (id, owner, label, hint) in &found {
        let texts = [Some(id), owner.as_ref(), label.as_ref(), hint.as_ref()];
        let texts = texts.into_iter().flatten().map(String::as_str);
        add(transaction, id, &grams(texts)).await?;
    }
    Ok(())
}

/// Takes keys out of the index.
async fn forget(transaction: &mut Transaction, ids: &[String]) -> Result<(), StoreError> {
    let asked = Conditions::default().and_among("id", Some(ids));
    let keys = format!("key_search {}", asked.sql());
    let mut statements = vec![format!("DELETE FROM {keys}")];
    if matches!(transaction, Transaction::Sqlite(..)) {
        let rows = format!("DELETE FROM key_grams WHERE rowid IN (SELECT number FROM {keys})");
        statements.insert(0, rows);
    }
    for sql in statements {
        on_either!(&mut *transaction, connection => {
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for id in ids {
                query = query.bind(id);
            }
            query.execute(connection).await?;
        });
    }
    Ok(())
}

/// Adds a key that is not in the index.
async fn add(transaction: &mut Transaction, id: &str, grams: &str) -> Result<(), StoreError> {
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let number: i64 =
                sqlx::query_scalar("INSERT INTO key_search (id) VALUES ($1) RETURNING number")
                    .bind(id)
                    .fetch_one(&mut **inner)
                    .await?;
            sqlx::query("INSERT INTO key_grams (rowid, grams) VALUES ($1, $2)")
                .bind(number)
                .bind(grams)
                .execute(&mut **inner)
                .await?;
        }
        Transaction::Postgres(inner) => {
            sqlx::query("INSERT INTO key_search (id, grams) VALUES ($1, $2::tsvector)")
                .bind(id)
                .bind(grams)
                .execute(&mut **inner)
                .await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_once_and_short_texts_too() {
        assert_eq!(grams(["aAaa"]), "610a0a 61610a 616161");
        assert_eq!(grams(["é", ""]), "c3a90a0a");
    }

    #[test]
    fn a_text_of_any_length() {
        let most = "x".repeat(LONGEST);
        assert_eq!(grams([most.as_str()]), "780a0a 78780a 787878");
        let longer = most + "y";
        assert_eq!(grams(["id", longer.as_str()]), LONG);
    }
}
