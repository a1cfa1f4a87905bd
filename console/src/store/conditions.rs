//! The conditions of a query.

/// Conditions that rows must meet: only those that are asked for, because a database uses no index for one that may be off.
/// All of their values are texts.
#[derive(Debug, Default)]
pub struct Conditions<'a> {
    sql: String,
    values: Vec<&'a str>,
    /// The values of the statement that stand before these.
    before: usize,
}

impl<'a> Conditions<'a> {
    /// Conditions of a statement that has so many values already.
    pub fn numbered_behind(before: usize) -> Self {
        Self {
            before,
            ..Self::default()
        }
    }

    /// The number of the latest value.
    fn last(&self) -> usize {
        self.before.saturating_add(self.values.len())
    }

    /// Adds a condition if there is a value: `comparison` is what stands before it, such as `owner =`.
    pub fn and(mut self, comparison: &str, value: Option<&'a str>) -> Self {
        if let Some(value) = value {
            self.values.push(value);
            let word = if self.sql.is_empty() { "WHERE" } else { " AND" };
            self.sql = format!("{}{word} {comparison} ${}", self.sql, self.last());
        }
        self
    }

    /// Adds a condition in which `{}` stands for the value, wherever it occurs, if there is one.
    pub fn and_with(mut self, condition: &str, value: Option<&'a str>) -> Self {
        if let Some(value) = value {
            self.values.push(value);
            let place = format!("${}", self.last());
            let condition = condition.replace("{}", &place);
            return self.and_if(&condition, true);
        }
        self
    }

    /// Adds that a column is one of some values, if they are given.
    pub fn and_among(mut self, column: &str, values: Option<&'a [String]>) -> Self {
        let Some(values) = values else {
            return self;
        };
        let first = self.last().saturating_add(1);
        let places = (first..)
            .take(values.len())
            .map(|place| format!("${place}"));
        let places = places.collect::<Vec<_>>().join(", ");
        self.values.extend(values.iter().map(String::as_str));
        self.and_if(&format!("{column} IN ({places})"), true)
    }

    /// Adds a condition without a value, if it is asked for.
    pub fn and_if(mut self, condition: &str, asked: bool) -> Self {
        if asked {
            let word = if self.sql.is_empty() { "WHERE" } else { " AND" };
            self.sql = format!("{}{word} ({condition})", self.sql);
        }
        self
    }

    /// Adds that columns come after (`>`) or before (`<`) values in their order.
    pub fn and_row(mut self, columns: &str, sign: char, values: &'a [String]) -> Self {
        if !values.is_empty() {
            let word = if self.sql.is_empty() { "WHERE" } else { " AND" };
            let first = self.last().saturating_add(1);
            let places = (first..)
                .take(values.len())
                .map(|place| format!("${place}"));
            let places = places.collect::<Vec<_>>().join(", ");
            self.sql = format!("{}{word} ({columns}) {sign} ({places})", self.sql);
            self.values.extend(values.iter().map(String::as_str));
        }
        self
    }

    /// `WHERE …`, or nothing.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The values, in the order of their numbers.
    pub fn values(&self) -> &[&'a str] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for() {
        let place = ["k".to_owned(), "USD".to_owned()];
        let none = Conditions::default().and("owner =", None);
        assert_eq!((none.sql(), none.values()), ("", [].as_slice()));
        let some = Conditions::default()
            .and("hour >=", None)
            .and("owner =", Some("ann"))
            .and_row("key_id, currency", '>', &place)
            .and("model =", Some("m"));
        let sql = "WHERE owner = $1 AND (key_id, currency) > ($2, $3) AND model = $4";
        assert_eq!(some.sql(), sql);
        assert_eq!(some.values(), ["ann", "k", "USD", "m"]);
        let twice = Conditions::default()
            .and_if("NOT gone", true)
            .and_if("gone", false)
            .and_with("a = {} OR b = {}", Some("x"))
            .and_with("c = {}", None);
        assert_eq!(twice.sql(), "WHERE (NOT gone) AND (a = $1 OR b = $1)");
        assert_eq!(twice.values(), ["x"]);
        let among = Conditions::default()
            .and("a =", Some("x"))
            .and_among("b", None)
            .and_among("b", Some(&place));
        assert_eq!(among.sql(), "WHERE a = $1 AND (b IN ($2, $3))");
        assert_eq!(among.values(), ["x", "k", "USD"]);
        let first = Conditions::default()
            .and_row("a", '<', &[])
            .and_row("a, b", '<', &place);
        assert_eq!(first.sql(), "WHERE (a, b) < ($1, $2)");
        let behind = Conditions::numbered_behind(3)
            .and("owner =", Some("ann"))
            .and_row("a, b", '>', &place);
        assert_eq!(behind.sql(), "WHERE owner = $4 AND (a, b) > ($5, $6)");
        assert_eq!(behind.values(), ["ann", "k", "USD"]);
    }
}
