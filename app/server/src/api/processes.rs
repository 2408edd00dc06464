//! Processes: lists and stops what the calls of a session left running by design.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_engine::core::CallId;
use windlass_engine::ports::{ToolProcess, ToolProcessState};

use super::describe::answers::NoSession;
use super::session_access::{PathNumber, ReadRight, RunRight, SessionAccess};
use crate::json::Json;
use crate::problem::{Problem, ProblemCode};

/// Process that runs beyond the call that started it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "process": 15, "command": "npm run dev", "running": true, "exit_code": null, "age_ms": 84_000,
    "unread_bytes": 512,
}))]
struct ProcessState {
    /// The process: the call that started it.
    #[schema(value_type = u64)]
    process: CallId,
    /// Command line.
    command: String,
    /// False once it has ended, as long as no call has returned that to the model.
    running: bool,
    /// Exit code; null while it runs, and if a signal ended it.
    #[schema(required)]
    exit_code: Option<i32>,
    /// Time from its start to now or to its end, in milliseconds.
    age_ms: u64,
    /// Bytes of output that no call has returned to the model.
    unread_bytes: u64,
}

impl From<ToolProcess> for ProcessState {
    fn from(process: ToolProcess) -> Self {
        let (running, exit_code) = match process.state {
            ToolProcessState::Running => (true, None),
            ToolProcessState::Ended { exit_code } => (false, exit_code),
        };
        Self {
            process: process.id,
            command: process.command,
            running,
            exit_code,
            age_ms: process.age_ms,
            unread_bytes: process.unread_bytes,
        }
    }
}

/// Processes of a session on this node.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Processes {
    /// All of them, in the order of their starts.
    processes: Vec<ProcessState>,
}

/// Lists the processes of a session that run beyond their calls. Those of a session that another
/// node drives are known to that node only.
#[utoipa::path(
    get,
    path = "/sessions/{id}/processes",
    tag = "processes",
    params(("id" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "All of them.", body = Processes),
        NoSession,
    )
)]
pub(crate) async fn list(seen: SessionAccess<ReadRight>) -> Result<Json<Processes>, Problem> {
    let processes = seen.caller.tenant.engine.processes(&seen.id);
    Ok(Json(Processes { processes: processes.into_iter().map(ProcessState::from).collect() }))
}

/// Result of stopping a process.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"process": 15, "stopped": true}))]
pub(crate) struct StoppedProcess {
    /// The process.
    #[schema(value_type = u64)]
    process: CallId,
    /// False if no such process ran on this node.
    stopped: bool,
}

/// Stops a process of a session, with all that it started. The model learns of it when it asks for the
/// process. Repeating the request changes nothing.
#[utoipa::path(
    delete,
    path = "/sessions/{id}/processes/{process}",
    tag = "processes",
    params(
        ("id" = String, Path, description = "The session."),
        ("process" = u64, Path, description = "The process."),
    ),
    responses(
        (status = 200, description = "It does not run any more.", body = StoppedProcess),
        NoSession,
    )
)]
pub(crate) async fn stop(
    seen: SessionAccess<RunRight>,
    PathNumber(process): PathNumber,
) -> Result<Json<StoppedProcess>, Problem> {
    let process = CallId(process);
    let stopped = seen.caller.tenant.engine.stop_process(&seen.id, process).await;
    let stopped = stopped.map_err(|error| {
        tracing::error!(session = %seen.id, %process, %error, "a process may still run");
        Problem::new(ProblemCode::Defect, "the process may still run: the server's log says why")
    })?;
    Ok(Json(StoppedProcess { process, stopped }))
}
