//! `trilane envoy-config`: what differs from envoy.yaml in each mode, and nothing else.

mod mesh;

use std::fs;
use std::path::Path;

use serde::Deserialize as _;
use yaml_serde::Value;

use crate::desk::Desk;

const ORIGINAL: &str = include_str!("../../../envoy/envoy.yaml");
/// The clusters that lead to simulators, and their host.
const OF_THE_DEMO: [&str; 5] = [
    "a_official",
    "b_official",
    "b_low_rate",
    "c_official",
    "upstream",
];

/// A file of `envoy/`.
fn kept(file: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../envoy");
    fs::read_to_string(directory.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn config(desk: &Desk, args: &[&str]) -> Value {
    let ran = desk.run(&[&["envoy-config"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    yaml_serde::from_str(&ran.out).unwrap()
}

fn named<'a>(config: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    let all = config["static_resources"][list].as_sequence().unwrap();
    all.iter().find(|each| each["name"] == name)
}

fn names(config: &Value, list: &str) -> Vec<String> {
    let all = config["static_resources"][list].as_sequence().unwrap();
    let names = all.iter().map(|each| each["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

fn manager<'a>(config: &'a Value, listener: &str) -> &'a Value {
    &named(config, "listeners", listener).unwrap()["filter_chains"][0]["filters"][0]["typed_config"]
}

/// All values of a key, wherever it is.
fn values<'a>(config: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match config {
        Value::Mapping(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text) if name == key => found.push(text),
                    _ => values(value, key, found),
                }
            }
        }
        Value::Sequence(elements) => elements.iter().for_each(|each| values(each, key, found)),
        _ => {}
    }
}

#[test]
fn a_container_with_simulators_has_the_original() {
    let desk = Desk::new();
    let original: Value = yaml_serde::from_str(ORIGINAL).unwrap();
    assert_eq!(config(&desk, &["--mode", "compose", "--demo"]), original);
}

/// Every text in a value, names of members too.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Mapping(members) => members.iter().for_each(|(name, member)| {
            texts(name, found);
            texts(member, found);
        }),
        Value::Sequence(elements) => elements.iter().for_each(|each| texts(each, found)),
        _ => {}
    }
}

/// Finds the parts of the demo in a text of YAML documents.
fn of_the_demo(text: &str) -> Vec<&'static str> {
    let documents = yaml_serde::Deserializer::from_str(text);
    let documents: Vec<Value> = documents
        .map(|document| Value::deserialize(document).unwrap())
        .collect();
    let mut found = Vec::new();
    documents.iter().for_each(|each| texts(each, &mut found));
    let is_there = |name: &&str| found.contains(name);
    OF_THE_DEMO.into_iter().filter(is_there).collect()
}

#[test]
fn nothing_of_the_demo_is_in_production() {
    let desk = Desk::new();
    let print = |args: &[&str]| {
        let ran = desk.run(&[&["envoy-config", "--data", "/data", "--mode"], args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran.out
    };
    for mode in ["laptop", "sidecar", "compose", "helm"] {
        let limits = ["--limits-service", "limits:8081"];
        for args in [&[mode][..], &[&[mode], &limits[..]].concat()] {
            assert_eq!(of_the_demo(&print(args)), [""; 0], "{args:?}");
        }
        let demo = of_the_demo(&print(&[mode, "--demo"]));
        assert_eq!(demo, OF_THE_DEMO, "{mode}: they would be found");
    }
    for (mode, part, file) in mesh::RESOURCES {
        let printed = print(&[mode, "--part", part]);
        assert_eq!(of_the_demo(&printed), [""; 0], "{mode} {part}");
        assert_eq!(of_the_demo(&kept(file)), [""; 0], "{file}");
    }
    let chart = kept("helm/trilane/files/envoy.yaml");
    assert_eq!(of_the_demo(&chart), [""; 0], "the chart");
}

#[test]
fn the_charts_configuration_is_what_is_printed() {
    let ran = Desk::new().run(&["envoy-config", "--mode", "helm"]);
    let chart = kept("helm/trilane/files/envoy.yaml");
    assert!(ran.out == chart, "run `make chart`");
}

#[test]
fn beside_an_agent_nothing_is_watched() {
    let desk = Desk::new();
    let args = [
        "--mode",
        "sidecar",
        "--ads-socket",
        "/run/trilane/here.sock",
    ];
    let ran = desk.run(&[&["envoy-config"], &args[..], &["--agent", "127.0.0.1:7"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    for word in ["path_config_source", "watched_directory", "config_document"] {
        assert!(!ran.out.contains(word), "{word}");
    }
    let config: Value = yaml_serde::from_str(&ran.out).unwrap();
    let address = |name: &str| {
        let cluster = named(&config, "clusters", name).unwrap();
        &cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]
    };
    assert_eq!(
        address("trilane_ads")["pipe"]["path"],
        "/run/trilane/here.sock"
    );
    for name in ["config_source", "trilane_agent"] {
        assert_eq!(address(name)["socket_address"]["port_value"], 7, "{name}");
    }
    for (case, more) in [
        ("no agent", &[][..]),
        (
            "files too",
            &["--agent", "127.0.0.1:7", "--upstreams", "/u"],
        ),
        (
            "a document too",
            &["--agent", "127.0.0.1:7", "--document", "/d"],
        ),
    ] {
        let ran = desk.run(&[&["envoy-config"], &args[..], more].concat());
        assert_eq!(ran.code, 2, "{case}: {ran:?}");
    }
}

#[test]
fn the_modes() {
    let desk = Desk::new();
    let production = ["gateway", "account_hop", "egress", "config_document"];
    let with_tls = [
        "gateway",
        "gateway_tls",
        "account_hop",
        "egress",
        "config_document",
    ];
    for (mode, host, listeners, filter, logger) in [
        (
            "laptop",
            "127.0.0.1",
            &production[..],
            "/data/run/filter/trilane.wasm",
            "envoy.access_loggers.file",
        ),
        (
            "sidecar",
            "127.0.0.1",
            &production,
            "/etc/trilane/filter/trilane.wasm",
            "envoy.access_loggers.stdout",
        ),
        (
            "compose",
            "0.0.0.0",
            &with_tls,
            "/etc/trilane/filter/trilane.wasm",
            "envoy.access_loggers.stdout",
        ),
        (
            "helm",
            "0.0.0.0",
            &with_tls,
            "/etc/trilane/filter/trilane.wasm",
            "envoy.access_loggers.stdout",
        ),
    ] {
        let config = config(&desk, &["--mode", mode, "--data", "/data"]);
        assert_eq!(names(&config, "listeners"), listeners, "{mode}");
        let gateway = named(&config, "listeners", "gateway").unwrap();
        assert_eq!(
            gateway["address"]["socket_address"]["address"], host,
            "{mode}"
        );
        assert_eq!(
            config["admin"]["address"]["socket_address"]["address"], "127.0.0.1",
            "{mode}"
        );
        let mut files = Vec::new();
        values(&config, "filename", &mut files);
        let filters = files.iter().filter(|file| file.ends_with(".wasm"));
        assert!(
            filters.clone().count() >= 4,
            "{mode}: loader, filter, attempts, tries"
        );
        assert!(
            filters.clone().all(|file| *file == filter),
            "{mode}: {files:?}"
        );
        assert_eq!(
            manager(&config, "gateway")["access_log"][0]["name"],
            logger,
            "{mode}"
        );
    }
}

#[test]
fn every_option_changes_its_place() {
    let desk = Desk::new();
    let config = config(
        &desk,
        &[
            "--mode",
            "laptop",
            "--data",
            "/data",
            "--listen",
            "0.0.0.0:1",
            "--tls-listen",
            "[::1]:2",
            "--admin",
            "127.0.0.1:3",
            "--document-listen",
            "127.0.0.1:4",
            "--filter",
            "/f.wasm",
            "--document",
            "/d/x.json",
            "--upstreams",
            "/u",
            "--certs",
            "/c",
            "--ledger",
            "/l.jsonl",
        ],
    );
    let address = |value: &Value| {
        let socket = &value["address"]["socket_address"];
        format!(
            "{} {}",
            socket["address"].as_str().unwrap(),
            socket["port_value"].as_u64().unwrap()
        )
    };
    assert_eq!(address(&config["admin"]), "127.0.0.1 3");
    for (listener, want) in [
        ("gateway", "0.0.0.0 1"),
        ("gateway_tls", "::1 2"),
        ("config_document", "127.0.0.1 4"),
    ] {
        assert_eq!(
            address(named(&config, "listeners", listener).unwrap()),
            want
        );
    }
    let source = named(&config, "clusters", "config_source").unwrap();
    assert_eq!(
        address(&source["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]),
        "127.0.0.1 4"
    );
    for listener in ["gateway", "gateway_tls"] {
        let logger = &manager(&config, listener)["access_log"][0]["typed_config"];
        assert_eq!(logger["path"], "/l.jsonl", "{listener}");
        let original: Value = yaml_serde::from_str(ORIGINAL).unwrap();
        let format = &manager(&original, listener)["access_log"][0]["typed_config"]["log_format"];
        assert_eq!(&logger["log_format"], format, "{listener}: the same line");
    }
    let mut files = Vec::new();
    values(&config, "filename", &mut files);
    files.sort_unstable();
    files.dedup();
    assert_eq!(
        files,
        ["/c/server.crt", "/c/server.key", "/d/x.json", "/f.wasm"]
    );
    let mut watched = Vec::new();
    values(&config, "path", &mut watched);
    for path in ["/d", "/u/clusters", "/u/clusters/clusters.json", "/l.jsonl"] {
        assert!(watched.contains(&path), "{path}: {watched:?}");
    }
    assert!(
        !watched.iter().any(|path| path.starts_with("/data")),
        "{watched:?}"
    );
}

#[test]
fn a_limits_service_is_asked_on_every_listener() {
    let desk = Desk::new();
    let config = config(
        &desk,
        &["--mode", "compose", "--limits-service", "[::1]:8081"],
    );
    for listener in ["gateway", "gateway_tls"] {
        let filters = manager(&config, listener)["http_filters"]
            .as_sequence()
            .unwrap();
        let names: Vec<&str> = filters
            .iter()
            .map(|each| each["name"].as_str().unwrap())
            .collect();
        let end = [
            "trilane",
            "limits_service_open",
            "limits_service_closed",
            "envoy.filters.http.router",
        ];
        assert!(names.ends_with(&end), "{listener}: {names:?}");
        let filter = filters
            .iter()
            .find(|each| each["name"] == "trilane")
            .unwrap();
        let declared = &filter["typed_config"]["config"]["configuration"]["value"];
        assert_eq!(declared, "{\"limits_service\": true}", "{listener}");
    }
    let cluster = named(&config, "clusters", "limits_service").unwrap();
    let endpoint = &cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"];
    assert_eq!(endpoint["address"]["socket_address"]["address"], "::1");
    assert_eq!(endpoint["address"]["socket_address"]["port_value"], 8081);
}

#[test]
fn an_original_without_a_place_is_refused_by_its_name() {
    let desk = Desk::new();
    for (lacks, becomes, want) in [
        (
            "- name: gateway_tls",
            "- name: another",
            "there is no static_resources > listeners > gateway_tls. ",
        ),
        (
            "- name: config_document\n",
            "- name: another\n",
            "there is no static_resources > listeners > config_document. ",
        ),
        (
            "- name: b_low_rate",
            "- name: another",
            "there is no static_resources > clusters > b_low_rate. ",
        ),
        (
            "    path_config_source:",
            "    path_config_sourcery:",
            "there is no dynamic_resources > cds_config > path_config_source. ",
        ),
        (
            "code: {local: {filename:",
            "code: {remote: {filename:",
            "there is no vm_config > code > local. ",
        ),
        (
            "  address: {socket_address: {address: 127.0.0.1, port_value: 9901}}",
            "  profile_path: x",
            "there is no admin > address. ",
        ),
    ] {
        let text = ORIGINAL.replace(lacks, becomes);
        assert_ne!(text, ORIGINAL, "{lacks}");
        desk.write("own.yaml", &text);
        let ran = desk.run(&[
            "envoy-config",
            "--mode",
            "sidecar",
            "--original",
            "own.yaml",
            "--out",
            "out.yaml",
        ]);
        assert_eq!(ran.code, 1, "{lacks}: {ran:?}");
        assert!(
            ran.err.contains(&format!("own.yaml: {want}")),
            "{lacks}: {}",
            ran.err
        );
        assert!(
            !desk.names().contains(&"out.yaml".to_owned()),
            "nothing is written"
        );
    }
    desk.write("own.yaml", "a: [");
    let ran = desk.run(&[
        "envoy-config",
        "--mode",
        "sidecar",
        "--original",
        "own.yaml",
    ]);
    assert!(
        ran.code == 1 && ran.err.contains("own.yaml is no YAML"),
        "{ran:?}"
    );
    let ran = desk.run(&[
        "envoy-config",
        "--mode",
        "sidecar",
        "--original",
        "missing.yaml",
    ]);
    assert!(
        ran.code == 2 && ran.err.contains("cannot read missing.yaml"),
        "{ran:?}"
    );
}

#[test]
fn a_file_is_written_whole() {
    let desk = Desk::new();
    let ran = desk.run(&["envoy-config", "--mode", "sidecar", "--out", "envoy.yaml"]);
    assert!(ran.code == 0 && ran.out.is_empty(), "{ran:?}");
    let written: Value = yaml_serde::from_str(&desk.read("envoy.yaml")).unwrap();
    assert_eq!(written, config(&desk, &["--mode", "sidecar"]));
}
