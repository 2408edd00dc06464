//! Snapshots: what each cycle of a turn came to, in pages.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use windlass::core::{Fact, Recorded, Seq, TurnId, TurnSnapshots};

use super::describe::answers::NoTurn;
use super::describe::snapshot::SnapshotShape;
use super::failure;
use super::query::{Cycles, Params};
use super::seen::{Numbered, Read, Seen};
use super::turns::no_turn;
use crate::app::App;
use crate::json::Json;
use crate::problem::Problem;

/// Facts that one read brings.
const PAGE: usize = 256;
/// Bytes of texts after which a page ends, whatever its limit says. Its last snapshot may go beyond.
const BYTES: usize = 4 * 1024 * 1024;

/// Snapshots of cycles, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Snapshots {
    /// Those of this page. One is there once its cycle is over, and never changes.
    #[schema(value_type = Vec<SnapshotShape>)]
    snapshots: Vec<Box<RawValue>>,
    /// What `after` is for the next page; null where no more are there yet.
    #[schema(required)]
    next: Option<u32>,
}

/// Reads what each cycle of a turn came to.
#[utoipa::path(
    get,
    path = "/sessions/{id}/turns/{turn}/snapshots",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("turn" = u64, Path, description = "The turn."),
        Cycles,
    ),
    responses(
        (status = 200, description = "A page of them.", body = Snapshots),
        NoTurn,
    )
)]
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    seen: Seen<Read>,
    Numbered(turn): Numbered,
    Params(cycles): Params<Cycles>,
) -> Result<Json<Snapshots>, Problem> {
    let most = cycles.limit(app.bounds.page)?;
    let opened = read(&seen, Seq(turn.saturating_sub(1)), 1).await?;
    let opens = |fact: &Recorded| matches!(fact.fact, Fact::TurnOpened(_)) && fact.seq == Seq(turn);
    if !opened.first().is_some_and(opens) {
        return Err(no_turn());
    }
    let turn = TurnId(turn);
    // What a model was shown comes from all that was said before.
    let (mut fold, mut after) = (TurnSnapshots::default(), Seq::ZERO);
    let (mut snapshots, mut bytes, mut next) = (Vec::new(), 0_usize, None);
    loop {
        let facts = read(&seen, after, PAGE).await?;
        let ends = facts.len() < PAGE;
        for fact in facts {
            after = fact.seq;
            let made = fold
                .apply(&fact)
                .map_err(|misfit| failure::defect(&misfit))?;
            let wanted = made
                .filter(|made| made.cycle().turn == turn && made.cycle().number > cycles.after());
            if let Some(snapshot) = wanted {
                if snapshots.len() >= most || bytes >= BYTES {
                    return Ok(Json(Snapshots { snapshots, next }));
                }
                next = Some(snapshot.cycle().number);
                let text = serde_json::value::to_raw_value(&snapshot);
                let text = text.map_err(|error| failure::defect(&error))?;
                bytes = bytes.saturating_add(text.get().len());
                snapshots.push(text);
            }
            let settled = matches!(fact.fact, Fact::TurnSettled(_)) && fact.turn == Some(turn);
            if settled {
                return Ok(Json(Snapshots {
                    snapshots,
                    next: None,
                }));
            }
        }
        if ends {
            return Ok(Json(Snapshots {
                snapshots,
                next: None,
            }));
        }
    }
}

async fn read(seen: &Seen<Read>, after: Seq, limit: usize) -> Result<Vec<Recorded>, Problem> {
    let facts = seen.caller.tenant.store.read(&seen.id, after, limit).await;
    facts.map_err(|error| failure::store(&error))
}
