//! Whether Envoy can watch all files: it aborts, in the middle of its work, when it cannot.

use std::fs;

/// What this host grants each user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";
/// Left for Envoy's other watches (clusters, the document), and for other programs of its user.
const RESERVE: u64 = 16;
/// Of each secret: one for the file that says where it is, one for the file that it is in.
const EACH: u64 = 2;

/// Checks that there is room for `secrets`, and for those `going` as well: Envoy takes new clusters in before it lets
/// old ones go.
///
/// # Errors
/// How many are needed, and what to do.
pub fn check(secrets: usize, going: usize, granted: Option<u64>) -> Result<(), String> {
    let here = || fs::read_to_string(LIMIT).ok()?.trim().parse().ok();
    let Some(granted) = granted.or_else(here) else {
        return Ok(()); // no Linux, no inotify
    };
    let number = |of| u64::try_from(of).unwrap_or(u64::MAX);
    let needed = |of: u64| of.saturating_mul(EACH).saturating_add(RESERVE);
    let (secrets, going) = (number(secrets), number(going));
    let both = secrets.saturating_add(going);
    if needed(both) <= granted {
        return Ok(());
    }
    let (needed, of) = if needed(secrets) <= granted {
        (
            needed(both),
            format!(
                "{secrets} credentials and files of authorities together with {going} that are going: take those out of \
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
