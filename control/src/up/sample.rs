//! The sample document, its credentials, and keys that work with it.

use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::document::DocumentSummary;
use crate::data_directory::DataDirectory;
use crate::host_port::HostPort;

/// The document. Its accounts are simulators at these hosts.
#[cfg(feature = "demo")]
const DOCUMENT: &str = include_str!("../../../envoy/gateway.json");
const HOSTS: [&str; 3] = ["upstream", "upstream-2", "upstream-3"];
/// The ports of its simulators, by cluster.
pub const SOURCES: [(&str, u16); 4] = [
    ("a_official", 9101),
    ("b_official", 9102),
    ("b_low_rate", 9103),
    ("c_official", 9104),
];
/// The credentials of its accounts: placeholders.
#[cfg(feature = "demo")]
const CREDENTIALS: [(&str, &str); 6] = [
    (
        "a-official-1",
        include_str!("../../../envoy/credentials/a-official-1"),
    ),
    (
        "a-official-2",
        include_str!("../../../envoy/credentials/a-official-2"),
    ),
    (
        "a-official-reserve",
        include_str!("../../../envoy/credentials/a-official-reserve"),
    ),
    (
        "b-official-1",
        include_str!("../../../envoy/credentials/b-official-1"),
    ),
    (
        "b-official-2",
        include_str!("../../../envoy/credentials/b-official-2"),
    ),
    (
        "c-official-1",
        include_str!("../../../envoy/credentials/c-official-1"),
    ),
];
/// The values of its keys, of which it has the digests. They are public: good for nothing but examples.
const KEYS: [&str; 5] = [
    "trilane-demo-a",
    "trilane-demo-b",
    "trilane-demo-b-low",
    "trilane-demo-mixed",
    "trilane-demo-c",
];

/// Writes document and credentials into a data directory, those that are not there.
///
/// # Errors
/// As the system gives them.
#[cfg(feature = "demo")]
pub fn write(data: &DataDirectory) -> io::Result<()> {
    for (name, credential) in CREDENTIALS {
        if !data.credentials().join(name).exists() {
            data.write_credential(name, credential)?;
        }
    }
    crate::files::replace(data.root(), "gateway.json", DOCUMENT)
}

/// Writes nothing.
///
/// # Errors
/// Always: this program was built without the sample.
#[cfg(not(feature = "demo"))]
pub fn write(_: &DataDirectory) -> io::Result<()> {
    Err(io::Error::other(
        "this program was built without the sample (its feature `demo`)",
    ))
}

/// The authorities in the sample document, and others that stand in for them, by cluster.
pub fn aliases(addresses: &[(&'static str, HostPort, String)]) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for (source, address, _) in addresses {
        let ports = SOURCES.iter().filter(|(name, _)| name == source);
        for (_, port) in ports {
            let pair = |host: &&str| (format!("{host}:{port}"), address.to_string());
            aliases.extend(HOSTS.iter().map(pair));
        }
    }
    aliases
}

/// A key of the sample document that is valid in a document.
#[derive(Debug, PartialEq, Eq)]
pub struct SampleKey {
    /// The value of the key.
    pub value: &'static str,
    /// The group that it may use.
    pub group: String,
}

/// Those that are valid in a document.
pub fn keys(document: &Path) -> Vec<SampleKey> {
    let document = DocumentSummary::read(document);
    let valid = |value: &&'static str| {
        let digest = hex::encode(Sha256::digest(value.as_bytes()));
        let mut keys = document.keys.iter();
        let key =
            keys.find(|key| key.sha256 == digest && !key.disabled && key.expires_at.is_none())?;
        let group = key.group.clone();
        Some(SampleKey { value, group })
    };
    KEYS.iter().filter_map(valid).collect()
}

/// One request for each protocol, if their keys are there. The second one streams, slowly enough to watch if a simulator answers.
pub fn requests(keys: &[SampleKey], gateway: &HostPort, simulated: bool) -> Option<[String; 3]> {
    let key = |value: &str| {
        keys.iter()
            .find(|key| key.value == value)
            .map(|key| key.value)
    };
    let (a, b, c) = (
        key("trilane-demo-a")?,
        key("trilane-demo-b")?,
        key("trilane-demo-c")?,
    );
    let pace = if simulated {
        " -H 'x-sim-gap-ms: 200'"
    } else {
        ""
    };
    let hello = r#"[{"role":"user","content":"Hello"}]"#;
    Some([
        format!(
            "curl http://{gateway}/v1/chat/completions -H 'authorization: Bearer {a}' -H 'content-type: application/json' \
             -d '{{\"model\":\"gpt-5.1\",\"messages\":{hello}}}'"
        ),
        format!(
            "curl -N http://{gateway}/v1/messages -H 'x-api-key: {b}' -H 'anthropic-version: 2023-06-01' \
             -H 'content-type: application/json'{pace} \
             -d '{{\"model\":\"claude-opus-4-5\",\"max_tokens\":256,\"stream\":true,\"messages\":{hello}}}'"
        ),
        format!(
            "curl http://{gateway}/v1beta/models/gemini-2.5-flash:generateContent -H 'x-goog-api-key: {c}' \
             -H 'content-type: application/json' -d '{{\"contents\":[{{\"role\":\"user\",\"parts\":[{{\"text\":\"Hello\"}}]}}]}}'"
        ),
    ])
}

#[cfg(all(test, feature = "demo"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_sample() {
        let place = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(place.path().to_owned());
        data.create().unwrap();
        data.write_credential("a-official-1", "mine").unwrap();
        write(&data).unwrap();
        let own = fs::read_to_string(data.credentials().join("a-official-1")).unwrap();
        assert_eq!(own, "mine", "what is there stays");
        let files = fs::read_dir(data.credentials()).unwrap().count();
        assert_eq!(files, CREDENTIALS.len());
        let keys = keys(&data.document());
        let groups: Vec<&str> = keys.iter().map(|key| key.group.as_str()).collect();
        assert_eq!(
            groups,
            [
                "a-official",
                "b-official",
                "b-low-rate",
                "mixed",
                "c-official"
            ]
        );
        let gateway = HostPort::loopback(1);
        assert!(requests(&keys, &gateway, true).unwrap()[1].contains("x-sim-gap-ms"));
        assert!(!requests(&keys, &gateway, false).unwrap()[1].contains("x-sim"));
        assert_eq!(requests(&keys[1..], &gateway, true), None);
        fs::write(data.document(), "{}").unwrap();
        assert_eq!(super::keys(&data.document()), []);
    }

    #[test]
    fn every_account_has_a_stand_in() {
        let all =
            aliases(&SOURCES.map(|(name, port)| (name, HostPort::loopback(port), String::new())));
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        let groups = document["groups"].as_array().unwrap();
        let accounts = groups
            .iter()
            .flat_map(|group| group["accounts"].as_array().into_iter().flatten());
        let mut count = 0;
        for account in accounts {
            let authority = account["url"]
                .as_str()
                .unwrap()
                .strip_prefix("http://")
                .unwrap();
            assert!(all.iter().any(|(from, _)| from == authority), "{authority}");
            count += 1;
        }
        assert_eq!(count, CREDENTIALS.len());
    }
}
