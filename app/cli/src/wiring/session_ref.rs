//! Session as people name it: by its id, the beginning of it, or as the last one of the workspace.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use windlass_engine::core::{Fact, InvalidSessionId, Lineage, Seq, SessionId, Timestamp};
use windlass_engine::ports::{LogStore, SessionFilter, SessionListing, StoreErrorKind};

use super::Workspace;
use crate::exit::Failure;
use crate::present::{first_words, visible};

/// Fewest characters that name a session as the beginning of its id.
const MIN_PREFIX: usize = 4;
/// Most sessions that are listed where a beginning is that of several.
const CANDIDATES: usize = 10;
/// Facts of a session that are read for its first prompt.
const OPENING: usize = 20;
/// Sessions of one read.
const PAGE: usize = 10_000;
/// Fewest characters of an id that a list shows. Fewer would soon be those of later sessions too.
const SHORT: usize = 8;
/// Word for the last session of the workspace.
const LAST: &str = "last";

/// Name of a session that exists: its id, the unique beginning of it, or the word `last`.
#[derive(Debug, Clone)]
pub(crate) struct SessionRef(SessionId);

impl SessionRef {
    /// Returns the name of the last session.
    pub(crate) fn last() -> Result<Self, Failure> {
        LAST.parse().map_err(|error: InvalidSessionId| Failure::usage(error.to_string()))
    }

    /// Returns the name as an id, for places that know no others.
    pub(crate) fn as_id(&self) -> &SessionId {
        &self.0
    }

    /// Returns the id of the session that is meant. An existing id wins. A name that is no beginning of
    /// an id is returned as it is, so that the command reports what is missing in its own words.
    ///
    /// # Errors
    /// [`Failure`] when several sessions are meant, or no session of the workspace is the last one.
    pub(crate) async fn resolve(
        &self,
        site: &Workspace,
        store: &dyn LogStore,
    ) -> Result<SessionId, Failure> {
        let name = &self.0;
        match store.read(name, Seq::ZERO, 1).await {
            Err(error) if error.kind == StoreErrorKind::Unknown => {}
            // A session that cannot be read exists too.
            Ok(_) | Err(_) => return Ok(name.clone()),
        }
        if name.as_str() == LAST {
            return last(site, store).await;
        }
        if name.as_str().len() < MIN_PREFIX {
            return Ok(name.clone());
        }
        // Ids are listed in order, so those that begin with the name follow it.
        let limit = CANDIDATES.saturating_add(1);
        let listed = store.sessions(SessionFilter::ALL_TENANTS, Some(name), limit).await?;
        let begins = |head: &&SessionListing| head.id.as_str().starts_with(name.as_str());
        let found: Vec<&SessionListing> = listed.iter().take_while(begins).collect();
        match found.as_slice() {
            [] => Ok(name.clone()),
            [one] => Ok(one.id.clone()),
            several => Err(ambiguous(name, several, store).await),
        }
    }
}

impl FromStr for SessionRef {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        SessionId::new(text).map(Self)
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Returns the beginning of an id that no other session of the store has. `beside` are the ids before
/// and after it in the order of the store.
pub(crate) fn short_id<'a>(id: &'a SessionId, beside: [Option<&SessionId>; 2]) -> &'a str {
    let text = id.as_str();
    let common = |other: &SessionId| {
        text.bytes().zip(other.as_str().bytes()).take_while(|(one, other)| one == other).count()
    };
    let most = beside.into_iter().flatten().map(common).max().unwrap_or(0);
    text.get(..most.saturating_add(1).max(SHORT)).unwrap_or(text)
}

/// Returns the session of the workspace that changed last. Those of agents belong to their parents.
async fn last(site: &Workspace, store: &dyn LogStore) -> Result<SessionId, Failure> {
    let mut all: Vec<(Timestamp, SessionId)> = Vec::new();
    let mut after: Option<SessionId> = None;
    loop {
        let heads = store.sessions(SessionFilter::ALL_TENANTS, after.as_ref(), PAGE).await?;
        let count = heads.len();
        after = heads.last().map(|head| head.id.clone());
        let readable = heads.into_iter();
        all.extend(readable.filter_map(|head| Some((head.summary?.changed_at, head.id))));
        if count < PAGE {
            break;
        }
    }
    all.sort_unstable();
    let here = site.recorded();
    for (_, id) in all.into_iter().rev() {
        let first = store.read(&id, Seq::ZERO, 1).await.unwrap_or_default();
        if let Some(Fact::SessionOpened(opened)) = first.first().map(|first| &first.fact)
            && !matches!(opened.lineage, Lineage::Child { .. })
            && opened.workspace.as_ref().is_none_or(|of| *of == here)
        {
            return Ok(id);
        }
    }
    Err(Failure::usage(visible(&format!(
        "there is no session of {here} in {}: start one with windlass run PROMPT",
        site.store
    ))))
}

/// Creates the failure of a beginning that several ids have, with their dates and prompts.
async fn ambiguous(name: &SessionId, found: &[&SessionListing], store: &dyn LogStore) -> Failure {
    let mut words = format!("{name} is the beginning of several session ids: type more of it");
    for head in found.iter().take(CANDIDATES) {
        let date = head.summary.as_ref().map_or("unreadable".to_owned(), |summary| {
            let at = UNIX_EPOCH + Duration::from_millis(summary.changed_at.0);
            humantime::format_rfc3339_seconds(at).to_string()
        });
        let prompt = first_prompt(store, &head.id).await;
        words.push_str(&visible(&format!("\n  {}  {date}  {prompt}", head.id)));
    }
    if found.len() > CANDIDATES {
        words.push_str("\n  and more");
    }
    Failure::usage(words)
}

/// Returns the beginning of a session's first prompt.
async fn first_prompt(store: &dyn LogStore, id: &SessionId) -> String {
    let facts = store.read(id, Seq::ZERO, OPENING).await.unwrap_or_default();
    let prompt = facts.iter().find_map(|fact| {
        let Fact::InputQueued(queued) = &fact.fact else {
            return None;
        };
        Some(first_words(&queued.text, 60).replace('\n', " "))
    });
    prompt.unwrap_or_default()
}
