//! Snapshots: what each cycle came to, of a turn or of all of a session's, in pages.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use windlass_engine::core::{Fact, RecordedFact, Seq, TurnId, TurnSnapshot};

use super::describe::answers::{Conflict, NoTurn};
use super::describe::snapshot::SnapshotShape;
use super::failure;
use super::fold_cache::SnapshotFold;
use super::query::{CyclesQuery, QueryParams, limit};
use super::session_access::{PathNumber, ReadRight, SessionAccess};
use super::turns::no_turn;
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// Facts that the first read of a page brings: a page may be one cycle. Each later one brings twice as
/// many as that before it, up to a most.
const FIRST_READ: usize = 16;
const PAGE: usize = 256;
/// Bytes of texts after which a page ends, whatever its limit says. Its last snapshot may go beyond.
const BYTES: usize = 4 * 1024 * 1024;

/// Snapshots of cycles, oldest first. The first of a page tells the whole conversation that the model was
/// shown (`same` is 0), each other one what is new in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Snapshots {
    /// Those of this page. One is there once its cycle is over, and never changes.
    #[schema(value_type = Vec<SnapshotShape>)]
    snapshots: Vec<Box<RawValue>>,
    /// The cycle that is open, on a page that comes to the end of the log: as far as it came, so it
    /// changes until it is over. No cursor counts it.
    #[schema(required, value_type = Option<SnapshotShape>)]
    open: Option<Box<RawValue>>,
    /// Value of `after` for the next page; null if there are no more yet.
    #[schema(required)]
    next: Option<u64>,
}

/// Requested snapshots.
#[derive(Debug, Clone, Copy)]
pub(super) enum SnapshotSelection {
    /// Those of a session whose cycles were over after this position.
    Session { after: Seq },
    /// Those of a turn, after this cycle.
    Turn { turn: TurnId, after: u32 },
}

impl SnapshotSelection {
    /// Returns true if a fold has made none of these yet.
    fn is_ahead_of(self, fold: &SnapshotFold) -> bool {
        let Some(told) = fold.latest() else {
            return true;
        };
        match self {
            Self::Session { after } => told.at <= after,
            Self::Turn { turn, after } => (told.turn, told.number) <= (turn, after),
        }
    }

    /// The cursor of a snapshot that was made with the fact at this position, where it is wanted.
    fn cursor(self, made: &TurnSnapshot, at: Seq) -> Option<u64> {
        let cycle = made.cycle();
        match self {
            Self::Session { after } => (at > after).then_some(at.0),
            Self::Turn { turn, after } => {
                (cycle.turn == turn && cycle.number > after).then_some(cycle.number.into())
            }
        }
    }

    /// Returns true if no more come after this fact.
    fn ends_with(self, fact: &RecordedFact) -> bool {
        match self {
            Self::Session { .. } => false,
            Self::Turn { turn, .. } => {
                matches!(fact.fact, Fact::TurnSettled(_)) && fact.turn == Some(turn)
            }
        }
    }

    /// Returns true if this cycle, which is open, is one of these.
    fn includes(self, open: &TurnSnapshot) -> bool {
        match self {
            Self::Session { .. } => true,
            Self::Turn { turn, after } => open.cycle().turn == turn && open.cycle().number > after,
        }
    }
}

/// Reads what each cycle of a turn came to.
#[utoipa::path(
    get,
    path = "/sessions/{id}/turns/{turn}/snapshots",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("turn" = u64, Path, description = "The turn."),
        CyclesQuery,
    ),
    responses(
        (status = 200, description = "A page of them.", body = Snapshots),
        NoTurn, Conflict,
    )
)]
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    seen: SessionAccess<ReadRight>,
    PathNumber(turn): PathNumber,
    QueryParams(cycles): QueryParams<CyclesQuery>,
) -> Result<Json<Snapshots>, Problem> {
    let most = limit(cycles.limit, app.bounds.page)?;
    let opened = seen.read(Seq(turn.saturating_sub(1)), 1).await?;
    let opens =
        |fact: &RecordedFact| matches!(fact.fact, Fact::TurnOpened(_)) && fact.seq == Seq(turn);
    if !opened.first().is_some_and(opens) {
        return Err(no_turn());
    }
    let wanted = SnapshotSelection::Turn {
        turn: TurnId(turn),
        after: cycles.after,
    };
    read_page(&app, &seen, wanted, most).await.map(Json)
}

/// Reads a page of the snapshots that are wanted: on from where one ended lately, or, as what a model was
/// shown comes from all that was said before, from the beginning of the log.
pub(super) async fn read_page(
    app: &App,
    seen: &SessionAccess<ReadRight>,
    wanted: SnapshotSelection,
    most: usize,
) -> Result<Snapshots, Problem> {
    let _folding = app.views.acquire_fold().await;
    let mut fold = begin(app, seen, wanted).await?;
    let mut page = PageBuilder::default();
    let mut limit = FIRST_READ;
    let next = 'page: loop {
        let facts = seen.read(fold.at(), limit).await?;
        let ends = facts.len() < limit;
        limit = limit.saturating_mul(2).min(PAGE);
        for fact in facts {
            let made = fold.apply(&fact);
            let made = made.map_err(|misfit| failure::damaged(&misfit))?;
            let cursor = made.as_ref().and_then(|made| wanted.cursor(made, fact.seq));
            if let (Some(made), Some(cursor)) = (made, cursor) {
                page.push(made)?;
                if page.snapshots.len() >= most || page.bytes >= BYTES {
                    break 'page Some(cursor);
                }
            }
            if wanted.ends_with(&fact) {
                break 'page None;
            }
        }
        if ends {
            let open = fold.open().filter(|open| wanted.includes(open));
            page.open = open.map(|open| page.text(open)).transpose()?;
            break 'page None;
        }
    };
    app.views
        .folds
        .insert(&seen.caller.tenant.name, &seen.first, fold);
    Ok(Snapshots {
        snapshots: page.snapshots,
        open: page.open,
        next,
    })
}

/// A fold that was kept and has not come to what is wanted, or one that has read nothing.
async fn begin(
    app: &App,
    seen: &SessionAccess<ReadRight>,
    wanted: SnapshotSelection,
) -> Result<SnapshotFold, Problem> {
    let tenant = &seen.caller.tenant.name;
    let ahead = |fold: &SnapshotFold| wanted.is_ahead_of(fold);
    let Some(kept) = app.views.folds.get(tenant, &seen.first, ahead) else {
        return Ok(SnapshotFold::new());
    };
    // A log that was cut back by hand does not have that fact any more, or another one there.
    let there = seen.read(Seq(kept.at().0.saturating_sub(1)), 1).await?;
    match there.first().is_some_and(|fact| kept.is_at(fact)) {
        true => Ok(kept),
        false => Ok(SnapshotFold::new()),
    }
}

/// A page in the making.
#[derive(Default)]
struct PageBuilder {
    snapshots: Vec<Box<RawValue>>,
    open: Option<Box<RawValue>>,
    bytes: usize,
}

impl PageBuilder {
    fn push(&mut self, made: TurnSnapshot) -> Result<(), Problem> {
        let text = self.text(made)?;
        self.bytes = self.bytes.saturating_add(text.get().len());
        self.snapshots.push(text);
        Ok(())
    }

    /// A snapshot after those that are there. Before the first of a page its reader has none.
    fn text(&self, made: TurnSnapshot) -> Result<Box<RawValue>, Problem> {
        let made = match self.snapshots.is_empty() {
            true => made.with_all_messages(),
            false => made,
        };
        serde_json::value::to_raw_value(&made).map_err(|error| failure::defect(&error))
    }
}
