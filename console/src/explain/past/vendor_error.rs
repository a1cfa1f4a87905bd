//! The error of a vendor as a ledger line names it, in words.

use serde_json::Value;
use trilane::ledger::AccountFault;

use super::line::LedgerLine;
use crate::language::translated;

/// The meaning of a fault of an account, by its name in the ledger; `None` for one of another release.
pub fn fault(name: &str) -> Option<&'static str> {
    let fault = serde_json::from_value(name.into()).ok()?;
    Some(match fault {
        AccountFault::NoCredit => text!("no credit"),
        AccountFault::DeadKey => text!("credential refused"),
        AccountFault::Region => text!("region not served"),
        AccountFault::Suspended => text!("account closed"),
        AccountFault::NoModel => text!("no such model"),
    })
}

/// The error of a failed attempt: the fault that it is, and the vendor's names for it. `None` where nothing is known of it.
pub fn of_attempt(failed: &Value) -> Option<String> {
    let fault = failed["fault"].as_str().and_then(fault);
    let names = named(|member| failed.get("error")?.get(member)?.as_str());
    match (fault, names) {
        (Some(fault), Some(names)) => Some(t!(
            "{fault}, {names}",
            fault = translated(fault),
            names = names
        )),
        (fault, names) => fault.map(|fault| translated(fault).into_owned()).or(names),
    }
}

/// The error of the response that the request ended with.
pub fn of_line(line: &LedgerLine) -> Option<String> {
    named(|member| line.text(&format!("trilane.upstream_error.{member}")))
}

/// The vendor's words for an error: `type, code (param): message`.
fn named<'a>(member: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let (kind, code) = (member("type"), member("code"));
    let names: Vec<&str> = [kind, code.filter(|_| code != kind)]
        .into_iter()
        .flatten()
        .collect();
    let names = names.join(", ");
    let names = match member("param") {
        Some(param) if names.is_empty() => Some(param.to_owned()),
        Some(param) => Some(format!("{names} ({param})")),
        None => Some(names).filter(|names| !names.is_empty()),
    };
    match (names, member("message")) {
        (Some(names), Some(message)) => Some(format!("{names}: {message}")),
        (names, message) => names.or(message.map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_in_words() {
        for (case, failed, want) in [
            ("nothing", json!({}), None),
            (
                "a fault alone",
                json!({"fault": "no_credit"}),
                Some("no credit"),
            ),
            ("of another release", json!({"fault": "moonlight"}), None),
            (
                "all of it",
                json!({"fault": "no_model", "error": {"type": "a", "code": "b", "param": "c"}}),
                Some("no such model, a, b (c)"),
            ),
            (
                "a code that is the type",
                json!({"error": {"type": "a", "code": "a"}}),
                Some("a"),
            ),
            (
                "a message",
                json!({"error": {"type": "a", "message": "Not so."}}),
                Some("a: Not so."),
            ),
            (
                "a message alone",
                json!({"error": {"message": "Not so."}}),
                Some("Not so."),
            ),
            (
                "a parameter alone",
                json!({"error": {"param": "c"}}),
                Some("c"),
            ),
            (
                "absurd",
                json!({"fault": 1, "error": {"type": {}, "code": 7}}),
                None,
            ),
        ] {
            assert_eq!(of_attempt(&failed).as_deref(), want, "{case}");
        }
    }
}
