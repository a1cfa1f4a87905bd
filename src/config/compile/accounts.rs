//! The upstream accounts of a source group.

use core::ops::RangeInclusive;

use smol_str::SmolStr;

use super::diagnostics::Diagnostics;
use super::fields::{multiplier, within};
use super::{limits, names, prices};
use crate::config::account::{
    Account, AccountOrder, Accounts, CredentialHeader, Failover, HttpVersion, MOST_ACCOUNTS,
};
use crate::config::base::{Base, endpoint_in};
use crate::config::document::{AccountDocument, FailoverDocument, GroupDocument};
use crate::config::error::Problems;
use crate::config::origin::Origin;
use crate::model::catalog::Catalog;
use crate::money::{is_ordinary, unpriced};
use crate::protocol::Protocol;

const WEIGHT: RangeInclusive<u32> = 1..=1000;
const PRIORITY: RangeInclusive<u32> = 0..=9;
const TRIES: RangeInclusive<u32> = 1..=10;
const RETRIES: RangeInclusive<u32> = 0..=3;
const FAILURES: RangeInclusive<u32> = 1..=100;
const SECONDS: RangeInclusive<u32> = 1..=3600;
const CACHE_SECONDS: RangeInclusive<u32> = 0..=86_400;

/// Compiles the accounts; `None` for a group with a cluster of its own. `in_sequence`: other sources are asked before or after
/// this one.
pub(super) fn compile(
    document: &GroupDocument,
    protocol: Protocol,
    path: &str,
    in_sequence: bool,
    problems: &mut Problems,
) -> Option<Accounts> {
    let Some(written) = &document.accounts else {
        if document.failover.is_some() {
            problems.push(
                format!("{path}.failover"),
                "has a meaning only for a group with accounts",
            );
        }
        return None;
    };
    let path_of = |i: usize| format!("{path}.accounts[{i}]");
    let list = format!("{path}.accounts");
    if document.cluster.is_some() {
        problems.push(
            &list,
            "cannot be there together with cluster: one of them says where requests go",
        );
    }
    if written.is_empty() || written.len() > MOST_ACCOUNTS {
        problems.push(&list, format!("must be 1 to {MOST_ACCOUNTS} accounts"));
    }
    let mut accounts: Vec<Account> = Vec::with_capacity(written.len());
    for (i, document) in written.iter().enumerate() {
        let path = path_of(i);
        let account = compile_account(document, protocol, &path, problems);
        if !account.id.is_empty() && accounts.iter().any(|other| other.id == account.id) {
            problems.push(format!("{path}.id"), "is the id of another account too");
        }
        accounts.push(account);
    }
    let failover = failover(
        document.failover.as_ref(),
        Failover::default(),
        &format!("{path}.failover"),
        problems,
    );
    if failover.order == AccountOrder::LeastBusy && accounts.iter().any(|it| it.state.is_some()) {
        problems.push(
            format!("{path}.failover.order"),
            "cannot be \"least_busy\" where accounts have a state: a request without a session would not find what its account keeps",
        );
    }
    let group = document.id.as_deref().unwrap_or_default();
    Some(Accounts::new(group, accounts, failover, in_sequence))
}

fn compile_account(
    document: &AccountDocument,
    protocol: Protocol,
    path: &str,
    problems: &mut Problems,
) -> Account {
    let id = names::id(&document.id, &format!("{path}.id"), problems)
        .unwrap_or_default()
        .to_owned();
    let origin = account_origin(
        document.url.as_deref(),
        protocol,
        &format!("{path}.url"),
        problems,
    );
    let base = Base::new(&origin.base_path, protocol);
    let header = match document.header.as_deref() {
        None => CredentialHeader::of(protocol),
        Some(name) => CredentialHeader::ALL
            .into_iter()
            .find(|header| header.name() == name)
            .unwrap_or_else(|| {
                problems.push(
                    format!("{path}.header"),
                    "must be \"bearer\", \"x-api-key\" or \"x-goog-api-key\"",
                );
                CredentialHeader::of(protocol)
            }),
    };
    let http = http_version(document.http.as_deref(), origin.tls, path, problems);
    if document.ca.is_some() && !origin.tls {
        problems.push(format!("{path}.ca"), "has a meaning for https only");
    }
    let ca = document.ca.as_deref();
    let ca = ca.map(|file| plain_file(Some(file), &format!("{path}.ca"), problems));
    let proxy = document.proxy.as_deref().map(|url| {
        let path = format!("{path}.proxy");
        let proxy = self::origin(Some(url), &path, problems);
        if !proxy.base_path.is_empty() {
            problems.push(path, "must be http://host:port or https://host:port");
        }
        proxy
    });
    let region = region(
        document.region.as_deref(),
        &format!("{path}.region"),
        problems,
    );
    let credential = plain_file(
        document.credential.as_deref(),
        &format!("{path}.credential"),
        problems,
    );
    let state = document.state.as_deref();
    let state = state.and_then(|label| {
        names::id(&Some(label.to_owned()), &format!("{path}.state"), problems).map(SmolStr::from)
    });
    let written = document.limits.as_ref();
    if written.is_some_and(|limits| limits.budget.is_some()) {
        let path = format!("{path}.limits.budget");
        problems.push(path, "is of keys, owners, teams and groups only");
    }
    let limits = written.and_then(|it| limits::compile(it, &format!("{path}.limits"), problems));
    let cost = document.cost.as_deref();
    let cost = cost.map(|text| multiplier(Some(text), &format!("{path}.cost"), problems));
    let mut number = |value, default, range, field: &str| {
        let path = format!("{path}.{field}");
        within(value, default, range, "", &path, problems)
    };
    Account {
        id: id.into(),
        origin,
        base,
        credential,
        header,
        weight: number(document.weight, 1, WEIGHT, "weight"),
        priority: number(document.priority, 0, PRIORITY, "priority"),
        http,
        // A request that may be sent again is held in memory until the answer begins.
        retries: number(document.retries, 0, RETRIES, "retries"),
        ca,
        proxy,
        region,
        cost,
        state,
        limits: limits.map(|it| *it).unwrap_or_default(),
    }
}

/// The region of an account; none where it is anywhere.
fn region(name: Option<&str>, path: &str, problems: &mut Problems) -> Option<SmolStr> {
    let name = name.filter(|name| name.is_empty() || !is_ordinary(name))?;
    if let Err(reason) = prices::tier_name(name) {
        problems.push(path, reason);
    }
    Some(name.into())
}

/// Warns of models that have prices and none for the region of an account.
pub(super) fn check_regions(
    accounts: &Accounts,
    catalog: &Catalog,
    path: &str,
    diagnostics: &mut Diagnostics,
) {
    for (position, account) in accounts.accounts.iter().enumerate() {
        let Some(region) = &account.region else {
            continue;
        };
        let lacks = |prices| !unpriced(prices, None, None, Some(region)).is_empty();
        let priced = catalog.models().iter();
        let lacking = priced.filter(|model| model.prices.as_ref().is_some_and(lacks));
        let names: Vec<&str> = lacking.map(|model| model.id.as_str()).collect();
        if !names.is_empty() {
            diagnostics.warnings.push(
                format!("{path}.accounts[{position}].region"),
                format!(
                    "has no prices of its own in {}: what is made there is charged at the model's, and recorded",
                    names.join(", ")
                ),
            );
        }
    }
}

fn http_version(name: Option<&str>, tls: bool, path: &str, problems: &mut Problems) -> HttpVersion {
    let default = if tls {
        HttpVersion::Negotiated
    } else {
        HttpVersion::One
    };
    let Some(name) = name else {
        return default;
    };
    let version = HttpVersion::ALL.into_iter().find(|v| v.name() == name);
    match version {
        Some(HttpVersion::Negotiated) if !tls => problems.push(
            format!("{path}.http"),
            "can be \"auto\" for https only: without TLS nothing is negotiated",
        ),
        None => problems.push(format!("{path}.http"), "must be \"auto\", \"1.1\" or \"2\""),
        Some(_) => {}
    }
    version.unwrap_or(default)
}

/// An account's own address: the base of all endpoints, not one of them.
fn account_origin(
    url: Option<&str>,
    protocol: Protocol,
    path: &str,
    problems: &mut Problems,
) -> Origin {
    let endpoint = url.and_then(|url| endpoint_in(url, protocol));
    if let Some(endpoint) = endpoint {
        problems.push(
            path,
            format!(
                "ends in an endpoint: leave off what begins with {endpoint}, the gateway appends the endpoint of each request"
            ),
        );
        // Whatever else is wrong with it may come of that.
        return no_origin();
    }
    origin(url, path, problems)
}

fn origin(url: Option<&str>, path: &str, problems: &mut Problems) -> Origin {
    url.map_or(Err("is missing"), Origin::parse)
        .unwrap_or_else(|reason| {
            problems.push(path, reason);
            no_origin()
        })
}

/// In place of one that cannot be read.
fn no_origin() -> Origin {
    Origin {
        tls: true,
        host: String::new(),
        port: 443,
        base_path: String::new(),
    }
}

/// The name of a file. What is in it is the renderer's business.
fn plain_file(name: Option<&str>, path: &str, problems: &mut Problems) -> String {
    match name {
        None => problems.push(path, "is missing"),
        Some(name)
            if name.is_empty() || name.len() > 1024 || name.chars().any(char::is_control) =>
        {
            problems.push(path, "must be the name of a file");
        }
        Some(_) => {}
    }
    name.unwrap_or_default().to_owned()
}

fn failover(
    document: Option<&FailoverDocument>,
    default: Failover,
    path: &str,
    problems: &mut Problems,
) -> Failover {
    let Some(document) = document else {
        return default;
    };
    let mut orders = AccountOrder::ALL.into_iter();
    let order = document
        .order
        .as_deref()
        .map_or(Some(default.order), |name| {
            orders.find(|order| order.name() == name)
        });
    let order = order.unwrap_or_else(|| {
        let path = format!("{path}.order");
        problems.push(path, "must be \"conversation\" or \"least_busy\"");
        default.order
    });
    let mut read = |value, default, range, field: &str| {
        let path = format!("{path}.{field}");
        within(value, default, range, "", &path, problems)
    };
    let tries = document.tries.map(|tries| {
        let tries = Some(tries);
        read(tries, *TRIES.start(), TRIES, "tries")
    });
    let mut seconds = |value, default, field| read(value, default, SECONDS, field);
    Failover {
        tries,
        answer_seconds: seconds(
            document.answer_seconds,
            default.answer_seconds,
            "answer_seconds",
        ),
        stream_answer_seconds: seconds(
            document.stream_answer_seconds,
            default.stream_answer_seconds,
            "stream_answer_seconds",
        ),
        total_seconds: seconds(
            document.total_seconds,
            default.total_seconds,
            "total_seconds",
        ),
        set_aside_seconds: seconds(
            document.set_aside_seconds,
            default.set_aside_seconds,
            "set_aside_seconds",
        ),
        set_aside_max_seconds: seconds(
            document.set_aside_max_seconds,
            default.set_aside_max_seconds,
            "set_aside_max_seconds",
        ),
        prompt_cache_seconds: read(
            document.prompt_cache_seconds,
            default.prompt_cache_seconds,
            CACHE_SECONDS,
            "prompt_cache_seconds",
        ),
        failures: read(document.failures, default.failures, FAILURES, "failures"),
        order,
    }
}
