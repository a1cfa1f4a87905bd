//! Maintenance of a console's database without its API: for its operator, when something is lost.

use std::path::Path;

use time::OffsetDateTime;
use trilane_console::identity_providers::secrets as provider_secrets;
use trilane_console::intake::{LedgerBatch, void};
use trilane_console::secret::NewSecret;
use trilane_console::sessions::link_path;
use trilane_console::store::{DatabaseAddress, Store, StoreError, backup, key_feed, people};
use trilane_console::webhooks::secrets;
use trilane_console::{account_credentials, envoys, first_admin, in_transaction};

use super::args::{
    AdminTokenArgs, ApproveArgs, BackupArgs, ConsoleCommand, DatabaseArgs, EnrolmentSecretArgs,
    ResealArgs, RestoredArgs, SignInLinkArgs, VoidArgs,
};
use super::{database, now, operator, sealing_key_file, sealing_keys};
use crate::failure::Failure;
use crate::key::Delivery;
use crate::runtime;

/// Does one of them.
///
/// # Errors
/// The reason that it was not done.
pub fn run(command: &ConsoleCommand) -> Result<(), Failure> {
    runtime::run(1, async {
        let said = match command {
            ConsoleCommand::Reseal(args) => reseal(args).await,
            ConsoleCommand::AdminToken(args) => admin_token(args).await,
            ConsoleCommand::SignInLink(args) => sign_in_link(args).await,
            ConsoleCommand::Backup(args) => back_up(args).await,
            ConsoleCommand::Restored(args) => restored(args).await,
            ConsoleCommand::Approve(args) => approve(args).await,
            ConsoleCommand::EnrolmentSecret(args) => enrolment_secret(args).await,
            ConsoleCommand::Void(args) => void_lines(args).await,
        }?;
        crate::terminal::say(&said);
        Ok(())
    })
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Data(error.to_string())
}

/// The database, which is there already.
async fn open(args: &DatabaseArgs) -> Result<(DatabaseAddress, Store), Failure> {
    let address = database::address(args)?;
    if let DatabaseAddress::Directory(directory) = &address {
        must_exist(directory)?;
    }
    let store = Store::open(&address).await.map_err(failed)?;
    Ok((address, store))
}

fn must_exist(directory: &Path) -> Result<(), Failure> {
    if directory.join("console.db").exists() {
        return Ok(());
    }
    let name = directory.display();
    Err(Failure::Data(format!(
        "there is no database of a console in {name}"
    )))
}

async fn reseal(args: &ResealArgs) -> Result<String, Failure> {
    let (address, store) = open(&args.database).await?;
    let file = sealing_keys(args.sealing_key_file.as_ref(), &address);
    let file = file.ok_or_else(|| {
        Failure::Usage("say where the keys are that seal: --sealing-key-file FILE".to_owned())
    })?;
    if args.new_key {
        file.add().map_err(Failure::Data)?;
    }
    let keys = file.read().map_err(Failure::Data)?;
    let of_accounts = account_credentials::reseal(&store, &keys).await;
    let of_webhooks = secrets::reseal(&store, &keys).await;
    let of_providers = provider_secrets::reseal(&store, &keys).await;
    store.close().await;
    let (sealed, lost) = of_accounts.map_err(failed)?;
    let (sealed_secrets, lost_secrets) = of_webhooks.map_err(failed)?;
    let (sealed_of_providers, lost_of_providers) = of_providers.map_err(failed)?;
    let done = format!(
        "sealed anew: credentials {sealed}, secrets of webhooks {sealed_secrets}, secrets of identity providers {sealed_of_providers}"
    );
    if (lost, lost_secrets, lost_of_providers) != (0, 0, 0) {
        return Err(Failure::Data(format!(
            "{done}. Not opened by any key in {}: credentials {lost}, secrets of webhooks {lost_secrets}, secrets of identity providers {lost_of_providers}. \
             Put back the file that has their key; or give those credentials again (PUT /api/v1/credentials/NAME), remove those webhooks \
             and add them anew, and give clients' secrets again: people sign in anew",
            file.path().display()
        )));
    }
    if args.forget_old_keys {
        file.forget_others().map_err(Failure::Data)?;
    }
    Ok(format!("{done}; all others were"))
}

async fn admin_token(args: &AdminTokenArgs) -> Result<String, Failure> {
    if !people::is_id(&args.person) {
        return Err(Failure::Usage(format!("--person {}", people::ID)));
    }
    let (_, store) = open(&args.database).await?;
    let token = NewSecret::token().map_err(Failure::Data)?;
    // Before the token is good: once it is, it must not be lost.
    let delivery = Delivery::new(&args.token_file, &token).map_err(Failure::Data)?;
    let made = first_admin::recover(&store, &args.person, &token, now()).await;
    store.close().await;
    if !made.map_err(failed)? {
        return Err(Failure::Data(format!(
            "{} is the agent of an Envoy: name another with --person",
            args.person
        )));
    }
    delivery.keep();
    Ok(format!(
        "a token of the admin {} is in {}. It is good for an hour: make another one with it (POST /api/v1/tokens)",
        args.person,
        args.token_file.display()
    ))
}

async fn sign_in_link(args: &SignInLinkArgs) -> Result<String, Failure> {
    let (_, store) = open(&args.database).await?;
    let link = first_admin::link_for(&store, &args.person, now()).await;
    store.close().await;
    let link = link.map_err(failed)?.ok_or_else(|| {
        Failure::Data(format!(
            "{} is nobody who may sign in: name another with --person; `trilane console admin-token` makes an admin",
            args.person
        ))
    })?;
    let url = args.console_url.trim_end_matches('/');
    Ok(format!("{url}{}", link_path(&link)))
}

async fn back_up(args: &BackupArgs) -> Result<String, Failure> {
    let address = database::address(&args.database)?;
    if let DatabaseAddress::Directory(directory) = &address {
        must_exist(directory)?;
    }
    backup::write(&address, &args.file).await.map_err(failed)?;
    let name = args.file.display();
    let keys = sealing_key_file(None, &address).map_or_else(
        || "the file that --sealing-key-file names".to_owned(),
        |file| file.display().to_string(),
    );
    Ok(format!(
        "{name} is a copy of the database. The keys that open its credentials and secrets are in {keys}: keep a copy of that file, \
         apart from this one"
    ))
}

async fn restored(args: &RestoredArgs) -> Result<String, Failure> {
    let (_, store) = open(&args.database).await?;
    let begun: Result<(), StoreError> = key_feed::begin_anew(&store, now()).await;
    store.close().await;
    begun.map_err(failed)?;
    Ok("gateways read all keys anew. Keys and tokens that were removed or disabled after the backup are good again: remove them \
        once more"
        .to_owned())
}

async fn approve(args: &ApproveArgs) -> Result<String, Failure> {
    let (_, store) = open(&args.database).await?;
    let approved: Result<_, StoreError> = in_transaction!(store, transaction => {
        let approved = match &args.fingerprint {
            Some(asked) => envoys::approve(transaction, asked, &operator(), now()).await?,
            None => None,
        };
        Ok((approved, envoys::waiting(transaction).await?))
    });
    store.close().await;
    let (approved, waiting) = approved.map_err(failed)?;
    let lines = waiting.iter().map(|(fingerprint, envoy)| {
        let id = &envoy.id;
        format!("{fingerprint}  {}", crate::terminal::printable(id))
    });
    let list = match waiting.is_empty() {
        true => "no agent waits for an approval".to_owned(),
        false => format!(
            "agents that wait for an approval:\n{}",
            lines.collect::<Vec<_>>().join("\n")
        ),
    };
    match (&args.fingerprint, approved) {
        (None, _) => Ok(list),
        (Some(_), Some(id)) => Ok(format!(
            "the agent of {} gets credentials of accounts from now on",
            crate::terminal::printable(&id)
        )),
        (Some(asked), None) => Err(Failure::Data(format!(
            "no agent waits that has the fingerprint {}; {list}",
            crate::terminal::printable(asked)
        ))),
    }
}

async fn enrolment_secret(args: &EnrolmentSecretArgs) -> Result<String, Failure> {
    const DAY: i64 = 86_400_000_000;
    let (name, shown) = (&args.name, crate::terminal::printable(&args.name));
    if name.is_empty() || name.len() > 128 || name.chars().any(char::is_control) {
        let why = "--name: must be 1 to 128 bytes without control characters";
        return Err(Failure::Usage(why.to_owned()));
    }
    let (_, store) = open(&args.database).await?;
    let Some(file) = &args.file else {
        let removed: Result<bool, StoreError> = in_transaction!(store, transaction => {
            envoys::remove_secret(transaction, name, &operator(), now()).await
        });
        store.close().await;
        return match removed.map_err(failed)? {
            true => Ok(format!(
                "no agent enrols with the secret {shown} any more; revoke those Envoys that it should not have let in"
            )),
            false => Err(Failure::Data(format!(
                "there is no enrolment secret {shown}"
            ))),
        };
    };
    let secret = NewSecret::enrolment_secret().map_err(Failure::Data)?;
    // Before it is good: once it is, it must not be lost.
    let delivery = Delivery::new(file, &secret).map_err(Failure::Data)?;
    let until = args
        .days
        .map(|days| now().saturating_add(DAY.saturating_mul(days.into())));
    let made: Result<(), StoreError> = in_transaction!(store, transaction => {
        envoys::make_secret(transaction, name, &secret, until, &operator(), now()).await
    });
    store.close().await;
    made.map_err(failed)?;
    delivery.keep();
    Ok(format!(
        "the enrolment secret {shown} is in {}. Whoever has it reads credentials of accounts",
        file.display()
    ))
}

async fn void_lines(args: &VoidArgs) -> Result<String, Failure> {
    LedgerBatch::new(&args.envoy, "file", 0, &[], false)
        .map_err(|_| Failure::Usage("--envoy: this is no id of an Envoy".to_owned()))?;
    let microseconds = |time: OffsetDateTime| {
        i64::try_from(time.unix_timestamp_nanos().div_euclid(1000)).unwrap_or(i64::MAX)
    };
    let time = (microseconds(args.from), microseconds(args.to));
    if time.0 >= time.1 {
        return Err(Failure::Usage("--to must be after --from".to_owned()));
    }
    let (_, store) = open(&args.database).await?;
    let counted = void::count(&store, &args.envoy, time)
        .await
        .map_err(failed)?;
    let charges = counted.charges.iter().filter(|(_, sum)| !sum.is_zero());
    let charges: Vec<_> = charges
        .map(|(currency, sum)| format!("{} {}", sum.text(), crate::terminal::printable(currency)))
        .collect();
    let charge = match charges.is_empty() {
        true => "charging nothing".to_owned(),
        false => format!("charging {}", charges.join(", ")),
    };
    let (lines, envoy) = (counted.lines, &args.envoy);
    if !args.yes {
        store.close().await;
        return Ok(format!(
            "{lines} lines of {envoy} would be void, {charge}. Nothing was changed: add --yes to make them void, which cannot be undone"
        ));
    }
    let begun: Result<_, StoreError> = in_transaction!(store, transaction => {
        void::begin(transaction, envoy, time, &operator(), now()).await
    });
    let Some(range) = begun.map_err(failed)? else {
        store.close().await;
        return Err(Failure::Data(void::ERASURE.to_owned()));
    };
    let done = void::run(&store, &range).await;
    store.close().await;
    Ok(match done.map_err(failed)? {
        true => format!("the lines of {envoy} are void: {lines} had been counted, {charge}"),
        false => {
            "the lines become void when the data of a person is erased; the console goes on with it"
                .to_owned()
        }
    })
}
