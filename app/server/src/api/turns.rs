//! Turns: their states and results.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;
use windlass_engine::Event;
use windlass_engine::core::{
    Fact, InputId, Reason, RecordedFact, Seq, TimelineEntry, Timestamp, TurnEntry, TurnId,
    TurnOutcome, TurnUsage, TurnView, View,
};

use super::describe::answers::{BadCursor, Conflict, NoSession, NoTurn};
use super::describe::shapes::{OutcomeShape, TurnUsageShape};
use super::failure;
use super::history::is_position;
use super::prefer::PreferredWait;
use super::query::{QueryParams, TurnsQuery, limit};
use super::session_access::{PathNumber, ReadRight, SessionAccess};
use super::snapshots::{SnapshotSelection, Snapshots, read_page};
use crate::app::App;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Facts of one read.
const PAGE: usize = 256;
/// Bytes of answers after which a page ends, regardless of its limit.
const BYTES: usize = 4 * 1024 * 1024;

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TurnState)]
pub(crate) enum TurnState {
    /// The turn is open.
    Running,
    /// The turn has ended.
    Settled,
}

/// Turn of a session. Fields that are unknown before its end are null.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Turn, example = json!({
    "turn": 10, "input": 9, "state": "settled", "opened": 1_790_000_000_000_u64,
    "settled": 1_790_000_002_500_u64, "outcome": {"outcome": "completed"},
    "answer": "There are two files.",
    "spent": {"samples": 2, "attempts": 2, "calls": 1, "usage": {"input": 900, "output": 40},
              "estimated_tokens": 0, "cost_micros": 0, "continuations": 0, "compactions": 0},
}))]
pub(crate) struct Turn {
    /// Id of the turn: the position of its first fact.
    #[schema(value_type = u64)]
    turn: TurnId,
    /// Input that opened it; null if it was opened for a goal.
    #[schema(required, value_type = Option<u64>)]
    input: Option<InputId>,
    /// State of the turn.
    state: TurnState,
    /// Time at which it was opened, in milliseconds since 1970.
    #[schema(value_type = u64)]
    pub(crate) opened: Timestamp,
    /// Time at which it ended.
    #[schema(required, value_type = Option<u64>)]
    pub(crate) settled: Option<Timestamp>,
    /// Outcome of the turn.
    #[schema(required, value_type = Option<OutcomeShape>)]
    pub(crate) outcome: Option<TurnOutcome>,
    /// Text of the model's last answer; empty if there is none.
    #[schema(required)]
    pub(crate) answer: Option<String>,
    /// Usage of the turn.
    #[schema(required, value_type = Option<TurnUsageShape>)]
    spent: Option<TurnUsage>,
}

/// Turns, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Turns {
    /// Turns of this page.
    turns: Vec<Turn>,
    /// Value of `after` for the next page; null if there is none.
    #[schema(required, value_type = Option<u64>)]
    next: Option<Seq>,
}

impl Turn {
    /// Describes a turn; `None` if the view began after its opening.
    fn of(view: &TurnView) -> Option<Self> {
        let (opened, because) = view.opened?;
        let input = if let Reason::Input { input } = because { Some(input) } else { None };
        let settled = view.settled.as_ref();
        Some(Self {
            turn: view.id,
            input,
            state: match settled {
                None => TurnState::Running,
                Some(_) => TurnState::Settled,
            },
            opened,
            settled: settled.map(|end| end.at),
            outcome: settled.map(|end| end.fact.outcome.clone()),
            answer: settled.map(|_| view.sample.answer()),
            spent: settled.map(|end| end.fact.spent),
        })
    }
}

/// Applies the next fact, and returns true if it ends a turn.
fn ends(view: &mut View, fact: &RecordedFact) -> bool {
    matches!(view.apply(fact), TimelineEntry::Turn(TurnEntry::Settled(_)))
}

/// Listing of turns or of their snapshots.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = TurnListing)]
pub(crate) enum TurnListing {
    /// State of each turn.
    Turns(Turns),
    /// Snapshots of their cycles, with `snapshots=true`.
    Snapshots(Snapshots),
}

/// Lists turns, or the results of their cycles.
#[utoipa::path(
    get,
    path = "/sessions/{id}/turns",
    tag = "turns",
    params(("id" = String, Path, description = "The session."), TurnsQuery),
    responses(
        (status = 200, description = "A page of them.", body = TurnListing),
        NoSession, BadCursor, Conflict,
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    QueryParams(wanted): QueryParams<TurnsQuery>,
) -> Result<Json<TurnListing>, Problem> {
    let (limit, after) = (limit(wanted.limit, app.bounds.page)?, Seq(wanted.after));
    let at = seen.read(Seq(after.0.saturating_sub(1)), 1).await?;
    is_position(after, at.first().map(|fact| fact.seq))?;
    let told = match wanted.snapshots {
        true => TurnListing::Snapshots(
            read_page(&app, &seen, SnapshotSelection::Session { after }, limit).await?,
        ),
        false => TurnListing::Turns(list_turns(&seen, after, limit).await?),
    };
    Ok(Json(told))
}

/// Reads a page of turns.
async fn list_turns(
    seen: &SessionAccess<ReadRight>,
    mut after: Seq,
    limit: usize,
) -> Result<Turns, Problem> {
    let (mut turns, mut bytes) = (Vec::new(), 0_usize);
    let mut view = View::default();
    loop {
        let facts = seen.read(after, PAGE).await?;
        let last = facts.len() < PAGE;
        for fact in facts {
            after = fact.seq;
            let ended = ends(&mut view, &fact);
            let Some(turn) = view.turn().filter(|_| ended).and_then(Turn::of) else {
                continue;
            };
            bytes = bytes.saturating_add(turn.answer.as_ref().map_or(0, String::len));
            let next = Some(Seq(turn.turn.0));
            turns.push(turn);
            if turns.len() >= limit || bytes >= BYTES {
                return Ok(Turns { turns, next });
            }
        }
        if last {
            let open = view.turn().filter(|turn| turn.settled.is_none());
            turns.extend(open.and_then(Turn::of));
            return Ok(Turns { turns, next: None });
        }
    }
}

/// Shows one turn. With `Prefer: wait=N`, waits up to N seconds, at most 60, for its end.
#[utoipa::path(
    get,
    path = "/sessions/{id}/turns/{turn}",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("turn" = u64, Path, description = "The turn."),
        ("Prefer" = Option<String>, Header, example = "wait=30",
         description = "`wait=N`: to wait up to N seconds, at most 60, for the turn's end."),
    ),
    responses(
        (status = 200, description = "How it stands.", body = Turn,
         headers(("Preference-Applied" = String, description = "What was made of `Prefer`."))),
        NoTurn,
    )
)]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    PathNumber(turn): PathNumber,
    wait: PreferredWait,
) -> Result<impl IntoResponse, Problem> {
    let until = wait.time().map(|time| Instant::now() + time);
    let (mut view, after) = fold_turn(&seen, TurnId(turn)).await?;
    let settled = view.turn().is_some_and(|turn| turn.settled.is_some());
    if let (false, Some(until)) = (settled, until) {
        follow(&app, &seen, &mut view, after, until).await?;
    }
    let mut headers = HeaderMap::new();
    if let Some(applied) = wait.applied().and_then(|said| said.parse().ok()) {
        headers.insert("preference-applied", applied);
    }
    let turn = view.turn().and_then(Turn::of).ok_or_else(no_turn)?;
    Ok((headers, Json(turn)))
}

/// Reads a turn from the log.
#[cfg(feature = "mcp")]
pub(crate) async fn read_turn<R>(seen: &SessionAccess<R>, turn: TurnId) -> Result<Turn, Problem> {
    let (view, _) = fold_turn(seen, turn).await?;
    view.turn().and_then(Turn::of).ok_or_else(no_turn)
}

/// Folds the facts of a turn. Returns the position of the last one that was read, too.
async fn fold_turn<R>(seen: &SessionAccess<R>, turn: TurnId) -> Result<(View, Seq), Problem> {
    let mut after = Seq(turn.0.saturating_sub(1));
    let mut facts = seen.read(after, PAGE).await?;
    let mut view = View::default();
    let first = facts.first().filter(|fact| fact.seq == Seq(turn.0));
    let opens = first.is_some_and(|fact| matches!(fact.fact, Fact::TurnOpened(_)));
    if !opens {
        return Err(no_turn());
    }
    loop {
        let settled = facts.iter().any(|fact| ends(&mut view, fact));
        after = facts.last().map_or(after, |fact| fact.seq);
        if settled || facts.len() < PAGE {
            return Ok((view, after));
        }
        facts = seen.read(after, PAGE).await?;
    }
}

/// Follows a turn to its end, to the deadline, or until the server drains.
async fn follow(
    app: &App,
    seen: &SessionAccess<ReadRight>,
    view: &mut View,
    after: Seq,
    until: Instant,
) -> Result<(), Problem> {
    let mut watch = seen.caller.tenant.engine.subscribe(&seen.id, seen.caller.scope(), Some(after));
    let ended = async {
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) if ends(view, &fact) => return Ok(()),
                Ok(Event::Ended(_)) => return Ok(()),
                Ok(Event::Fact(_) | Event::Live(_) | Event::Lagged { .. } | Event::Store(_)) => {}
                Err(error) => return Err(failure::store(&error)),
            }
        }
    };
    tokio::select! {
        ended = timeout_at(until, ended) => ended.unwrap_or(Ok(())),
        () = app.drained() => Ok(()),
    }
}

pub(super) fn no_turn() -> Problem {
    let detail = "a turn is named by the position of its first fact: list them";
    Problem::new(ProblemCode::NoTurn, detail)
}
