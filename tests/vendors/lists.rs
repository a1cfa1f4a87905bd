//! Stand-ins of vendors: they give their list of models to requests that the vendor would take, and to no others.
//!
//! The requirements and answers of each are from traffic that the official SDKs sent, and from the vendors' pages:
//! OpenAI and Anthropic from the SDKs' requests and error bodies (`Authorization: Bearer`; `x-api-key` or `Bearer` with
//! `anthropic-version`, without which it is 400), Gemini likewise (`x-goog-api-key`; a wrong key is 400
//! `API_KEY_INVALID`), OpenRouter from <https://openrouter.ai/docs> (`GET /api/v1/models/user` needs a bearer token,
//! `GET /api/v1/models` does not; `pricing` has US dollars for a token in strings), DeepSeek from <https://api-docs.deepseek.com/api/list-models>.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::CREDENTIAL;

/// A request's method, target and headers, with names in lower case.
#[derive(Debug, Clone)]
pub struct VendorRequest {
    pub method: String,
    pub target: String,
    pub headers: HashMap<String, String>,
}

impl VendorRequest {
    fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        let pair = query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        pair.map(|(_, value)| value)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn is_bearer(&self) -> bool {
        self.header("authorization") == Some(&format!("Bearer {CREDENTIAL}"))
    }
}

/// A status and a body.
pub type VendorResponse = (u16, String);

/// A server on a thread of its own, for as long as the test.
pub struct VendorServer {
    port: u16,
    asked: Arc<Mutex<Vec<VendorRequest>>>,
}

impl VendorServer {
    /// With these answers.
    pub fn new(answer: impl Fn(&VendorRequest) -> VendorResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || serve(&stream, &seen, answer.as_ref()));
            }
        });
        Self { port, asked }
    }

    /// `http://127.0.0.1:…` and this path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the requests that it received.
    pub fn asked(&self) -> Vec<VendorRequest> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<VendorRequest>>,
    answer: &(impl Fn(&VendorRequest) -> VendorResponse + ?Sized),
) {
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader) {
        let is_tunnel = asked.method == "CONNECT";
        let (status, body) = answer(&asked);
        seen.lock().unwrap().push(asked);
        let length = if is_tunnel {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\nlocation: /elsewhere\r\n{length}\r\n"
        );
        let mut stream = stream;
        if stream
            .write_all(format!("{head}{body}").as_bytes())
            .is_err()
        {
            return;
        }
    }
    // What is no HTTP, such as a handshake of TLS, is answered as web servers do.
    let mut stream = stream;
    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<VendorRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Some(VendorRequest {
                method,
                target,
                headers,
            });
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
}

fn error_a(status: u16, message: &str, code: Value) -> VendorResponse {
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": null, "code": code});
    (status, json!({"error": error}).to_string())
}

fn list_a(ids: &[&str], owner: &str) -> VendorResponse {
    let models = ids.iter().map(
        |id| json!({"id": id, "object": "model", "created": 1_759_104_000, "owned_by": owner}),
    );
    (
        200,
        json!({"object": "list", "data": models.collect::<Vec<_>>()}).to_string(),
    )
}

/// One of protocol A under this path.
fn protocol_a(
    path: &'static str,
    owner: &'static str,
    ids: &'static [&'static str],
) -> impl Fn(&VendorRequest) -> VendorResponse {
    move |asked| match (asked.method.as_str(), asked.path()) {
        ("GET", at) if at == path => {
            if asked.is_bearer() {
                list_a(ids, owner)
            } else {
                error_a(
                    401,
                    &format!("Incorrect API key provided: {CREDENTIAL}"),
                    json!("invalid_api_key"),
                )
            }
        }
        _ => error_a(404, "Invalid URL", Value::Null),
    }
}

pub fn openai() -> VendorServer {
    VendorServer::new(protocol_a(
        "/v1/models",
        "openai",
        &[
            "gpt-6-luna",
            "gpt-6.2-sol",
            "text-embedding-3-small",
            "tts-1",
            "gpt-image-2",
        ],
    ))
}

pub fn deepseek() -> VendorServer {
    VendorServer::new(protocol_a(
        "/v1/models",
        "deepseek",
        &["deepseek-flash", "deepseek-v4-pro"],
    ))
}

pub fn openrouter() -> VendorServer {
    let of_user = protocol_a("/api/v1/models/user", "-", &[]);
    VendorServer::new(move |asked| match asked.path() {
        "/api/v1/models" => list_a(&["everybody/sees-this"], "-"),
        "/api/v1/models/user" if asked.is_bearer() => {
            let model = |id: &str, prompt: &str, completion: &str| json!({"id": id, "name": "A name", "pricing": {"prompt": prompt, "completion": completion}});
            let models = json!([
                model("anthropic/claude-opus-4.8", "0.000005", "0.000025"),
                model("meta-llama/llama-4:free", "0", "0"),
                model("openrouter/auto", "-1", "-1"),
            ]);
            (200, json!({"data": models}).to_string())
        }
        _ => of_user(asked),
    })
}

pub fn anthropic() -> VendorServer {
    let error = |status: u16, kind: &str, message: &str| {
        let error = json!({"type": kind, "message": message});
        (
            status,
            json!({"type": "error", "error": error, "request_id": "req_1"}).to_string(),
        )
    };
    VendorServer::new(move |asked| {
        if (asked.method.as_str(), asked.path()) != ("GET", "/v1/models") {
            return error(404, "not_found_error", "Not found");
        }
        if asked.header("anthropic-version") != Some("2023-06-01") {
            return error(
                400,
                "invalid_request_error",
                "anthropic-version: header is required",
            );
        }
        if asked.header("x-api-key") != Some(CREDENTIAL) && !asked.is_bearer() {
            return error(401, "authentication_error", "invalid x-api-key");
        }
        // Two pages, whatever limit is asked for.
        let (ids, more): (&[&str], bool) = match asked.query("after_id") {
            None => (&["claude-opus-4-8", "claude-haiku-4-5-20251001"], true),
            Some("claude%2Dhaiku%2D4%2D5%2D20251001") => (&["claude-new-9"], false),
            Some(_) => return error(400, "invalid_request_error", "after_id: not found"),
        };
        let models = ids.iter().map(|id| json!({"type": "model", "id": id, "display_name": format!("Model {id}"), "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active"}));
        let list = json!({"data": models.collect::<Vec<_>>(), "first_id": ids[0], "last_id": ids[ids.len() - 1], "has_more": more});
        (200, list.to_string())
    })
}

pub fn gemini() -> VendorServer {
    let error = |code: u16, status: &str, message: &str, reason: &str| {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]);
        (code, json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string())
    };
    VendorServer::new(move |asked| {
        if (asked.method.as_str(), asked.path()) != ("GET", "/v1beta/models") {
            return error(
                404,
                "NOT_FOUND",
                "Requested entity was not found.",
                "NOT_FOUND",
            );
        }
        match asked.header("x-goog-api-key") {
            Some(CREDENTIAL) => {}
            Some(_) => {
                let message = "API key not valid. Please pass a valid API key.";
                return error(400, "INVALID_ARGUMENT", message, "API_KEY_INVALID");
            }
            None => {
                return error(
                    403,
                    "PERMISSION_DENIED",
                    "Method doesn't allow unregistered callers",
                    "-",
                );
            }
        }
        let model = |id: &str, method: &str| json!({"name": format!("models/{id}"), "version": "001", "displayName": id, "supportedGenerationMethods": [method]});
        let list = match asked.query("pageToken") {
            None => {
                json!({"models": [model("gemini-3.6-flash", "generateContent"), model("embedding-1", "embedContent")], "nextPageToken": "two=2"})
            }
            Some("two%3D2") => json!({"models": [model("gemini-9-new", "generateContent")]}),
            Some(_) => return error(400, "INVALID_ARGUMENT", "Page token is invalid", "-"),
        };
        (200, list.to_string())
    })
}

/// A server of one's own, which asks for no credential.
pub fn local() -> VendorServer {
    VendorServer::new(|asked| match asked.path() {
        "/v1/models" => list_a(&["llama3.2:3b", "qwen3:8b"], "library"),
        _ => (404, "404 page not found".to_owned()),
    })
}
