//! Notices an Envoy that is there and answers nothing.
//!
//! The admin interface is asked, which Envoy's main thread serves: while that hangs no document takes effect and nothing is
//! drained. It answers however many requests there are. The workers are watched by Envoy itself, which ends if one hangs
//! (`watchdogs` of its configuration): requests by which they could be asked would stand in the ledger.

use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::envoy_admin::{Admin, AdminPlace};

/// The longest interval between checks of Envoy.
const EVERY: Duration = Duration::from_secs(5);
/// The longest time for an answer.
const ANSWER: Duration = Duration::from_secs(2);
/// The number of failed checks in a row before Envoy counts as hung: this process may have been stopped meanwhile.
const TIMES: u32 = 2;
/// The time for which an Envoy that was started again may answer nothing.
const START: Duration = Duration::from_secs(60);

/// Ends when Envoy hangs.
pub type EnvoyHang = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The liveness check of an Envoy.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The admin interface.
    pub admin: AdminPlace,
    /// The time for which Envoy may answer nothing.
    pub patience: Duration,
}

impl Watchdog {
    /// Waits until an Envoy that has been started, and perhaps has been ready already, answers nothing any more.
    pub fn hang(self, was_ready: bool) -> EnvoyHang {
        Box::pin(async move {
            let mut patience = if was_ready {
                self.patience
            } else {
                self.patience.max(START)
            };
            let every = EVERY.min(self.patience.checked_div(4).unwrap_or(EVERY));
            let mut heard = Instant::now();
            let mut in_vain: u32 = 0;
            while in_vain < TIMES || heard.elapsed() < patience {
                sleep(every).await;
                if self.answers().await {
                    heard = Instant::now();
                    in_vain = 0;
                    patience = self.patience;
                } else {
                    in_vain = in_vain.saturating_add(1);
                }
            }
        })
    }

    async fn answers(&self) -> bool {
        let within = ANSWER.min(self.patience);
        let answers = self.admin.clone().ask(Admin::answers);
        matches!(timeout(within, answers).await, Ok(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use crate::host_port::HostPort;

    use super::*;

    /// The reaction of a listener to each connection.
    #[derive(Clone, Copy)]
    enum ListenerBehavior {
        Answer,
        Close,
        Nothing,
    }

    async fn listener(does: ListenerBehavior) -> HostPort {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                match does {
                    ListenerBehavior::Answer => {
                        let text = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
                        stream.write_all(text).await.unwrap();
                        held.push(stream);
                    }
                    ListenerBehavior::Close => drop(stream),
                    ListenerBehavior::Nothing => held.push(stream),
                }
            }
        });
        HostPort::loopback(port)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_a_hang() {
        let mut cases = Vec::new();
        for (case, admin, want) in [
            ("it answers", ListenerBehavior::Answer, false),
            ("its main thread hangs", ListenerBehavior::Nothing, true),
            ("nothing is heard", ListenerBehavior::Close, true),
        ] {
            let watchdog = Watchdog {
                admin: AdminPlace::At(listener(admin).await),
                patience: Duration::from_millis(300),
            };
            let seen = tokio::spawn(timeout(Duration::from_secs(2), watchdog.hang(true)));
            cases.push((case, seen, want));
        }
        for (case, seen, want) in cases {
            assert_eq!(seen.await.unwrap().is_ok(), want, "{case}");
        }
    }
}
