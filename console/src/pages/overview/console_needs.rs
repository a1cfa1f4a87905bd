//! Problems of the console itself: notices that do not arrive, its certificate, its disk.

use time::OffsetDateTime;

use super::attention::Need;
use crate::cases::certificate::{self, CertificateView};
use crate::cases::paging::PageParams;
use crate::cases::storage::{self, StorageView};
use crate::cases::webhooks::{self, WebhookView};
use crate::cases::{Caller, ConsoleState};
use crate::pages::text::{bytes, utc};
use crate::pages::{PageProblem, notice_failure};
use crate::timestamp;

/// The receivers of notices that are looked at: there are no more.
const READ: u16 = 100;
/// With less room on the disk than this there is little of it, in bytes.
const LITTLE: i64 = 1 << 30;
/// With less room than this the disk is nearly full, in bytes.
const NEARLY_FULL: i64 = 128 << 20;
/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;
/// For how long before its end a certificate is told of, in seconds: most are renewed a month before.
const SOON: i64 = 21 * DAY;
/// For how long before its end it is urgent, in seconds.
const URGENT: i64 = 3 * DAY;

/// The problems of the console.
///
/// # Errors
/// Those of the use cases.
pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Vec<Need>, PageProblem> {
    let notices = webhooks::list(state, caller, PageParams::first(READ)).await?;
    let disk = storage::get(state, caller).await?;
    let of_console = certificate::get(state, caller).await?;
    let mut needs: Vec<Need> = notices.items.iter().filter_map(undelivered).collect();
    needs.extend(nearly_full(&disk));
    needs.extend(ending(&of_console, state.time()));
    Ok(needs)
}

/// The need of a receiver of notices that took none the last time.
fn undelivered(of: &WebhookView) -> Option<Need> {
    let failure = of.failure.as_ref().filter(|_| of.is_failing())?;
    Some(Need {
        kind: "bad",
        text: t!(
            "The latest notice to {receiver} did not arrive ({moment}): {problem}.",
            receiver = of.url.trim_start_matches("mailto:"),
            moment = utc(&failure.at),
            problem = notice_failure(&failure.problem).trim_end_matches('.')
        ),
        path: "/settings#notices".to_owned(),
        link: t!("Notices"),
    })
}

fn nearly_full(disk: &StorageView) -> Option<Need> {
    let free = disk.disk_free_bytes.filter(|free| *free < LITTLE)?;
    let free_text = bytes(free);
    let (kind, text) = if free < NEARLY_FULL {
        (
            "bad",
            t!(
                "The disk of the console’s database has {bytes} left. Soon no usage can be taken in, and nothing changed.",
                bytes = free_text
            ),
        )
    } else {
        (
            "warn",
            t!(
                "The disk of the console’s database has {bytes} left. Make room, or keep requests for fewer days (--keep-requests).",
                bytes = free_text
            ),
        )
    };
    Some(Need {
        kind,
        text,
        path: "/settings#disk".to_owned(),
        link: t!("Disk"),
    })
}

/// The seconds that a certificate is good for, and the look of that; `None`: it is good for long.
pub fn left(ends_at: &str, now: i64) -> Option<(i64, &'static str)> {
    let end = timestamp::parse(ends_at)?.unix_timestamp();
    let left = end.saturating_sub(now);
    let kind = if left < URGENT { "bad" } else { "warn" };
    (left <= SOON).then_some((left, kind))
}

fn ending(of: &CertificateView, now: OffsetDateTime) -> Option<Need> {
    let (ends_at, file) = (of.ends_at.as_deref()?, of.file.as_deref()?);
    let (left, kind) = left(ends_at, now.unix_timestamp())?;
    let at = utc(ends_at);
    Some(Need {
        kind,
        text: if left < 0 {
            t!(
                "The console’s certificate in {file} has ended at {moment}. Put a new one into the same files: no restart is needed.",
                file = file,
                moment = at
            )
        } else {
            t!(
                "The console’s certificate in {file} ends at {moment}. Put a new one into the same files: no restart is needed.",
                file = file,
                moment = at
            )
        },
        path: "/settings#console".to_owned(),
        link: t!("How this console runs"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::webhooks::WebhookFailureView;
    use crate::webhooks::kind::WebhookKind;

    #[test]
    fn notices_that_do_not_arrive() {
        let webhook = |delivered: Option<&str>, failed: Option<&str>| WebhookView {
            id: "w".to_owned(),
            kind: WebhookKind::Email,
            url: "mailto:ann@example.com".to_owned(),
            thresholds: Vec::new(),
            language: "en".to_owned(),
            created_at: String::new(),
            delivered_at: delivered.map(str::to_owned),
            failure: failed.map(|at| WebhookFailureView {
                at: at.to_owned(),
                problem: "nobody answers.".to_owned(),
            }),
        };
        let (early, late) = ("2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z");
        let text = "The latest notice to ann@example.com did not arrive (2026-11-24 11:00 UTC): nobody answers.";
        for (case, of, want) in [
            ("new", webhook(None, None), None),
            ("arrives", webhook(Some(early), None), None),
            ("arrives again", webhook(Some(late), Some(early)), None),
            ("failed", webhook(Some(early), Some(late)), Some(text)),
            ("never arrived", webhook(None, Some(late)), Some(text)),
        ] {
            let need = undelivered(&of);
            assert_eq!(need.as_ref().map(|need| need.text.as_str()), want, "{case}");
        }
    }

    #[test]
    fn room_on_the_disk() {
        for (free, want) in [
            (None, None),
            (Some(LITTLE), None),
            (Some(LITTLE - 1), Some("warn")),
            (Some(NEARLY_FULL), Some("warn")),
            (Some(NEARLY_FULL - 1), Some("bad")),
        ] {
            let disk = StorageView {
                bytes: 0,
                disk_free_bytes: free,
            };
            assert_eq!(nearly_full(&disk).map(|need| need.kind), want, "{free:?}");
        }
    }

    #[test]
    fn certificates_that_end() {
        let now = timestamp::parse("2026-11-24T10:00:00Z").expect("a time");
        for (ends_at, want) in [
            (None, None),
            (Some("2026-12-15T10:00:01Z"), None),
            (
                Some("2026-12-15T10:00:00Z"),
                Some(("warn", "ends at 2026-12-15 10:00 UTC.")),
            ),
            (
                Some("2026-11-27T09:59:59Z"),
                Some(("bad", "ends at 2026-11-27 09:59 UTC.")),
            ),
            (
                Some("2026-11-24T09:59:00Z"),
                Some(("bad", "has ended at 2026-11-24 09:59 UTC.")),
            ),
        ] {
            let of = CertificateView {
                file: Some("/tls/chain.pem".to_owned()),
                ends_at: ends_at.map(str::to_owned),
            };
            let need = ending(&of, now);
            assert_eq!(
                need.as_ref().map(|need| need.kind),
                want.map(|(kind, _)| kind)
            );
            if let (Some(need), Some((_, text))) = (need, want) {
                let start = "The console’s certificate in /tls/chain.pem ";
                assert!(
                    need.text.starts_with(&format!("{start}{text}")),
                    "{}",
                    need.text
                );
            }
        }
    }
}
