//! The files for Istio and Envoy Gateway: those that are kept, and what changes them.

use super::{ORIGINAL, kept};
use crate::desk::Desk;

/// Each resource: the mode, the part, and the file in `envoy/`.
pub const RESOURCES: [(&str, &str, &str); 6] = [
    ("istio", "gateway", "istio/envoyfilter.yaml"),
    ("istio", "failover", "istio/failover.yaml"),
    ("istio", "bootstrap", "istio/bootstrap.yaml"),
    (
        "envoy-gateway",
        "gateway",
        "envoy-gateway/envoypatchpolicy.yaml",
    ),
    ("envoy-gateway", "failover", "envoy-gateway/failover.yaml"),
    (
        "envoy-gateway",
        "bootstrap",
        "envoy-gateway/envoyproxy.yaml",
    ),
];

fn resource(desk: &Desk, mode: &str, part: &str, more: &[&str]) -> String {
    let ran = desk.run(&[&["envoy-config", "--mode", mode, "--part", part], more].concat());
    assert_eq!(ran.code, 0, "{mode} {part}: {}", ran.err);
    ran.out
}

#[test]
fn the_files_that_are_kept_are_what_is_printed() {
    let desk = Desk::new();
    for (mode, part, file) in RESOURCES {
        let printed = resource(&desk, mode, part, &[]);
        assert!(printed == kept(file), "envoy/{file}: run `make chart`");
    }
    let ran = desk.run(&["envoy-config", "--mode", "istio"]);
    assert!(ran.out == kept("istio/envoyfilter.yaml"), "without --part");
}

#[test]
fn each_is_taken_from_the_original() {
    let desk = Desk::new();
    for (becomes, changed) in [
        (
            ("stream_idle_timeout: 600s", "stream_idle_timeout: 601s"),
            &[
                "istio/envoyfilter.yaml",
                "envoy-gateway/envoypatchpolicy.yaml",
            ][..],
        ),
        (
            ("[200, 500, 1000, 2000,", "[201, 500, 1000, 2000,"),
            &["istio/bootstrap.yaml", "envoy-gateway/envoyproxy.yaml"],
        ),
        (
            ("root_id: attempts", "root_id: attempts_of_another_name"),
            &["istio/failover.yaml", "envoy-gateway/failover.yaml"],
        ),
    ] {
        let text = ORIGINAL.replace(becomes.0, becomes.1);
        assert_ne!(text, ORIGINAL, "{becomes:?}");
        desk.write("own.yaml", &text);
        for (mode, part, file) in RESOURCES {
            let own = resource(&desk, mode, part, &["--original", "own.yaml"]);
            let differs = own != resource(&desk, mode, part, &[]);
            assert_eq!(differs, changed.contains(&file), "{becomes:?}: {file}");
        }
    }
}

#[test]
fn an_original_without_a_place_is_refused_by_its_name() {
    let desk = Desk::new();
    for (lacks, becomes, want) in [
        (
            "- name: egress",
            "- name: another",
            "static_resources > listeners > egress",
        ),
        (
            "- name: account/hop",
            "- name: another",
            "static_resources > clusters > account/hop",
        ),
        ("- name: zstd", "- name: another", "http_filters > zstd"),
        ("stats_config:", "other_config:", "stats_config"),
    ] {
        let text = ORIGINAL.replace(lacks, becomes);
        assert_ne!(text, ORIGINAL, "{lacks}");
        desk.write("own.yaml", &text);
        for mode in ["istio", "envoy-gateway"] {
            let ran = desk.run(&["envoy-config", "--mode", mode, "--original", "own.yaml"]);
            assert!(ran.code == 1 && ran.out.is_empty(), "{lacks}: {ran:?}");
            let want = format!("own.yaml: there is no {want}. ");
            assert!(ran.err.contains(&want), "{lacks}: {}", ran.err);
        }
    }
}

#[test]
fn the_filter_is_where_the_options_say() {
    let desk = Desk::new();
    let image = ["--image", "registry.internal/filter:7"];
    let filter = resource(&desk, "istio", "gateway", &image);
    assert_eq!(
        filter.matches("oci://registry.internal/filter:7\n").count(),
        1
    );
    assert!(!filter.contains("registry.example"), "{filter}");
    for mode in ["istio", "envoy-gateway"] {
        let failover = resource(&desk, mode, "failover", &["--filter", "/opt/filter.wasm"]);
        let named = failover.matches("filename: /opt/filter.wasm\n").count();
        assert_eq!(named, failover.matches("filename: ").count(), "{mode}");
        assert!(named >= 2, "{mode}: {failover}");
    }
}

#[test]
fn an_option_without_an_effect_is_refused() {
    let desk = Desk::new();
    for (args, option) in [
        (&["istio", "--listen", "0.0.0.0:1"][..], "--listen"),
        (&["istio", "--no-tls"], "--no-tls"),
        (&["istio", "--demo"], "--demo"),
        (&["envoy-gateway", "--ledger", "-"], "--ledger"),
        (
            &["envoy-gateway", "--limits-service", "a:1"],
            "--limits-service",
        ),
        (&["envoy-gateway", "--image", "a"], "--image"),
        (&["istio", "--part", "failover", "--image", "a"], "--image"),
        (&["sidecar", "--part", "failover"], "--part"),
        (&["helm", "--image", "a"], "--image"),
    ] {
        let ran = desk.run(&[&["envoy-config", "--mode"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        let want = format!(
            "{option} has no effect on what --mode {} prints here",
            args[0]
        );
        assert!(ran.err.contains(&want), "{args:?}: {}", ran.err);
    }
}
