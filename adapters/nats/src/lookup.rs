//! Looking at the last messages of many sessions together.
//!
//! The leader of a stream says how far it goes; a replica that goes as far hands out the last messages
//! of many subjects for one request. What it does not hand out, or where that cannot be had, the leader
//! is asked for one by one. Either way what was acknowledged before the look is seen.

use std::collections::BTreeMap;
use std::sync::Once;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::sync::Mutex;
use windlass_ports::{SessionListing, StoreError, StoreErrorKind};

use crate::header::MessageHeader;
use crate::server::StoredMessage;
use crate::server_error::ServerError;
use crate::store::NatsStore;

/// The most sessions that are looked at together. The server takes 1,024 subjects in a request.
pub(crate) const MOST: usize = 512;

/// Up to how many of a stream are asked for one by one: together they cost two requests.
const FEW: usize = 2;

/// Most sessions that are looked up one by one at a time.
const AT_ONCE: usize = 64;

/// Of how many streams last messages are asked for at a time.
const STREAMS: usize = 4;

/// Delays before a replica that lags behind its leader is asked again.
const LAGS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(40), Duration::from_millis(150)];

/// Time for which sessions are looked up one by one after a common lookup failed.
const REST: Duration = Duration::from_secs(30);

/// Availability of common lookups of last messages.
#[derive(Debug)]
pub(crate) struct BatchLookup {
    /// Until when they are not.
    resting_until: Mutex<Option<Instant>>,
    logged: Once,
}

impl Default for BatchLookup {
    fn default() -> Self {
        Self { resting_until: Mutex::default(), logged: Once::new() }
    }
}

impl BatchLookup {
    fn is_paused(&self) -> bool {
        let rests = self.resting_until.lock();
        rests.is_some_and(|until| Instant::now() < until)
    }

    fn pause(&self, stream: &str, trouble: &ServerError) {
        let mut rests = self.resting_until.lock();
        *rests = Some(Instant::now() + REST);
        drop(rests);
        if trouble.passes() {
            let what = "last messages cannot be had together: they are asked for one by one";
            tracing::debug!(stream, %trouble, "{what}");
            return;
        }
        self.logged.call_once(|| {
            tracing::warn!(
                stream,
                %trouble,
                "the last messages of many sessions cannot be had together: lists are slow; this is \
                 said once"
            );
        });
    }
}

/// A session as a list tells it, and the node that holds it unless its lease is over.
pub(crate) struct ListedSession {
    pub(crate) head: SessionListing,
    pub(crate) holder: Option<String>,
}

/// Sessions found: `None` for those that have not begun.
type LookupResult = BTreeMap<SessionId, Option<ListedSession>>;

impl NatsStore {
    /// These sessions as a list tells them, in their order, without those that have not begun.
    pub(crate) async fn listed(&self, ids: &[SessionId]) -> Result<Vec<ListedSession>, StoreError> {
        let mut found = LookupResult::new();
        let mut shards: BTreeMap<u32, Vec<&SessionId>> = BTreeMap::new();
        for id in ids {
            let shard = self.server.names.shard(id);
            shards.entry(shard).or_default().push(id);
        }
        shards.retain(|_, ids| ids.len() > FEW);
        let shards: Vec<_> = shards.into_iter().collect();
        for some in shards.chunks(STREAMS) {
            let looked = some.iter().map(|(shard, ids)| self.look_up_in(*shard, ids));
            found.extend(try_join_all(looked).await?.into_iter().flatten());
        }
        let left = ids.iter().filter(|id| !found.contains_key(*id));
        let left: Vec<_> = left.collect();
        for some in left.chunks(AT_ONCE) {
            let looked = some.iter().map(|id| self.look_up_at(id));
            found.extend(try_join_all(looked).await?);
        }
        let listed = ids.iter().filter_map(|id| found.remove(id).flatten());
        Ok(listed.collect())
    }

    /// Looks up the sessions of one shard in common.
    async fn look_up_in(&self, shard: u32, ids: &[&SessionId]) -> Result<LookupResult, StoreError> {
        let names = &self.server.names;
        let stream = names.log_stream(shard);
        let mut found = LookupResult::new();
        if self.together.is_paused() {
            return Ok(found);
        }
        let end = self.server.end(&stream).await;
        let end = end
            .map_err(|trouble| trouble.in_store(&format!("listing sessions in {}", self.shown)))?;
        let mut asked: BTreeMap<String, &SessionId> = BTreeMap::new();
        asked.extend(ids.iter().map(|id| (names.log_subject(id), *id)));
        let mut lags = LAGS.iter();
        while !asked.is_empty() {
            let lasts = self.server.lasts(&stream, &self.fitting(&asked)).await;
            let page = match lasts {
                Ok(page) => page,
                Err(trouble) => {
                    self.together.pause(&stream, &trouble);
                    break;
                }
            };
            let Some(known) = page.end else {
                // A message is not there, or none is: the leader knows.
                break;
            };
            if known < end {
                let Some(pause) = lags.next() else {
                    let what = String::from("a replica lags behind its leader");
                    self.together.pause(&stream, &ServerError::Unavailable(what));
                    break;
                };
                sleep(*pause).await;
                continue;
            }
            let before = asked.len();
            for stored in page.messages {
                if let Some(id) = asked.remove(&stored.subject) {
                    let last = Self::parse_last(id, stored).map(Some);
                    found.insert(id.clone(), listed_session(id, last)?);
                }
            }
            if asked.len() == before {
                // They have no message any more.
                break;
            }
        }
        Ok(found)
    }

    /// As many of the subjects as half a message holds, and one at least.
    fn fitting<'a>(&self, asked: &'a BTreeMap<String, &SessionId>) -> Vec<&'a str> {
        let mut room = self.server.client.max_payload() / 2;
        let fits = |subject: &&String| {
            // With its quotes and a comma.
            let left = room.checked_sub(subject.len() + 3);
            room = left.unwrap_or(0);
            left.is_some()
        };
        let mut subjects: Vec<_> = asked.keys().take_while(fits).map(String::as_str).collect();
        if subjects.is_empty() {
            subjects.extend(asked.keys().next().map(String::as_str));
        }
        subjects
    }

    /// A session by itself, as the leader has it.
    async fn look_up_at(
        &self,
        id: &SessionId,
    ) -> Result<(SessionId, Option<ListedSession>), StoreError> {
        let last = self.last(id, "listing").await;
        Ok((id.clone(), listed_session(id, last)?))
    }
}

/// A session as a list tells it by its last message; `None` for one that has not begun.
fn listed_session(
    id: &SessionId,
    last: Result<Option<(MessageHeader, LogEnd, StoredMessage)>, StoreError>,
) -> Result<Option<ListedSession>, StoreError> {
    let (summary, holder) = match last {
        Ok(None) => return Ok(None),
        Ok(Some((_, end, _))) if end.last == Seq::ZERO => return Ok(None),
        Ok(Some((head, end, _))) => (end.summary, head.held_by()),
        Err(error)
            if matches!(error.kind, StoreErrorKind::Corrupt { .. } | StoreErrorKind::Newer) =>
        {
            (None, None)
        }
        Err(error) => return Err(error),
    };
    let id = id.clone();
    let head = SessionListing { id, summary };
    Ok(Some(ListedSession { head, holder }))
}
