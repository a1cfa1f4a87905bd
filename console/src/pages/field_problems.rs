//! The faults of a form, each at its field.

use super::error::PageProblem;
use crate::cases::ApiProblem;
use crate::language::translated;

/// The faults of a form.
#[derive(Debug, Default)]
pub struct FieldProblems {
    placed: Vec<(String, String)>,
    /// The fault that belongs to no field.
    pub general: Option<String>,
}

impl FieldProblems {
    /// Reads the faults that the API reports for fields, or for the state that a change was for. Problems that the sender did not cause are
    /// passed on.
    ///
    /// # Errors
    /// It is another kind of problem.
    pub fn of(problem: ApiProblem) -> Result<Self, PageProblem> {
        if !matches!(problem.status(), 400 | 409 | 412 | 413 | 422) {
            return Err(problem.into());
        }
        let mut found = Self::default();
        for placed in problem.placed() {
            found.push(&placed.path, &placed.reason);
        }
        if found.placed.is_empty() {
            found.general = Some(translated(problem.detail()).into_owned());
        }
        Ok(found)
    }

    /// One more.
    pub fn push(&mut self, path: &str, reason: &str) {
        let reason = translated(reason).into_owned();
        self.placed.push((path.to_owned(), reason));
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.general.is_none()
    }

    /// Returns the faults of a field, and those below it: `limits` has the faults of `limits.tokens`.
    pub fn at(&self, field: &str) -> String {
        let found = self.placed.iter().filter(|(path, _)| is_of(path, field));
        let found: Vec<&str> = found.map(|(_, reason)| reason.as_str()).collect();
        found.join(&*t!("; "))
    }

    /// Leaves the faults of a field, and those below it.
    pub fn only(mut self, field: &str) -> Self {
        self.placed.retain(|(path, _)| is_of(path, field));
        self
    }

    /// Returns the faults that belong to none of these fields, to be shown above them.
    pub fn elsewhere<'a>(&self, fields: &(impl AsRef<[&'a str]> + ?Sized)) -> Vec<String> {
        let known = |path: &str| fields.as_ref().iter().any(|field| is_of(path, field));
        let others = self.placed.iter().filter(|(path, _)| !known(path));
        let mut texts: Vec<String> = self.general.iter().cloned().collect();
        let told = |(path, reason): &(String, String)| {
            t!("{title}: {value}", title = path, value = reason)
        };
        texts.extend(others.map(told));
        texts
    }
}

/// Whether a path is a field's, or lies below it.
fn is_of(path: &str, field: &str) -> bool {
    let rest = path.strip_prefix(field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use trilane::money::{Amount, Multiplier, Price};

    use super::*;

    /// Reasons of the gateway's own checks that have messages; others stay in English.
    const REASONS: [&str; 8] = [
        text!("must be a plain decimal number in a string, such as \"10.00\""),
        text!("must be a plain decimal number in a string, such as \"1.25\""),
        text!("must be a plain decimal number in a string, such as \"0.2000\""),
        text!("has more than 20 fractional digits"),
        text!("has more than 6 fractional digits"),
        text!("has more than 4 fractional digits"),
        text!("is out of range (at most 1000000000)"),
        text!("is out of range (at most 1000000)"),
    ];

    #[test]
    fn reasons_are_those_of_the_gateway() {
        let long = "1.0000000000000000000001";
        let mut given = Vec::new();
        for wrong in ["x", long, "9999999999999"] {
            given.extend(Amount::parse(wrong).err());
            given.extend(Price::parse(wrong).err());
            given.extend(Multiplier::parse(wrong).err());
        }
        for reason in given.iter() {
            assert!(REASONS.contains(reason), "{reason}");
        }
        for reason in REASONS {
            assert!(given.contains(&reason), "{reason}");
        }
    }

    #[test]
    fn each_at_its_place() {
        let mut problems = FieldProblems::default();
        assert!(problems.is_empty());
        problems.push("limits.tokens", "too many");
        problems.push("label", "too long");
        problems.push("labels", "unknown");
        assert_eq!(problems.at("limits"), "too many");
        assert_eq!(problems.at("label"), "too long");
        assert_eq!(problems.at("owner"), "");
        assert_eq!(
            problems.elsewhere(&["limits", "label"]),
            ["labels: unknown"]
        );
        let limits = problems.only("limits");
        assert_eq!(limits.elsewhere(&["label"]), ["limits.tokens: too many"]);
    }
}
