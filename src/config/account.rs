//! Upstream accounts: where a source group's requests go, and when from one account to another.

use sha2::{Digest, Sha256};
use smol_str::SmolStr;

use super::base::Base;
use super::origin::Origin;
use crate::limits::{Limits, Subject};
use crate::money::Multiplier;
use crate::protocol::Protocol;

/// The maximum number of accounts of a group. Each is a cluster of its own in every worker of Envoy.
pub const MOST_ACCOUNTS: usize = 64;

/// The upstream accounts of a source group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounts {
    /// The accounts, in the document's order; at least one.
    pub accounts: Vec<Account>,
    /// The conditions of failover to another account.
    pub failover: Failover,
    /// The marks of each account, in the same order.
    pub marks: Vec<Marks>,
    /// The Envoy cluster of each account, in the same order.
    pub clusters: Vec<SmolStr>,
    /// The counters of each account that has limits or is chosen by its load, in the same order.
    subjects: Vec<Option<Subject>>,
    /// Whether other sources are asked before or after these.
    in_sequence: bool,
}

impl Accounts {
    /// These accounts of the group with the id `group`, under these terms. `in_sequence`: other sources are asked before or after
    /// them.
    pub fn new(group: &str, accounts: Vec<Account>, failover: Failover, in_sequence: bool) -> Self {
        let marks = accounts
            .iter()
            .map(|account| Marks::of(account, &accounts, &failover))
            .collect();
        let of = |account: &Account| match accounts.len() {
            1 if !in_sequence => source_cluster(group),
            _ => account_cluster(group, &account.id),
        };
        let clusters = accounts.iter().map(|account| of(account).into()).collect();
        let subject = |account: &Account| {
            let mut limits = account.limits;
            if failover.order == AccountOrder::LeastBusy {
                // Only what is limited is counted.
                limits.concurrent_requests.get_or_insert(Limits::MAX);
            }
            let subject = || Subject::of_account(group, &account.id, limits);
            (!limits.is_unlimited()).then(subject)
        };
        let subjects = accounts.iter().map(subject).collect();
        Self {
            accounts,
            failover,
            marks,
            clusters,
            subjects,
            in_sequence,
        }
    }

    /// Whether a request may be sent to another account after one of these has failed.
    pub fn are_alternatives(&self) -> bool {
        self.in_sequence || self.accounts.len() > 1
    }

    /// The regions that accounts name, each once.
    pub fn regions(&self) -> impl Iterator<Item = &SmolStr> {
        let regions = || self.accounts.iter().filter_map(|it| it.region.as_ref());
        let earlier = move |at: usize, region| regions().take(at).any(|other| other == region);
        regions()
            .enumerate()
            .filter(move |(at, region)| !earlier(*at, *region))
            .map(|(_, region)| region)
    }

    /// The counters of an account, by its place; `None` where nothing of it is counted.
    pub fn subject(&self, account: usize) -> Option<&Subject> {
        self.subjects.get(account)?.as_ref()
    }

    /// The counters of all accounts, in the document's order.
    pub fn subjects(&self) -> impl Iterator<Item = Option<&Subject>> {
        self.subjects.iter().map(Option::as_ref)
    }

    /// Whether accounts say with which others they share what a vendor keeps for them.
    pub fn have_states(&self) -> bool {
        self.accounts.iter().any(|account| account.state.is_some())
    }

    /// The account with this id.
    pub fn named(&self, id: &str) -> Option<&Account> {
        self.accounts.iter().find(|account| account.id == id)
    }

    /// Whether a request must bring its path without the version along, because an account's URL has a path.
    pub fn have_paths(&self) -> bool {
        let plain = |account: &Account| account.base.prefix.as_deref() == Some("");
        !self.accounts.iter().all(plain)
    }
}

/// Digests of an account, by which it is known where its fields would be too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Of its id.
    pub id: u64,
    /// Of how it is reached, and with what credential. What is known of one way says nothing of another.
    pub way: u64,
    /// Of the terms of its ejection: how it is reached, the accounts of its priority with their weights, `failures`,
    /// `set_aside_seconds`.
    pub terms: u64,
}

impl Marks {
    fn of(account: &Account, all: &[Account], failover: &Failover) -> Self {
        let Account {
            id,
            origin,
            base,
            credential,
            header,
            http,
            ca,
            proxy,
            ..
        } = account;
        let way = format!(
            "{id} {origin} {} {header:?} {http:?} {credential:?} {ca:?} {proxy:?}",
            base.root
        );
        let mut terms = format!("{way} {} {}", failover.failures, failover.set_aside_seconds);
        for other in all.iter().filter(|it| it.priority == account.priority) {
            terms.push_str(&format!(" {} {}", other.id, other.weight));
        }
        Self {
            id: digest(id),
            way: digest(&way),
            terms: digest(&terms),
        }
    }
}

/// The first eight bytes of the SHA-256.
fn digest(text: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(text).into();
    digest
        .first_chunk::<8>()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// One account at a model vendor. Its credential is in a file of its own, never here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The id, unique within the group; for records, metrics and the names of clusters.
    pub id: SmolStr,
    /// The address of the account.
    pub origin: Origin,
    /// The prefix of the paths of its requests.
    pub base: Base,
    /// The file that holds the credential and nothing else.
    pub credential: String,
    /// The header that carries the credential.
    pub header: CredentialHeader,
    /// The account's share among the accounts of its priority.
    pub weight: u32,
    /// The accounts of a greater number are used only while none of a smaller one is good.
    pub priority: u32,
    /// The version of HTTP that it speaks.
    pub http: HttpVersion,
    /// The number of times that a request is sent to this account again when the connection breaks before the response.
    pub retries: u32,
    /// The file of certificates that its own must come from; `None` for the system's.
    pub ca: Option<String>,
    /// The HTTP proxy through which it is reached.
    pub proxy: Option<Origin>,
    /// The place where its models run, where the vendor has prices of their own for that: the name of a tier.
    pub region: Option<SmolStr>,
    /// A factor on the list price, by which its responses cost; `None` where that is not known.
    pub cost: Option<Multiplier>,
    /// The label of the accounts that share what a vendor keeps for an account: responses, encrypted reasoning, files. `None` for
    /// one that shares it with no other.
    pub state: Option<SmolStr>,
    /// The bounds of its use: requests and tokens a minute, and requests at a time.
    pub limits: Limits,
}

impl Account {
    /// The URL to which a request goes whose path at the gateway is, say, `/v1/messages`.
    pub fn url(&self, path: &str) -> String {
        format!("{}{}", self.origin.site(), self.base.path(path))
    }
}

/// The version of HTTP that an account speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// The version that the server chooses in the TLS handshake (ALPN, RFC 7301).
    Negotiated,
    /// HTTP/1.1
    One,
    /// HTTP/2, from the first byte.
    Two,
}

impl HttpVersion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Negotiated, Self::One, Self::Two];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Negotiated => "auto",
            Self::One => "1.1",
            Self::Two => "2",
        }
    }
}

/// The header in which a credential is written into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialHeader {
    /// `authorization: Bearer …`
    Bearer,
    /// `x-api-key: …`
    XApiKey,
    /// `x-goog-api-key: …`
    XGoogApiKey,
}

impl CredentialHeader {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bearer, Self::XApiKey, Self::XGoogApiKey];

    /// Returns the header that a protocol's vendors expect.
    pub fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::A => Self::Bearer,
            Protocol::B => Self::XApiKey,
            Protocol::C => Self::XGoogApiKey,
        }
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::XApiKey => "x-api-key",
            Self::XGoogApiKey => "x-goog-api-key",
        }
    }
}

/// The conditions of failover to another account, and of the ejection of a failing account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failover {
    /// The maximum number of accounts that a request is sent to, of all sources together; `None` for as many as there are, but no
    /// more than `MOST_TRIES`. No account gets it twice.
    pub tries: Option<u32>,
    /// The time that an account may take until its response begins, in seconds. Without streaming that is when the
    /// model has written all of it.
    pub answer_seconds: u32,
    /// The same for requests that ask for a stream, whose answers begin at once.
    pub stream_answer_seconds: u32,
    /// After how long no further account is asked, in seconds.
    pub total_seconds: u32,
    /// After how many failures in a row an account is set aside.
    pub failures: u32,
    /// For how long, in seconds; each further time longer by as much.
    pub set_aside_seconds: u32,
    /// For how long at the most, in seconds, where a vendor asks for it.
    pub set_aside_max_seconds: u32,
    /// For how long after an answer a vendor keeps the prompt, in seconds: a conversation that has moved stays for so long.
    pub prompt_cache_seconds: u32,
    /// The order of the accounts of one priority.
    pub order: AccountOrder,
}

/// The order in which the accounts of one priority are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccountOrder {
    /// Each conversation has its own.
    #[default]
    Conversation,
    /// The least busy first, for requests that name no session; by conversation for others.
    LeastBusy,
}

impl AccountOrder {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Conversation, Self::LeastBusy];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::LeastBusy => "least_busy",
        }
    }
}

impl Failover {
    /// The maximum of [`tries`](Self::tries) where a document says nothing: no client waits for more.
    const MOST_TRIES: usize = 10;

    /// The maximum number of accounts that a request is sent to, where there are so many.
    pub fn tries_of(&self, accounts: usize) -> usize {
        let most = self.tries.map_or(Self::MOST_TRIES, |tries| {
            usize::try_from(tries).unwrap_or(usize::MAX)
        });
        // None is asked twice for one request.
        most.min(accounts)
    }
}

impl Default for Failover {
    /// Returns the terms where a document gives none.
    fn default() -> Self {
        Self {
            tries: None,
            answer_seconds: 600,
            stream_answer_seconds: 120,
            total_seconds: 600,
            failures: 1,
            set_aside_seconds: 10,
            set_aside_max_seconds: 300,
            prompt_cache_seconds: 300,
            order: AccountOrder::Conversation,
        }
    }
}

/// The name of the cluster that stands for all accounts of a group.
pub fn source_cluster(group: &str) -> String {
    format!("source/{group}")
}

/// The name of the cluster that leads to any account of any group, through an internal listener.
pub const HOP_CLUSTER: &str = "account/hop";

/// The name of the cluster of one account.
pub fn account_cluster(group: &str, account: &str) -> String {
    format!("account/{group}/{account}")
}
