//! Rotation of the master key: the keys of sessions are encrypted again, their logs are unchanged.

use windlass_core::SessionId;

use crate::error::KeyError;
use crate::master::MasterKeys;
use crate::record::KeyRecord;
use crate::storage::KeyStorage;

/// Result of a rotation.
#[derive(Debug, Default)]
pub struct Rotation {
    /// Number of keys that the current master key encrypts now.
    pub rotated: usize,
    /// Number of keys that it encrypted already.
    pub current: usize,
    /// Sessions whose key could not be decrypted or written. They are unchanged.
    pub failed: Vec<(SessionId, KeyError)>,
}

/// Encrypts the keys of all sessions with the current master key. A rotation that was interrupted is
/// continued by another one. Earlier master keys are needed until none has failed.
///
/// # Errors
/// [`KeyError::Io`] when the keys cannot be listed.
pub async fn rotate(storage: &dyn KeyStorage, masters: &MasterKeys) -> Result<Rotation, KeyError> {
    let io = |source| KeyError::Io { place: storage.place(), source };
    let mut rotation = Rotation::default();
    // Those of interrupted erasings too: a log may still need them.
    for session in storage.hidden().await.map_err(io)? {
        if let Err(source) = storage.restore_key(&session).await {
            rotation.failed.push((session, io(source)));
        }
    }
    for session in storage.sessions().await.map_err(io)? {
        match rotate_one(storage, masters, &session).await {
            Ok(true) => rotation.rotated += 1,
            Ok(false) => rotation.current += 1,
            Err(error) => rotation.failed.push((session, error)),
        }
    }
    Ok(rotation)
}

/// Returns false if the current master key encrypts the session's key already.
async fn rotate_one(
    storage: &dyn KeyStorage,
    masters: &MasterKeys,
    session: &SessionId,
) -> Result<bool, KeyError> {
    let place = storage.place();
    let io = |source| KeyError::Io { place: place.clone(), source };
    let Some(stored) = storage.key(session).await.map_err(io)? else {
        // The session was erased after it was listed.
        return Ok(false);
    };
    let record = KeyRecord::decode(&stored, &place)?;
    let key = record.unwrap(session, masters, &place)?;
    if record.master == masters.current.id() {
        return Ok(false);
    }
    let tenant = record.tenant.as_deref();
    let rotated = KeyRecord::wrap(&key, session, tenant, &masters.current)?;
    storage.replace_key(session, &rotated.encode()).await.map_err(io)?;
    Ok(true)
}
