//! A call of the console's own gateway, as a client makes it.

use core::time::Duration;
use std::thread::sleep;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use trilane::config::origin::Origin;
use ureq::Agent;
use zeroize::Zeroizing;

use super::access::VendorAccess;
use super::listing::{Reach, agent, proxy_of_environment};
use crate::outgoing::AllowedAddresses;

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest time in which a gateway gets to know a new key, and the time between two attempts.
const UNTIL_KNOWN: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_millis(200);
/// The longest answer, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// The number of calls at a time.
static TURNS: Semaphore = Semaphore::const_new(8);

/// A call of the gateway with a key that it may not know yet.
#[derive(Clone)]
pub struct GatewayCall {
    /// The whole URL.
    pub url: String,
    /// The headers, but for the type of the body: names and values, with the key among them.
    pub headers: Vec<(&'static str, Zeroizing<String>)>,
    /// The body, in JSON.
    pub body: String,
}

impl core::fmt::Debug for GatewayCall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GatewayCall")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The answer of the gateway.
#[derive(Debug, Clone)]
pub struct GatewayAnswer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl VendorAccess {
    /// Calls the gateway. Where it does not know the key yet, again.
    ///
    /// # Errors
    /// The reason that there is no answer, for people.
    pub async fn call_gateway(&self, call: GatewayCall) -> Result<GatewayAnswer, String> {
        let Ok(turn) = TURNS.try_acquire() else {
            return Err("others are trying models: wait a moment".to_owned());
        };
        let system_ca = self.system_ca.clone();
        let called = spawn_blocking(move || {
            // Held until the call is over, also where nobody waits for it any more.
            let _turn = turn;
            let reach = Reach {
                ca: None,
                system_ca,
                proxy: proxy_of_environment(&call.url),
                trusts_proxy: true,
                // The operator has named it.
                addresses: AllowedAddresses::Any,
                header: None,
                patience: PATIENCE,
            };
            until_known(&call, &reach)
        });
        called
            .await
            .unwrap_or_else(|_| Err("the console ends".to_owned()))
    }
}

fn until_known(call: &GatewayCall, reach: &Reach<'_>) -> Result<GatewayAnswer, String> {
    let site = call.url.split('/').take(3).collect::<Vec<_>>().join("/");
    let origin = Origin::parse(&site).map_err(|why| why.to_string())?;
    let agent = agent(&origin, reach).map_err(|failure| failure.name().to_owned())?;
    let began = Instant::now();
    loop {
        let answer = once(&agent, call)?;
        if answer.status != 401 || began.elapsed() > UNTIL_KNOWN {
            return Ok(answer);
        }
        sleep(BETWEEN);
    }
}

fn once(agent: &Agent, call: &GatewayCall) -> Result<GatewayAnswer, String> {
    let mut request = agent
        .post(&call.url)
        .header("content-type", "application/json");
    for (name, value) in &call.headers {
        request = request.header(*name, value.as_str());
    }
    let mut response = request
        .send(call.body.as_bytes())
        .map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let limited = response.body_mut().with_config().limit(MAX_BYTES);
    let body = limited.read_to_vec().map_err(|error| error.to_string())?;
    Ok(GatewayAnswer { status, body })
}
