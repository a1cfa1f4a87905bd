//! What was there before the console: the keys of `trilane serve --sqlite`, and a document in a file. Both are copied; the
//! originals stay as they are, and good for whoever goes back to them.

use core::fmt;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::documents::{DocumentError, NewDraft, begin, check, publish};
use crate::in_transaction;
use crate::prices::CatalogueFile;
use crate::secret;
use crate::store::audit::{self, Actor};
use crate::store::documents;
use crate::store::erasures::Pseudonyms;
use crate::store::key_lists::{self, KeyFilter, KeyRange};
use crate::store::keys::{self, StoredKey};
use crate::store::{Store, StoreError, Transaction, key_import};

/// Why nothing was copied.
#[derive(Debug)]
pub enum ImportError {
    /// The file cannot be read, or is none of `trilane serve`.
    File(String),
    /// The console's own database, or a key that it does not take.
    Store(StoreError),
    /// A document that a gateway would refuse.
    Document(DocumentError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => f.write_str(why),
            Self::Store(error) => error.fmt(f),
            Self::Document(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The keys that one transaction copies: changes of keys, revocations too, wait for it.
const STEP: usize = 1000;

/// Copies the keys of a database of `trilane serve`, of whatever release, in many transactions. `None`: the console has keys
/// already, and nothing is copied. A copy that was broken off goes on where it was.
///
/// # Errors
/// Why not all were.
pub async fn keys_of_serve(
    store: &Store,
    file: &Path,
    actor: &Actor,
    now: i64,
) -> Result<Option<usize>, ImportError> {
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .connect()
        .await
        .map_err(not_readable)?;
    let all = read(&mut connection).await?;
    let _ = connection.close().await;
    let mut begun = false;
    loop {
        let copied: Result<_, StoreError> = in_transaction!(store, transaction => {
            copy_some(transaction, &all, begun, actor, now).await
        });
        match copied? {
            CopyStep::More => begun = true,
            CopyStep::Ended => return Ok(Some(all.len())),
            CopyStep::NotBegun => return Ok(None),
        }
    }
}

/// The work that a transaction of a copy has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyStep {
    /// There are more keys.
    More,
    /// All are copied.
    Ended,
    /// None is copied: there are others.
    NotBegun,
}

fn not_readable(error: sqlx::Error) -> ImportError {
    ImportError::File(StoreError::from(error).to_string())
}

type ImportedKeyRow = (
    String,
    String,
    String,
    Option<String>,
    bool,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

async fn read(connection: &mut SqliteConnection) -> Result<Vec<StoredKey>, ImportError> {
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info('keys')")
        .fetch_all(&mut *connection)
        .await
        .map_err(not_readable)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    if !["sha256", "id", "group_id", "expires_at", "disabled"]
        .into_iter()
        .all(has)
    {
        let why = "it has no table keys as `trilane serve` makes it";
        return Err(ImportError::File(why.to_owned()));
    }
    // Earlier releases lack some.
    let later = [
        "limits",
        "owner",
        "label",
        "created_at",
        "team",
        "models",
        "multiplier",
    ];
    let later = later.map(|name| if has(name) { name } else { "NULL" });
    let sql = format!(
        "SELECT sha256, id, group_id, expires_at, disabled, {} FROM keys ORDER BY id",
        later.join(", ")
    );
    let rows: Vec<ImportedKeyRow> = sqlx::query_as(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await
        .map_err(not_readable)?;
    let keys = rows.into_iter().map(|row| StoredKey {
        sha256: row.0,
        id: row.1,
        group_id: row.2,
        expires_at: row.3,
        disabled: row.4,
        limits: row.5,
        owner: row.6,
        label: row.7,
        created_at: row.8,
        team: row.9,
        models: row.10,
        multiplier: row.11,
        created_by: None,
        hint: None,
    });
    Ok(keys.collect())
}

/// Copies the next keys. `all`, in the order of their ids; `begun`: this copy has copied some.
async fn copy_some(
    transaction: &mut Transaction,
    all: &[StoredKey],
    begun: bool,
    actor: &Actor,
    now: i64,
) -> Result<CopyStep, StoreError> {
    // The first lock of all.
    let pseudonyms = Pseudonyms::read(transaction).await?;
    let place = match key_import::lock(transaction).await? {
        Some((place, false)) => place,
        Some((_, true)) if begun => return Ok(CopyStep::Ended),
        Some(_) | None => {
            let any = KeyFilter {
                limit: 1,
                ..KeyFilter::default()
            };
            let found = key_lists::list(transaction, &any, KeyRange::All).await?;
            if !found.is_empty() {
                return Ok(CopyStep::NotBegun);
            }
            String::new()
        }
    };
    let left = all.iter().skip_while(|key| key.id <= place);
    let next: Vec<&StoredKey> = left.take(STEP).collect();
    for key in &next {
        let owner = key.owner.as_deref().unwrap_or_default();
        if pseudonyms.of(owner).is_some() {
            let why = format!("the data of the owner of the key {} was erased", key.id);
            return Err(StoreError::Rule(why));
        }
        keys::insert(transaction, key).await?;
    }
    let ended = next.len() < STEP;
    let place = next.last().map_or(place.as_str(), |key| key.id.as_str());
    key_import::set(transaction, place, ended).await?;
    if !ended {
        return Ok(CopyStep::More);
    }
    let mut entry = actor.entry(now, "key.import", "");
    entry.after = Some(all.len().to_string());
    audit::insert(transaction, &entry).await?;
    Ok(CopyStep::Ended)
}

/// Publishes a document as the first version. False: there is a version already, and nothing is published.
///
/// # Errors
/// A gateway would refuse it, or the database.
pub async fn document(
    store: &Store,
    body: String,
    prices: &CatalogueFile,
    actor: &Actor,
    now: i64,
) -> Result<bool, ImportError> {
    let mut transaction = store.read().await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    if current.is_some() {
        return Ok(false);
    }
    // Before there is a draft of it.
    check(&body, prices)
        .map_err(|problems| ImportError::Document(DocumentError::Invalid(problems)))?;
    let new = NewDraft {
        id: format!("draft_{}", secret::new_id().map_err(StoreError::Other)?),
        body: Some(body),
        note: "imported".to_owned(),
    };
    let begun: Result<_, StoreError> =
        in_transaction!(store, transaction => begin(transaction, &new, actor, now).await);
    let draft = begun?;
    match publish(store, &draft.id, draft.revision, prices, actor, now).await {
        Ok(_) => Ok(true),
        // Another console was faster. The draft stays, for whoever compares.
        Err(DocumentError::Outdated { .. }) => Ok(false),
        Err(error) => Err(ImportError::Document(error)),
    }
}
