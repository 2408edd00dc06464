//! Changes of files: shows what a turn or a session changed, and undoes a turn.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_engine::core::{ChangedFiles, SessionChanges, TurnId};
use windlass_engine::ports::{BlobReader, RestoreResult};
use windlass_engine::{
    ChangeError, FileDiff, SendError, UndoError, UndoReport, UndoRequest, diff_changes,
    read_changes,
};

use super::describe::answers::{Conflict, NoSession, NoTurn, Refused, StoreFull};
use super::failure;
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use super::session_handle::handle;
use super::turns::no_turn;
use crate::app::App;
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Difference of one file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "path": "a.txt", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n", "reason": null,
}))]
struct ChangedFileDiff {
    /// Path relative to the workspace.
    path: String,
    /// Unified diff; null if it cannot be shown.
    #[schema(required)]
    diff: Option<String>,
    /// Reason why it cannot be shown.
    #[schema(required)]
    reason: Option<String>,
}

impl From<FileDiff> for ChangedFileDiff {
    fn from(FileDiff { path, diff }: FileDiff) -> Self {
        let (diff, reason) = match diff {
            Ok(diff) => (Some(diff), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { path, diff, reason }
    }
}

/// Files that calls changed, as far as that is recorded.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileChanges {
    /// One entry a file, by path.
    files: Vec<ChangedFileDiff>,
    /// Paths of the files that are left out, since all together would exceed 1 MiB.
    left_out: Vec<String>,
    /// True if calls also ran processes, whose changes are not recorded.
    ran_process: bool,
    /// True if nobody knows how a call ended, which may have changed further files.
    lost_call: bool,
}

/// Shows the changes of files by the tools of a session, as unified diffs from before the first
/// change to after the last one. What was undone is no change.
#[utoipa::path(
    get,
    path = "/sessions/{id}/diff",
    tag = "history",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The changes.", body = FileChanges),
        NoSession,
    )
)]
pub(crate) async fn of_session(
    seen: SessionAccess<ReadRight>,
) -> Result<Json<FileChanges>, Problem> {
    let changed = changes(&seen).await?.whole();
    Ok(Json(show(&seen, &changed).await))
}

/// Shows the changes of files by the tools of a turn, as unified diffs.
#[utoipa::path(
    get,
    path = "/sessions/{id}/turns/{turn}/diff",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("turn" = u64, Path, description = "The turn."),
    ),
    responses(
        (status = 200, description = "The changes.", body = FileChanges),
        NoTurn,
    )
)]
pub(crate) async fn of_turn(
    seen: SessionAccess<ReadRight>,
    PathNumber(turn): PathNumber,
) -> Result<Json<FileChanges>, Problem> {
    let changed = changes(&seen).await?.of_turn(TurnId(turn)).ok_or_else(no_turn)?;
    Ok(Json(show(&seen, &changed).await))
}

async fn changes(seen: &SessionAccess<ReadRight>) -> Result<SessionChanges, Problem> {
    let changes = read_changes(seen.caller.tenant.store.clone(), &seen.id).await;
    changes.map_err(|error| failure::store(&error))
}

async fn show(seen: &SessionAccess<ReadRight>, changed: &ChangedFiles) -> FileChanges {
    let blobs = BlobReader::new(seen.caller.tenant.blobs.clone(), seen.id.clone());
    let diff = diff_changes(&blobs, changed).await;
    FileChanges {
        files: diff.files.into_iter().map(ChangedFileDiff::from).collect(),
        left_out: diff.left_out,
        ran_process: changed.ran_process,
        lost_call: changed.lost_call,
    }
}

/// Result of an undo for one file.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UndoResult {
    /// The file has its earlier content now.
    Restored,
    /// The file had its earlier content already.
    Unchanged,
    /// The file was left as it is.
    Left,
}

/// File of an undone turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"path": "a.txt", "result": "restored", "reason": null}))]
struct UndoneFile {
    /// Path relative to the workspace.
    path: String,
    /// Result of the undo.
    result: UndoResult,
    /// Reason why it was left.
    #[schema(required)]
    reason: Option<String>,
}

impl From<(String, RestoreResult)> for UndoneFile {
    fn from((path, result): (String, RestoreResult)) -> Self {
        let (result, reason) = match result {
            RestoreResult::Restored => (UndoResult::Restored, None),
            RestoreResult::Unchanged => (UndoResult::Unchanged, None),
            RestoreResult::Left { reason } => (UndoResult::Left, Some(reason)),
        };
        Self { path, result, reason }
    }
}

/// Undone turn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UndoneTurn {
    /// The turn.
    #[schema(value_type = u64)]
    turn: TurnId,
    /// Each file that the turn changed, by path.
    files: Vec<UndoneFile>,
    /// True if the log says what was restored, so that the model learns of it with its next request.
    /// Repeat the request if it is false.
    recorded: bool,
    /// True if calls of the turn also ran processes, whose changes stay.
    ran_process: bool,
    /// True if nobody knows how a call of the turn ended, which may have changed further files.
    lost_call: bool,
}

impl From<UndoReport> for UndoneTurn {
    fn from(report: UndoReport) -> Self {
        Self {
            turn: report.turn,
            files: report.files.into_iter().map(UndoneFile::from).collect(),
            recorded: report.unrecorded.is_none(),
            ran_process: report.changed.ran_process,
            lost_call: report.changed.lost_call,
        }
    }
}

/// Restores the files that the tools of a turn changed, as far as nobody has changed them since.
/// Repeating the request changes nothing more. The model is told with its next request.
#[utoipa::path(
    post,
    path = "/sessions/{id}/turns/{turn}/undo",
    tag = "turns",
    params(
        ("id" = String, Path, description = "The session."),
        ("turn" = u64, Path, description = "The turn."),
    ),
    responses(
        (status = 200, description = "What became of each file.", body = UndoneTurn),
        NoTurn, Conflict, Refused, StoreFull,
    )
)]
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    seen: SessionAccess<RunRight>,
    PathNumber(turn): PathNumber,
) -> Result<Json<UndoneTurn>, Problem> {
    let tenant = &seen.caller.tenant;
    let files = tenant.files.clone().ok_or_else(no_workspace)?;
    let handle = handle(&app, &seen.caller, &seen.id).await?;
    let request = UndoRequest {
        turn: Some(TurnId(turn)),
        workspace: tenant.workspace.clone(),
        dry_run: false,
        scope: seen.caller.scope().clone(),
    };
    let report = handle.undo(files, request).await.map_err(|error| problem(&error))?;
    if let Some(reason) = &report.unrecorded {
        tracing::error!(session = %seen.id, turn, reason, "files were restored, and the log lacks it");
    }
    Ok(Json(report.into()))
}

fn no_workspace() -> Problem {
    let detail = "the server has no folder with files for this tenant: undo it where they are";
    Problem::new(ProblemCode::Refused, detail)
}

fn problem(error: &UndoError) -> Problem {
    match error {
        UndoError::NoTurn { .. } | UndoError::NothingChanged(_) => no_turn(),
        UndoError::OtherWorkspace { .. } => {
            let detail = "the session was opened in another folder than that of the server";
            Problem::new(ProblemCode::Refused, detail)
        }
        UndoError::Store(error) | UndoError::Change(ChangeError::Store(error)) => {
            failure::store(error)
        }
        UndoError::Change(ChangeError::Start(error)) => failure::start(error),
        UndoError::Change(ChangeError::Rejected(reject)) => {
            failure::send(&SendError::Rejected(reject.clone()))
        }
        UndoError::Send(error) => failure::send(error),
    }
}
