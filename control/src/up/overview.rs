//! The overview of addresses and files, once the gateway is ready.

use std::collections::BTreeSet;
use std::path::Path;

use super::document::{DocumentSummary, GroupSummary};
use super::prepare::PreparedGateway;
use super::sample::{self, SampleKey};
use crate::host_port::HostPort;

/// The lines: what a person needs first, and the rest with `--verbose`.
pub fn lines(gateway: &PreparedGateway, admin: &HostPort, envoy: u32) -> Vec<String> {
    let plan = &gateway.plan;
    let address = plan.reached_at(gateway.port.number);
    let mut lines = vec![String::new(), "trilane is ready".to_owned(), String::new()];
    lines.push(item(
        "gateway",
        &format!("http://{address}{}", tls(gateway)),
    ));
    match &gateway.console {
        None => {
            let document = plan.document.display();
            let text = format!("{document} (save it, and it takes effect)");
            lines.push(item("document", &text));
        }
        Some(link) => {
            lines.push(item("console", &link.url.to_string()));
            if let Some(sign_in) = &link.sign_in {
                let text = format!("{sign_in} (once, within an hour)");
                lines.push(item("sign in", &text));
            }
        }
    }
    let keys = sample::keys(&plan.document);
    if plan.verbose {
        lines.extend(rest(gateway, admin, envoy));
        lines.extend(sample_keys(&keys));
    }
    match sample::requests(&keys, &address, !gateway.simulators().is_empty()) {
        Some(requests) => {
            lines.extend(["", "try (the second one streams)", ""].map(str::to_owned));
            for request in requests {
                lines.extend([format!("  {request}"), String::new()]);
            }
        }
        None => {
            let text = "use a key of your document (it has only their digests; `trilane key create` makes one)";
            lines.extend([String::new(), text.to_owned(), String::new()]);
        }
    }
    let more = if plan.verbose {
        ""
    } else {
        " Addresses, files and processes: -v."
    };
    lines.push(format!("Ctrl-C ends everything.{more}"));
    lines
}

fn item(name: &str, text: &str) -> String {
    format!("  {name:<10} {text}")
}

/// The address of the listener for TLS, if there is one.
fn tls(gateway: &PreparedGateway) -> String {
    gateway.tls_port.as_ref().map_or_else(String::new, |port| {
        let authority = gateway.plan.data.certs().join("ca.crt");
        let trust = if gateway.plan.verbose && authority.exists() {
            format!(" (trust {})", authority.display())
        } else {
            String::new()
        };
        format!("   https://localhost:{}{trust}", port.number)
    })
}

/// The addresses and files that few need.
fn rest(gateway: &PreparedGateway, admin: &HostPort, envoy: u32) -> Vec<String> {
    let plan = &gateway.plan;
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| lines.push(item(name, &text));
    if let Some(link) = &gateway.console {
        add(
            "document",
            format!("{} (from the console)", plan.document.display()),
        );
        if let Some(token) = &link.admin_token {
            add("token", format!("{} (an admin's)", token.display()));
        }
    }
    add("admin", format!("http://{admin}"));
    for (source, address, _) in gateway.simulators() {
        add("simulator", format!("http://{address} ({source})"));
    }
    let accounts = accounts(&plan.document);
    for (number, line) in accounts.iter().enumerate() {
        add(if number == 0 { "accounts" } else { "" }, line.clone());
    }
    if !accounts.is_empty() {
        let credentials = plan.credentials.display();
        let text =
            format!("(credentials in {credentials}: rename a new file into place, and it is used)");
        add("", text);
    }
    let supervisor = std::process::id();
    let version = &plan.envoy.version;
    add(
        "processes",
        format!("trilane {supervisor}, Envoy {version} {envoy}"),
    );
    let ledger = plan.ledger.display();
    add("ledger", format!("{ledger} (one line a request)"));
    add("log", plan.run.envoy_log().display().to_string());
    lines
}

/// The keys of the sample document that are valid.
fn sample_keys(keys: &[SampleKey]) -> Vec<String> {
    if keys.is_empty() {
        return Vec::new();
    }
    let key = |key: &SampleKey| format!("  {:<27} {}", key.value, key.group);
    let title = ["", "keys of the sample document", ""].map(str::to_owned);
    title.into_iter().chain(keys.iter().map(key)).collect()
}

/// A line for each source: its accounts in the order of their priorities.
fn accounts(document: &Path) -> Vec<String> {
    let line = |group: &GroupSummary| {
        let tiers: BTreeSet<u32> = group.accounts.iter().map(|each| each.priority).collect();
        let tier = |tier: &u32| {
            let of_tier = group.accounts.iter().filter(|each| each.priority == *tier);
            let ids: Vec<&str> = of_tier.map(|each| each.id.as_str()).collect();
            ids.join(", ")
        };
        let tiers: Vec<String> = tiers.iter().map(tier).collect();
        format!("{}: {}", group.id, tiers.join(", then "))
    };
    DocumentSummary::read(document).groups().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_by_priority() {
        let place = tempfile::tempdir().unwrap();
        let document = place.path().join("gateway.json");
        let text = r#"{"groups": [
            {"id": "s", "accounts": [{"id": "a", "priority": 2}, {"id": "b"}, {"id": "c"}]},
            {"id": "t"}
        ]}"#;
        std::fs::write(&document, text).unwrap();
        assert_eq!(accounts(&document), ["s: b, c, then a"]);
        std::fs::write(&document, "{").unwrap();
        assert!(accounts(&document).is_empty());
    }
}
