//! Envoy's part of one exchange: what it holds while the filter pauses, what it sends on.

use serde_json::Value;

use crate::host::{CallbackScope, Called, Headers, RecordedReply, Vm, header, headers};

const CONTINUE: i32 = 0;

/// The part of a request that was sent to the upstream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SentUpstream {
    pub head: Option<Headers>,
    pub body: Vec<u8>,
    /// Whether the upstream has the whole request.
    pub complete: bool,
}

/// One exchange.
#[derive(Debug)]
pub struct Stream {
    pub id: i32,
    request: Headers,
    begun: bool,
    held: Vec<u8>,
    paused: bool,
    pub upstream: SentUpstream,
    pub reply: Option<RecordedReply>,
    /// The answer that is held: its head, Envoy's details, and its body so far.
    answer: Option<(Headers, Option<String>, Vec<u8>)>,
}

impl Stream {
    pub fn new(vm: &mut Vm, request: Headers) -> Self {
        Self {
            id: vm.create_stream(),
            request,
            begun: false,
            held: Vec::new(),
            paused: false,
            upstream: SentUpstream::default(),
            reply: None,
            answer: None,
        }
    }

    /// The status of our answer; 0 where there is none.
    pub fn status(&self) -> u32 {
        self.reply.as_ref().map_or(0, |reply| reply.status)
    }

    /// A request has one head.
    pub fn head(&mut self, vm: &mut Vm, end: bool) -> Called<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let scope = CallbackScope {
            request_headers: Some(self.request.clone()),
            ..CallbackScope::default()
        };
        let count = i32::try_from(self.request.len()).unwrap();
        let action: i32 = vm.call(
            "proxy_on_request_headers",
            (self.id, count, i32::from(end)),
            scope,
        )?;
        self.after_request(vm, action, end)
    }

    pub fn body(&mut self, vm: &mut Vm, chunk: &[u8], end: bool) -> Called<()> {
        if self.reply.is_some() {
            return Ok(());
        }
        if self.held.is_empty() {
            vm.host().layout.clear();
        }
        vm.host().layout.chunk(chunk.len());
        self.held.extend_from_slice(chunk);
        let scope = CallbackScope {
            // Envoy lets the head be changed only until it has gone.
            request_headers: self.upstream.head.is_none().then(|| self.request.clone()),
            request_body: Some(self.held.clone()),
            ..CallbackScope::default()
        };
        let size = i32::try_from(self.held.len()).unwrap();
        let action: i32 = vm.call(
            "proxy_on_request_body",
            (self.id, size, i32::from(end)),
            scope,
        )?;
        if let Some(body) = vm.host().scope.request_body.take() {
            self.held = body;
        }
        self.after_request(vm, action, end)
    }

    /// Trailers end the body; the last chunk did not say so.
    pub fn trailers(&mut self, vm: &mut Vm) -> Called<()> {
        if self.reply.is_some() {
            return Ok(());
        }
        let scope = CallbackScope {
            request_headers: self.upstream.head.is_none().then(|| self.request.clone()),
            ..CallbackScope::default()
        };
        let action: i32 = vm.call("proxy_on_request_trailers", (self.id, 1), scope)?;
        self.after_request(vm, action, true)
    }

    fn after_request(&mut self, vm: &mut Vm, action: i32, end: bool) -> Called<()> {
        if let Some(request) = vm.host().scope.request_headers.take() {
            self.request = request;
        }
        if let Some(reply) = vm.host().scope.reply.take() {
            return self.local_reply(vm, reply);
        }
        self.paused = action != CONTINUE;
        if !self.paused {
            self.upstream
                .head
                .get_or_insert_with(|| self.request.clone());
            self.upstream.body.append(&mut self.held);
            self.upstream.complete |= end;
        }
        Ok(())
    }

    /// Envoy sends a local reply through the filters' response callbacks, once the VM has returned.
    fn local_reply(&mut self, vm: &mut Vm, reply: RecordedReply) -> Called<()> {
        assert!(self.reply.is_none(), "a second reply: {reply:?}");
        self.held.clear();
        self.answer = None;
        let body = reply.body.clone();
        let mut head = headers(&[(":status", &reply.status.to_string())]);
        head.extend(reply.headers.clone());
        self.reply = Some(reply);
        self.response_head(vm, head, None)?;
        self.response_body(vm, &body, true).map(drop)
    }

    /// An answer comes by; `details` are what Envoy says of its origin.
    pub fn response_head(
        &mut self,
        vm: &mut Vm,
        head: Headers,
        details: Option<&str>,
    ) -> Called<()> {
        let scope = CallbackScope {
            request_headers: Some(self.request.clone()),
            code_details: details.map(|text| text.as_bytes().to_vec()),
            response_headers: Some(head.clone()),
            ..CallbackScope::default()
        };
        let count = i32::try_from(head.len()).unwrap();
        let action: i32 = vm.call("proxy_on_response_headers", (self.id, count, 0), scope)?;
        match vm.host().scope.reply.take() {
            // This one passes the filter no more: Envoy answers in place of the answer.
            Some(reply) => self.reply = Some(reply),
            None if action == CONTINUE => {}
            None => {
                let status = header(&head, ":status");
                let status = status.map(|it| String::from_utf8_lossy(it).into_owned());
                assert!(
                    matches!(
                        status.as_deref(),
                        Some("400" | "401" | "403" | "404" | "429")
                    ),
                    "no other answer is held: {status:?}"
                );
                self.answer = Some((head, details.map(str::to_owned), Vec::new()));
            }
        }
        Ok(())
    }

    /// Gives what goes on in the chunk's place.
    pub fn response_body(&mut self, vm: &mut Vm, chunk: &[u8], end: bool) -> Called<Vec<u8>> {
        let mut scope = CallbackScope::default();
        let mut chunk = chunk.to_vec();
        if let Some((head, details, body)) = &mut self.answer {
            body.extend(chunk);
            chunk = body.clone();
            scope.response_headers = Some(head.clone());
            scope.code_details = details.as_ref().map(|text| text.as_bytes().to_vec());
        }
        let size = i32::try_from(chunk.len()).unwrap();
        scope.response_body = Some(chunk);
        let action: i32 = vm.call(
            "proxy_on_response_body",
            (self.id, size, i32::from(end)),
            scope,
        )?;
        if let Some(reply) = vm.host().scope.reply.take() {
            assert!(
                self.answer.take().is_some(),
                "in place of an answer that was held"
            );
            self.reply = Some(reply);
            return Ok(Vec::new());
        }
        if action != CONTINUE {
            let (_, _, body) = self.answer.as_ref().expect("an answer that is held");
            assert!(
                !end && body.len() <= 8 << 10,
                "8 KiB at most, and not its end"
            );
            return Ok(Vec::new());
        }
        self.answer = None;
        Ok(vm.host().scope.response_body.take().unwrap_or_default())
    }

    /// The exchange is over, however far it got. It leaves one record, if its head ever came and it is no probe.
    pub fn end(&self, vm: &mut Vm) -> Called<Option<Value>> {
        let scope = CallbackScope {
            code_details: Some(b"downstream_remote_disconnect".to_vec()),
            ..CallbackScope::default()
        };
        vm.call::<_, ()>("proxy_on_log", self.id, scope)?;
        let mut records = core::mem::take(&mut vm.host().records);
        let record = records.pop().map(|members| {
            let line = [b"{\"envoy\":1", members.as_slice(), b"}"].concat();
            serde_json::from_slice(&line).expect("the members of an object")
        });
        assert_eq!(records.len(), 0, "one record at most");
        let is_probe = header(&self.request, "x-trilane-probe").is_some();
        assert!(
            record.is_some() != is_probe || !self.begun,
            "a record for every request but a probe"
        );
        let done: i32 = vm.call("proxy_on_done", self.id, CallbackScope::default())?;
        assert_eq!(done, 1, "nothing is left to wait for");
        vm.call::<_, ()>("proxy_on_delete", self.id, CallbackScope::default())?;
        Ok(record)
    }
}

/// The head of a chat request of protocol A.
pub fn chat(key: &str, length: Option<usize>) -> Headers {
    let mut head = headers(&[
        (":method", "POST"),
        (":path", "/v1/chat/completions"),
        (":authority", "gateway"),
        ("content-type", "application/json"),
        ("authorization", &format!("Bearer {key}")),
        ("x-request-id", "r-1"),
    ]);
    if let Some(length) = length {
        head.extend(headers(&[("content-length", &length.to_string())]));
    }
    head
}

/// Sends a whole request in one chunk, and ends it.
pub fn exchange(vm: &mut Vm, head: Headers, body: &[u8]) -> Stream {
    let mut stream = Stream::new(vm, head);
    stream.head(vm, body.is_empty()).unwrap();
    if !body.is_empty() {
        stream.body(vm, body, true).unwrap();
    }
    stream.end(vm).unwrap();
    stream
}

/// A whole streamed chat whose answer comes in these pieces; gives its record.
pub fn answered<'a>(
    vm: &mut Vm,
    status: &str,
    pieces: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Value {
    let mut stream = Stream::new(vm, chat("key-a", None));
    stream.head(vm, false).unwrap();
    let body = br#"{"model": "gpt-x", "stream": true}"#;
    stream.body(vm, body, true).unwrap();
    let head = headers(&[(":status", status), ("x-request-id", "up-7")]);
    stream
        .response_head(vm, head, Some("via_upstream"))
        .unwrap();
    let last = pieces.len();
    for (number, piece) in (1..).zip(pieces) {
        stream.response_body(vm, piece, number == last).unwrap();
    }
    stream.end(vm).unwrap().expect("a record")
}
