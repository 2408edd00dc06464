//! Logins in the user's state folder: one file for each server, for its owner alone, with a lock beside
//! it that is held while a token is renewed.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use windlass_core::Timestamp;

use super::EARLY_S;
use crate::server::LoginStatus;
use crate::state_file;

/// Version of the format.
const VERSION: u32 = 1;
/// Longest file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// Longest wait for the lock. It is longer than a renewal takes.
const LOCK: Duration = Duration::from_secs(90);
/// Pause between two looks at the lock.
const LOOK: Duration = Duration::from_millis(20);

/// Login that is stored. It is secret, so it has no `Debug`.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredLogin {
    /// Authorization server that gave the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    /// Client at that server.
    #[serde(default)]
    pub(super) client_id: String,
    /// Secret that it gave to a client which it registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// Scopes that were granted.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Scopes that a request was refused for, and that the next login asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Tokens>,
}

/// Tokens of a login.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    pub(super) access: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<String>,
    /// Time at which it was received, and at which it expires, in seconds since 1970.
    pub(super) received_s: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_s: Option<u64>,
}

impl Tokens {
    /// Returns the state of a login with these tokens.
    pub(super) fn status(&self) -> LoginStatus {
        let until = self.expires_s.map(|expires_s| Timestamp(expires_s.saturating_mul(1_000)));
        LoginStatus::LoggedIn { until }
    }

    /// Returns true if the token need not be renewed yet.
    pub(super) fn is_fresh(&self, now_s: u64) -> bool {
        let Some(expires_s) = self.expires_s else {
            return true;
        };
        let early_s = EARLY_S.min(expires_s.saturating_sub(self.received_s) / 2);
        now_s.saturating_add(early_s) < expires_s
    }
}

/// Form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginForm {
    version: u32,
    login: StoredLogin,
}

/// File of one login.
pub(super) struct LoginFile {
    path: PathBuf,
}

/// The same, locked against other processes until it is dropped.
pub(super) struct LockedFile<'a> {
    file: &'a LoginFile,
    _lock: File,
}

impl LoginFile {
    /// Names the file of a server, which has this identity, in a folder.
    pub(super) fn new(folder: &Path, identity: &str) -> Self {
        let digest = Sha256::digest(identity);
        let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { path: folder.join(format!("login-{digest}.json")) }
    }

    /// Reads the login; `None` if there is none.
    pub(super) fn read(&self) -> Result<Option<StoredLogin>, String> {
        read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Waits for the lock.
    pub(super) async fn lock(&self) -> Result<LockedFile<'_>, String> {
        let words =
            |error: &dyn std::fmt::Display| format!("cannot lock {}: {error}", self.path.display());
        let lock = state_file::open_lock(&self.path.with_extension("lock"));
        let lock = lock.map_err(|error| words(&error))?;
        let end = Instant::now() + LOCK;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(LockedFile { file: self, _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(LOOK).await,
                Err(TryLockError::WouldBlock) => return Err(words(&"another process holds it")),
                Err(TryLockError::Error(error)) => return Err(words(&error)),
            }
        }
    }

    /// Removes the login, and returns it; `None` if there is none. Of a damaged one nothing is known.
    pub(super) async fn remove(&self) -> Result<Option<StoredLogin>, String> {
        if !self.path.exists() {
            return Ok(None);
        }
        let locked = self.lock().await?;
        let stored = locked.read().ok().flatten().unwrap_or_default();
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(Some(stored)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot remove {}: {error}", self.path.display())),
        }
    }
}

impl LockedFile<'_> {
    pub(super) fn read(&self) -> Result<Option<StoredLogin>, String> {
        self.file.read()
    }

    /// Writes the login as a whole.
    pub(super) fn write(&self, login: &StoredLogin) -> Result<(), String> {
        let path = &self.file.path;
        let form = LoginForm { version: VERSION, login: login.clone() };
        let text = serde_json::to_vec(&form).map_err(io::Error::other);
        let written = text.and_then(|text| state_file::replace(path, &text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

fn read(path: &Path) -> io::Result<Option<StoredLogin>> {
    let Some(text) = state_file::read(path, MAX_BYTES)? else {
        return Ok(None);
    };
    // Words of the parser may quote the text.
    let form: LoginForm =
        serde_json::from_slice(&text).map_err(|_| io::Error::other("it is damaged"))?;
    match form.version {
        VERSION => Ok(Some(form.login)),
        other => Err(io::Error::other(format!("its version {other} is unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_shortly_before_it_expires_and_not_at_once() {
        let fresh = |life_s: Option<u64>, now_s| {
            let expires_s = life_s.map(|life_s| 1_000 + life_s);
            let tokens =
                Tokens { access: "sk-1".into(), refresh: None, received_s: 1_000, expires_s };
            tokens.is_fresh(now_s)
        };
        assert!(fresh(None, u64::MAX));
        assert!(fresh(Some(3_600), 4_569) && !fresh(Some(3_600), 4_570));
        assert!(fresh(Some(10), 1_004) && !fresh(Some(10), 1_005));
        assert!(!fresh(Some(0), 1_000));
    }

    #[tokio::test]
    async fn a_damaged_file_is_an_error_without_its_text_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = LoginFile::new(dir.path(), "s 1");
        for text in ["sk-1", r#"{"version":1,"login":{"sk-1":1}}"#, r#"{"version":2,"login":{}}"#] {
            fs::write(&file.path, text).unwrap();
            let words = file.lock().await.unwrap().read().err().unwrap();
            assert!(!words.contains("sk-1"), "{words}");
            assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
        }
        assert!(file.remove().await.unwrap().is_some());
    }
}
