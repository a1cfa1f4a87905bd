//! The names for people of keys, persons and teams, all of a page by one query.

use sqlx::AssertSqlSafe;

use super::{StoreError, Transaction, fetch};

/// The ids whose names are wanted.
#[derive(Debug, Default)]
pub struct NamedIds<'a> {
    /// Of keys.
    pub keys: Vec<&'a str>,
    /// Of persons.
    pub people: Vec<&'a str>,
    /// Of teams.
    pub teams: Vec<&'a str>,
}

/// A person who sees the names of some: of the teams that they are in, and of the people in those that they manage.
#[derive(Debug)]
pub struct NameReader<'a> {
    /// The id of the person.
    pub id: &'a str,
    /// The ids of the teams that the person manages.
    pub managed: &'a [String],
}

/// A name that was found.
#[derive(Debug)]
pub struct FoundName {
    /// `key`, `owner` or `team`.
    pub kind: String,
    /// The id.
    pub id: String,
    /// The label or the name.
    pub name: Option<String>,
    /// The owner of a key.
    pub owner: Option<String>,
    /// The team of a key.
    pub team: Option<String>,
    /// Whether it is a person who is disabled.
    pub is_disabled: bool,
}

type NameRow = (
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    bool,
);

/// A statement that is put together, with its values.
#[derive(Default)]
struct Statement<'a> {
    parts: Vec<String>,
    values: Vec<&'a str>,
}

impl<'a> Statement<'a> {
    /// The places of more values: `$3, $4`.
    fn places(&mut self, more: impl IntoIterator<Item = &'a str>) -> String {
        let mut places = Vec::new();
        for value in more {
            self.values.push(value);
            places.push(format!("${}", self.values.len()));
        }
        places.join(", ")
    }
}

/// Finds the names of what there is among these ids. Of people and teams a reader finds those that it may see; of keys all, with their
/// owners and teams.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    wanted: &NamedIds<'_>,
    reader: Option<&NameReader<'_>>,
) -> Result<Vec<FoundName>, StoreError> {
    let mut sql = Statement::default();
    if !wanted.keys.is_empty() {
        let ids = sql.places(wanted.keys.iter().copied());
        sql.parts.push(format!(
            "SELECT 'key', id, label, owner, team, FALSE FROM keys WHERE id IN ({ids})"
        ));
    }
    if !wanted.people.is_empty() {
        let ids = sql.places(wanted.people.iter().copied());
        let seen = reader.map_or_else(String::new, |reader| {
            let own = sql.places([reader.id]);
            let managed = sql.places(reader.managed.iter().map(String::as_str));
            if managed.is_empty() {
                return format!(" AND id = {own}");
            }
            format!(
                " AND (id = {own} OR EXISTS (SELECT 1 FROM memberships WHERE person_id = people.id AND team_id IN ({managed})))"
            )
        });
        sql.parts.push(format!(
            "SELECT 'owner', id, name, CAST(NULL AS TEXT), CAST(NULL AS TEXT), disabled FROM people WHERE id IN ({ids}){seen}"
        ));
    }
    if !wanted.teams.is_empty() {
        let ids = sql.places(wanted.teams.iter().copied());
        let seen = reader.map_or_else(String::new, |reader| {
            let own = sql.places([reader.id]);
            format!(
                " AND EXISTS (SELECT 1 FROM memberships WHERE team_id = teams.id AND person_id = {own})"
            )
        });
        sql.parts.push(format!(
            "SELECT 'team', id, name, CAST(NULL AS TEXT), CAST(NULL AS TEXT), FALSE FROM teams WHERE id IN ({ids}){seen}"
        ));
    }
    if sql.parts.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql.parts.join(" UNION ALL ");
    let rows: Vec<NameRow> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(text),
        [..sql.values]
    );
    let found = rows
        .into_iter()
        .map(|(kind, id, name, owner, team, is_disabled)| FoundName {
            kind,
            id,
            name,
            owner,
            team,
            is_disabled,
        });
    Ok(found.collect())
}
