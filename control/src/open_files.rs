//! The limit of open files of this process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Enough files for every server here.
const ENOUGH: u64 = 65_536;

/// Raises the limit of open files as far as the system lets this process: each connection is one, and the limit that shells give (1024)
/// was made for programs that have few.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if limit.current.is_some_and(|current| current < most) {
        limit.current = Some(most);
        // It stays what it was, where the system does not allow it.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
