//! Whether Envoy takes what is rendered: `ENVOY=path/to/envoy cargo test … -- --ignored`.

use std::process::Command;

use serde_json::{Value, json};

use super::site::Site;

#[test]
#[ignore = "needs ENVOY=, the path of an Envoy"]
fn envoy_accepts_every_cluster() {
    let envoy = std::env::var_os("ENVOY").expect("ENVOY= is the path of an Envoy");
    let site = Site::new();
    let ran = site.render(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = &site.texts()["clusters/clusters.json"];
    let file: Value = serde_json::from_str(text).unwrap();
    // Validation reads no dynamic resources, so the clusters stand among the static ones.
    let mut clusters = file["resources"].clone();
    for cluster in clusters.as_array_mut().unwrap() {
        let filters = "/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions/http_filters";
        // The end-to-end tests run it; here is none.
        if let Some(Value::Array(filters)) = cluster.pointer_mut(filters) {
            filters.retain(|filter| filter["name"] != "envoy.filters.http.wasm");
        }
        let kind = cluster.as_object_mut().unwrap().remove("@type");
        assert_eq!(
            kind,
            Some(json!("type.googleapis.com/envoy.config.cluster.v3.Cluster"))
        );
    }
    let bootstrap = json!({
        "node": {"id": "test", "cluster": "test"},
        "bootstrap_extensions": [{
            "name": "envoy.bootstrap.internal_listener",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener",
            },
        }],
        "static_resources": {"clusters": clusters},
    });
    site.write("bootstrap.json", &bootstrap.to_string());
    // Unknown fields are refused, which Envoy would only warn of in dynamic resources.
    let output = Command::new(envoy)
        .args(["--mode", "validate", "-c"])
        .arg(site.path("bootstrap.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
