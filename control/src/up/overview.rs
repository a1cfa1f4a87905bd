//! The overview of addresses and files, once the gateway is ready.

use std::collections::BTreeSet;
use std::path::Path;

use super::document::{DocumentSummary, GroupSummary};
use super::prepare::PreparedGateway;
use super::sample;
use crate::host_port::HostPort;

/// The lines.
pub fn lines(gateway: &PreparedGateway, admin: &HostPort, envoy: u32) -> Vec<String> {
    let plan = &gateway.plan;
    let address = plan.reached_at(gateway.port.number);
    let mut lines = vec![String::new(), "trilane is ready".to_owned(), String::new()];
    let mut item = |name: &str, text: String| lines.push(format!("  {name:<10} {text}"));
    let tls = gateway.tls_port.as_ref().map_or_else(String::new, |port| {
        let authority = gateway.plan.data.certs().join("ca.crt");
        let trust = if authority.exists() {
            format!(" (trust {})", authority.display())
        } else {
            String::new()
        };
        format!("   https://localhost:{}{trust}", port.number)
    });
    item("gateway", format!("http://{address}{tls}"));
    item("admin", format!("http://{admin}"));
    for (source, address, _) in gateway.simulators() {
        item("simulator", format!("http://{address} ({source})"));
    }
    match &gateway.console {
        None => item(
            "document",
            format!("{} (save it, and it takes effect)", plan.document.display()),
        ),
        Some(link) => {
            let token = link.admin_token.as_ref().map(|file| file.display());
            let token =
                token.map_or_else(String::new, |file| format!(" (an admin's token: {file})"));
            item("console", format!("{}{token}", link.url));
            if let Some(sign_in) = &link.sign_in {
                item("sign in", format!("{sign_in} (once, within an hour)"));
            }
            item(
                "document",
                format!("{} (from the console)", plan.document.display()),
            );
        }
    }
    let accounts = accounts(&plan.document);
    for (number, line) in accounts.iter().enumerate() {
        item(if number == 0 { "accounts" } else { "" }, line.clone());
    }
    if !accounts.is_empty() {
        let credentials = plan.credentials.display();
        item(
            "",
            format!("(credentials in {credentials}: rename a new file into place, and it is used)"),
        );
    }
    item(
        "processes",
        format!(
            "trilane {}, Envoy {} {envoy}",
            std::process::id(),
            plan.envoy.version
        ),
    );
    item(
        "ledger",
        format!("{} (one line a request)", plan.ledger.display()),
    );
    item("log", plan.run.envoy_log().display().to_string());
    let keys = sample::keys(&plan.document);
    match sample::requests(&keys, &address, !gateway.simulators().is_empty()) {
        Some(requests) => {
            lines.extend(["", "keys of the sample document", ""].map(str::to_owned));
            for key in &keys {
                lines.push(format!("  {:<27} {}", key.value, key.group));
            }
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
    lines.push("Ctrl-C ends everything.".to_owned());
    lines
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
