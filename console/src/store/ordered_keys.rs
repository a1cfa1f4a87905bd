//! Keys that are ordered for people. Each is made when its person takes it.

use super::{StoreError, Transaction, execute, fetch};

/// A key that is ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedKey {
    /// The id of the order.
    pub id: String,
    /// The id of the person who is to have it.
    pub person: String,
    /// The terms of the key, as JSON.
    pub terms: String,
    /// The time of the order, in microseconds since 1970.
    pub created_at: i64,
}

type OrderedKeyRow = (String, String, String, i64);

fn of((id, person, terms, created_at): OrderedKeyRow) -> OrderedKey {
    OrderedKey {
        id,
        person,
        terms,
        created_at,
    }
}

/// Adds an order.
///
/// # Errors
/// Those of the database.
pub async fn insert(transaction: &mut Transaction, order: &OrderedKey) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO ordered_keys (id, person_id, terms, created_at) VALUES ($1, $2, $3, $4)",
        (&order.id, &order.person, &order.terms, order.created_at)
    )
}

/// The orders for a person, in the order of their ids, after one.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<OrderedKey>, StoreError> {
    let rows: Vec<OrderedKeyRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, person_id, terms, created_at FROM ordered_keys WHERE person_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        (person, after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Takes an order for a person away, of several who do it at once for one of them. The order, if there was it.
///
/// # Errors
/// Those of the database.
pub async fn take(
    transaction: &mut Transaction,
    person: &str,
    id: &str,
) -> Result<Option<OrderedKey>, StoreError> {
    let row: Option<OrderedKeyRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "DELETE FROM ordered_keys WHERE id = $2 AND person_id = $1 RETURNING id, person_id, terms, created_at",
        (person, id)
    );
    Ok(row.map(of))
}
