//! The key of a session as it is stored: encrypted with a master key, bound to session and tenant.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use windlass_core::SessionId;
use zeroize::Zeroizing;

use crate::cipher::{Bound, KEY_BYTES, Key, open, seal};
use crate::error::KeyError;
use crate::master::{MasterKey, MasterKeys};

/// Version of the records that this release writes, and the only one.
const VERSION: u32 = 1;

/// Stored key of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRecord {
    v: u32,
    /// Tenant of the session; `None` for one of the system, or without a log yet.
    pub(crate) tenant: Option<String>,
    /// Id of the master key.
    pub(crate) master: String,
    /// The encrypted key, as Base64.
    wrapped: String,
}

impl KeyRecord {
    /// Encrypts the key of a session.
    pub(crate) fn wrap(
        key: &Key,
        session: &SessionId,
        tenant: Option<&str>,
        master: &MasterKey,
    ) -> Result<Self, KeyError> {
        let wrapped = seal(&master.key, &bound(session, tenant), &*key.0);
        let wrapped = STANDARD.encode(wrapped.map_err(KeyError::Random)?);
        let (tenant, master) = (tenant.map(str::to_owned), master.id().to_owned());
        Ok(Self { v: VERSION, tenant, master, wrapped })
    }

    /// Decrypts the key of a session.
    pub(crate) fn unwrap(
        &self,
        session: &SessionId,
        masters: &MasterKeys,
        place: &str,
    ) -> Result<Key, KeyError> {
        let other = || KeyError::OtherMaster { master: self.master.clone() };
        let damaged = || KeyError::Damaged { place: place.to_owned() };
        let master = masters.get(&self.master).ok_or_else(other)?;
        let wrapped = STANDARD.decode(&self.wrapped).map_err(|_| damaged())?;
        let bound = bound(session, self.tenant.as_deref());
        let key = Zeroizing::new(open(&master.key, &bound, &wrapped).ok_or_else(damaged)?);
        let key = <[u8; KEY_BYTES]>::try_from(key.as_slice()).map_err(|_| damaged())?;
        Ok(Key(Zeroizing::new(key)))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8], place: &str) -> Result<Self, KeyError> {
        let record: Option<Self> = serde_json::from_slice(bytes).ok();
        let damaged = || KeyError::Damaged { place: place.to_owned() };
        record.filter(|record| record.v == VERSION).ok_or_else(damaged)
    }
}

fn bound(session: &SessionId, tenant: Option<&str>) -> Bound {
    Bound::to("windlass session key 1").and(session.as_str().as_bytes()).and_maybe(tenant)
}
