//! Listing: the subjects of all shards, and the last message of each that is asked for.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use windlass_core::SessionId;
use windlass_ports::{SessionFilter, SessionListing, StoreError};

use crate::claim::leased;
use crate::lookup::{ListedSession, MOST};
use crate::names::session_of;
use crate::server::Server;
use crate::server_error::ServerError;
use crate::store::NatsStore;

/// The fewest sessions that are looked at at first.
pub(crate) const FEWEST: usize = 16;

/// The most pages of subjects of one stream: the server gives 100,000 a page.
const MOST_PAGES: usize = 10_000;

#[derive(Deserialize)]
struct StreamSubjects {
    #[serde(default)]
    total: u64,
    state: SubjectState,
}

#[derive(Deserialize)]
struct SubjectState {
    #[serde(default)]
    subjects: Option<BTreeMap<String, u64>>,
}

impl NatsStore {
    /// Up to `limit` of the sessions that a filter takes, after a session.
    pub(crate) async fn list(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let mut ids = self.all_ids().await?;
        ids.retain(|id| after.is_none_or(|after| id > after));
        ids.sort_unstable();
        let mut heads = Vec::new();
        let mut holders = LiveNodes::default();
        let mut left = ids.as_slice();
        // More at a time the more is passed over.
        let mut count = limit.clamp(FEWEST, MOST);
        while !left.is_empty() {
            let (some, later) = left.split_at(count.min(left.len()));
            (left, count) = (later, (2 * count).min(MOST));
            for listed in self.listed(some).await? {
                if heads.len() == limit {
                    return Ok(heads);
                }
                // Who holds it is asked only of what the rest of the filter takes.
                let taken = filter.matches(listed.head.summary.as_ref(), || false);
                if taken && !(filter.unclaimed && holders.hold(self, &listed).await?) {
                    heads.push(listed.head);
                }
            }
        }
        Ok(heads)
    }

    /// All sessions that have a message, in no order.
    pub(crate) async fn all_ids(&self) -> Result<Vec<SessionId>, StoreError> {
        let doing = format!("listing the sessions in {}", self.shown);
        let mut ids = Vec::new();
        for shard in 0..self.server.names.shards {
            let known = subjects(&self.server, shard).await;
            ids.extend(known.map_err(|trouble| trouble.in_store(&doing))?);
        }
        Ok(ids)
    }
}

/// Live nodes, each looked up once.
#[derive(Default)]
pub(crate) struct LiveNodes(BTreeMap<String, Option<u64>>);

impl LiveNodes {
    /// Returns true if a live node holds a session.
    pub(crate) async fn hold(
        &mut self,
        store: &NatsStore,
        listed: &ListedSession,
    ) -> Result<bool, StoreError> {
        let Some(name) = &listed.holder else {
            return Ok(false);
        };
        if *name == store.node.name {
            // What a node of this name held before this one began is nobody's.
            return Ok(store.known_slot(&listed.head.id).is_some());
        }
        if let Some(left_ms) = self.0.get(name) {
            return Ok(left_ms.is_some());
        }
        let holding = store.node.other(name).await;
        let doing = || store.about("listing", &listed.head.id);
        let holding = holding.map_err(|error| leased(&doing(), error))?;
        let left_ms = holding.map(|holding| holding.remaining_ms);
        self.0.insert(name.clone(), left_ms);
        Ok(left_ms.is_some())
    }

    /// Those that live, and how long without a renewal.
    pub(crate) fn living(self) -> impl Iterator<Item = (String, u64)> {
        let all = self.0.into_iter();
        all.filter_map(|(name, left_ms)| Some((name, left_ms?)))
    }
}

/// The sessions that have a subject in a shard.
async fn subjects(server: &Server, shard: u32) -> Result<Vec<SessionId>, ServerError> {
    let (stream, filter) = (server.names.log_stream(shard), server.names.log_subjects(shard));
    let subjects = subjects_of(server, &stream, &filter).await?;
    Ok(subjects.iter().filter_map(|subject| session_of(subject)).collect())
}

/// The subjects of a stream that have a message.
pub(crate) async fn subjects_of(
    server: &Server,
    stream: &str,
    filter: &str,
) -> Result<Vec<String>, ServerError> {
    let asked = format!("STREAM.INFO.{stream}");
    let mut found = Vec::new();
    for _ in 0..MOST_PAGES {
        let request = json!({ "subjects_filter": filter, "offset": found.len() });
        let page: StreamSubjects = server.call(&asked, &request).await?;
        let subjects = page.state.subjects.unwrap_or_default();
        let done = subjects.is_empty();
        found.extend(subjects.into_keys());
        if done || found.len() as u64 >= page.total {
            return Ok(found);
        }
    }
    Err(ServerError::Unexpected(String::from("a stream has no end of subjects")))
}
