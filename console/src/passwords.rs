//! Hashes passwords (Argon2id), a few at a time: each takes 19 MiB.

use core::fmt;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The shortest password, in characters: that of NIST SP 800-63B for a password alone.
pub const SHORTEST: usize = 15;
/// The longest password, in bytes.
pub const LONGEST: usize = 1024;

/// The number of passwords that are hashed at once.
static AT_ONCE: Semaphore = Semaphore::const_new(2);

/// The hash that a password is compared with if the person has none, so that this takes as long. (Of a discarded password.)
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0IGhlcmU$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A password that somebody has typed. `Debug` does not print it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// A password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the fault of a new password, if it has one.
    pub fn fault(&self) -> Option<String> {
        if self.0.chars().count() < SHORTEST {
            return Some(t!(
                "must have at least {count} characters",
                count = SHORTEST
            ));
        }
        (self.0.len() > LONGEST).then(|| t!("must have at most {count} bytes", count = LONGEST))
    }

    /// Whether it is the same as another one that was just typed.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// The hash of a password, with a new salt.
///
/// # Errors
/// The system gives no randomness, or is about to end.
pub async fn hash(password: Password) -> Result<String, String> {
    at_once(move || {
        let hash = Argon2::default().hash_password(password.0.as_bytes());
        hash.map(|hash| hash.to_string())
            .map_err(|error| format!("the password cannot be hashed: {error}"))
    })
    .await?
}

/// Whether a password has this hash. Without one it has not, and that takes as long.
///
/// # Errors
/// The system is about to end.
pub async fn verify(password: Password, hash: Option<String>) -> Result<bool, String> {
    at_once(move || {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        // Longer ones are nobody's, and would only take time.
        let text = password.0.as_bytes().get(..LONGEST.saturating_add(1));
        let text = text.unwrap_or(password.0.as_bytes());
        let Ok(hash) = PasswordHash::new(&hash) else {
            return false;
        };
        let same = Argon2::default().verify_password(text, &hash).is_ok();
        same && known
    })
    .await
}

async fn at_once<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let ending = || "the console is about to end".to_owned();
    let turn = AT_ONCE.acquire().await.map_err(|_| ending())?;
    let done = spawn_blocking(work).await.map_err(|_| ending());
    drop(turn);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_verified() {
        let right = Password::new("correct horse battery");
        let stored = hash(right.clone()).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_ne!(stored, hash(right.clone()).await.unwrap(), "a new salt");
        let cases = [
            ("right", right.clone(), Some(stored.clone()), true),
            ("wrong", Password::new("correct horse"), Some(stored), false),
            ("nobody", right.clone(), None, false),
            ("damaged", right, Some("x".to_owned()), false),
        ];
        for (case, password, hash, want) in cases {
            assert_eq!(verify(password, hash).await.unwrap(), want, "{case}");
        }
        // What stands for nobody's takes the same work.
        PasswordHash::new(NOBODY).unwrap();
        assert!(NOBODY.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }

    #[test]
    fn what_is_long_enough() {
        let cases = [
            ("a".repeat(14), false),
            ("ä".repeat(15), true),
            ("a".repeat(1024), true),
            ("a".repeat(1025), false),
        ];
        for (text, good) in cases {
            assert_eq!(
                Password::new(text.clone()).fault().is_none(),
                good,
                "{}",
                text.len()
            );
        }
        assert_eq!(format!("{:?}", Password::new("x")), "Password(..)");
    }
}
