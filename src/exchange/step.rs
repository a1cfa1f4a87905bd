//! The steps of a decision on a request.

use serde::Serialize;

/// A step of the decision. Each comes from [`Trace::begin`] as it is begun; a rejection ends the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Method and path.
    Endpoint,
    /// The key in its place.
    Credential,
    /// Whether the key is good.
    Key,
    /// A list of models.
    List,
    /// From the key's group to a source.
    Route,
    /// The version header of protocol B.
    Version,
    /// The endpoints that the group allows.
    Rights,
    /// The body's head and form.
    Body,
    /// The model and who may use it.
    Model,
    /// The limits of key and group.
    Limits,
}

impl Step {
    /// Returns the name, as JSON has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Credential => "credential",
            Self::Key => "key",
            Self::List => "list",
            Self::Route => "route",
            Self::Version => "version",
            Self::Rights => "rights",
            Self::Body => "body",
            Self::Model => "model",
            Self::Limits => "limits",
        }
    }
}

/// Records the steps of a decision, to explain it; by default it records nothing.
pub trait Trace {
    /// Notes that a step begins: the first time, or again with more of the body.
    fn begin(&self, _step: Step) {}
}
