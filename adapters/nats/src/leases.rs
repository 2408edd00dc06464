//! Leases: one message a name, whose time is the server's, and whose sequence is the epoch.

use async_nats::HeaderMap;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::Epoch;
use windlass_ports::{Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases};

use crate::server::{OutgoingMessage, Server, StoredMessage};
use crate::server_error::ServerError;

/// The most bytes of a name, and of a holder.
const NAME_BYTES: usize = 128;

/// The shortest and the longest lease, in milliseconds.
const TTL_MS: (u64, u64) = (100, 3_600_000);

/// Most tries of a change while others change the same lease.
const ATTEMPTS: u32 = 32;

/// Leases in JetStream. Their clock is that of the servers: the times at which the leader of one
/// stream stored the renewals and the look at them.
#[derive(Debug, Clone)]
pub struct NatsLeases {
    server: Server,
}

/// Stored record of a lease.
#[derive(Debug, Serialize, Deserialize)]
struct LeaseRecord {
    holder: String,
    ttl_ms: u64,
    /// The sequence of the message that granted it; `None` in that message itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    /// True once the lease was released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    free: bool,
}

/// Of the body of a lease's message: for how long it lasts from then on, or `None` where it was given
/// back. Nothing for what does not read.
pub(crate) fn parse_lease_ttl(body: &[u8]) -> Option<Option<u64>> {
    let entry: LeaseRecord = serde_json::from_slice(body).ok()?;
    Some((!entry.free).then_some(entry.ttl_ms))
}

/// An entry and the message that it stands in.
struct StoredLease {
    entry: LeaseRecord,
    seq: u64,
    at_ms: u64,
}

impl StoredLease {
    fn epoch(&self) -> u64 {
        self.entry.epoch.unwrap_or(self.seq)
    }

    /// Returns true if this is the granted lease, and it was not released.
    fn is(&self, lease: &Lease) -> bool {
        !self.entry.free && self.epoch() == lease.epoch.0 && self.entry.holder == lease.holder
    }
}

impl NatsLeases {
    pub(crate) fn new(server: Server) -> Self {
        Self { server }
    }

    async fn seen(&self, name: &str) -> Result<Option<StoredLease>, ServerError> {
        let names = &self.server.names;
        let (stream, subject) = (names.lease_stream(), names.lease_subject(name));
        let Some(StoredMessage { seq, body, at_ms, .. }) =
            self.server.last(&stream, &subject).await?
        else {
            return Ok(None);
        };
        let entry = serde_json::from_slice(&body);
        let entry =
            entry.map_err(|error| ServerError::Unexpected(format!("lease {name}: {error}")))?;
        Ok(Some(StoredLease { entry, seq, at_ms }))
    }

    async fn write(
        &self,
        name: &str,
        entry: &LeaseRecord,
        expected: u64,
    ) -> Result<u64, ServerError> {
        let body = serde_json::to_vec(entry);
        let body = body.map_err(|error| ServerError::Unexpected(error.to_string()))?;
        let post = OutgoingMessage {
            subject: self.server.names.lease_subject(name),
            headers: HeaderMap::new(),
            body: body.into(),
            expected: Some(expected),
        };
        self.server.post(post).await
    }

    /// The server's time, in milliseconds since the Unix epoch: not before this was called.
    pub(crate) async fn now_ms(&self) -> Result<u64, ServerError> {
        let names = &self.server.names;
        let post = OutgoingMessage {
            subject: names.clock_subject(),
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
            expected: None,
        };
        self.server.post(post).await?;
        let (stream, subject) = (names.lease_stream(), names.clock_subject());
        let last = self.server.last(&stream, &subject).await?;
        let last =
            last.ok_or_else(|| ServerError::Unexpected(String::from("the clock is gone")))?;
        Ok(last.at_ms)
    }

    /// Returns the holder of a lease and the time that is left.
    async fn held(&self, seen: &StoredLease) -> Result<Option<LeaseStatus>, ServerError> {
        if seen.entry.free {
            return Ok(None);
        }
        let ends = seen.at_ms.saturating_add(seen.entry.ttl_ms);
        let left_ms = ends.saturating_sub(self.now_ms().await?);
        Ok((left_ms > 0).then(|| LeaseStatus {
            holder: seen.entry.holder.clone(),
            epoch: Epoch(seen.epoch()),
            remaining_ms: left_ms,
        }))
    }
}

#[async_trait]
impl Leases for NatsLeases {
    fn capabilities(&self) -> LeaseCapabilities {
        LeaseCapabilities {
            min_ttl_ms: TTL_MS.0,
            max_ttl_ms: TTL_MS.1,
            name_bytes: NAME_BYTES,
            slack_ms: 50,
        }
    }

    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError> {
        let doing = format!("taking the lease {name:?}");
        let failed = |trouble: ServerError| trouble.in_leases(&doing);
        let fits =
            |text: &str| (1..=NAME_BYTES).contains(&text.len()) && !text.contains(char::is_control);
        if !fits(name) || !fits(holder) || !(TTL_MS.0..=TTL_MS.1).contains(&ttl_ms) {
            return Err(LeaseError::new(
                LeaseErrorKind::Invalid,
                format!(
                    "{doing}: a name and a holder have 1 to {NAME_BYTES} bytes without control \
                     characters, and a lease lasts {} to {} ms",
                    TTL_MS.0, TTL_MS.1
                ),
            ));
        }
        for _ in 0..ATTEMPTS {
            let seen = self.seen(name).await.map_err(failed)?;
            if let Some(seen) = seen.as_ref().filter(|seen| seen.entry.holder != holder)
                && let Some(holding) = self.held(seen).await.map_err(failed)?
            {
                let context = format!("{doing}: it is held by {holding}");
                return Err(LeaseError::new(LeaseErrorKind::Held(holding), context));
            }
            let entry = LeaseRecord { holder: holder.to_owned(), ttl_ms, epoch: None, free: false };
            let expected = seen.map_or(0, |seen| seen.seq);
            match self.write(name, &entry, expected).await {
                Ok(seq) => {
                    return Ok(Lease {
                        name: name.to_owned(),
                        holder: holder.to_owned(),
                        epoch: Epoch(seq),
                        ttl_ms,
                    });
                }
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(failed(trouble)),
            }
        }
        Err(failed(ServerError::Moved))
    }

    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError> {
        let doing = format!("renewing the lease {:?}", lease.name);
        let failed = |trouble: ServerError| trouble.in_leases(&doing);
        for _ in 0..ATTEMPTS {
            let seen = self.seen(&lease.name).await.map_err(failed)?;
            let Some(seen) = seen.filter(|seen| seen.is(lease)) else {
                return Err(LeaseError::new(
                    LeaseErrorKind::Lost,
                    format!("{doing}: it is over, and another has had it or it was given back"),
                ));
            };
            let entry = LeaseRecord {
                holder: lease.holder.clone(),
                ttl_ms: lease.ttl_ms,
                epoch: Some(lease.epoch.0),
                free: false,
            };
            match self.write(&lease.name, &entry, seen.seq).await {
                Ok(_) => return Ok(()),
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(failed(trouble)),
            }
        }
        Err(failed(ServerError::Moved))
    }

    async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
        let doing = format!("giving the lease {:?} back", lease.name);
        let failed = |trouble: ServerError| trouble.in_leases(&doing);
        for _ in 0..ATTEMPTS {
            let seen = self.seen(&lease.name).await.map_err(failed)?;
            let Some(seen) = seen.filter(|seen| seen.is(lease)) else {
                return Ok(());
            };
            let entry = LeaseRecord { free: true, epoch: Some(lease.epoch.0), ..seen.entry };
            match self.write(&lease.name, &entry, seen.seq).await {
                Ok(_) => return Ok(()),
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(failed(trouble)),
            }
        }
        Err(failed(ServerError::Moved))
    }

    async fn holder(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError> {
        let doing = format!("looking at the lease {name:?}");
        let failed = |trouble: ServerError| trouble.in_leases(&doing);
        match self.seen(name).await.map_err(failed)? {
            Some(seen) => self.held(&seen).await.map_err(failed),
            None => Ok(None),
        }
    }
}
