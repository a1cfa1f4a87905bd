//! The state of the fleet, in few statements: for metrics, which ask every few seconds.

use std::collections::BTreeMap;

use super::{StoreError, Transaction, fetch};

/// The most Envoys that are told.
const MOST: i64 = 1000;

/// The state of the fleet: the document in force, the feeds, the messages and the Envoys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetStanding {
    /// The version of the document in force, and when it was published.
    pub document: Option<(i64, i64)>,
    /// The digest by which agents know the document.
    pub etag: Option<String>,
    /// The greatest version of the feed of keys.
    pub keys: i64,
    /// The greatest version of the spend feed.
    pub spend: i64,
    /// Messages that are not delivered yet.
    pub messages: MessageCounts,
    /// The Envoys that are not revoked.
    pub envoys: Vec<EnvoyStanding>,
}

/// Messages that are not delivered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageCounts {
    /// All of them.
    pub waiting: i64,
    /// Those of which an attempt has failed.
    pub failing: i64,
}

/// The state of one Envoy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvoyStanding {
    /// The id of the Envoy.
    pub id: String,
    /// The time at which the agent enrolled, in microseconds since 1970.
    pub enrolled_at: Option<i64>,
    /// The time of the agent's latest report, in microseconds since 1970.
    pub seen_at: Option<i64>,
    /// The report that its agent sent then, as JSON.
    pub report: Option<String>,
    /// The offset of the agent's clock at that time, in milliseconds; positive: it was ahead.
    pub clock_offset: Option<i64>,
    /// Whether its agent may have credentials of accounts.
    pub approved: bool,
    /// The part of its ledger that was taken in.
    pub ledger: Option<LedgerStanding>,
}

/// The part of an Envoy's ledger that was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerStanding {
    /// The bytes, of all its files.
    pub position: i64,
    /// The time at which the latest batch was taken in, in microseconds since 1970.
    pub taken_at: i64,
}

type EnvoyRow = (
    String,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<i64>,
    bool,
);

/// The state of the fleet: the document in force, the feeds, the messages and the Envoys.
///
/// # Errors
/// Those of the database.
pub async fn read(transaction: &mut Transaction) -> Result<FleetStanding, StoreError> {
    let document: Option<(i64, i64, String)> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT version, published_at, etag FROM documents ORDER BY version DESC LIMIT 1",
        ()
    );
    let (keys, spend): (i64, i64) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT (SELECT head FROM key_feed), (SELECT head FROM spend_feed)",
        ()
    );
    let (waiting, failing): (i64, i64) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT COUNT(*), COUNT(problem) FROM webhook_events WHERE next_at IS NOT NULL",
        ()
    );
    let mut ledgers = ledgers(transaction).await?;
    let envoys: Vec<EnvoyRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT envoys.id, enrolled_at, seen_at, report, clock_offset, \
         EXISTS (SELECT 1 FROM api_tokens WHERE person_id = envoys.id AND digest = approved) \
         FROM envoys JOIN people ON people.id = envoys.id WHERE NOT disabled ORDER BY envoys.id LIMIT $1",
        (MOST)
    );
    let envoys = envoys.into_iter().map(
        |(id, enrolled_at, seen_at, report, clock_offset, approved)| EnvoyStanding {
            ledger: ledgers.remove(&id),
            id,
            enrolled_at,
            seen_at,
            report,
            clock_offset,
            approved,
        },
    );
    let (document, etag) = document
        .map(|(version, published_at, etag)| ((version, published_at), etag))
        .unzip();
    Ok(FleetStanding {
        document,
        etag,
        keys,
        spend,
        messages: MessageCounts { waiting, failing },
        envoys: envoys.collect(),
    })
}

async fn ledgers(
    transaction: &mut Transaction,
) -> Result<BTreeMap<String, LedgerStanding>, StoreError> {
    let rows: Vec<(String, i64, i64)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT envoy_id, CAST(SUM(position) AS BIGINT), MAX(taken_at) FROM ledger_files GROUP BY envoy_id",
        ()
    );
    let ledger = |(id, position, taken_at)| {
        let ledger = LedgerStanding { position, taken_at };
        (id, ledger)
    };
    Ok(rows.into_iter().map(ledger).collect())
}
