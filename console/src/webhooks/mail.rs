//! E-mail, by a mail server of one's own.

use core::fmt;
use core::time::Duration;

use http::Uri;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::time::timeout;

/// The longest time for a message: less than a console's lease of it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most addresses of a webhook.
const MOST: usize = 20;
/// The usual ports: TLS from the start, and STARTTLS.
const PORTS: (u16, u16) = (465, 587);

/// A mail server, and the sender of what it is given.
#[derive(Clone)]
pub struct MailServer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    patience: Duration,
}

impl fmt::Debug for MailServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailServer")
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

impl MailServer {
    /// The server at a URL: `smtps://user@host:465` has TLS from the start, `smtp://user@host:587` begins it by STARTTLS; on
    /// loopback that has none.
    ///
    /// # Errors
    /// What is wrong with it, or with the sender's address.
    pub fn new(url: &str, password: Option<String>, from: &str) -> Result<Self, String> {
        let from = from
            .parse()
            .map_err(|_| format!("{from:?} is no e-mail address"))?;
        let shape = "the mail server must be smtps://USER@HOST:465 or smtp://USER@HOST:587";
        let uri: Uri = url.parse().map_err(|_| shape)?;
        let authority = uri.authority().ok_or(shape)?;
        let host = authority.host();
        let is_whole = !host.is_empty() && uri.query().is_none() && matches!(uri.path(), "" | "/");
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        if user.is_some_and(|user| user.contains(':')) {
            return Err(
                "the password of the mail server belongs into a file, not into its URL".to_owned(),
            );
        }
        let tls = || TlsParameters::new(host.to_owned()).map_err(|error| error.to_string());
        let (port, tls) = match uri.scheme_str() {
            Some("smtps") if is_whole => (PORTS.0, Tls::Wrapper(tls()?)),
            Some("smtp") if is_whole && is_loopback(host) => (PORTS.1, Tls::None),
            Some("smtp") if is_whole => (PORTS.1, Tls::Required(tls()?)),
            _ => return Err(shape.to_owned()),
        };
        let server = host.trim_start_matches('[').trim_end_matches(']');
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server)
            .port(authority.port_u16().unwrap_or(port))
            .tls(tls)
            .timeout(Some(PATIENCE));
        builder = match (user, password) {
            (Some(user), Some(password)) => {
                let user = percent_decode_str(user).decode_utf8_lossy().into_owned();
                builder.credentials(Credentials::new(user, password))
            }
            (None, None) => builder,
            (Some(_), None) => {
                return Err("the user of the mail server needs a password, in a file".to_owned());
            }
            (None, Some(_)) => {
                return Err("the password of the mail server needs a user in its URL".to_owned());
            }
        };
        Ok(Self {
            transport: builder.build(),
            from,
            patience: PATIENCE,
        })
    }

    /// Sends a text with this subject to the addresses of a URL.
    ///
    /// # Errors
    /// The failure, as the server or the network tells it.
    pub async fn send(
        &self,
        id: &str,
        url: &str,
        subject: &str,
        text: String,
    ) -> Result<(), String> {
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(subject)
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
            .header(ContentType::TEXT_PLAIN);
        for address in addresses(url)? {
            message = message.to(Mailbox::new(None, address));
        }
        let message = message.body(text);
        let message = message.map_err(|error| error.to_string())?;
        match timeout(self.patience, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(format!("the mail server: {error}")),
            Err(_) => Err(format!(
                "the mail server has not taken it within {} seconds",
                self.patience.as_secs()
            )),
        }
    }
}

/// Whether a host is this machine by its very name or address.
fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// The addresses of a URL: `mailto:ann@example.com,bob@example.com`.
///
/// # Errors
/// What is wrong with it.
pub fn addresses(url: &str) -> Result<Vec<Address>, String> {
    let list = url.strip_prefix("mailto:").ok_or(text!(
        "must be mailto: and e-mail addresses with commas between"
    ))?;
    let parse = |text: &str| {
        let text = text.trim();
        let address = text.parse();
        address.map_err(|_| format!("{text:?} is no e-mail address"))
    };
    let all: Vec<Address> = list.split(',').map(parse).collect::<Result<_, _>>()?;
    if all.len() > MOST {
        return Err(t!("must be {count} addresses at most", count = MOST));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// The conduct of a mail server once it has the sender's address.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Conduct {
        Accepts,
        Refuses,
        Hangs,
        Drops,
    }

    /// Takes one connection. Returns its port, and the lines that came until the end.
    fn stand_in(host: &str, conduct: Conduct) -> (u16, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let lines = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut out = stream.try_clone().unwrap();
            let mut say = |text: &str| {
                let _ = out.write_all(format!("{text}\r\n").as_bytes());
            };
            say("220 stand-in");
            let (mut lines, mut is_data) = (Vec::new(), false);
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let verb = line.split(' ').next().unwrap_or_default().to_owned();
                lines.push(line);
                match (is_data, verb.as_str(), conduct) {
                    (true, ".", _) => {
                        is_data = false;
                        say("250 taken");
                    }
                    (true, ..) => {}
                    (false, "EHLO", _) => say("250-stand-in\r\n250 AUTH PLAIN"),
                    (false, "AUTH", _) => say("235 welcome"),
                    (false, "RCPT", Conduct::Refuses) => say("550 5.1.1 nobody is called that"),
                    (false, "RCPT", Conduct::Drops) => return lines,
                    (false, "RCPT", Conduct::Hangs) => {}
                    (false, "DATA", _) => {
                        is_data = true;
                        say("354 go on");
                    }
                    (false, "QUIT", _) => say("221 bye"),
                    _ => say("250 well"),
                }
            }
            lines
        });
        (port, lines)
    }

    fn mail(url: &str) -> MailServer {
        let password = url.contains('@').then(|| "secret".to_owned());
        MailServer::new(url, password, "Trilane <trilane@example.com>").unwrap()
    }

    const TO: &str = "mailto:ann@example.com,bob@example.com";

    #[tokio::test]
    async fn is_taken() {
        let (port, lines) = stand_in("127.0.0.1", Conduct::Accepts);
        let mail = mail(&format!("smtp://ann%40example.com@127.0.0.1:{port}"));
        mail.send(
            "event_1",
            TO,
            "Budget of key ä: 80 %",
            "first\n\nsecond\n".to_owned(),
        )
        .await
        .unwrap();
        drop(mail);
        let lines = lines.join().unwrap();
        // printf '\0ann@example.com\0secret' | base64
        for want in [
            "AUTH PLAIN AGFubkBleGFtcGxlLmNvbQBzZWNyZXQ=",
            "MAIL FROM:<trilane@example.com>",
            "RCPT TO:<ann@example.com>",
            "RCPT TO:<bob@example.com>",
            "Message-ID: <event_1@example.com>",
            "Auto-Submitted: auto-generated",
            "first",
            "second",
        ] {
            assert!(lines.iter().any(|line| line == want), "{want}: {lines:#?}");
        }
        let subject = lines.iter().find(|line| line.starts_with("Subject: "));
        assert!(
            subject.is_some_and(|line| line.contains("=?utf-8?")),
            "{lines:#?}"
        );
    }

    #[tokio::test]
    async fn is_not_taken() {
        for (conduct, want) in [
            (Conduct::Refuses, "550"),
            (Conduct::Hangs, "within 1 seconds"),
            (Conduct::Drops, "the mail server: "),
        ] {
            let (port, _lines) = stand_in("127.0.0.1", conduct);
            let mut mail = mail(&format!("smtp://127.0.0.1:{port}"));
            mail.patience = Duration::from_secs(1);
            let why = mail
                .send("event_1", TO, "line", String::new())
                .await
                .unwrap_err();
            assert!(why.contains(want), "{conduct:?}: {why}");
        }
    }

    #[tokio::test]
    async fn nothing_is_said_without_tls() {
        for scheme in ["smtp", "smtps"] {
            let (port, lines) = stand_in("127.0.0.2", Conduct::Accepts);
            let mut mail = mail(&format!("{scheme}://ann@127.0.0.2:{port}"));
            mail.patience = Duration::from_secs(2);
            let why = mail
                .send("event_1", TO, "line", String::new())
                .await
                .unwrap_err();
            drop(mail);
            let said = lines.join().unwrap();
            let told = |line: &String| line.starts_with("AUTH") || line.starts_with("MAIL");
            assert!(!said.iter().any(told), "{scheme}: {why}: {said:?}");
        }
    }

    #[test]
    fn servers() {
        let new = |url: &str, password: Option<&str>| {
            MailServer::new(url, password.map(str::to_owned), "a@example.com").err()
        };
        assert_eq!(new("smtps://ann@mail.example.com:465", Some("p")), None);
        assert_eq!(new("smtp://mail.example.com", None), None);
        for (url, password, want) in [
            ("mail.example.com", None, "must be smtps://"),
            ("https://mail.example.com", None, "must be smtps://"),
            ("smtp://mail.example.com/box", None, "must be smtps://"),
            (
                "smtps://ann:p@mail.example.com",
                None,
                "belongs into a file",
            ),
            ("smtps://ann@mail.example.com", None, "needs a password"),
            ("smtps://mail.example.com", Some("p"), "needs a user"),
        ] {
            let why = new(url, password).unwrap();
            assert!(why.contains(want) && !why.contains(":p@"), "{url}: {why}");
        }
        assert!(MailServer::new("smtp://localhost", None, "nobody").is_err());
    }

    #[test]
    fn addresses_of_a_url() {
        assert_eq!(
            addresses("mailto:a@example.com, b@example.com")
                .unwrap()
                .len(),
            2
        );
        for url in [
            "a@example.com",
            "mailto:",
            "mailto:a",
            "mailto:a@example.com,",
            "mailto:a@b\r\nc",
        ] {
            assert!(addresses(url).is_err(), "{url}");
        }
    }
}
