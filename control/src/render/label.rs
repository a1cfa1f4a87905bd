//! The names of sources and accounts in Envoy's metrics, secrets and files.
//!
//! An id may have `.` and `:` in it. Envoy splits metric names at dots and rewrites colons, so both are replaced by
//! characters that no id may have: two ids never get the same name. None of these characters has a meaning in a regular
//! expression, a path or statsd.

use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The separator of a name's parts. No id has it.
const JOINT: &str = "~";

/// The name of an account in metrics, and of its secret: `account~<group>~<account>`.
pub fn account(group: &str, account: &str) -> String {
    format!("account{JOINT}{}{JOINT}{}", plain(group), plain(account))
}

/// The name in metrics of an account's proxy: `proxy~<group>~<account>`.
pub fn proxy(group: &str, account: &str) -> String {
    format!("proxy{JOINT}{}{JOINT}{}", plain(group), plain(account))
}

/// The name of the file with a secret: `<group>.<account>.json` of an account's, `ca~<digest>.json` of authorities.
pub fn secret_file(secret: &str) -> String {
    match secret
        .strip_prefix("account")
        .and_then(|rest| rest.strip_prefix(JOINT))
    {
        Some(parts) => format!("{}.json", parts.replace(JOINT, ".")),
        None => format!("{secret}.json"),
    }
}

/// The name of the secret for a file of authorities: `ca~<digest of its path>`, shared by all accounts that use the file.
pub fn authorities(file: &Path) -> String {
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("ca{JOINT}{hex}")
}

/// The same of a credential that was given for one destination: `…~<destination>`. Another destination is another secret, so
/// Envoy never has what it knew of the one for the other.
pub fn account_given(group: &str, account: &str, destination: &str) -> String {
    format!("{}{JOINT}{destination}", self::account(group, account))
}

/// Whether a name is one that this module gives to secrets.
pub fn is_of_a_secret(name: &str) -> bool {
    is_of(name, "account") || is_of_authorities(name)
}

/// Whether a name is one that this module gives to files of authorities.
pub fn is_of_authorities(name: &str) -> bool {
    is_of(name, "ca")
}

fn is_of(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind)
        .is_some_and(|rest| rest.starts_with(JOINT))
}

fn plain(id: &str) -> String {
    id.replace('.', "=").replace(':', "%")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names() {
        assert_eq!(account("claude-4.5", "eu:1"), "account~claude-4=5~eu%1");
        assert_eq!(
            secret_file(&account("b-official", "one")),
            "b-official.one.json"
        );
        let longest = ":".repeat(64);
        let longest = secret_file(&account(&longest, &longest));
        assert!(longest.len() <= 255, "NAME_MAX");
        assert!(is_of_a_secret(&account_given("a", "b", "0")));
        let system = authorities(Path::new("/etc/ssl/certs/ca-certificates.crt"));
        assert_eq!(
            system,
            authorities(Path::new("/etc/ssl/certs/ca-certificates.crt"))
        );
        assert_eq!(secret_file(&system), format!("{system}.json"));
        assert_ne!(system, authorities(Path::new("/etc/ssl/certs/own.crt")));
        assert!(is_of_a_secret(&system) && is_of_a_secret(&account("a", "b")));
        assert!(!is_of_a_secret("account") && !is_of_a_secret("cat~s"));
    }

    proptest! {
        #[test]
        fn different_accounts_have_different_names(
            (a, b, c, d) in ("[ab._:-]{1,4}", "[ab._:-]{1,4}", "[ab._:-]{1,4}", "[ab._:-]{1,4}"),
        ) {
            let same = (&a, &b) == (&c, &d);
            prop_assert_eq!(account(&a, &b) == account(&c, &d), same);
            let name = account(&a, &b);
            prop_assert_eq!(secret_file(&name) == secret_file(&account(&c, &d)), same);
            prop_assert!(!name.contains(['.', '/', ':']), "{}", name);
        }
    }
}
