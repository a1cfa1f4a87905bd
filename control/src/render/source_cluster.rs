//! The clusters that stand for all accounts of a source, where it has more than one.
//!
//! A request to the source goes to one of its accounts, through an internal listener of the same Envoy, so that
//! each try is a request of its own with that account's host, TLS and credential. Which account:
//!
//! - each priority is a cluster (a *tier*), in which consistent hashing keeps a conversation with an account and
//!   outlier detection sets failing accounts aside;
//! - behind the tiers comes one with all accounts and no outlier detection, for when every account is set aside:
//!   one that is good again is found in the same request;
//! - an aggregate over them goes from one to the next, and holds what counts as a failure and is tried again.
//!
//! One cluster with priorities would not do: with all accounts set aside the hash picks one priority for all tries.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use trilane::config::account::{Account, Accounts, account_cluster, source_cluster};
use trilane::exchange::{AFFINITY_HEADER, AGAIN_HEADER};
use trilane::ledger::AttemptFailure;

use super::envoy::{any, change_requests, codec, extension, http_options, http2, limits, set};
use super::label;

/// The internal listener that sends a try to its account.
pub const HOP: &str = "account_hop";
/// The header that tells it the account's cluster. No client can send it, and it leaves no account's cluster.
pub const ACCOUNT: &str = "x-trilane-account";

/// How much rather an account of the first priority is taken when all are set aside.
const PREFERENCE: u32 = 50;

/// The clusters of a source.
///
/// `filter`: the gateway's filter, which sees each try.
pub fn clusters(group: &str, accounts: &Accounts, filter: &Path) -> Vec<Value> {
    let tiers = tiers(&accounts.accounts);
    let mut clusters = Vec::new();
    let mut names = Vec::new();
    for (rank, tier) in tiers.iter().enumerate() {
        let name = format!("tier/{group}/{rank}");
        let hosts = tier.iter().map(|account| (*account, account.weight));
        let mut cluster = hashed(group, &name, hosts);
        add(
            &mut cluster,
            "alt_stat_name",
            json!(format!("{}~{rank}", label::of("tier", group))),
        );
        add(
            &mut cluster,
            "outlier_detection",
            outlier_detection(accounts),
        );
        // For metrics: which of them are set aside now.
        add(
            &mut cluster,
            "track_cluster_stats",
            json!({"per_endpoint_stats": true}),
        );
        clusters.push(cluster);
        names.push(name);
    }
    let name = format!("last/{group}");
    let hosts = last_resort(&tiers);
    let mut last = hashed(group, &name, hosts.iter().copied());
    add(&mut last, "alt_stat_name", json!(label::of("last", group)));
    clusters.push(last);
    names.push(name);
    let options = options(retry_policy(&tiers, &hosts), filter);
    clusters.push(aggregate(group, &names, options));
    clusters
}

/// The accounts by priority, the gaps between priorities left out.
fn tiers(accounts: &[Account]) -> Vec<Vec<&Account>> {
    let priorities: BTreeSet<u32> = accounts.iter().map(|account| account.priority).collect();
    let of = |priority| {
        accounts
            .iter()
            .filter(|account| account.priority == priority)
            .collect()
    };
    priorities.into_iter().map(of).collect()
}

/// All accounts with the weights they have when all are set aside.
fn last_resort<'a>(tiers: &[Vec<&'a Account>]) -> Vec<(&'a Account, u32)> {
    let first = tiers.first().map(Vec::as_slice).unwrap_or_default();
    let sum = first
        .iter()
        .fold(0u32, |sum, a| sum.saturating_add(a.weight));
    let size = u32::try_from(first.len()).unwrap_or(u32::MAX);
    let mean = sum.checked_div(size).unwrap_or(1).max(1);
    let mut hosts = Vec::new();
    for (rank, tier) in tiers.iter().enumerate() {
        for account in tier {
            let weight = if rank == 0 {
                account.weight.saturating_mul(PREFERENCE)
            } else {
                mean
            };
            hosts.push((*account, weight));
        }
    }
    hosts
}

/// A cluster of the hop's endpoints, chosen by consistent hashing.
fn hashed<'a>(group: &str, name: &str, hosts: impl Iterator<Item = (&'a Account, u32)>) -> Value {
    let hosts: Vec<Value> = hosts
        .map(|(account, weight)| {
            let cluster = account_cluster(group, &account.id);
            let address = json!({"server_listener_name": HOP, "endpoint_id": cluster});
            json!({
                "endpoint": {"hostname": account.id, "address": {"envoy_internal_address": address}},
                "load_balancing_weight": weight,
                "metadata": {"filter_metadata": {"trilane": {"account": account.id, "cluster": cluster}}},
            })
        })
        .collect();
    json!({
        "name": name,
        "type": "STATIC",
        "lb_policy": "MAGLEV",
        // Accounts set aside are still there when there is no other; and at once, not within a second.
        "common_lb_config": {"healthy_panic_threshold": {"value": 1}, "update_merge_window": "0s"},
        "circuit_breakers": limits(),
        "load_assignment": {
            "cluster_name": name,
            // One account that is left takes all of its tier. By default a share of it would spill over to the
            // next tier as soon as less than 5 in 7 are left.
            "policy": {"overprovisioning_factor": 100_000},
            "endpoints": [{"lb_endpoints": hosts}],
        },
        "typed_extension_protocol_options": http_options(json!({"explicit_http_config": hop_protocol()})),
    })
}

/// Many streams on a connection, and no bytes to pay for them.
fn hop_protocol() -> Value {
    json!({"http2_protocol_options": http2()})
}

fn outlier_detection(accounts: &Accounts) -> Value {
    let failover = accounts.failover;
    let longest = failover.set_aside_seconds.saturating_mul(6);
    json!({
        "consecutive_5xx": failover.failures,
        "interval": "1s",
        "base_ejection_time": format!("{}s", failover.set_aside_seconds),
        "max_ejection_time": format!("{longest}s"),
        "max_ejection_percent": 100,
        "enforcing_consecutive_5xx": 100,
        "enforcing_success_rate": 0,
        "enforcing_consecutive_gateway_failure": 0,
    })
}

/// What requests are sent to.
fn aggregate(group: &str, clusters: &[String], options: Value) -> Value {
    json!({
        "name": source_cluster(group),
        "alt_stat_name": label::of("source", group),
        "cluster_type": extension(
            "clusters.aggregate",
            any("extensions.clusters.aggregate.v3.ClusterConfig", json!({"clusters": clusters})),
        ),
        "lb_policy": "CLUSTER_PROVIDED",
        "circuit_breakers": limits(),
        "typed_extension_protocol_options": options,
    })
}

/// What holds for every try. Only the aggregate's own are heeded, none of its clusters'.
fn options(retry_policy: Value, filter: &Path) -> Value {
    let is_failure = |status: &u16| AttemptFailure::of_status(*status) != AttemptFailure::Request;
    let codes: Vec<String> = (400..600)
        .filter(is_failure)
        .map(|status| status.to_string())
        .collect();
    let codes = codes.join("|");
    let failed = json!({"name": ":status", "string_match": {"safe_regex": {"regex": codes}}});
    let to_account = change_requests(vec![set(ACCOUNT, "%UPSTREAM_METADATA(trilane:cluster)%")]);
    http_options(json!({
        "explicit_http_config": hop_protocol(),
        "hash_policy": [{"header": {"header_name": AFFINITY_HEADER}}],
        "outlier_detection": {"error_matcher": {"http_response_headers_match": {"headers": [failed]}}},
        "retry_policy": retry_policy,
        "http_filters": [to_account, tries_filter(filter), codec()],
    }))
}

/// The gateway's filter in the part that notes how each try ends. Its VM is that of the gateway's listener, as
/// long as everything in `vm_config` is the same there.
fn tries_filter(code: &Path) -> Value {
    let text = |value: &str| json!({"@type": "type.googleapis.com/google.protobuf.StringValue", "value": value});
    let config = json!({
        "name": "tries",
        "root_id": "tries",
        "failure_policy": "FAIL_RELOAD",
        "reload_config": {"backoff": {"base_interval": "0.1s"}},
        "configuration": text("{}"),
        "vm_config": {
            "vm_id": "trilane",
            "configuration": text("filter"),
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"local": {"filename": code}},
        },
    });
    let wasm = any(
        "extensions.filters.http.wasm.v3.Wasm",
        json!({"config": config}),
    );
    extension("filters.http.wasm", wasm)
}

/// When Envoy makes another try. Which answers are failures, and how many tries there may be, the filter of tries
/// decides: it alone knows the accounts that were asked. Envoy chooses among clusters and their hosts, and an
/// account is one host in its tier and another one in the last resort.
fn retry_policy(tiers: &[Vec<&Account>], last: &[(&Account, u32)]) -> Value {
    let largest = tiers.iter().map(Vec::len).max().unwrap_or(1);
    json!({
        "retry_on": "connect-failure,refused-stream,reset,reset-before-request,retriable-headers",
        "retriable_headers": [{"name": AGAIN_HEADER, "present_match": true}],
        "num_retries": choices(last.len()),
        // A choice that fell on an account again is made anew at once.
        "retry_back_off": {"base_interval": "0.005s", "max_interval": "0.025s"},
        "retry_host_predicate": [extension(
            "retry_host_predicates.previous_hosts",
            any("extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate", json!({})),
        )],
        "host_selection_retry_max_attempts": attempts(last),
        // Leaves a tier whose accounts all failed, though they may not be set aside any more.
        "retry_priority": extension(
            "retry_priorities.previous_priorities",
            any(
                "extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig",
                json!({"update_frequency": largest}),
            ),
        ),
    })
}

/// How many choices Envoy has among so many accounts. Each of them is chosen once in its tier and once in the last
/// resort, and where the tiers are gone through again once more; the filter lets go on what is to go on.
fn choices(accounts: usize) -> usize {
    accounts.saturating_mul(4).saturating_add(4).min(100)
}

/// How often to draw for an account that was not tried: until even the lightest has come, all but surely. Each
/// draw keeps the worker busy, some 100 ns.
fn attempts(hosts: &[(&Account, u32)]) -> u32 {
    let weights = || hosts.iter().map(|(_, weight)| *weight);
    let sum = weights().fold(0, u32::saturating_add);
    let lightest = weights().min().unwrap_or(1);
    let share = sum.checked_div(lightest).unwrap_or(1);
    share.saturating_mul(20).clamp(1000, 10_000)
}

fn add(cluster: &mut Value, field: &str, value: Value) {
    if let Some(cluster) = cluster.as_object_mut() {
        cluster.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests;
