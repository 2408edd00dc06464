//! Snapshots: pages of the results of cycles, of a turn or of a whole session.

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

/// Facts of the first read of a page, which may be a single cycle. Each later read doubles the
/// number, up to a maximum.
const FIRST_READ: usize = 16;
const PAGE: usize = 256;
/// Bytes of texts after which a page ends, regardless of its limit. The last snapshot may exceed
/// it.
const BYTES: usize = 4 * 1024 * 1024;

/// Snapshots of cycles, oldest first. The first of a page contains the whole conversation that the
/// model received (`same` is 0), and each other one only its new items.
#[derive(Serialize, ToSchema)]
pub(crate) struct Snapshots {
    /// Snapshots of this page. A snapshot appears once its cycle is over, and never changes.
    #[schema(value_type = Vec<SnapshotShape>)]
    snapshots: Vec<Box<RawValue>>,
    /// Snapshot of the open cycle so far, on a page that reaches the end of the log. It changes
    /// until its cycle is over. No cursor counts it.
    #[schema(required, value_type = Option<SnapshotShape>)]
    open: Option<Box<RawValue>>,
    /// Value of `after` for the next page; null if there are no more yet.
    #[schema(required)]
    next: Option<u64>,
}

/// Requested snapshots.
#[derive(Debug, Clone, Copy)]
pub(super) enum SnapshotSelection {
    /// Those of a session whose cycles ended after this position.
    Session { after: Seq },
    /// Those of a turn, after this cycle.
    Turn { turn: TurnId, after: u32 },
}

impl SnapshotSelection {
    /// Returns true if a fold has not passed the start of this selection.
    fn is_ahead_of(self, fold: &SnapshotFold) -> bool {
        let Some(told) = fold.latest() else {
            return true;
        };
        match self {
            Self::Session { after } => told.at <= after,
            Self::Turn { turn, after } => (told.turn, told.number) <= (turn, after),
        }
    }

    /// Returns the cursor of a snapshot that was made with the fact at this position, if it is
    /// selected.
    fn cursor(self, made: &TurnSnapshot, at: Seq) -> Option<u64> {
        let cycle = made.cycle();
        match self {
            Self::Session { after } => (at > after).then_some(at.0),
            Self::Turn { turn, after } => {
                (cycle.turn == turn && cycle.number > after).then_some(cycle.number.into())
            }
        }
    }

    /// Returns true if none follows this fact.
    fn ends_with(self, fact: &RecordedFact) -> bool {
        match self {
            Self::Session { .. } => false,
            Self::Turn { turn, .. } => {
                matches!(fact.fact, Fact::TurnSettled(_)) && fact.turn == Some(turn)
            }
        }
    }

    /// Returns true if this open cycle is selected.
    fn includes(self, open: &TurnSnapshot) -> bool {
        match self {
            Self::Session { .. } => true,
            Self::Turn { turn, after } => open.cycle().turn == turn && open.cycle().number > after,
        }
    }
}

/// Lists the results of a turn's cycles.
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
    let wanted = SnapshotSelection::Turn { turn: TurnId(turn), after: cycles.after };
    read_page(&app, &seen, wanted, most).await.map(Json)
}

/// Reads a page of the selected snapshots. Continues a cached fold if there is one, and reads the
/// log from its beginning if not, since a model's conversation depends on all earlier facts.
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
    app.views.folds.insert(&seen.caller.tenant.name, &seen.first, fold);
    Ok(Snapshots { snapshots: page.snapshots, open: page.open, next })
}

/// Returns a cached fold that precedes the selection, or an empty one.
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
    // A log that was truncated by hand may lack that fact, or have another one there.
    let there = seen.read(Seq(kept.at().0.saturating_sub(1)), 1).await?;
    match there.first().is_some_and(|fact| kept.is_at(fact)) {
        true => Ok(kept),
        false => Ok(SnapshotFold::new()),
    }
}

/// Page that is being built.
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

    /// Serialises a snapshot relative to the previous one of the page.
    fn text(&self, made: TurnSnapshot) -> Result<Box<RawValue>, Problem> {
        let made = match self.snapshots.is_empty() {
            true => made.with_all_messages(),
            false => made,
        };
        serde_json::value::to_raw_value(&made).map_err(|error| failure::defect(&error))
    }
}
