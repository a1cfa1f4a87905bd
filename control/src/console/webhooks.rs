//! Finds what is to be told, and has it sent.

use core::time::Duration;

use time::OffsetDateTime;
use tokio::time::sleep;
use trilane_console::credentials::SealingKeyFile;
use trilane_console::store::{Store, StoreError};
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::fleet_watch::FleetWatch;
use trilane_console::webhooks::owner_mail::OwnerMails;
use trilane_console::webhooks::owner_watch::OwnerWatch;
use trilane_console::webhooks::sender::WebhookSender;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::event_printer::EventPrinter;

/// The pause while nothing is to be sent.
const PAUSE: Duration = Duration::from_secs(1);

/// Finds what is to be told and tells it, until this is dropped. `keys`: what seals credentials and secrets; `console`: the address at
/// which people reach it, for links in mails.
pub async fn go_on(
    sender: WebhookSender,
    store: Store,
    keys: Option<SealingKeyFile>,
    console: Option<String>,
    printer: EventPrinter,
) {
    let mut told = None;
    let mails = sender.has_mail().then_some(OwnerMails { console });
    let mut watches = Watches {
        budgets: BudgetWatch::new(mails.clone()),
        fleet: FleetWatch::default(),
        owners: mails.map(OwnerWatch::new),
    };
    loop {
        let trouble = once(&sender, &store, keys.as_ref(), &mut watches)
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

/// The watches, each with what it keeps between two looks.
struct Watches {
    budgets: BudgetWatch,
    fleet: FleetWatch,
    /// `None`: nobody is mailed.
    owners: Option<OwnerWatch>,
}

/// Finds what is to be told, and sends all that is due.
async fn once(
    sender: &WebhookSender,
    store: &Store,
    keys: Option<&SealingKeyFile>,
    watches: &mut Watches,
) -> Result<(), StoreError> {
    while watches
        .budgets
        .look(store, OffsetDateTime::now_utc())
        .await?
    {}
    // A file that cannot be read is told of where something is sealed.
    let keys = || keys.and_then(|file| file.read().ok());
    watches
        .fleet
        .look(store, keys, OffsetDateTime::now_utc())
        .await?;
    if let Some(owners) = &mut watches.owners {
        owners.look(store, OffsetDateTime::now_utc()).await?;
    }
    while let Some(message) = delivery::take(store, keys, OffsetDateTime::now_utc()).await? {
        let time = OffsetDateTime::now_utc().unix_timestamp();
        let problem = sender.send(&message, time).await.err();
        let outcome = problem.as_deref().map_or(Ok(()), Err);
        delivery::close(store, &message, outcome, OffsetDateTime::now_utc()).await?;
    }
    Ok(())
}
