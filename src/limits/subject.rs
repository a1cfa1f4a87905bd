//! Keys and groups with limits.

use std::rc::Rc;

use super::terms::Limits;

/// Whose limits they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The account key's own.
    Key,
    /// Of all keys of its group together.
    Group,
}

impl Scope {
    /// Its name, as metrics and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Group => "group",
        }
    }
}

/// A key or group with limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Whose limits they are.
    pub scope: Scope,
    /// The limits.
    pub limits: Limits,
    /// The name of its counters in shared data. It contains the version of their encoding, so a release with another
    /// encoding never reads them.
    pub(super) name: Rc<str>,
}

impl Subject {
    /// The key or group with this id.
    pub fn new(scope: Scope, id: &str, limits: Limits) -> Self {
        let name = format!("trilane/limit/1/{}/{id}", scope.name()).into();
        Self {
            scope,
            limits,
            name,
        }
    }

    /// Whether each request takes a slot.
    pub(super) fn lends_slots(&self) -> bool {
        self.limits.concurrent_requests.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_groups_of_one_id_have_counters_of_their_own() {
        let name = |scope| Subject::new(scope, "same", Limits::default()).name;
        assert_eq!(&*name(Scope::Key), "trilane/limit/1/key/same");
        assert_eq!(&*name(Scope::Group), "trilane/limit/1/group/same");
    }
}
