//! Sends messages, by HTTP and by e-mail.

use core::time::Duration;

use http::Uri;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use ureq::Agent;
use ureq::tls::RootCerts;
use ureq::unversioned::transport::DefaultConnector;

use super::delivery::DueMessage;
use super::kind::{WebhookKind, mail_text, text};
use super::mail::{self, MailServer};
use crate::outgoing::{self, AllowedAddresses, GuardedResolver, NoAddress};

/// The longest time for a call.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time to look for the address of a new webhook.
const LOOK: Duration = Duration::from_secs(3);
/// The header with the signature of a message.
pub const SIGNATURE: &str = "trilane-webhook-signature";
/// The longest URL, in bytes.
const LONGEST_URL: usize = 2000;

/// Sends messages. Clones share its connections.
#[derive(Debug, Clone)]
pub struct WebhookSender {
    http: Agent,
    allow_private: bool,
    mail: Option<MailServer>,
}

impl WebhookSender {
    /// Creates a sender to public addresses over TLS; `allow_private` lifts both restrictions. Without a mail server there is no
    /// e-mail.
    pub fn new(allow_private: bool, mail: Option<MailServer>) -> Self {
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
        let resolver = GuardedResolver(addresses(allow_private));
        let http = Agent::with_parts(config, DefaultConnector::default(), resolver);
        Self {
            http,
            allow_private,
            mail,
        }
    }

    /// Whether it sends e-mail.
    pub const fn has_mail(&self) -> bool {
        self.mail.is_some()
    }

    /// Checks a URL that messages are to be sent to. A name that does not resolve now may do so later.
    ///
    /// # Errors
    /// The reason that nothing could ever arrive there.
    pub async fn check(&self, kind: WebhookKind, url: &str) -> Result<(), String> {
        if url.len() > LONGEST_URL {
            return Err(t!("must have {count} bytes at most", count = LONGEST_URL));
        }
        if kind == WebhookKind::Email {
            mail::addresses(url)?;
            let why = text!("cannot be sent to: this console has no mail server (--smtp-url)");
            return self.has_mail().then_some(()).ok_or_else(|| why.to_owned());
        }
        let host = host(url).ok_or(text!(
            "must be an address such as https://example.com/hook, without a user and a fragment"
        ))?;
        if self.allow_private {
            return Ok(());
        }
        if !url.starts_with("https://") {
            return Err(
                text!("must be https:// (--allow-private-webhooks allows http://)").to_owned(),
            );
        }
        let looked = spawn_blocking(move || addresses(false).check(&host));
        match timeout(LOOK, looked).await {
            Ok(Ok(Err(refused @ NoAddress::NotAllowed { .. }))) => Err(t!(
                "{problem} (--allow-private-webhooks allows them)",
                problem = refused
            )),
            _ => Ok(()),
        }
    }

    /// Sends a message, signed at this time in seconds since 1970.
    ///
    /// # Errors
    /// The failure, as text without the secret.
    pub async fn send(&self, message: &DueMessage, time: i64) -> Result<(), String> {
        if message.kind == WebhookKind::Email {
            let mail = self.mail.as_ref();
            let mail = mail.ok_or("this console has no mail server (--smtp-url)")?;
            return mail
                .send(
                    &message.id,
                    &message.url,
                    &text(&message.body),
                    mail_text(&message.body),
                )
                .await;
        }
        let (sender, message) = (self.clone(), message.clone());
        let sent = spawn_blocking(move || sender.post(&message, time)).await;
        sent.unwrap_or_else(|_| Err("the console ends".to_owned()))
    }

    fn post(&self, message: &DueMessage, time: i64) -> Result<(), String> {
        let body = message.kind.body(&message.body);
        let sent = if message.kind.has_secret_url() {
            let url = message.opened()?;
            self.http
                .post(url)
                .content_type("application/json")
                .send(&body)
        } else {
            let signature = message.signature(time)?;
            self.http
                .post(&message.url)
                .content_type("application/json")
                .header("trilane-webhook-id", &message.id)
                .header("trilane-webhook-timestamp", time.to_string())
                .header(SIGNATURE, signature)
                .send(&body)
        };
        let failed = |error: ureq::Error| match (NoAddress::of(&error), &error) {
            (Some(NoAddress::NotAllowed { .. }), _) => {
                "its address is a private one (--allow-private-webhooks allows them)".to_owned()
            }
            // These show the URL.
            (None, ureq::Error::BadUri(_) | ureq::Error::RequireHttpsOnly(_)) => {
                "its URL cannot be called".to_owned()
            }
            (Some(problem), _) => problem.to_string(),
            _ => error.to_string(),
        };
        let status = sent.map_err(failed)?.status();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("it answers {status}"))
    }
}

const fn addresses(allow_private: bool) -> AllowedAddresses {
    if allow_private {
        AllowedAddresses::Any
    } else {
        AllowedAddresses::Public
    }
}

/// The host of a URL that messages may go to.
fn host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let scheme = matches!(uri.scheme_str(), Some("https" | "http"));
    // A user's password would stand in lists and logs.
    let plain = !uri.authority()?.as_str().contains('@') && !url.contains('#');
    let host = uri.host().filter(|host| !host.is_empty())?;
    (scheme && plain).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::super::delivery;
    use super::*;

    fn message(url: &str) -> DueMessage {
        DueMessage {
            id: "event_1".to_owned(),
            webhook: "webhook_1".to_owned(),
            kind: WebhookKind::Webhook,
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
            let got = WebhookSender::new(true, None).post(&message(&url), 5);
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
        let why = WebhookSender::new(true, None)
            .post(&message, 5)
            .unwrap_err();
        assert!(why.contains("cannot be opened"), "{why}");
        assert!(listener.accept().is_err(), "somebody has called");
    }

    #[test]
    fn private_addresses_are_not_called() {
        let sender = WebhookSender::new(false, None);
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
            let why = sender.post(&message(&format!("https://{host}:{port}/")), 5);
            let why = why.unwrap_err();
            assert!(why.contains("private"), "{host}: {why}");
        }
        let why = sender.post(&message(&format!("http://127.0.0.1:{port}/")), 5);
        assert!(why.is_err(), "no TLS");
        assert!(listener.accept().is_err(), "nobody has called");
    }
}
