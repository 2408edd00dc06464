//! Views: sessions as clients see them, read from their logs alone. A view opens nothing.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use utoipa::ToSchema;
use windlass_engine::core::{
    Hold, Lineage, Mode, Permissions, RecordedFact, Seq, Session, SessionId, Timestamp, TurnUsage,
};
use windlass_engine::ports::{LogStore, SessionSummary, StoreError, StoreErrorKind};
use windlass_engine::{Loaded, StartError};

use super::approvals::{self, Approval};
use super::cache::RecentCache;
use super::client_calls::{self, ClientCall};
use super::describe::shapes::{LineageShape, ModeShape, PermissionsShape, TurnUsageShape};
use super::failure;
use super::fold_cache::FoldCache;
use super::history;
use super::session_access::opening_fact;
use super::title;
use crate::problem::Problem;
use crate::tenant::Tenant;

/// Logs that are folded at the same time, for all tenants together.
const PARALLEL_FOLDS: usize = 4;
/// Facts of one read while a log is folded.
const PAGE: usize = 1_000;

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = State)]
pub(crate) enum SessionState {
    /// No turn is open.
    Idle,
    /// A turn is open.
    Running,
    /// A turn is open and waits for an approval.
    Asking,
    /// The log is damaged.
    Damaged,
}

/// Session. Fields that do not apply or were not read are null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Session, example = json!({
    "id": "01k8q3v5w2x9n4c7d1f6g0h2jk", "state": "asking", "last": 41, "changed": 1_790_000_000_000_u64,
    "title": "List the files.", "waiting": 0, "held": false, "asking": 1, "turn": 12,
    "provider": "demo", "model": "demo", "effort": null, "mode": "build", "permissions": "ask",
    "program": null, "lineage": {"from": "root"}, "turns": 1,
    "spent": {"samples": 1, "attempts": 1, "calls": 0, "usage": {"input": 800, "output": 40},
              "estimated_tokens": 0, "cost_micros": 0, "continuations": 0, "compactions": 0},
    "cost_micros": null, "window": 128_000, "context_tokens": 840,
}))]
pub(crate) struct SessionView {
    /// Id of the session.
    #[schema(value_type = String)]
    pub(crate) id: SessionId,
    /// State of the session.
    pub(crate) state: SessionState,
    /// Last position of the log.
    #[schema(value_type = u64)]
    pub(crate) last: Seq,
    /// Time of the last change, in milliseconds since 1970.
    #[schema(value_type = u64)]
    pub(crate) changed: Timestamp,
    /// Name that a person gave it, else the first words of the first input; null before there is
    /// one. A listing by id has the name only of a session that was read before.
    #[schema(required, value_type = Option<String>)]
    pub(crate) title: Option<Arc<str>>,
    /// Number of waiting inputs; null for a damaged session.
    #[schema(required)]
    pub(crate) waiting: Option<u32>,
    /// True if they wait to be resumed after an interrupt; null for a damaged session.
    #[schema(required)]
    pub(crate) held: Option<bool>,
    /// Number of open approvals; null for a damaged session.
    #[schema(required)]
    pub(crate) asking: Option<u32>,
    /// Id of the open turn.
    #[schema(required)]
    pub(crate) turn: Option<u64>,
    /// Name of the provider.
    #[schema(required)]
    pub(crate) provider: Option<String>,
    /// Name of the model.
    #[schema(required)]
    pub(crate) model: Option<String>,
    /// Reasoning effort; null for the provider's default.
    #[schema(required)]
    pub(crate) effort: Option<String>,
    /// Mode of its turns.
    #[schema(required, value_type = Option<ModeShape>)]
    pub(crate) mode: Option<Mode>,
    /// Permissions of its calls.
    #[schema(required, value_type = Option<PermissionsShape>)]
    pub(crate) permissions: Option<Permissions>,
    /// Runtime of the programs that its model writes; null if it writes none.
    #[schema(required)]
    pub(crate) program: Option<String>,
    /// Origin of the session.
    #[schema(required, value_type = Option<LineageShape>)]
    pub(crate) lineage: Option<Lineage>,
    /// Number of turns that have opened: the ordinal number of the latest one.
    #[schema(required)]
    pub(crate) turns: Option<u64>,
    /// Usage of all turns, with the open one and those that a fork inherited.
    #[schema(required, value_type = Option<TurnUsageShape>)]
    pub(crate) spent: Option<TurnUsage>,
    /// Money spent, with that of agents, in millionths of the currency of the configured prices;
    /// null without prices.
    #[schema(required)]
    pub(crate) cost_micros: Option<u64>,
    /// Tokens of the model's window; null if it is unknown.
    #[schema(required)]
    pub(crate) window: Option<u64>,
    /// Tokens of the next request: the provider's count of the latest one, with an estimate of later
    /// additions.
    #[schema(required)]
    pub(crate) context_tokens: Option<u64>,
}

/// Cached data of a session. A session with the same id that began at another time is a different
/// one.
#[derive(Clone)]
struct CachedView {
    began: Timestamp,
    details: Arc<SessionDetails>,
}

/// Session with its open approvals and the calls that wait for clients.
pub(crate) struct SessionDetails {
    pub(crate) view: SessionView,
    /// Name that a person gave it.
    pub(crate) name: Option<Arc<str>>,
    /// Open approvals.
    pub(crate) approvals: Vec<Approval>,
    /// Calls that wait for their clients.
    pub(crate) client_calls: Vec<ClientCall>,
}

/// Builds views, and caches their parts.
pub(crate) struct ViewCache {
    views: RecentCache<CachedView>,
    titles: RecentCache<(Timestamp, Arc<str>)>,
    /// Cached folds of turn snapshots.
    pub(super) folds: FoldCache,
    folding: Semaphore,
}

impl Default for ViewCache {
    fn default() -> Self {
        Self {
            views: RecentCache::default(),
            titles: RecentCache::default(),
            folds: FoldCache::default(),
            folding: Semaphore::new(PARALLEL_FOLDS),
        }
    }
}

impl ViewCache {
    /// Returns a session as of the end of its log.
    pub(crate) async fn get(
        &self,
        tenant: &Tenant,
        first: &RecordedFact,
    ) -> Result<Arc<SessionDetails>, Problem> {
        let (id, store) = (&first.session, tenant.store.as_ref());
        let kept = self.views.get(&tenant.name, id);
        if let Some(kept) = kept.filter(|kept| kept.began == first.ts)
            && ends_at(store, id, kept.details.view.last, kept.details.view.changed).await?
        {
            return Ok(kept.details);
        }
        let loaded = match self.load(tenant, id).await {
            Ok(loaded) => loaded,
            Err(error) => return damaged(&error, first).map(Arc::new),
        };
        let last = loaded.last();
        let changed = changed_at(store, id, last).await?;
        let title = self.title(tenant, first, &loaded.session).await?;
        let approvals = approvals::of(&loaded);
        let view = view(&loaded, approvals.len(), changed, title);
        let client_calls = client_calls::of(&loaded);
        let name = loaded.session.title.clone();
        let whole = Arc::new(SessionDetails { view, name, approvals, client_calls });
        let kept = CachedView { began: first.ts, details: whole.clone() };
        self.views.insert(&tenant.name, id, kept);
        Ok(whole)
    }

    /// Returns a session as of a position of its log.
    pub(crate) async fn as_of(
        &self,
        tenant: &Tenant,
        first: &RecordedFact,
        at: Seq,
    ) -> Result<SessionView, Problem> {
        // No store has higher positions.
        if at == Seq::ZERO || i64::try_from(at.0).is_err() {
            return Err(history::no_position());
        }
        let (id, store) = (&first.session, tenant.store.as_ref());
        let folding = self.acquire_fold().await;
        let loaded = match windlass_engine::load_at(store, id, at, PAGE).await {
            Ok(loaded) => loaded,
            Err(StartError::Store(error)) if error.kind == StoreErrorKind::Invalid => {
                return Err(history::no_position());
            }
            Err(error) => return Err(failure::start(&error)),
        };
        drop(folding);
        let changed = changed_at(store, id, at).await?;
        let title = self.title(tenant, first, &loaded.session).await?;
        let asking = approvals::of(&loaded).len();
        Ok(view(&loaded, asking, changed, title))
    }

    /// Returns a session of a listing as of the end of its log; `None` if it is gone.
    pub(crate) async fn find(
        &self,
        tenant: &Tenant,
        id: &SessionId,
    ) -> Result<Option<Arc<SessionDetails>>, Problem> {
        match first(tenant.store.as_ref(), id).await? {
            Some(first) => self.get(tenant, &first).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns a served session as of the end of its log; `None` if it is gone or not served.
    pub(crate) async fn served(
        &self,
        tenant: &Tenant,
        id: &SessionId,
    ) -> Result<Option<SessionView>, Problem> {
        let first = first(tenant.store.as_ref(), id).await?;
        let Some(first) = first.filter(|first| tenant.serves(first)) else {
            return Ok(None);
        };
        Ok(Some(self.get(tenant, &first).await?.view.clone()))
    }

    /// Returns a session of a listing, of which the first facts were `read`, unless it is not served.
    /// Folds the log only if a turn is open or an input waits.
    pub(crate) async fn listed(
        &self,
        tenant: &Tenant,
        id: &SessionId,
        summary: &SessionSummary,
        read: Result<Vec<RecordedFact>, StoreError>,
    ) -> Result<Option<SessionView>, Problem> {
        let beginning = beginning(read)?;
        let Some(first) = beginning.first().filter(|first| tenant.serves(first)) else {
            return Ok(None);
        };
        if summary.is_open() {
            let whole = self.get(tenant, first).await?;
            return Ok(Some(whole.view.clone()));
        }
        let kept = self.views.get(&tenant.name, id);
        let same =
            |kept: &CachedView| kept.began == first.ts && kept.details.view.last == summary.last;
        if let Some(kept) = kept.filter(same) {
            return Ok(Some(kept.details.view.clone()));
        }
        Ok(Some(SessionView {
            id: id.clone(),
            state: SessionState::Idle,
            last: summary.last,
            changed: summary.changed_at,
            title: self.first_words(tenant, first, &beginning).await?,
            waiting: Some(0),
            held: Some(false),
            asking: Some(0),
            turn: None,
            provider: None,
            model: None,
            effort: None,
            mode: None,
            permissions: None,
            program: None,
            lineage: opening_fact(first).map(|opened| opened.lineage.clone()),
            turns: None,
            spent: None,
            cost_micros: None,
            window: None,
            context_tokens: None,
        }))
    }

    /// Waits for a permit to fold a log.
    pub(super) async fn acquire_fold(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.folding.acquire().await.ok()
    }

    /// Loads and folds a session's log.
    pub(crate) async fn load(&self, tenant: &Tenant, id: &SessionId) -> Result<Loaded, StartError> {
        let _folding = self.acquire_fold().await;
        windlass_engine::load(tenant.store.as_ref(), id, PAGE).await
    }

    async fn title(
        &self,
        tenant: &Tenant,
        first: &RecordedFact,
        session: &Session,
    ) -> Result<Option<Arc<str>>, Problem> {
        match &session.title {
            Some(name) => Ok(Some(name.clone())),
            None => self.first_words(tenant, first, &[]).await,
        }
    }

    /// Returns the title of a session that nobody named. Reads the log only if the facts at its
    /// `beginning` have none.
    async fn first_words(
        &self,
        tenant: &Tenant,
        first: &RecordedFact,
        beginning: &[RecordedFact],
    ) -> Result<Option<Arc<str>>, Problem> {
        let id = &first.session;
        let known = self.titles.get(&tenant.name, id);
        if let Some((_, title)) = known.filter(|(began, _)| *began == first.ts) {
            return Ok(Some(title));
        }
        let title = match title::of(beginning) {
            Some(title) => Some(title),
            None => title::read(tenant.store.as_ref(), id).await?,
        };
        if let Some(title) = &title {
            let kept = (first.ts, title.clone());
            self.titles.insert(&tenant.name, id, kept);
        }
        Ok(title)
    }
}

/// Returns true if a log still ends with the fact at this position and of this time.
async fn ends_at(
    store: &dyn LogStore,
    id: &SessionId,
    last: Seq,
    changed: Timestamp,
) -> Result<bool, Problem> {
    let before = Seq(last.0.saturating_sub(1));
    let tail = store.read(id, before, 2).await;
    let tail = tail.map_err(|error| failure::store(&error))?;
    let mut tail = tail.iter();
    let end = tail.next();
    Ok(tail.next().is_none() && end.is_some_and(|end| end.seq == last && end.ts == changed))
}

/// Returns the time of the fact at this position.
async fn changed_at(store: &dyn LogStore, id: &SessionId, at: Seq) -> Result<Timestamp, Problem> {
    let fact = store.read(id, Seq(at.0.saturating_sub(1)), 1).await;
    let fact = fact.map_err(|error| failure::store(&error))?;
    // The session was erased in the meantime.
    let fact = fact.first().ok_or_else(Problem::no_session)?;
    Ok(fact.ts)
}

/// Reads the first fact of a session; `None` if it was erased or is unreadable.
async fn first(store: &dyn LogStore, id: &SessionId) -> Result<Option<RecordedFact>, Problem> {
    Ok(beginning(store.read(id, Seq::ZERO, 1).await)?.into_iter().next())
}

/// Returns the first facts of a session; none if it was erased or is unreadable.
fn beginning(read: Result<Vec<RecordedFact>, StoreError>) -> Result<Vec<RecordedFact>, Problem> {
    match read {
        Ok(facts) => Ok(facts),
        Err(error) => match error.kind {
            StoreErrorKind::Unknown
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey => Ok(Vec::new()),
            StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => Err(failure::store(&error)),
        },
    }
}

fn view(
    loaded: &Loaded,
    asking: usize,
    changed: Timestamp,
    title: Option<Arc<str>>,
) -> SessionView {
    let session = &loaded.session;
    let turn = session.turn();
    let state = match (turn, asking) {
        (None, _) => SessionState::Idle,
        (Some(_), 0) => SessionState::Running,
        (Some(_), _) => SessionState::Asking,
    };
    let program = session.settings.options.program.as_ref();
    let spent = session.spent();
    let cost_micros = spent.with_agents().cost_micros;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    SessionView {
        id: session.id.clone(),
        state,
        last: loaded.last(),
        changed,
        title,
        waiting: Some(number(session.queue.len())),
        held: Some(session.hold == Hold::Held && !session.queue.is_empty()),
        asking: Some(number(asking)),
        turn: turn.map(|turn| turn.id.0),
        provider: Some(session.settings.provider.clone()),
        model: Some(session.settings.model.clone()),
        effort: session.settings.effort.clone(),
        mode: Some(session.settings.mode),
        permissions: Some(session.settings.permissions),
        program: program.map(|program| program.runtime.clone()),
        lineage: Some(Lineage::clone(&session.lineage)),
        turns: Some(session.totals.turns),
        spent: Some(spent),
        cost_micros: Some(cost_micros).filter(|cost| *cost > 0 || session.settings.price.is_some()),
        window: Some(session.settings.window.tokens).filter(|tokens| *tokens > 0),
        context_tokens: Some(session.context_tokens()),
    }
}

/// Returns the view of a session of which only the beginning is readable.
fn damaged(error: &StartError, first: &RecordedFact) -> Result<SessionDetails, Problem> {
    let last = match error {
        StartError::Corrupt(error) => match error.kind {
            StoreErrorKind::Corrupt { after, .. } => after,
            StoreErrorKind::Unknown
            | StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => first.seq,
        },
        StartError::InvalidFact { cause, .. } => Seq(cause.at.0.saturating_sub(1)),
        StartError::Unknown(_)
        | StartError::Exists(_)
        | StartError::Locked(_)
        | StartError::Busy { .. }
        | StartError::Settings(_)
        | StartError::Child(_)
        | StartError::MissingParts { .. }
        | StartError::Store(_)
        | StartError::Unfinished { .. }
        | StartError::ShutDown(_) => return Err(failure::start(error)),
        _ => return Err(failure::start(error)),
    };
    let view = SessionView {
        id: first.session.clone(),
        state: SessionState::Damaged,
        last,
        changed: first.ts,
        title: None,
        waiting: None,
        held: None,
        asking: None,
        turn: None,
        provider: None,
        model: None,
        effort: None,
        mode: None,
        permissions: None,
        program: None,
        lineage: opening_fact(first).map(|opened| opened.lineage.clone()),
        turns: None,
        spent: None,
        cost_micros: None,
        window: None,
        context_tokens: None,
    };
    let (approvals, client_calls) = (Vec::new(), Vec::new());
    Ok(SessionDetails { view, name: None, approvals, client_calls })
}
