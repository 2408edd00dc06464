//! Inputs: accepts the inputs of clients, and reports their state.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use windlass_engine::core::{
    CallEntry, CallSource, ContextPart, Delivery, Fact, Hold, InputEntry, InputId, InputQueued,
    Reason, RecordedFact, Seq, TimelineEntry, TurnEntry, TurnId,
};
use windlass_engine::{AwaitedTurn, NewInput, StartError};

use super::describe::answers::{Conflict, KeyReused, NoInput, NoSession, StoreFull, Waits};
use super::describe::shapes::{ContextPartShape, DeliveryShape};
use super::failure;
use super::key::{self, ClientKey};
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use super::session_handle::open;
use super::turn_permits;
use crate::access::hex;
use crate::app::App;
use crate::caller::Caller;
use crate::client_tools::ClientTool;
use crate::json::Json;
use crate::object;
use crate::problem::{Problem, ProblemCode};
use crate::tenant::TenantFactory;

/// Input for a turn of its own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"text": "List the files."}))]
pub(crate) struct TurnRequest {
    /// Text of the input.
    #[schema(min_length = 1)]
    text: String,
    /// Additional context for the model.
    #[serde(default, deserialize_with = "object::each")]
    #[schema(value_type = Vec<ContextPartShape>)]
    context: Vec<ContextPart>,
    /// Images of the input, in order: PNG, JPEG, GIF or WebP files, in base64.
    #[serde(default)]
    #[schema(max_items = 16, value_type = Vec<String>)]
    images: Vec<String>,
    /// True if the turn only plans what its tools would do.
    #[serde(default)]
    dry_run: bool,
    /// Tools that a client of the session runs, in place of those before. Without it they stay. Those
    /// of a running turn stay until it ends.
    #[serde(default, deserialize_with = "object::each_if_any")]
    #[schema(nullable = false, value_type = Option<Vec<ClientTool>>)]
    client_tools: Option<Vec<ClientTool>>,
}

/// Input with its delivery.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"text": "Only the Rust files.", "delivery": "steer"}))]
pub(crate) struct InputRequest {
    /// Delivery of the input.
    #[schema(value_type = DeliveryShape)]
    delivery: Delivery,
    /// Text of the input.
    #[schema(min_length = 1)]
    text: String,
    /// Additional context for the model.
    #[serde(default, deserialize_with = "object::each")]
    #[schema(value_type = Vec<ContextPartShape>)]
    context: Vec<ContextPart>,
    /// Images of the input, in order: PNG, JPEG, GIF or WebP files, in base64.
    #[serde(default)]
    #[schema(max_items = 16, value_type = Vec<String>)]
    images: Vec<String>,
    /// True if the turn only plans what its tools would do.
    #[serde(default)]
    dry_run: bool,
    /// Running turn that the input is meant for. Refused if that turn is over.
    #[serde(default, deserialize_with = "object::number")]
    #[schema(value_type = Option<u64>)]
    turn: Option<TurnId>,
    /// Tools that a client of the session runs, in place of those before. Without it they stay. Those
    /// of a running turn stay until it ends.
    #[serde(default, deserialize_with = "object::each_if_any")]
    #[schema(nullable = false, value_type = Option<Vec<ClientTool>>)]
    client_tools: Option<Vec<ClientTool>>,
}

/// Accepted input, which is durable.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"input": 9, "turn": 10}))]
pub(crate) struct AcceptedInput {
    /// Id of the input: the position of its fact.
    #[schema(value_type = u64)]
    pub(crate) input: InputId,
    /// Turn that it opened at once; null if it waits, or goes to the running turn.
    #[schema(required, value_type = Option<u64>)]
    turn: Option<TurnId>,
}

impl AcceptedInput {
    /// Reads the turn that an input opened at once.
    pub(crate) async fn of<R>(seen: &SessionAccess<R>, input: InputId) -> Result<Self, Problem> {
        let next = seen.fact_at(Seq(input.0).next()).await?;
        let turn = next.filter(|fact| is_opened_for(fact, input));
        Ok(Self { input, turn: turn.map(|fact| TurnId(fact.seq.0)) })
    }
}

/// Sends an input for a turn of its own.
#[utoipa::path(
    post,
    path = "/sessions/{id}/turns",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = TurnRequest,
    responses(
        (status = 202, description = "It is durable.", body = AcceptedInput),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn turn(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(words): Json<TurnRequest>,
) -> Result<impl IntoResponse, Problem> {
    let input = InputRequest {
        delivery: Delivery::Turn,
        text: words.text,
        context: words.context,
        images: words.images,
        dry_run: words.dry_run,
        turn: None,
        client_tools: words.client_tools,
    };
    submit(&app, &seen, &key, input).await
}

/// Sends an input with its delivery.
#[utoipa::path(
    post,
    path = "/sessions/{id}/inputs",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128,
         pattern = "^[ -~]+$",
         description = "Asking again with the same key gives the same answer."),
    ),
    request_body = InputRequest,
    responses(
        (status = 202, description = "It is durable.", body = AcceptedInput),
        NoSession, Conflict, KeyReused, StoreFull, Waits,
    )
)]
pub(crate) async fn send(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    key: ClientKey,
    Json(input): Json<InputRequest>,
) -> Result<impl IntoResponse, Problem> {
    submit(&app, &seen, &key, input).await
}

async fn submit(
    app: &App,
    seen: &SessionAccess<RunRight>,
    key: &ClientKey,
    input: InputRequest,
) -> Result<impl IntoResponse + use<>, Problem> {
    let images = images(&input.images)?;
    let send = NewInput::new(seen.caller.scope().clone(), input.text).with(|it| {
        it.delivery = input.delivery;
        it.context = input.context;
        it.images = images;
        it.key = key.for_input();
        it.dry_run = input.dry_run;
        it.turn = input.turn;
    });
    let taken = accept(app, seen, send, input.client_tools.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(taken)))
}

/// Submits an input to a session. `declared` replaces the client tools of the session.
pub(crate) async fn accept(
    app: &App,
    seen: &SessionAccess<RunRight>,
    mut send: NewInput,
    declared: Option<&[ClientTool]>,
) -> Result<AcceptedInput, Problem> {
    let (handle, state) = open(app, &seen.caller, &seen.id, declared).await?;
    // An input to a running turn is part of that turn.
    let pass = match send.delivery == Delivery::Steer && state.turn().is_some() {
        true => None,
        false => Some(seen.caller.turn_permit(app).await?),
    };
    let wanted = InputFingerprint::of(&send);
    let besides = merge_context(&seen.caller, &wanted.context).await;
    send.context = [besides, send.context].concat();
    let keyed = send.key.is_some();
    let input = handle.send(send).await;
    let input = input.map_err(|error| failure::send(&error))?;
    if let Some(pass) = pass {
        turn_permits::hold_until_settled(handle, AwaitedTurn::Input(input), pass);
    }
    let facts = seen.read(Seq(input.0.saturating_sub(1)), 2).await?;
    let mut facts = facts.iter();
    let queued = facts.next().and_then(queued);
    let house = seen.caller.tenant.factory.as_ref();
    if keyed && !queued.is_some_and(|queued| wanted.matches(queued, house)) {
        return Err(key::key_reused("another input"));
    }
    let turn = facts.next().filter(|fact| is_opened_for(fact, input));
    Ok(AcceptedInput { input, turn: turn.map(|fact| TurnId(fact.seq.0)) })
}

/// Returns the tenant's context beside the client's, which takes precedence under the same name.
async fn merge_context(caller: &Caller, told: &[ContextPart]) -> Vec<ContextPart> {
    let house = caller.tenant.factory.clone();
    let besides = tokio::task::spawn_blocking(move || house.context()).await;
    let mut besides = besides.unwrap_or_else(|error| {
        tracing::error!(%error, "what the model is told besides is left out");
        Vec::new()
    });
    besides.retain(|part| !told.iter().any(|other| other.from == part.from));
    besides
}

/// Parts of a request that are compared when its key is used again.
struct InputFingerprint {
    text: String,
    delivery: Delivery,
    /// Context from the client.
    context: Vec<ContextPart>,
    images: Vec<String>,
    dry_run: bool,
}

impl InputFingerprint {
    fn of(send: &NewInput) -> Self {
        // Of parts with the same name the last one applies, at its position.
        let mut context: Vec<ContextPart> = Vec::new();
        for part in &send.context {
            context.retain(|other| other.from != part.from);
            context.push(part.clone());
        }
        let digits = |bytes: &Vec<u8>| hex(&Sha256::digest(bytes));
        Self {
            text: send.text.clone(),
            delivery: send.delivery,
            context,
            images: send.images.iter().map(digits).collect(),
            dry_run: send.dry_run,
        }
    }

    fn matches(&self, queued: &InputQueued, house: &dyn TenantFactory) -> bool {
        // A dry run cannot steer a running turn that is none, so it got the next turn.
        let later = self.dry_run
            && self.delivery == Delivery::Steer
            && queued.delivery == Delivery::FollowUp;
        let images = queued.images.iter().map(|image| image.sha256.as_str());
        *self.text == *queued.text
            && (self.delivery == queued.delivery || later)
            && self.has_context(&queued.context, house)
            && self.images.iter().map(String::as_str).eq(images)
            && self.dry_run == queued.dry_run
    }

    /// Returns true if a context is the client's behind any that the tenant may have added.
    fn has_context(&self, context: &[ContextPart], house: &dyn TenantFactory) -> bool {
        let ours = context.len().checked_sub(self.context.len());
        let Some((ours, theirs)) = ours.and_then(|at| context.split_at_checked(at)) else {
            return false;
        };
        theirs == self.context && ours.iter().all(|part| house.is_context(&part.from))
    }
}

/// Decodes images. The engine limits their number, kinds and sizes.
pub(crate) fn images(texts: &[String]) -> Result<Vec<Vec<u8>>, Problem> {
    let bytes = |(number, text): (usize, &String)| {
        STANDARD.decode(text).map_err(|error| {
            let detail = format!("image {number} is no base64: {error}");
            Problem::new(ProblemCode::Refused, detail)
        })
    };
    (1..).zip(texts).map(bytes).collect()
}

fn queued(fact: &RecordedFact) -> Option<&InputQueued> {
    if let Fact::InputQueued(queued) = &fact.fact {
        return Some(queued);
    }
    None
}

fn is_opened_for(fact: &RecordedFact, input: InputId) -> bool {
    if let Fact::TurnOpened(opened) = &fact.fact {
        return opened.reason == Reason::Input { input };
    }
    false
}

/// State of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = InputState)]
pub(crate) enum InputState {
    /// Waits for its turn.
    Waiting,
    /// Waits, after an interrupt, to be resumed.
    Held,
    /// A turn has accepted it.
    Accepted,
    /// Blocked by a hook; the model never receives it.
    Blocked,
    /// Withdrawn by a user; the model never receives it.
    Withdrawn,
}

/// Result of an input.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"input": 9, "state": "accepted", "turn": 10, "reason": null}))]
pub(crate) struct InputStatus {
    /// The input.
    #[schema(value_type = u64)]
    input: InputId,
    /// State of the input.
    pub(crate) state: InputState,
    /// Turn that accepted it, or that was opened for it.
    #[schema(required, value_type = Option<u64>)]
    pub(crate) turn: Option<TurnId>,
    /// Reason why it was blocked.
    #[schema(required)]
    pub(crate) reason: Option<String>,
}

/// Facts of one read.
const PAGE: usize = 256;

/// Reads the state of an input.
#[utoipa::path(
    get,
    path = "/sessions/{id}/inputs/{input}",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("input" = u64, Path, description = "The input."),
    ),
    responses(
        (status = 200, description = "How far it is.", body = InputStatus),
        NoInput,
    )
)]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    PathNumber(input): PathNumber,
) -> Result<Json<InputStatus>, Problem> {
    input_status(&app, &seen, InputId(input)).await.map(Json)
}

/// Reads the state of an input from the log.
pub(crate) async fn input_status<R>(
    app: &App,
    seen: &SessionAccess<R>,
    input: InputId,
) -> Result<InputStatus, Problem> {
    let mut became = InputStatus { input, state: InputState::Waiting, turn: None, reason: None };
    let mut after = Seq(input.0.saturating_sub(1));
    let mut first = true;
    loop {
        let facts = seen.read(after, PAGE).await?;
        if first {
            let there = facts.first().filter(|fact| fact.seq.0 == input.0);
            if there.and_then(queued).is_none() {
                return Err(no_input());
            }
            first = false;
        }
        if facts.iter().any(|fact| became.apply(fact)) {
            return Ok(became);
        }
        match facts.last() {
            Some(last) if facts.len() == PAGE => after = last.seq,
            Some(_) | None => break,
        }
    }
    let loaded = app.views.load(&seen.caller.tenant, &seen.id).await;
    let session = loaded.map_err(|error: StartError| failure::start(&error))?.session;
    if became.turn.is_none() && session.hold == Hold::Held {
        became.state = InputState::Held;
    }
    Ok(became)
}

impl InputStatus {
    /// Applies the next fact, and returns true if the state is final.
    fn apply(&mut self, fact: &RecordedFact) -> bool {
        let entry = TimelineEntry::of(fact);
        if is_opened_for(fact, self.input) {
            self.turn = Some(TurnId(fact.seq.0));
        }
        if let TimelineEntry::Turn(TurnEntry::Settled(settled)) = entry
            && settled.waiting.contains(&self.input)
        {
            self.turn = None;
        }
        if let TimelineEntry::Input(InputEntry::Accepted(input))
        | TimelineEntry::Call(_, CallEntry::Proposed(CallSource::User(input), _)) = entry
            && input == self.input
        {
            self.state = InputState::Accepted;
            self.turn = fact.turn;
        }
        if let TimelineEntry::Input(InputEntry::Blocked(blocked)) = entry
            && blocked.input == self.input
        {
            self.state = InputState::Blocked;
            self.turn = fact.turn;
            self.reason = Some(blocked.reason.clone());
        }
        if let TimelineEntry::Input(InputEntry::Withdrawn(withdrawn)) = entry
            && withdrawn.input == self.input
        {
            self.state = InputState::Withdrawn;
        }
        self.state != InputState::Waiting
    }
}

fn no_input() -> Problem {
    let detail = "an input is named by the number that sending it was answered with";
    Problem::new(ProblemCode::NoInput, detail)
}
