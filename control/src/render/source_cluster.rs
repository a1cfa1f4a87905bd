//! The clusters that choose among the accounts of a source with more than one.
//!
//! A request to the source goes to one of its accounts through an internal listener of the same Envoy, so that each
//! attempt is a request of its own with that account's host, TLS and credential. The account is chosen as follows:
//!
//! - each priority is a cluster (a *tier*), in which consistent hashing keeps a conversation with one account and outlier
//!   detection ejects failing accounts;
//! - after the tiers comes a cluster with all accounts and no outlier detection (the *last resort*), for when all accounts
//!   are ejected: the same request then finds one that works again;
//! - an aggregate cluster goes through them in this order, and has the retry policy and the definition of a failure.
//!
//! One cluster with priorities would not do: with all accounts ejected the hash picks one priority for all attempts.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use trilane::config::account::{Account, Accounts, account_cluster, source_cluster};
use trilane::exchange::{AFFINITY_HEADER, AGAIN_HEADER};
use trilane::ledger::AttemptFailure;

use super::envoy::{any, change_requests, codec, extension, http_options, http2, limits, set};
use super::label;

/// The internal listener that sends an attempt to its account.
pub const HOP: &str = "account_hop";
/// The header with the account's cluster, for that listener. Envoy removes it from clients' requests, and an account's
/// cluster removes it before the request leaves.
pub const ACCOUNT: &str = "x-trilane-account";

/// By how much accounts of the first priority outweigh the others when all are ejected.
const PREFERENCE: u32 = 50;

/// The clusters of a source.
///
/// `filter` is the gateway's filter, which sees each attempt.
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
        // Metrics then show which of them are ejected.
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

/// The accounts by priority, without the gaps between priorities.
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

/// All accounts with their weights in the last resort.
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
        // Ejected accounts stay usable if there is no other, and changes hold at once, not within a second.
        "common_lb_config": {"healthy_panic_threshold": {"value": 1}, "update_merge_window": "0s"},
        "circuit_breakers": limits(),
        "load_assignment": {
            "cluster_name": name,
            // A single account that is left takes all requests of its tier. By default a share of them would go to the
            // next tier as soon as fewer than 5 in 7 are left.
            "policy": {"overprovisioning_factor": 100_000},
            "endpoints": [{"lb_endpoints": hosts}],
        },
        "typed_extension_protocol_options": http_options(json!({"explicit_http_config": hop_protocol()})),
    })
}

/// HTTP/2: many streams share a connection, which stays within this process.
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

/// The cluster that requests are sent to.
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

/// The options of every attempt. Envoy applies those of the aggregate, and ignores those of its clusters.
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
        "http_filters": [to_account, attempts_filter(filter), codec()],
    }))
}

/// The gateway's filter as root `tries`, which records how each attempt ends. It shares the VM of the gateway's listener as
/// long as all of `vm_config` is the same there.
fn attempts_filter(code: &Path) -> Value {
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

/// The retry policy. The filter decides which responses are failures and how many attempts there may be: it alone knows
/// which accounts were asked. Envoy chooses among clusters and their hosts, and an account is one host in its tier and
/// another host in the last resort.
fn retry_policy(tiers: &[Vec<&Account>], last: &[(&Account, u32)]) -> Value {
    let largest = tiers.iter().map(Vec::len).max().unwrap_or(1);
    json!({
        "retry_on": "connect-failure,refused-stream,reset,reset-before-request,retriable-headers",
        "retriable_headers": [{"name": AGAIN_HEADER, "present_match": true}],
        "num_retries": choices(last.len()),
        // Short, since it also precedes the next choice when one fell on an account that was asked already.
        "retry_back_off": {"base_interval": "0.005s", "max_interval": "0.025s"},
        "retry_host_predicate": [extension(
            "retry_host_predicates.previous_hosts",
            any("extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate", json!({})),
        )],
        "host_selection_retry_max_attempts": draws(last),
        // Leaves a tier whose accounts have all failed, even if they are not ejected any more.
        "retry_priority": extension(
            "retry_priorities.previous_priorities",
            any(
                "extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig",
                json!({"update_frequency": largest}),
            ),
        ),
    })
}

/// The number of choices that Envoy may make among so many accounts. Each account is chosen once in its tier and once in
/// the last resort, and again if the tiers are gone through a second time; the filter limits the attempts.
fn choices(accounts: usize) -> usize {
    accounts.saturating_mul(4).saturating_add(4).min(100)
}

/// How often Envoy draws to find a host that was not asked yet: until even the lightest account has come up almost
/// surely. A draw costs the worker some 100 ns.
fn draws(hosts: &[(&Account, u32)]) -> u32 {
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
