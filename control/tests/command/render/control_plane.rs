//! `--control-plane`: the clusters as a resource for `kubectl apply`.

use serde_json::Value;

use super::keeping::{by_hand, names};
use super::site::Site;

/// The names of the clusters in a resource, in its order.
fn patched(site: &Site, file: &str, patches: &str, cluster: &str) -> Vec<String> {
    let resource: &Value = &site.rendered()[file];
    let patches = resource.pointer(patches).unwrap().as_array().unwrap();
    let name = |patch: &Value| patch.pointer(cluster).unwrap()["name"].clone();
    patches
        .iter()
        .map(|patch| name(patch).as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_resource_has_the_clusters_of_the_file() {
    for (plane, file, patches, cluster) in [
        (
            "istio",
            "envoyfilter.json",
            "/spec/configPatches",
            "/patch/value",
        ),
        (
            "envoy-gateway",
            "envoypatchpolicy.json",
            "/spec/jsonPatches",
            "/operation/value",
        ),
    ] {
        let site = Site::new();
        let options = ["--control-plane", plane];
        let line = format!("wrote /site/out/{file}\n");
        let checked = site.render(&[&options[..], &["--check"]].concat());
        assert!(
            checked
                .out
                .contains(&format!("would {}", line.replace("wrote", "write"))),
            "{checked:?}"
        );
        assert!(site.texts().is_empty(), "--check writes nothing");
        let ran = site.render(&options);
        assert!(ran.code == 0 && ran.out.contains(&line), "{ran:?}");
        let several = format!(
            "note: a group has several accounts: a request whose first account fails gets 502 until the gateway has \
             envoy/{plane}/failover.yaml"
        );
        assert!(ran.err.contains(&several), "{ran:?}");
        assert_eq!(
            patched(&site, file, patches, cluster),
            names(&site),
            "{plane}"
        );
        assert!(
            site.render(&options).out.contains("nothing to change"),
            "{plane}"
        );

        site.change(|document| by_hand(document, "many:4.5"));
        site.render(&[&options[..], &["--keep"]].concat());
        let kept = patched(&site, file, patches, cluster);
        assert_eq!(kept, names(&site), "{plane}");
        let single = site.render(&options);
        assert!(!single.err.contains("failover.yaml"), "{single:?}");
        let left = patched(&site, file, patches, cluster);
        assert_eq!(left, ["source/alone"], "{plane}");
        assert!(kept.len() > left.len(), "{plane}");
    }
}

#[test]
fn an_unknown_one_is_refused_with_the_known_ones() {
    let ran = Site::new().render(&["--control-plane", "consul"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("istio, envoy-gateway"), "{ran:?}");
}
