//! Checks that Envoy can watch all files: without an inotify instance for one it aborts, requests or not.

use std::fs;

/// The number of instances that each user of this host may have.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";
/// Instances for Envoy's other watches (clusters, the document), and for other programs of its user.
const RESERVE: u64 = 16;
/// Instances for each secret: one for its SDS file, one for the file that this names.
const EACH: u64 = 2;

/// Checks that the instances suffice for `secrets` and for the `outgoing` ones: Envoy adds new clusters before it removes
/// old ones.
///
/// # Errors
/// The number of instances that are needed, and the remedy.
pub fn check(secrets: usize, outgoing: usize, granted: Option<u64>) -> Result<(), String> {
    let here = || fs::read_to_string(LIMIT).ok()?.trim().parse().ok();
    let Some(granted) = granted.or_else(here) else {
        return Ok(()); // no Linux, no inotify
    };
    let number = |of| u64::try_from(of).unwrap_or(u64::MAX);
    let needed = |of: u64| of.saturating_mul(EACH).saturating_add(RESERVE);
    let (secrets, outgoing) = (number(secrets), number(outgoing));
    let both = secrets.saturating_add(outgoing);
    if needed(both) <= granted {
        return Ok(());
    }
    let (needed, of) = if needed(secrets) <= granted {
        (
            needed(both),
            format!(
                "{secrets} credentials and files of authorities together with {outgoing} that are going: take those out of \
                 the document first and the new ones in after that, or"
            ),
        )
    } else {
        (
            needed(secrets),
            format!("{secrets} credentials and files of authorities:"),
        )
    };
    Err(format!(
        "Envoy's user may have {granted} inotify instances, and without enough of them Envoy aborts. It needs {needed} \
         for {of} raise the sysctl fs.inotify.max_user_instances where Envoy runs, and if that is not here, say its \
         value with --inotify-instances"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit() {
        for (case, secrets, going, granted, want) in [
            ("all that fit", 56, 0, 128, None),
            ("one more", 57, 0, 128, Some("It needs 130 for 57 ")),
            ("a higher limit", 57, 0, 1024, None),
            ("an exchange that fits", 28, 28, 128, None),
            (
                "an exchange that does not",
                28,
                29,
                128,
                Some(
                    "It needs 130 for 28 credentials and files of authorities together with 29 that",
                ),
            ),
            (
                "too many in any case",
                57,
                29,
                128,
                Some("It needs 130 for 57 credentials and files of authorities: raise"),
            ),
            ("all are going", 0, 56, 128, None),
        ] {
            let said = check(secrets, going, Some(granted)).err();
            let fits = match want {
                Some(want) => said.as_ref().is_some_and(|said| said.contains(want)),
                None => said.is_none(),
            };
            assert!(fits, "{case}: {said:?}");
        }
    }
}
