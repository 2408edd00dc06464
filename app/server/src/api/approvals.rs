//! Approvals: lists open approvals, and answers them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use windlass_engine::core::{
    ApprovalAnswer, ApprovalReason, ArgumentsDigest, CallId, Edit, EffectClass, GrantLifetime,
    RecordedFact, Reject, Seq, SessionId, Timestamp, TurnId,
};
use windlass_engine::ports::{
    FileChange, GrantOffer, SessionFilter, Tenants, change_lines, outside_lines, question_lines,
};
use windlass_engine::{Loaded, PendingApproval, SendError, SessionCommand};

use super::describe::answers::{Conflict, KeyReused, NoSession, StoreFull, Waits};
use super::describe::shapes::{
    ApprovalReasonShape, EffectShape, FileChangeShape, GrantLifetimeShape,
};
use super::execute::execute;
use super::key::ClientKey;
use super::query::{self, QueryParams};
use super::session_access::{ApproveRight, AuthorizedCaller, PathNumber, ReadRight, SessionAccess};
use super::session_handle::handle;
use super::{failure, grants};
use crate::app::App;
use crate::caller::Caller;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};
use crate::tenant::Tenant;

/// Sessions that are read at the same time.
const PARALLEL_READS: usize = 8;

/// Open approval of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Approval, example = json!({
    "session": "01k8q3v5w2x9n4c7d1f6g0h2jk", "turn": 10, "call": 15, "tool": "run",
    "effect": "effectful", "arguments": "{\"command\":\"make\"}",
    "view": ["command: make"], "change": null,
    "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "reason": "permissions", "earlier": null, "grant": null, "grant_withheld": "`make` needs its subcommand as the next word",
    "asked": 17, "attempt": 1, "deadline": 1_790_604_800_000_u64,
}))]
pub(crate) struct Approval {
    /// The session.
    #[schema(value_type = String)]
    session: SessionId,
    /// The turn.
    #[schema(value_type = u64)]
    turn: TurnId,
    /// The call.
    #[schema(value_type = u64)]
    pub(crate) call: CallId,
    /// The tool.
    pub(crate) tool: String,
    /// Effect class of the tool; null if the settings no longer have it.
    #[schema(required, value_type = Option<EffectShape>)]
    effect: Option<EffectClass>,
    /// The exact arguments as JSON text.
    #[schema(value_type = String)]
    arguments: Arc<str>,
    /// The arguments for a person, a line each or more: decoded, with hidden characters spelled out,
    /// long runs of blanks counted, and what is left out of long texts counted. Then what the call
    /// would change in a file, if its tool can tell. Plain text.
    pub(crate) view: Vec<String>,
    /// What the call would change in a file, if its tool can tell, for clients that draw it.
    #[schema(required, value_type = Option<FileChangeShape>)]
    change: Option<FileChange>,
    /// Digest of the arguments. An answer names it, so it applies to no other arguments.
    #[schema(value_type = String)]
    pub(crate) digest: ArgumentsDigest,
    /// Reason for the question.
    #[schema(value_type = ApprovalReasonShape)]
    reason: ApprovalReason,
    /// Output of the same call in the sandbox, if this one would run outside of it and that failed.
    #[schema(required, value_type = Option<String>)]
    earlier: Option<Arc<str>>,
    /// Calls like this one that `remember` of the answer allows too, in words; null if only this call
    /// can be allowed.
    #[schema(required)]
    grant: Option<String>,
    /// Reason why only this call can be allowed; null if others can.
    #[schema(required)]
    grant_withheld: Option<String>,
    /// Position of the request for approval.
    #[schema(value_type = u64)]
    asked: Seq,
    /// Number of requests, from 1: a new process asks again.
    attempt: u32,
    /// Time after which a missing answer counts as a denial, in milliseconds since 1970; null if
    /// there is none.
    #[schema(required, value_type = Option<u64>)]
    deadline: Option<Timestamp>,
    /// The question as the engine knows it, with the workspace of its session.
    #[serde(skip)]
    #[schema(ignore)]
    pending: (PendingApproval, Option<Arc<str>>),
}

/// Returns the open approvals of a loaded session.
pub(super) fn of(loaded: &Loaded) -> Vec<Approval> {
    let Some(turn) = loaded.session.turn() else {
        return Vec::new();
    };
    let open = windlass_engine::pending(loaded).into_iter();
    open.map(|pending| Approval {
        view: view(&pending),
        change: None,
        pending: (pending.clone(), loaded.session.workspace.clone()),
        reason: pending.reason,
        earlier: pending.earlier.clone(),
        grant: None,
        grant_withheld: None,
        session: loaded.session.id.clone(),
        turn: turn.id,
        call: pending.call,
        effect: turn.settings.tool(&pending.tool).map(|tool| tool.effect),
        tool: pending.tool,
        arguments: pending.arguments,
        digest: pending.digest,
        asked: pending.asked,
        attempt: pending.attempt,
        deadline: pending.deadline,
    })
    .collect()
}

fn view(pending: &PendingApproval) -> Vec<String> {
    let mut lines = match pending.reason {
        ApprovalReason::OutsideSandbox => outside_lines(pending.earlier.as_deref()),
        ApprovalReason::Permissions
        | ApprovalReason::Rule
        | ApprovalReason::PossibleDenial
        | ApprovalReason::Hook
        | ApprovalReason::Held => Vec::new(),
    };
    lines.extend(question_lines(&pending.arguments));
    lines
}

/// Adds what only the tenant's engine knows: what the calls would change in files, as these are now,
/// and which calls may be allowed beyond them.
async fn add_changes(tenant: &Tenant, approvals: &mut [Approval]) {
    for approval in approvals {
        match tenant.engine.grant_offer(&approval.pending.0) {
            GrantOffer::Offered { text } => approval.grant = Some(text),
            GrantOffer::Withheld { reason } => approval.grant_withheld = Some(reason),
        }
        approval.change = tenant.engine.preview(&approval.tool, &approval.arguments).await;
        approval.view.extend(approval.change.iter().flat_map(change_lines));
    }
}

/// Open approvals.
#[derive(Serialize, ToSchema)]
pub(crate) struct Approvals {
    /// Approvals of this page, by session and in the order of their calls.
    approvals: Vec<Approval>,
    /// Value of `after` for the next page; null if there is none.
    #[schema(required, value_type = Option<String>)]
    next: Option<SessionId>,
}

/// Lists the open approvals of a session.
#[utoipa::path(
    get,
    path = "/sessions/{id}/approvals",
    tag = "approvals",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "All of them.", body = Approvals),
        NoSession,
    )
)]
pub(crate) async fn of_session(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
) -> Result<Json<Approvals>, Problem> {
    let approvals = open_approvals(&app, &seen).await?;
    Ok(Json(Approvals { approvals, next: None }))
}

/// Returns the open approvals of a session, with what their calls would change.
pub(crate) async fn open_approvals<R>(
    app: &App,
    seen: &SessionAccess<R>,
) -> Result<Vec<Approval>, Problem> {
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    let mut approvals = whole.approvals.clone();
    add_changes(&seen.caller.tenant, &mut approvals).await;
    Ok(approvals)
}

/// Sessions to search.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApprovalsQuery {
    /// Begins after this session.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    after: Option<String>,
    /// Most unfinished sessions to search. Sessions without an open approval count too.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u64>,
}

/// Lists the open approvals of all sessions of the tenant.
#[utoipa::path(
    get,
    path = "/approvals",
    tag = "approvals",
    params(ApprovalsQuery),
    responses((status = 200, description = "A page of them.", body = Approvals))
)]
pub(crate) async fn of_tenant(
    State(app): State<Arc<App>>,
    AuthorizedCaller { caller, .. }: AuthorizedCaller<ReadRight>,
    QueryParams(which): QueryParams<ApprovalsQuery>,
) -> Result<Json<Approvals>, Problem> {
    let limit = query::limit(which.limit, app.bounds.page)?;
    let after = which.after.as_deref().map(query::session).transpose()?;
    let tenant = &caller.tenant;
    let filter = SessionFilter::of(Tenants::One(tenant.name.clone())).open();
    let heads = tenant.store.sessions(&filter, after.as_ref(), limit).await;
    let heads = heads.map_err(|error| failure::store(&error))?;
    let full = heads.len() >= limit;
    let next = heads.last().filter(|_| full).map(|head| head.id.clone());
    let turning = heads
        .into_iter()
        .filter(|head| head.summary.as_ref().is_some_and(|summary| summary.turn_open));
    let looking = stream::iter(turning).map(|head| {
        let (app, tenant) = (app.clone(), tenant.clone());
        async move { app.views.find(&tenant, &head.id).await }
    });
    let looked: Vec<_> = looking.buffered(PARALLEL_READS).collect().await;
    let mut approvals = Vec::new();
    for whole in looked {
        if let Some(whole) = whole? {
            approvals.extend_from_slice(&whole.approvals);
        }
    }
    add_changes(tenant, &mut approvals).await;
    Ok(Json(Approvals { approvals, next }))
}

/// Decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
}

/// Answer of a person to an approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Word, example = json!({
    "decision": "allow", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "arguments": {"command": "make check"},
}))]
pub(crate) struct DecisionRequest {
    /// The decision.
    pub(crate) decision: Decision,
    /// Digest of the arguments that were shown.
    #[schema(pattern = "^(sha256:[0-9a-f]{64}|[0-9a-f]{32})$")]
    pub(crate) digest: String,
    /// Reason for a denial, which the model receives. Only with a denial.
    #[schema(nullable = false)]
    pub(crate) reason: Option<String>,
    /// Arguments that replace the model's. Only with an approval.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(crate) arguments: Option<Box<RawValue>>,
    /// Allows the calls of the question's `grant` too, for as long. Only with an approval of
    /// unchanged arguments.
    #[serde(default)]
    #[schema(value_type = Option<GrantLifetimeShape>, nullable = false)]
    pub(crate) remember: Option<GrantLifetime>,
}

/// Decision about a call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"call": 15, "decision": "allow", "grant": null}))]
pub(crate) struct DecisionResponse {
    /// The call.
    #[schema(value_type = u64)]
    call: CallId,
    /// The decision.
    decision: Decision,
    /// Id of the grant that was recorded with it; null if none was.
    #[schema(required)]
    grant: Option<String>,
}

/// Answers an open approval. The first answer counts.
#[utoipa::path(
    post,
    path = "/sessions/{id}/approvals/{call}",
    tag = "approvals",
    params(
        ("id" = String, Path, description = "The session."),
        ("call" = u64, Path, description = "The call."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = DecisionRequest,
    responses(
        (status = 202, description = "The answer is durable.", body = DecisionResponse),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ApproveRight>,
    PathNumber(call): PathNumber,
    key: ClientKey,
    Json(word): Json<DecisionRequest>,
) -> Result<impl IntoResponse, Problem> {
    let SessionAccess { caller, id, first, .. } = seen;
    let decision = word.decision;
    let call = CallId(call);
    // A client may use one key for several calls.
    let key = key.for_command().map(|key| format!("{call}:{key}"));
    let grant = decide(&app, &caller, (&id, &first), (call, key), word).await?;
    Ok((StatusCode::ACCEPTED, Json(DecisionResponse { call, decision, grant })))
}

/// Answers an open approval of a session, given its first fact. With a key it is executed once.
/// Returns the id of the grant that was recorded with it.
pub(crate) async fn decide(
    app: &App,
    caller: &Caller,
    (id, first): (&SessionId, &RecordedFact),
    (call, key): (CallId, Option<String>),
    word: DecisionRequest,
) -> Result<Option<String>, Problem> {
    let digest = digest(&word.digest)?;
    let remember = word.remember;
    let mut answer = approval_answer(word)?;
    let whole = app.views.get(&caller.tenant, first).await?;
    let open = whole.approvals.iter().find(|open| open.call == call);
    if key.is_none() && open.is_none() {
        // Checked first, so that the session is not opened needlessly.
        let nobody = SendError::Rejected(Reject::NoOpenQuestion(call));
        return Err(failure::send(&nobody));
    }
    let handle = handle(app, caller, id).await?;
    let mut given = None;
    // A repeated request may come after the answer: its grant is recorded then.
    if let (Some(lifetime), Some(open)) = (remember, open.filter(|open| open.digest == digest)) {
        let (grant, record) = grants::give(caller, id, &open.pending, lifetime).await?;
        given = Some(grant.id);
        answer = ApprovalAnswer::Granted { grant: record };
    }
    let command = SessionCommand::Answer { call, arguments: digest, answer };
    let done = execute(&handle, (caller, id), key.as_deref(), command).await;
    match (&done, &given) {
        (Err(_), Some(grant)) => grants::take_back(caller, grant).await,
        (Ok(_), Some(_)) => caller.tenant.engine.apply_grants(),
        (Ok(_) | Err(_), None) => {}
    }
    done.map(|_| given)
}

fn approval_answer(word: DecisionRequest) -> Result<ApprovalAnswer, Problem> {
    let refused = |detail: &'static str| Err(Problem::new(ProblemCode::Refused, detail));
    if word.remember.is_some() && (word.decision == Decision::Deny || word.arguments.is_some()) {
        return refused(
            "only an approval of unchanged arguments is remembered: leave remember out",
        );
    }
    match (word.decision, word.reason, word.arguments) {
        (Decision::Deny, reason, None) => {
            let reason = reason.unwrap_or_else(|| "denied".into());
            Ok(ApprovalAnswer::Deny { reason })
        }
        (Decision::Allow, None, None) => Ok(ApprovalAnswer::Allow { edit: None }),
        (Decision::Allow, None, Some(arguments)) => {
            let text = arguments.get();
            if !text.starts_with('{') {
                let detail = "the arguments of a call are an object";
                return Err(Problem::new(ProblemCode::BadRequest, detail));
            }
            // The engine validates them.
            let edit = Edit::unchecked(text.into());
            Ok(ApprovalAnswer::Allow { edit: Some(edit) })
        }
        (Decision::Deny, _, Some(_)) => {
            refused("a call that may not run has no arguments: leave them out")
        }
        (Decision::Allow, Some(_), _) => refused("only a denial has a reason: leave it out"),
    }
}

fn digest(text: &str) -> Result<ArgumentsDigest, Problem> {
    let read: Option<ArgumentsDigest> = serde_json::from_value(text.into()).ok();
    // One digest has one spelling.
    read.filter(|digest| digest.to_string() == text).ok_or_else(|| {
        let detail =
            "digest is that of the question: sha256: and 64 hexadecimal digits in lower case";
        Problem::new(ProblemCode::BadRequest, detail)
    })
}
