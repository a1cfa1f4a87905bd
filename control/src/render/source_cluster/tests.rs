use trilane::config::account::{CredentialHeader, Failover, HttpVersion};
use trilane::config::base::Base;
use trilane::config::origin::Origin;
use trilane::protocol::Protocol;

use super::*;

fn accounts(of: &[(&str, u32, u32)], failover: Failover) -> Accounts {
    let accounts = of
        .iter()
        .map(|(id, priority, weight)| Account {
            id: (*id).to_owned(),
            base: Base::new("", Protocol::A),
            origin: Origin::parse("http://h").unwrap(),
            credential: "c".to_owned(),
            header: CredentialHeader::Bearer,
            weight: *weight,
            priority: *priority,
            http: HttpVersion::One,
            retries: 0,
            ca: None,
            proxy: None,
        })
        .collect();
    Accounts { accounts, failover }
}

/// The accounts of a cluster with their weights, such as `a 3`.
fn hosts(cluster: &Value) -> Vec<String> {
    let hosts = cluster.pointer("/load_assignment/endpoints/0/lb_endpoints");
    let hosts = hosts.and_then(Value::as_array).unwrap().iter();
    let shown = |host: &Value| {
        let account = &host["metadata"]["filter_metadata"]["trilane"]["account"];
        format!(
            "{} {}",
            account.as_str().unwrap(),
            host["load_balancing_weight"]
        )
    };
    hosts.map(shown).collect()
}

#[test]
fn priorities_are_tiers_without_gaps() {
    let four = [("a", 7, 1), ("b", 0, 3), ("c", 7, 5), ("d", 0, 1)];
    let clusters = clusters(
        "g",
        &accounts(&four, Failover::default_for(4)),
        Path::new("/filter.wasm"),
    );
    let names: Vec<_> = clusters
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    // None comes before those that it leads to.
    assert_eq!(names, ["tier/g/0", "tier/g/1", "last/g", "source/g"]);
    let order = clusters[3]
        .pointer("/cluster_type/typed_config/clusters")
        .unwrap();
    assert_eq!(order, &json!(["tier/g/0", "tier/g/1", "last/g"]));
    assert_eq!(hosts(&clusters[0]), ["b 3", "d 1"]);
    assert_eq!(hosts(&clusters[1]), ["a 1", "c 5"]);
    assert_eq!(hosts(&clusters[2]), ["b 150", "d 50", "a 2", "c 2"]);
    for (cluster, sets_aside) in clusters.iter().zip([true, true, false, false]) {
        let name = &cluster["name"];
        assert_eq!(
            cluster.get("outlier_detection").is_some(),
            sets_aside,
            "{name}"
        );
    }
}

#[test]
fn failover_is_as_the_document_says() {
    let failover = Failover {
        failures: 4,
        set_aside_seconds: 20,
        ..Failover::default_for(3)
    };
    let three = [("a", 0, 1), ("b", 1, 1), ("c", 1, 1)];
    let clusters = clusters("g", &accounts(&three, failover), Path::new("/filter.wasm"));
    let tier = &clusters[0]["outlier_detection"];
    assert_eq!(tier["consecutive_5xx"], 4);
    assert_eq!(tier["base_ejection_time"], "20s");
    assert_eq!(tier["max_ejection_time"], "120s");
    let options = &clusters[3]["typed_extension_protocol_options"];
    let policy = &options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]["retry_policy"];
    let leaves = &policy["retry_priority"]["typed_config"]["update_frequency"];
    assert_eq!(leaves, 2, "the largest tier");
    assert_eq!(
        policy["num_retries"], 16,
        "choices, most of which the filter passes over"
    );
}

#[test]
fn a_light_account_is_drawn_for_longer() {
    let draws = |of: &[(&str, u32, u32)]| {
        let accounts = accounts(of, Failover::default_for(of.len()));
        super::draws(&last_resort(&tiers(&accounts.accounts)))
    };
    assert_eq!(draws(&[("a", 0, 1), ("b", 0, 1)]), 1000);
    assert_eq!(
        draws(&[("a", 0, 1), ("b", 0, 1), ("c", 1, 1), ("d", 1, 1)]),
        2040
    );
    assert_eq!(draws(&[("a", 0, 1000), ("b", 0, 1)]), 10_000);
}
