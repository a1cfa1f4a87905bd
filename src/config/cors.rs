//! The web pages whose scripts may read answers (CORS).

use std::rc::Rc;

/// Stands for every origin.
pub const EVERY_ORIGIN: &str = "*";

/// The origins whose scripts may read answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// As browsers write them, or [`EVERY_ORIGIN`] alone.
    pub(super) origins: Vec<Rc<str>>,
}

impl Cors {
    /// The value of `access-control-allow-origin` for a request from `origin`; `None` where its scripts may read nothing.
    pub fn allowed(&self, origin: &[u8]) -> Option<Rc<str>> {
        let mut listed = self.origins.iter();
        let found = listed.find(|own| &***own == EVERY_ORIGIN || own.as_bytes() == origin);
        found.map(Rc::clone)
    }
}
