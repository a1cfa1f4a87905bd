//! Sends the audit to a collector of logs, over OTLP (HTTP, JSON).

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use time::OffsetDateTime;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use trilane_console::audit_export;
use trilane_console::named_file;
use trilane_console::outgoing;
use trilane_console::store::{Store, StoreError};
use ureq::Agent;
use ureq::tls::RootCerts;

use crate::console_http::ConsoleUrl;
use crate::event_printer::EventPrinter;

/// The pause while nothing is to be sent.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time for a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer that is read, in bytes.
const ANSWER: u64 = 64 << 10;

/// The options that name a collector of the audit.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct AuditOtlpArgs {
    /// Send the audit to the collector of logs at this address, over OTLP (HTTP, JSON), to /v1/logs below it: https://otel.example.com:4318
    #[arg(long, value_name = "URL", env = "TRILANE_AUDIT_OTLP_ENDPOINT", value_parser = endpoint)]
    pub audit_otlp_endpoint: Option<ConsoleUrl>,

    /// The file with headers for that, one a line, such as `authorization: Bearer ...`; it is read for each request
    #[arg(
        long,
        value_name = "FILE",
        env = "TRILANE_AUDIT_OTLP_HEADERS_FILE",
        requires = "audit_otlp_endpoint"
    )]
    pub audit_otlp_headers_file: Option<PathBuf>,

    /// The certificate authorities that its certificate is verified with [default: the system's]
    #[arg(
        long,
        value_name = "FILE",
        env = "TRILANE_AUDIT_OTLP_CA",
        requires = "audit_otlp_endpoint"
    )]
    pub audit_otlp_ca: Option<PathBuf>,
}

fn endpoint(text: &str) -> Result<ConsoleUrl, String> {
    text.parse().map_err(|_| {
        "must be an address such as https://otel.example.com:4318; without TLS only on this machine"
            .to_owned()
    })
}

/// Sends batches of the audit. Clones share its connections.
#[derive(Debug, Clone)]
pub struct AuditSender {
    http: Agent,
    url: String,
    headers: Option<PathBuf>,
}

/// The answer of a collector.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CollectorAnswer {
    partial_success: PartialSuccess,
}

/// The records of a batch that a collector takes no part of.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    rejected_log_records: Count,
}

/// A number, which JSON of Protocol Buffers writes as a text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Text(String),
}

impl Default for Count {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl AuditSender {
    /// The sender to this collector, if there is one.
    ///
    /// # Errors
    /// The file of authorities cannot be used, or that of headers.
    pub fn new(args: &AuditOtlpArgs) -> Result<Option<Self>, String> {
        let Some(endpoint) = &args.audit_otlp_endpoint else {
            return Ok(None);
        };
        let ca = args.audit_otlp_ca.as_deref();
        let roots = ca.map_or(Ok(RootCerts::PlatformVerifier), outgoing::authorities)?;
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // What is in the headers goes to the named host and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(outgoing::tls(roots))
            .user_agent(concat!("trilane-console/", env!("CARGO_PKG_VERSION")))
            .build();
        let sender = Self {
            http: config.into(),
            url: endpoint.join("/v1/logs"),
            headers: args.audit_otlp_headers_file.clone(),
        };
        sender.headers()?;
        Ok(Some(sender))
    }

    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let Some(file) = &self.headers else {
            return Ok(Vec::new());
        };
        let failed = |why: &str| format!("{}: {why}", file.display());
        let text = named_file::read_text(file, named_file::SECRET);
        let text = text.map_err(|error| failed(&format!("cannot be read: {error}")))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let read = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let mut value: HeaderValue = value.trim().parse().ok()?;
            value.set_sensitive(true);
            Some((name.trim().parse().ok()?, value))
        };
        let headers: Option<Vec<_>> = lines.map(read).collect();
        headers
            .ok_or_else(|| failed("each line must be a header, such as authorization: Bearer ..."))
    }

    /// Sends a batch. Gives what the collector says of records that it does not take.
    ///
    /// # Errors
    /// The failure, as text without a credential.
    fn send(&self, body: &str) -> Result<Option<String>, String> {
        let mut request = self.http.post(&self.url).content_type("application/json");
        for (name, value) in self.headers()? {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(|error| error.to_string())?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("it answers {status}"));
        }
        let read = answer.body_mut().with_config().limit(ANSWER).read_to_vec();
        let told: CollectorAnswer = read
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let rejected = told.partial_success.rejected_log_records.to_string();
        Ok((rejected != "0").then_some(rejected))
    }

    /// Sends what is due, until this is dropped.
    pub async fn go_on(self, store: Store, printer: EventPrinter) {
        let mut told = None;
        loop {
            let trouble = match self.once(&store, printer).await {
                Ok(trouble) => trouble,
                Err(error) => Some(error.to_string()),
            };
            if let Some(trouble) = trouble.as_ref().filter(|_| trouble != told) {
                printer.trouble(&format!("the audit waits for its collector: {trouble}"));
            }
            told = trouble;
            sleep(PAUSE).await;
        }
    }

    /// Sends all that is due. Gives what is in the way.
    async fn once(
        &self,
        store: &Store,
        printer: EventPrinter,
    ) -> Result<Option<String>, StoreError> {
        while let Some(batch) = audit_export::take(store, OffsetDateTime::now_utc()).await? {
            let (sender, body) = (self.clone(), batch.body.clone());
            let sent = spawn_blocking(move || sender.send(&body)).await;
            let sent = sent.unwrap_or_else(|_| Err("the console ends".to_owned()));
            audit_export::close(store, &batch, sent.is_ok(), OffsetDateTime::now_utc()).await?;
            match sent {
                Ok(None) => {}
                Ok(Some(rejected)) => printer.trouble(&format!(
                    "the collector of the audit does not take {rejected} of the entries that it was sent; its log says why"
                )),
                Err(trouble) => return Ok(Some(trouble)),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A collector that answers once, and what it was sent.
    fn collector(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/otel", listener.local_addr().unwrap());
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

    fn sender(url: &str, headers: &std::path::Path) -> Result<Option<AuditSender>, String> {
        AuditSender::new(&AuditOtlpArgs {
            audit_otlp_endpoint: Some(endpoint(url)?),
            audit_otlp_headers_file: Some(headers.to_owned()),
            audit_otlp_ca: None,
        })
    }

    #[test]
    fn what_a_collector_gets() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("headers");
        std::fs::write(&file, "authorization: Bearer secret-word\n\nx-scope: a\n").unwrap();
        let partial = "HTTP/1.1 200 OK\r\ncontent-length: 45\r\n\r\n{\"partialSuccess\":{\"rejectedLogRecords\":\"2\"}}";
        let elsewhere =
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        for (answer, want) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", Ok(None)),
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok(None)),
            (partial, Ok(Some("2"))),
            (
                "HTTP/1.1 503 Oh\r\ncontent-length: 0\r\n\r\n",
                Err("it answers 503"),
            ),
            (elsewhere, Err("it answers 302")),
        ] {
            let (url, receiving) = collector(answer);
            let sender = sender(&url, &file).unwrap().unwrap();
            let got = sender.send("{}");
            let sent = receiving.join().unwrap().to_lowercase();
            match want {
                Ok(rejected) => assert_eq!(got, Ok(rejected.map(str::to_owned)), "{answer}"),
                Err(words) => assert!(got.unwrap_err().starts_with(words), "{answer}"),
            }
            for header in [
                "post /otel/v1/logs",
                "content-type: application/json",
                "authorization: bearer secret-word",
                "x-scope: a",
            ] {
                assert!(sent.contains(header), "{header}: {sent}");
            }
            assert!(!format!("{sender:?}").contains("secret-word"));
        }
    }

    #[test]
    fn what_is_no_collector() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("headers");
        std::fs::write(&file, "secret-word").unwrap();
        for (url, words) in [
            ("http://otel.example.com:4318", "must be an address"),
            ("otel.example.com", "must be an address"),
            ("http://127.0.0.1:4318", "each line must be a header"),
        ] {
            let why = sender(url, &file).unwrap_err();
            assert!(
                why.contains(words) && !why.contains("secret-word"),
                "{url}: {why}"
            );
        }
        let why = sender("http://127.0.0.1:4318", &files.path().join("none")).unwrap_err();
        assert!(why.contains("cannot be read"), "{why}");
    }
}
