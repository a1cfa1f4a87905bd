//! Sends the messages of webhooks.

use core::time::Duration;

use time::OffsetDateTime;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use trilane_console::credentials::SealingKeyFile;
use trilane_console::outgoing::{self, AllowedAddresses, GuardedResolver, NoAddress};
use trilane_console::store::{Store, StoreError};
use trilane_console::webhooks::delivery::{self, DueMessage};
use trilane_console::webhooks::fleet_watch::FleetWatch;
use trilane_console::webhooks::watch::BudgetWatch;
use ureq::Agent;
use ureq::tls::RootCerts;
use ureq::unversioned::transport::DefaultConnector;

use crate::event_printer::EventPrinter;

/// The pause while nothing is to be sent.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time for a call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends messages. Clones share its connections.
#[derive(Debug, Clone)]
pub struct WebhookSender {
    http: Agent,
}

impl WebhookSender {
    /// Creates a sender to public addresses over TLS; `allow_private` lifts both restrictions.
    pub fn new(allow_private: bool) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // Another address may be a private one.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .https_only(!allow_private)
            // A proxy would resolve names itself.
            .proxy(None)
            .tls_config(outgoing::tls(RootCerts::PlatformVerifier))
            .user_agent(concat!("trilane-console/", env!("CARGO_PKG_VERSION")))
            .build();
        let allowed = if allow_private {
            AllowedAddresses::Any
        } else {
            AllowedAddresses::Public
        };
        let resolver = GuardedResolver(allowed);
        let http = Agent::with_parts(config, DefaultConnector::default(), resolver);
        Self { http }
    }

    /// Sends a message, signed at this time in seconds since 1970.
    ///
    /// # Errors
    /// The failure, as text without the secret.
    pub fn send(&self, message: &DueMessage, time: i64) -> Result<(), String> {
        let signature = message.signature(time)?;
        let sent = self
            .http
            .post(&message.url)
            .content_type("application/json")
            .header("trilane-webhook-id", &message.id)
            .header("trilane-webhook-timestamp", time.to_string())
            .header("trilane-webhook-signature", signature)
            .send(&message.body);
        let failed = |error: ureq::Error| match NoAddress::of(&error) {
            Some(NoAddress::NotAllowed { .. }) => {
                "its address is a private one (--allow-private-webhooks allows them)".to_owned()
            }
            _ => error.to_string(),
        };
        let status = sent.map_err(failed)?.status();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("it answers {status}"))
    }

    /// Finds what is to be told and tells it, until this is dropped. `keys`: what seals credentials and secrets.
    pub async fn go_on(self, store: Store, keys: Option<SealingKeyFile>, printer: EventPrinter) {
        let mut told = None;
        let mut watches = (BudgetWatch::default(), FleetWatch::default());
        loop {
            let trouble = self
                .once(&store, keys.as_ref(), &mut watches)
                .await
                .err()
                .map(|error| error.to_string());
            if let Some(trouble) = trouble.as_ref().filter(|_| trouble != told) {
                printer.trouble(&format!("webhooks wait: {trouble}"));
            }
            told = trouble;
            sleep(PAUSE).await;
        }
    }

    /// Finds what is to be told, and sends all that is due.
    async fn once(
        &self,
        store: &Store,
        keys: Option<&SealingKeyFile>,
        (budgets, fleet): &mut (BudgetWatch, FleetWatch),
    ) -> Result<(), StoreError> {
        while budgets.look(store, OffsetDateTime::now_utc()).await? {}
        // A file that cannot be read is told of where something is sealed.
        let keys = || keys.and_then(|file| file.read().ok());
        fleet.look(store, keys, OffsetDateTime::now_utc()).await?;
        while let Some(message) = delivery::take(store, keys, OffsetDateTime::now_utc()).await? {
            let (sender, sent) = (self.clone(), message.clone());
            let time = OffsetDateTime::now_utc().unix_timestamp();
            let outcome = spawn_blocking(move || sender.send(&sent, time)).await;
            let outcome = outcome.unwrap_or_else(|_| Err("the console ends".to_owned()));
            let problem = outcome.err();
            let outcome = problem.as_deref().map_or(Ok(()), Err);
            delivery::close(store, &message, outcome, OffsetDateTime::now_utc()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn message(url: &str) -> DueMessage {
        DueMessage {
            id: "event_1".to_owned(),
            url: url.to_owned(),
            secret: Some("tlw-secret".to_owned().into()),
            body: "{}".to_owned(),
            attempts: 1,
        }
    }

    /// A receiver that answers once, and what it was sent.
    fn receiver(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            let mut part = [0; 4096];
            while !all.ends_with(b"{}") {
                let read = stream.read(&mut part).unwrap();
                all.extend_from_slice(&part[..read]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(all).unwrap()
        });
        (url, receiving)
    }

    #[test]
    fn what_a_receiver_gets() {
        let elsewhere =
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        // (the answer, what becomes of it)
        let cases = [
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok(())),
            (
                "HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n",
                Err("it answers 500"),
            ),
            (elsewhere, Err("it answers 302")),
        ];
        for (answer, want) in cases {
            let (url, receiving) = receiver(answer);
            let got = WebhookSender::new(true).send(&message(&url), 5);
            let sent = receiving.join().unwrap().to_lowercase();
            match want {
                Ok(()) => assert_eq!(got, Ok(())),
                Err(words) => assert!(got.unwrap_err().starts_with(words), "{answer}"),
            }
            let signature = delivery::signature("tlw-secret", 5, "{}");
            for header in [
                "post /hook".to_owned(),
                "trilane-webhook-id: event_1".to_owned(),
                "trilane-webhook-timestamp: 5".to_owned(),
                format!("trilane-webhook-signature: {signature}"),
            ] {
                assert!(sent.contains(&header), "{header}: {sent}");
            }
            assert!(!sent.contains("tlw-secret"));
        }
    }

    #[test]
    fn nothing_is_sent_without_a_signature() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let message = DueMessage {
            secret: None,
            ..message(&url)
        };
        let why = WebhookSender::new(true).send(&message, 5).unwrap_err();
        assert!(why.contains("cannot be opened"), "{why}");
        assert!(listener.accept().is_err(), "somebody has called");
    }

    #[test]
    fn private_addresses_are_not_called() {
        let sender = WebhookSender::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
        ] {
            let why = sender.send(&message(&format!("https://{host}:{port}/")), 5);
            let why = why.unwrap_err();
            assert!(why.contains("private"), "{host}: {why}");
        }
        let why = sender.send(&message(&format!("http://127.0.0.1:{port}/")), 5);
        assert!(why.is_err(), "no TLS");
        assert!(listener.accept().is_err(), "nobody has called");
    }
}
