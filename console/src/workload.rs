//! The uses of connections. Each workload has connections of its own, so that what one of them waits for keeps no other waiting:
//! a table that somebody has locked, a disk that is slow, a page that reads much.
//!
//! Requests are told apart by their routes ([`Workload::of_request`]), and whatever a request does is of its workload
//! ([`Workload::scope`]). What goes on without a request names its own ([`Store::of`](crate::store::Store::of)).

use core::future::Future;
use core::time::Duration;

use http::Method;

tokio::task_local! {
    /// The workload of the request that is handled.
    static CURRENT: Workload;
}

/// A use of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Lines of the ledger.
    Intake,
    /// Reports of agents, and what they are told of spend.
    Reports,
    /// Reads of agents (keys, documents, credentials), and changes of keys: a revocation waits for no page.
    Feeds,
    /// Pages, and the rest of the API.
    Pages,
    /// Work without a request: old rows are removed, messages are sent, metrics are read.
    Background,
    /// Whether a change can be made.
    Health,
}

impl Workload {
    /// All.
    pub const ALL: [Self; 6] = [
        Self::Intake,
        Self::Reports,
        Self::Feeds,
        Self::Pages,
        Self::Background,
        Self::Health,
    ];

    /// Returns the name, as metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Reports => "reports",
            Self::Feeds => "feeds",
            Self::Pages => "pages",
            Self::Background => "background",
            Self::Health => "health",
        }
    }

    /// The most connections.
    pub const fn connections(self) -> u32 {
        match self {
            Self::Intake | Self::Feeds | Self::Pages => 4,
            Self::Reports => 2,
            Self::Background => 3,
            Self::Health => 1,
        }
    }

    /// Returns the longest wait for a connection.
    pub(super) const fn patience(self) -> Duration {
        Duration::from_millis(match self {
            Self::Intake | Self::Pages | Self::Background => 10_000,
            Self::Feeds => 5_000,
            Self::Reports => 2_000,
            Self::Health => 1_000,
        })
    }

    /// Returns the longest wait of a statement for a lock of PostgreSQL.
    pub(super) const fn lock_timeout(self) -> Duration {
        Duration::from_millis(match self {
            Self::Intake | Self::Pages | Self::Background => 5_000,
            Self::Feeds => 2_000,
            Self::Reports | Self::Health => 1_000,
        })
    }

    /// Returns the longest duration of a statement of PostgreSQL; zero: no bound.
    pub(super) const fn statement_timeout(self) -> Duration {
        Duration::from_millis(match self {
            Self::Intake | Self::Pages => 20_000,
            Self::Feeds => 10_000,
            Self::Reports => 5_000,
            Self::Background => 0,
            Self::Health => 1_000,
        })
    }

    /// Returns the workload of a request.
    pub fn of_request(method: &Method, path: &str) -> Self {
        let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
        let parts: [&str; 5] = core::array::from_fn(|_| parts.next().unwrap_or_default());
        let changes = ![Method::GET, Method::HEAD].contains(method);
        match parts {
            ["api", "v1", "ledger", ..] if !path.ends_with("/aside") => Self::Intake,
            ["api", "v1", "feed", "spend", ..] | ["api", "v1", "envoys", _, "report"] => {
                Self::Reports
            }
            ["api", "v1", "feed", ..] => Self::Feeds,
            ["api", "v1", "keys", ..]
            | ["api", "v1", "me", "keys" | "sign-ins", ..]
            | ["keys" | "me" | "oauth", ..]
                if changes =>
            {
                Self::Feeds
            }
            _ => Self::Pages,
        }
    }

    /// Does something as this workload.
    pub async fn scope<F: Future>(self, done: F) -> F::Output {
        CURRENT.scope(self, done).await
    }

    /// Returns the workload of the request that is handled.
    pub(super) fn current() -> Option<Self> {
        CURRENT.try_with(|workload| *workload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        for (method, path, want) in [
            (Method::POST, "/api/v1/ledger/e/f", Workload::Intake),
            (Method::GET, "/api/v1/ledger/e/f", Workload::Intake),
            (Method::GET, "/api/v1/ledger/e/f/aside", Workload::Pages),
            (Method::PUT, "/api/v1/envoys/e/report", Workload::Reports),
            (Method::GET, "/api/v1/envoys/e", Workload::Pages),
            (Method::GET, "/api/v1/feed/spend", Workload::Reports),
            (Method::GET, "/api/v1/feed/keys", Workload::Feeds),
            (Method::GET, "/api/v1/feed/document", Workload::Feeds),
            (Method::GET, "/api/v1/feed/credentials", Workload::Feeds),
            (Method::PATCH, "/api/v1/keys/k", Workload::Feeds),
            (Method::DELETE, "/api/v1/keys/k", Workload::Feeds),
            (Method::GET, "/api/v1/keys", Workload::Pages),
            (Method::PATCH, "/api/v1/me/keys/k", Workload::Feeds),
            (Method::POST, "/keys/k/disable", Workload::Feeds),
            (Method::GET, "/keys/k", Workload::Pages),
            (Method::POST, "/me/keys/k/disable", Workload::Feeds),
            (Method::POST, "/oauth/token", Workload::Feeds),
            (Method::GET, "/", Workload::Pages),
            (Method::GET, "", Workload::Pages),
        ] {
            assert_eq!(Workload::of_request(&method, path), want, "{method} {path}");
        }
    }

    #[test]
    fn a_console_has_as_many_connections_as_the_page_of_operations_says() {
        let all = Workload::ALL.map(Workload::connections);
        assert_eq!(all.iter().sum::<u32>(), 18);
    }
}
