//! Listing: the subjects of all shards, and the last message of each that is asked for.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::json;
use windlass_core::{Seq, SessionId};
use windlass_ports::{SessionFilter, SessionHead, StoreError, StoreErrorKind};

use crate::names::session_of;
use crate::server::Server;
use crate::store::NatsStore;
use crate::trouble::Trouble;

/// How many last messages are asked for at once.
const AT_ONCE: usize = 64;

/// The most pages of subjects of one stream: the server gives 100,000 a page.
const MOST_PAGES: usize = 10_000;

#[derive(Deserialize)]
struct Subjects {
    #[serde(default)]
    total: u64,
    state: State,
}

#[derive(Deserialize)]
struct State {
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
    ) -> Result<Vec<SessionHead>, StoreError> {
        let doing = format!("listing the sessions in {}", self.shown);
        let mut ids = Vec::new();
        for shard in 0..self.server.names.shards {
            let known = subjects(&self.server, shard).await;
            ids.extend(known.map_err(|trouble| trouble.in_store(&doing))?);
        }
        ids.retain(|id| after.is_none_or(|after| id > after));
        ids.sort_unstable();
        let mut heads = Vec::new();
        for some in ids.chunks(AT_ONCE) {
            let asked: Vec<_> = some.iter().map(|id| self.listed(id)).collect();
            for head in try_join_all(asked).await?.into_iter().flatten() {
                if heads.len() == limit {
                    return Ok(heads);
                }
                if filter.takes(head.summary.as_ref()) {
                    heads.push(head);
                }
            }
        }
        Ok(heads)
    }

    /// A session as the list tells it; `None` for one that has not begun.
    async fn listed(&self, id: &SessionId) -> Result<Option<SessionHead>, StoreError> {
        let summary = match self.last(id, "listing").await {
            Ok(None) => return Ok(None),
            Ok(Some((_, end, _))) if end.last == Seq::ZERO => return Ok(None),
            Ok(Some((_, end, _))) => end.summary,
            Err(error)
                if matches!(
                    error.kind,
                    StoreErrorKind::Corrupt { .. } | StoreErrorKind::Newer
                ) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let id = id.clone();
        Ok(Some(SessionHead { id, summary }))
    }
}

/// The sessions that have a subject in a shard.
async fn subjects(server: &Server, shard: u32) -> Result<Vec<SessionId>, Trouble> {
    let (stream, filter) = (
        server.names.log_stream(shard),
        server.names.log_subjects(shard),
    );
    let subjects = subjects_of(server, &stream, &filter).await?;
    Ok(subjects
        .iter()
        .filter_map(|subject| session_of(subject))
        .collect())
}

/// The subjects of a stream that have a message.
pub(crate) async fn subjects_of(
    server: &Server,
    stream: &str,
    filter: &str,
) -> Result<Vec<String>, Trouble> {
    let asked = format!("STREAM.INFO.{stream}");
    let mut found = Vec::new();
    for _ in 0..MOST_PAGES {
        let request = json!({ "subjects_filter": filter, "offset": found.len() });
        let page: Subjects = server.call(&asked, &request).await?;
        let subjects = page.state.subjects.unwrap_or_default();
        let done = subjects.is_empty();
        found.extend(subjects.into_keys());
        if done || found.len() as u64 >= page.total {
            return Ok(found);
        }
    }
    Err(Trouble::Strange(String::from(
        "a stream has no end of subjects",
    )))
}
