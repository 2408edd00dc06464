//! Sessions: opens sessions, lists those of the tenant, and shows one.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;
use windlass_engine::core::{Lineage, OpenSession, Seq, SessionId, Settings};
use windlass_engine::ports::{SessionFilter, SessionListing, Tenants};
use windlass_engine::{SessionHandle, Start, StartError};

use super::describe::answers::{BadCursor, Conflict, KeyReused, NoSession, Refused, StoreFull};
use super::failure;
use super::key::{self, ClientKey};
use super::query::{self, PositionQuery, QueryParams};
use super::session_access::{
    AuthorizedCaller, ReadRight, RunRight, SessionAccess, lookup, opening_fact,
};
use super::view::SessionView;
use crate::app::App;
use crate::caller::Caller;
use crate::client_tools;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};
use crate::tenant::{SessionOptions, Tenant};

/// Sessions of a listing that are read at the same time.
const PARALLEL_READS: usize = 8;
/// Sessions whose first facts are read at once, and the number of these facts: the opening and,
/// in most logs, the first input.
const BATCH: usize = 64;
const BEGINNING: usize = 4;

/// Sessions of a listing by change, and those that are examined for it: a tenant may not serve all
/// of them.
const MAX_LATEST: usize = 100;
const MAX_EXAMINED: usize = 2_000;
/// Heads of one read of the store.
const HEADS: usize = 10_000;

/// Longest wait for the session of an equal request, and the pause between two looks.
const RACE_TIMEOUT: Duration = Duration::from_secs(5);
const RACE_PAUSE: Duration = Duration::from_millis(20);

/// Opens a session. The body may narrow the tenant's settings, and cannot widen them.
#[utoipa::path(
    post,
    path = "/sessions",
    tag = "sessions",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
            pattern = "^[ -~]+$",
            description = "Asking again with the same key finds the same session.")),
    request_body(content = Option<SessionOptions>),
    responses(
        (status = 201, description = "It is open, and durable.", body = SessionView,
         headers(("Location" = String, description = "Where it is."))),
        KeyReused, Conflict, StoreFull,
    )
)]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    AuthorizedCaller { caller, .. }: AuthorizedCaller<RunRight>,
    key: ClientKey,
    Json(wish): Json<SessionOptions>,
) -> Result<impl IntoResponse, Problem> {
    let id = key.session("session", &caller.tenant.name);
    let view = open_session(&app, &caller, id, &wish).await?;
    Ok(opened_at(&view))
}

/// Opens a session, with this id if it has a key: then an equal request finds the same session.
pub(crate) async fn open_session(
    app: &App,
    caller: &Caller,
    id: Option<SessionId>,
    wish: &SessionOptions,
) -> Result<SessionView, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    let tenant = &caller.tenant;
    let settings = tenant.factory.new_settings(wish);
    let mut settings = settings.map_err(|refusal| failure::refused(&refusal))?;
    let declared = client_tools::declare(&mut settings, &wish.client_tools);
    declared.map_err(|refusal| failure::refused(&refusal))?;
    let id = match id {
        Some(id) => {
            if let Some(there) = find_opened(app, caller, &id, wish, &settings).await? {
                return Ok(there);
            }
            id
        }
        None => new_id(app)?,
    };
    let room = caller.session_permit(app).await?;
    let opening = OpenSession {
        owner: caller.scope().clone(),
        workspace: tenant.workspace.clone(),
        settings: settings.clone(),
        lineage: Lineage::Root,
    };
    let begun = match begin_or_find(app, caller, &id, opening, wish).await {
        Ok(BegunSession::New(begun)) => begun,
        Ok(BegunSession::Found(there)) => {
            room.cancel().await;
            return Ok(*there);
        }
        Err(problem) => {
            room.cancel().await;
            return Err(problem);
        }
    };
    if let Some(conversation) = begun {
        let durable = conversation.flush().await;
        durable.map_err(|error| failure::ended(&error))?;
    }
    let first = lookup(caller, &id).await?.ok_or_else(Problem::no_session)?;
    let whole = app.views.get(tenant, &first).await?;
    Ok(whole.view.clone())
}

/// Session that a request opened, or that an equal request opened at the same time.
enum BegunSession {
    /// Its driver, if it runs here.
    New(Option<SessionHandle>),
    Found(Box<SessionView>),
}

/// Opens a new session, or finds the one that an equal request opens at the same time, here or at
/// another node. That one may not be durable yet, or may not become so.
async fn begin_or_find(
    app: &App,
    caller: &Caller,
    id: &SessionId,
    opening: OpenSession,
    wish: &SessionOptions,
) -> Result<BegunSession, Problem> {
    let until = Instant::now() + RACE_TIMEOUT;
    loop {
        let error = match begin(caller, id, opening.clone()).await {
            Ok(begun) => return Ok(BegunSession::New(begun)),
            Err(error @ (StartError::Exists(_) | StartError::Locked(_))) => error,
            Err(error) => return Err(failure::start(&error)),
        };
        if let Some(there) = find_opened(app, caller, id, wish, &opening.settings).await? {
            return Ok(BegunSession::Found(Box::new(there)));
        }
        if Instant::now() >= until {
            let exists = matches!(&error, StartError::Exists(_));
            return Err(match exists {
                true => key::key_reused("another session"),
                false => failure::start(&error),
            });
        }
        sleep(RACE_PAUSE).await;
    }
}

/// Opens a new session. At its session limit, this node only records it, and the first input opens
/// it on any node with room.
async fn begin(
    caller: &Caller,
    id: &SessionId,
    opening: OpenSession,
) -> Result<Option<SessionHandle>, StartError> {
    let engine = &caller.tenant.engine;
    let start = Start::New(Box::new(opening.clone()));
    match engine.open(id, caller.scope(), start).await {
        Ok(conversation) => Ok(Some(conversation)),
        Err(StartError::Busy { .. }) => engine.create(id, opening).await.map(|()| None),
        Err(error) => Err(error),
    }
}

pub(super) fn opened_at(view: &SessionView) -> impl IntoResponse + use<> {
    let place = format!("/v1/sessions/{}", view.id);
    let body = Json(view.clone());
    (StatusCode::CREATED, [(LOCATION, place)], body)
}

/// Returns the session that this key opened before, if any; a problem if its options were
/// different.
async fn find_opened(
    app: &App,
    caller: &Caller,
    id: &SessionId,
    wish: &SessionOptions,
    wanted: &Settings,
) -> Result<Option<SessionView>, Problem> {
    let Some(first) = lookup(caller, id).await? else {
        return Ok(None);
    };
    let before = opening_fact(&first).map(|opened| &opened.settings);
    if !before.is_some_and(|before| is_same(before, wish, wanted)) {
        return Err(key::key_reused("other settings"));
    }
    let whole = app.views.get(&caller.tenant, &first).await?;
    Ok(Some(whole.view.clone()))
}

/// Returns true if a session was opened with the named options. For others the configuration may
/// have been different then.
fn is_same(before: &Settings, wish: &SessionOptions, wanted: &Settings) -> bool {
    wish.mode.is_none_or(|mode| mode == before.mode)
        && wish.permissions.is_none_or(|may| may == before.permissions)
        && wish.model.as_ref().is_none_or(|model| *model == before.model)
        && (wish.effort.is_none() || wish.effort == before.effort)
        && is_same_program(before, wish)
        && wish.limits.is_none_or(|_| wanted.limits == before.limits)
        && client_tools::has_declared(before, &wish.client_tools)
}

fn is_same_program(before: &Settings, wish: &SessionOptions) -> bool {
    let program = before.options.program.as_ref();
    let (runtime, way) = (&wish.program, wish.program_transport);
    let is = |wanted: &String| program.is_some_and(|program| program.runtime == *wanted);
    runtime.as_ref().is_none_or(is)
        && way.is_none_or(|way| program.is_some_and(|program| program.transport == way))
}

/// Creates a new id: sortable by time, and random.
pub(super) fn new_id(app: &App) -> Result<SessionId, Problem> {
    let random = u128::from(app.clock.entropy()) << 64 | u128::from(app.clock.entropy());
    let id = ulid::Ulid::from_parts(app.clock.now().0, random).to_string();
    SessionId::new(&id.to_lowercase()).map_err(|error| failure::defect(&error))
}

/// Requested sessions.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsQuery {
    /// True for unfinished sessions only, false for finished ones only.
    open: Option<bool>,
    /// Order of the sessions: by id, unless it is named.
    #[serde(default)]
    #[param(inline)]
    order: SessionOrder,
    /// Begins after this id. Only in the order of the ids.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    after: Option<String>,
    /// Most sessions; fewer may be returned although there are more.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u64>,
}

/// Order of listed sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SessionOrder {
    /// By id.
    #[default]
    Id,
    /// Latest change first: at most 100 sessions, with all fields, and no further page.
    Changed,
}

/// Sessions, in the requested order.
#[derive(Serialize, ToSchema)]
pub(crate) struct Sessions {
    /// Sessions of this page.
    sessions: Vec<SessionView>,
    /// Value of `after` for the next page; null if there is none.
    #[schema(required, value_type = Option<String>)]
    next: Option<SessionId>,
}

/// Lists the sessions of the tenant. Fields that require reading more than a session's beginning
/// may be null.
#[utoipa::path(
    get,
    path = "/sessions",
    tag = "sessions",
    params(SessionsQuery),
    responses((status = 200, description = "A page of them.", body = Sessions), Refused)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    AuthorizedCaller { caller, .. }: AuthorizedCaller<ReadRight>,
    QueryParams(which): QueryParams<SessionsQuery>,
) -> Result<Json<Sessions>, Problem> {
    let limit = query::limit(which.limit, app.bounds.page)?;
    let after = which.after.as_deref().map(query::session).transpose()?;
    let tenant = &caller.tenant;
    let filter =
        SessionFilter { open: which.open, ..SessionFilter::of(Tenants::One(tenant.name.clone())) };
    if which.order == SessionOrder::Changed {
        if after.is_some() {
            let detail = "after needs the order of the ids: leave it out, or the order";
            return Err(Problem::new(ProblemCode::Refused, detail));
        }
        let sessions = latest(&app, tenant, &filter, limit.min(MAX_LATEST)).await?;
        return Ok(Json(Sessions { sessions, next: None }));
    }
    let heads = tenant.store.sessions(&filter, after.as_ref(), limit).await;
    let heads = heads.map_err(|error| failure::store(&error))?;
    let full = heads.len() >= limit;
    let next = heads.last().filter(|_| full).map(|head| head.id.clone());
    let mut sessions = Vec::with_capacity(heads.len());
    for batch in SessionListing::batches(&heads, BATCH, BEGINNING) {
        let ids: Vec<SessionId> = batch.iter().map(|head| head.id.clone()).collect();
        let read = tenant.store.read_logs(&ids, BEGINNING, None).await;
        let looking = stream::iter(batch.iter().cloned().zip(read)).map(|(head, read)| {
            let (app, tenant) = (app.clone(), tenant.clone());
            async move {
                match &head.summary {
                    Some(summary) => app.views.listed(&tenant, &head.id, summary, read).await,
                    None => Ok(None),
                }
            }
        });
        let mut looking = pin!(looking.buffered(PARALLEL_READS));
        while let Some(found) = looking.next().await {
            sessions.extend(found?);
        }
    }
    Ok(Json(Sessions { sessions, next }))
}

/// Returns the sessions that changed last, the latest first.
async fn latest(
    app: &App,
    tenant: &Tenant,
    filter: &SessionFilter,
    limit: usize,
) -> Result<Vec<SessionView>, Problem> {
    // Reads the heads of all sessions, as folding reads a whole log.
    let scanning = app.views.acquire_fold().await;
    let (mut newest, mut after) = (Vec::new(), None);
    loop {
        let heads = tenant.store.sessions(filter, after.as_ref(), HEADS).await;
        let heads = heads.map_err(|error| failure::store(&error))?;
        let full = heads.len() >= HEADS;
        after = heads.last().filter(|_| full).map(|head| head.id.clone());
        let changed = |head: SessionListing| Some((head.summary?.changed_at, head.id));
        newest.extend(heads.into_iter().filter_map(changed));
        newest.sort_unstable_by(|one, other| other.cmp(one));
        newest.truncate(MAX_EXAMINED);
        if after.is_none() {
            break;
        }
    }
    drop(scanning);
    let looking =
        stream::iter(newest).map(|(_, id)| async move { app.views.served(tenant, &id).await });
    let mut looking = pin!(looking.buffered(PARALLEL_READS));
    let mut sessions = Vec::new();
    while sessions.len() < limit
        && let Some(found) = looking.next().await
    {
        sessions.extend(found?);
    }
    Ok(sessions)
}

/// Shows one session, as of the end of its log or of a position.
#[utoipa::path(
    get,
    path = "/sessions/{id}",
    tag = "sessions",
    params(("id" = String, Path, description = "The session."), PositionQuery),
    responses(
        (status = 200, description = "How it stands.", body = SessionView),
        NoSession, BadCursor,
    )
)]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    QueryParams(asked): QueryParams<PositionQuery>,
) -> Result<Json<SessionView>, Problem> {
    if let Some(at) = asked.at {
        let view = app.views.as_of(&seen.caller.tenant, &seen.first, Seq(at)).await?;
        return Ok(Json(view));
    }
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    Ok(Json(whole.view.clone()))
}
