//! The answer to whether a person is still there.

/// The answer of the identity providers of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StillThere {
    /// The person has never signed in by a provider, so nobody can be asked.
    NotByProvider,
    /// A provider says so. Role, teams and group of keys follow its claims.
    Yes,
    /// The provider has ended it. The person's sessions by that provider have ended.
    Ended,
    /// The provider does not answer, or gave nothing to ask with: the sign-in goes on within its own length.
    Unknown,
}
