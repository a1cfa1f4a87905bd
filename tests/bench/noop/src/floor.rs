//! The host calls of an exchange of trilane's, in their order, with as many bytes in them, and nothing between.
//!
//! The cost of this filter is the least that any code in trilane's place has: the rest is trilane's own. It takes every request
//! for one that may pass, but for two: one without a body is answered, as a model list is, and one with the wrong key is
//! refused.

use proxy_wasm::hostcalls;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, BufferType, ContextType, MapType, MetricType};
use trilane_abi::{HeaderBlock, header_block};

/// The name in shared data of the policy's generation.
const GENERATION: &str = "trilane/generation";
/// The cluster of the benchmark's group.
const CLUSTER: &[u8] = b"a_official";
/// The bytes that only the benchmark's wrong key contains.
const WRONG: &[u8] = b"bench-wrong";
/// About as long as what is logged, listed, and said of a wrong key.
const RECORD: usize = 1130;
const RECORD_OF_REPLY: usize = 240;
const LIST: usize = 1290;
const REFUSAL: usize = 330;
/// The number of counters that a forwarded request changes, and that one answered here changes.
const COUNTERS: usize = 7;
const COUNTERS_OF_REPLY: usize = 2;

/// The filter's root.
#[derive(Default)]
pub struct FloorRoot {
    counters: Vec<u32>,
}

impl Context for FloorRoot {}

impl RootContext for FloorRoot {
    fn on_configure(&mut self, _size: usize) -> bool {
        let _ = hostcalls::set_shared_data(GENERATION, Some(&1_u64.to_le_bytes()), None);
        let names = (0..COUNTERS).map(|number| format!("floor_{number}"));
        self.counters = names
            .filter_map(|name| hostcalls::define_metric(MetricType::Counter, &name).ok())
            .collect();
        true
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(FloorStream {
            counters: self.counters.clone(),
            passes: false,
            held: false,
            begun: false,
        }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

struct FloorStream {
    counters: Vec<u32>,
    /// Whether the request is forwarded.
    passes: bool,
    /// Whether its head is held.
    held: bool,
    /// Whether the answer's body has begun.
    begun: bool,
}

impl Context for FloorStream {}

impl HttpContext for FloorStream {
    fn on_http_request_headers(&mut self, _count: usize, end: bool) -> Action {
        let _ = hostcalls::get_current_time();
        let head = header_block(HeaderBlock::Request).unwrap_or_default();
        let _ = hostcalls::get_shared_data(GENERATION);
        let wrong = head.windows(WRONG.len()).any(|window| window == WRONG);
        self.passes = !end && !wrong;
        self.held = self.passes;
        if wrong {
            reply(401, REFUSAL);
        } else if end {
            reply(200, LIST);
        }
        Action::Pause
    }

    fn on_http_request_body(&mut self, size: usize, _end: bool) -> Action {
        if size > 0 {
            let _ = hostcalls::get_buffer(BufferType::HttpRequestBody, 0, size);
        }
        if self.held && size > 0 {
            self.held = false;
            let headers = MapType::HttpRequestHeaders;
            let _ = hostcalls::set_map_value_bytes(headers, "authorization", None);
            let _ = hostcalls::set_map_value_bytes(headers, "x-trilane-cluster", Some(CLUSTER));
        }
        if self.held {
            Action::Pause
        } else {
            Action::Continue
        }
    }

    fn on_http_response_headers(&mut self, _count: usize, _end: bool) -> Action {
        if self.passes {
            let _ = header_block(HeaderBlock::Response);
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, _end: bool) -> Action {
        if self.passes && size > 0 {
            if !self.begun {
                self.begun = true;
                let _ = hostcalls::get_current_time();
            }
            let _ = hostcalls::get_buffer(BufferType::HttpResponseBody, 0, size);
        }
        Action::Continue
    }

    fn on_log(&mut self) {
        let (record, counters) = if self.passes {
            (RECORD, COUNTERS)
        } else {
            (RECORD_OF_REPLY, COUNTERS_OF_REPLY)
        };
        let record = format!(",\"trilane.floor\":\"{}\"", "-".repeat(record));
        let _ = hostcalls::set_property(vec!["ledger"], Some(record.as_bytes()));
        for counter in self.counters.iter().take(counters) {
            let _ = hostcalls::increment_metric(*counter, 1);
        }
    }
}

fn reply(status: u32, size: usize) {
    let body = format!("{{\"floor\":\"{}\"}}", "-".repeat(size));
    let headers = vec![
        ("content-type", "application/json"),
        ("x-request-id", "00000000-0000-0000-0000-000000000000"),
    ];
    let _ = hostcalls::send_http_response(status, headers, Some(body.as_bytes()));
}
