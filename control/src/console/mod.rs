//! `trilane console`: the control plane's API.
//!
//! All that it does is in [`trilane_console`]; here are its options ([`args`]), where its database is ([`database`]), the first
//! admin, what was there before ([`import`]), signals, and what is told.

mod args;
mod database;
mod import;

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Builder;
use tokio::time::sleep;
use trilane_console::api::{ConsoleState, Reporter};
use trilane_console::documents::{PriceResolver, ResolvedText};
use trilane_console::maintenance::{self, Retention};
use trilane_console::secret::NewSecret;
use trilane_console::store::Store;
use trilane_console::{first_admin, server};

use crate::failure::Failure;
use crate::key::Delivery;
use crate::prices::{PriceCatalogue, resolve};
use crate::serve::bind;
use crate::signals::Signals;
use crate::tell::Teller;

pub use args::ConsoleArgs;

/// The interval between two times of forgetting what is old.
const MAINTAIN: Duration = Duration::from_secs(3600);
/// The threads that serve requests.
const THREADS: usize = 2;
/// The time for responses in progress when the command stops.
const LAST: Duration = Duration::from_secs(5);

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot listen, or cannot open the database.
pub fn run(args: &ConsoleArgs) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::Data(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(serve(args));
    // What is under way was given its time; a transaction that is cut changes nothing.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &ConsoleArgs) -> Result<(), Failure> {
    let teller = Teller::new(args.json);
    let address = database::address(args)?;
    // From here on, so that a signal interrupts nothing halfway.
    let mut signals = Signals::catch()?;
    let listener = bind(&args.listen).await.map_err(Failure::Data)?;
    let listens = listener.local_addr();
    let listens = listens.map_err(|error| Failure::Data(format!("cannot listen: {error}")))?;
    if !listens.ip().is_loopback() && !args.behind_tls_proxy {
        let text = format!(
            "{listens} is no address of loopback, and there is no TLS here: let a proxy end it, and say so with --behind-tls-proxy"
        );
        return Err(Failure::Usage(text));
    }

    let begin = async {
        let store = Store::open(&address);
        let store = store
            .await
            .map_err(|error| Failure::Data(error.to_string()))?;
        admit_first_admin(&store, args.admin_token_file.as_deref(), teller).await?;
        import::run(&store, args, teller).await?;
        Ok(store)
    };
    let store = tokio::select! {
        store = begin => store?,
        _ = signals.received() => return Ok(()),
    };
    let retention = Retention {
        removals: args.keep_removals,
        requests: args.keep_requests,
    };
    tokio::spawn(maintain(store.clone(), retention, teller));
    let state = ConsoleState {
        store: store.clone(),
        prices: PriceResolver(with_prices),
        reporter: Reporter(Arc::new(move |reason: &str| teller.trouble(reason))),
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async move {
        let _ = stopped.await;
    };
    let serving = tokio::spawn(server::serve(listener, state, stopped));
    teller.listening(listens);
    signals.received().await;
    let _ = stop.send(());
    let _ = tokio::time::timeout(LAST, serving).await;
    let _ = tokio::time::timeout(LAST, store.close()).await;
    teller.news("stopped", "stopped", json!({}));
    Ok(())
}

/// Makes the first admin, if nobody is there and a file is named.
async fn admit_first_admin(
    store: &Store,
    file: Option<&Path>,
    teller: Teller,
) -> Result<(), Failure> {
    let failed = |error: trilane_console::store::StoreError| Failure::Data(error.to_string());
    if first_admin::is_anybody_there(store).await.map_err(failed)? {
        return Ok(());
    }
    let Some(file) = file else {
        teller.trouble("nobody may do anything yet: --admin-token-file FILE makes the first admin");
        return Ok(());
    };
    let token = NewSecret::token().map_err(Failure::Data)?;
    // Before the token is good: once it is, it must not be lost.
    let delivery = Delivery::new(file, &token).map_err(Failure::Data)?;
    if first_admin::add(store, &token, now())
        .await
        .map_err(failed)?
    {
        delivery.keep();
        let name = file.display().to_string();
        let text = format!("the first admin's token is in {name}");
        teller.news("admin", &text, json!({"file": name}));
    }
    Ok(())
}

/// The present time, in microseconds since 1970.
fn now() -> i64 {
    time::OffsetDateTime::now_utc()
        .unix_timestamp()
        .saturating_mul(1_000_000)
}

async fn maintain(store: Store, retention: Retention, teller: Teller) {
    loop {
        if let Err(error) = maintenance::run(&store, retention).await {
            teller.trouble(&format!("what is old stays for now: {error}"));
        }
        sleep(MAINTAIN).await;
    }
}

/// Numbers in place of `"prices": "catalogue"`.
fn with_prices(text: &[u8]) -> ResolvedText {
    let resolved = resolve(text, &PriceCatalogue::embedded());
    ResolvedText {
        text: resolved.text.into_owned(),
        problems: resolved.problems,
    }
}
