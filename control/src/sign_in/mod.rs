//! `trilane login`, `token`, `run` and `logout`: a key for a coding agent that nobody hands out, or a token of the console's API for
//! this command.
//!
//! `login` asks the console to be let in ([`client`]: the device flow of RFC 8628) and [stores](stored) a refresh token; a person lets
//! it in, in a browser. `token` prints a key that is good for an hour, and gets another one before it ends; `run` starts a coding
//! agent that is set up for it. With `--api` it stores a token of the API, with the scopes that the person has seen.

mod agents;
mod args;
mod client;
mod stored;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::system::uname;

pub use args::{LoginArgs, LogoutArgs, RunArgs, TokenArgs};
use client::{DeviceCodes, IssuedTokens, SignInClient, SignInError};
pub use stored::StoredApiToken;
use stored::{SignInFile, StoredSignIn};

use crate::console_http::ConsoleUrl;
use crate::failure::Failure;
use crate::output;
use crate::terminal::say;
use trilane_console::timestamp;

/// The seconds that a key must still be good for to be printed again. The console gives another one then, and clients keep a key for
/// five minutes.
const LEFT: i64 = 600;
/// The same for a program that reads its key once.
const LEFT_OF_DAY: i64 = 10 * 3600;

/// The time that a key must be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLife {
    /// An hour: the program asks again.
    Hour,
    /// A working day: the program reads its key once.
    Day,
}

impl KeyLife {
    const fn left(self) -> i64 {
        match self {
            Self::Hour => LEFT,
            Self::Day => LEFT_OF_DAY,
        }
    }
}

fn now() -> i64 {
    timestamp::microseconds(time::OffsetDateTime::now_utc()).div_euclid(1_000_000)
}

/// Signs in: shows a code, and waits until somebody has let this machine in.
///
/// # Errors
/// Nobody has, or the console cannot be reached.
pub fn login(args: &LoginArgs) -> Result<(), Failure> {
    let ca = args.ca.as_deref().map(std::path::absolute).transpose();
    let ca = ca.map_err(|error| Failure::Usage(format!("--ca: {error}")))?;
    let client = SignInClient::new(args.url.clone(), ca.as_deref()).map_err(Failure::Usage)?;
    if args.api {
        return login_to_api(args, ca, &client);
    }
    let file = SignInFile::<StoredSignIn>::of(args.file.as_deref())?;
    let found = client.discover().map_err(told)?;
    let gateway = args.gateway.clone().or(found.gateway);
    let tokens = let_in(&client, None)?;
    let stored = StoredSignIn {
        url: args.url.clone(),
        ca,
        gateway: gateway.unwrap_or_else(|| args.url.to_string()),
        refresh_token: String::new(),
        access_token: String::new(),
        good_until: 0,
    };
    let stored = stored.with(tokens, now());
    let _lock = file.lock()?;
    let before = file.read()?;
    file.write(&stored)?;
    if let Some(before) = before {
        // The one that it takes the place of. It ends by itself otherwise.
        let _ = revoke(&before.url, before.ca.as_deref(), &before.refresh_token);
    }
    say(&format!(
        "Signed in. Gateway: {}\nNext: trilane run claude, codex, gemini or opencode; trilane token prints a key for anything else.",
        stored.gateway
    ));
    Ok(())
}

/// Signs in for a token of the API.
fn login_to_api(
    args: &LoginArgs,
    ca: Option<PathBuf>,
    client: &SignInClient,
) -> Result<(), Failure> {
    let file = SignInFile::<StoredApiToken>::of(args.file.as_deref())?;
    client.discover().map_err(told)?;
    let url = &args.url;
    if !client.has_api().map_err(told)? {
        return Err(Failure::Data(format!(
            "the API of the console is not at {url}: name the address of the console itself, where people sign in"
        )));
    }
    let tokens = let_in(client, Some(&args.scope.join(" ")))?;
    let stored = StoredApiToken {
        url: url.clone(),
        ca,
        token: tokens.access_token,
        good_until: now().saturating_add(tokens.expires_in),
    };
    let _lock = file.lock()?;
    let before = file.read()?;
    file.write(&stored)?;
    if let Some(before) = before {
        let _ = revoke(&before.url, before.ca.as_deref(), &before.token);
    }
    say(&format!(
        "Signed in at {url} for {} hours.\nNext: trilane key list --server {url}",
        tokens.expires_in.div_euclid(3600)
    ));
    Ok(())
}

/// The token of the API that `login --api` has stored, in the file of this sign-in.
///
/// # Errors
/// It cannot be read.
pub fn api_token() -> Result<Option<StoredApiToken>, Failure> {
    let named = std::env::var_os(args::VARIABLE).map(PathBuf::from);
    SignInFile::<StoredApiToken>::of(named.as_deref())?.read()
}

/// Asks to be let in, and waits until somebody has decided.
fn let_in(client: &SignInClient, scope: Option<&str>) -> Result<IssuedTokens, Failure> {
    let codes = client.ask(&device_name(), scope).map_err(told)?;
    say(&format!(
        "Open {} in a browser, and compare the code:\n\n  {}\n\nWaiting until you let this machine in (Ctrl+C ends it) ...",
        codes.verification_uri_complete, codes.user_code
    ));
    wait(client, &codes)
}

fn revoke(url: &ConsoleUrl, ca: Option<&Path>, token: &str) -> Result<(), String> {
    let client = SignInClient::new(url.clone(), ca)?;
    client.revoke(token).map_err(|error| error.to_string())
}

/// Polls until somebody has decided.
fn wait(client: &SignInClient, codes: &DeviceCodes) -> Result<IssuedTokens, Failure> {
    let mut interval = codes.interval;
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_secs(interval));
        match client.poll(&codes.device_code) {
            Ok(tokens) => return Ok(tokens),
            Err(SignInError::Pending) => {}
            Err(SignInError::SlowDown) => interval = interval.saturating_add(5),
            // It may be back before the code is too old.
            Err(SignInError::Away(why)) if begun.elapsed().as_secs() < codes.expires_in => {
                say(&format!("{why}; trying again ..."));
            }
            Err(error) => return Err(told(error)),
        }
    }
}

/// The name of this machine, for the page on which a person lets it in.
fn device_name() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

fn told(error: SignInError) -> Failure {
    Failure::Data(error.to_string())
}

/// Prints a key that is good for ten minutes at least.
///
/// # Errors
/// Nobody is signed in any more, or the console cannot be reached and the key has ended.
pub fn token(args: &TokenArgs) -> Result<(), Failure> {
    let file = SignInFile::of(args.file.as_deref())?;
    let stored = good(&file, KeyLife::Hour)?;
    output::print(|out| writeln!(out, "{}", stored.access_token))
}

/// The sign-in with a key that is good for long enough.
fn good(file: &SignInFile<StoredSignIn>, life: KeyLife) -> Result<StoredSignIn, Failure> {
    let stored = file.read()?.ok_or_else(|| not_signed_in(file))?;
    if stored.is_good(life.left(), now()) {
        return Ok(stored);
    }
    // Of several programs that ask at once, one refreshes.
    let _lock = file.lock()?;
    let stored = file.read()?.ok_or_else(|| not_signed_in(file))?;
    if stored.is_good(life.left(), now()) {
        return Ok(stored);
    }
    let client = SignInClient::new(stored.url.clone(), stored.ca.as_deref());
    let client = client.map_err(Failure::Data)?;
    match client.refresh(&stored.refresh_token, life) {
        Ok(tokens) => {
            let stored = stored.with(tokens, now());
            file.write(&stored)?;
            Ok(stored)
        }
        Err(SignInError::Ended) => {
            file.remove()?;
            let url = &stored.url;
            Err(Failure::Data(format!(
                "the sign-in has ended: trilane login {url}"
            )))
        }
        // The key is as good as before.
        Err(error) if life == KeyLife::Hour && stored.is_good(1, now()) => {
            say(&format!("{error}; the key is good for a while yet"));
            Ok(stored)
        }
        Err(error) => Err(told(error)),
    }
}

fn not_signed_in(file: &SignInFile<StoredSignIn>) -> Failure {
    let place = file.path().display();
    Failure::Data(format!(
        "nobody is signed in ({place} is not there): trilane login URL"
    ))
}

/// Signs out: key and token of the API are refused from then on, and forgotten here.
///
/// # Errors
/// A file cannot be read or removed.
pub fn logout(args: &LogoutArgs) -> Result<(), Failure> {
    let key = SignInFile::<StoredSignIn>::of(args.file.as_deref())?;
    let api = SignInFile::<StoredApiToken>::of(args.file.as_deref())?;
    let _locks = (key.lock()?, api.lock()?);
    let (stored, token) = (key.read()?, api.read()?);
    if stored.is_none() && token.is_none() {
        say("Nobody was signed in.");
        return Ok(());
    }
    if let Some(stored) = stored {
        let revoked = revoke(&stored.url, stored.ca.as_deref(), &stored.refresh_token);
        key.remove()?;
        match revoked {
            Ok(()) => say("Signed out."),
            Err(error) => say(&format!(
                "Signed out here. {error}: the key is good until its hour is over; the page Me of the console ends it now"
            )),
        }
    }
    if let Some(token) = token {
        let (url, revoked) = (
            &token.url,
            revoke(&token.url, token.ca.as_deref(), &token.token),
        );
        api.remove()?;
        match revoked {
            Ok(()) => say(&format!("Signed out at {url}.")),
            Err(error) => say(&format!(
                "Signed out at {url} here. {error}: the token is good until its end; the page Tokens of the console ends it now"
            )),
        }
    }
    Ok(())
}

/// Becomes a coding agent that is set up for the gateway.
///
/// # Errors
/// Nobody is signed in, or the program is not there.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let file = SignInFile::of(args.file.as_deref())?;
    let stored = good(&file, args.agent.key_life())?;
    let command = std::env::current_exe().unwrap_or_else(|_| Path::new("trilane").to_owned());
    let helper = agents::KeyCommand {
        program: command,
        file: args.file.as_deref().map(Path::to_owned),
    };
    let mut started = args.agent.command(&stored, &helper);
    started.args(&args.arguments);
    let error = started.exec();
    let name = started.get_program().to_string_lossy();
    Err(Failure::Data(format!(
        "{name} cannot be started: {error}. Is it installed?"
    )))
}
