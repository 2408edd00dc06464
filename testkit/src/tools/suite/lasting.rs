//! Cases of processes that outlive their calls.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{CallId, SessionId};
use windlass_ports::{CancelSource, ToolExecutor, ToolProcessState};

use super::{ToolFixture, context, ensure, fixture_has, observe, within, without};
use crate::store::{Checked, Violation, run_in_parallel as run};

/// How long a wait is watched that must not end.
const WATCHED: Duration = Duration::from_millis(20);

/// A process that outlives its call is listed and waited for while it runs, and does not run once its
/// session is released.
///
/// # Errors
/// A violation when it is not listed, or runs on.
pub fn a_process_ends_with_the_release_of_its_session(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let case = "a_process_ends_with_the_release_of_its_session";
        let Some(started) = Started::new(fixture, &[1]).await? else {
            return without(fixture_has::LASTING, case);
        };
        let Started { executor, session } = &started;
        let waits = tokio::time::timeout(WATCHED, executor.wait_processes(session)).await;
        ensure(waits.is_err(), || "waiting for a process ended while it ran".into())?;
        within(fixture, "the release", executor.release(session)).await?;
        let left = started.running();
        ensure(left.is_empty(), || format!("{left:?} run after the release"))?;
        within(fixture, "waiting for no process", executor.wait_processes(session)).await
    })
}

/// Stopping a process ends that one alone, and says so once.
///
/// # Errors
/// A violation when it runs on, another one ends, or the answer is not true.
pub fn a_process_is_stopped_alone(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let Some(started) = Started::new(fixture, &[1, 2]).await? else {
            return without(fixture_has::LASTING, "a_process_is_stopped_alone");
        };
        let Started { executor, session } = &started;
        for (process, expected) in [(1, true), (1, false), (3, false)] {
            let stopping = executor.stop_process(session, CallId(process));
            let stopped = within(fixture, "stopping a process", stopping).await?;
            let stopped = stopped.map_err(|error| Violation::new(error.to_string()))?;
            ensure(stopped == expected, || {
                format!("stopping process {process} returned {stopped}, and {expected} is true")
            })?;
            let left = started.running();
            ensure(left == [CallId(2)], || format!("{left:?} run, and only 2 is to"))?;
        }
        within(fixture, "the release", executor.release(session)).await
    })
}

/// Processes that were started.
struct Started {
    executor: Arc<dyn ToolExecutor>,
    session: SessionId,
}

impl Started {
    /// Starts one process for each call; `None` where the fixture has none.
    async fn new(fixture: &dyn ToolFixture, calls: &[u64]) -> Result<Option<Self>, Violation> {
        let Some(call) = fixture.lasting() else {
            return Ok(None);
        };
        for number in calls {
            let context = context(*number, &CancelSource::new())?;
            observe(fixture, call.clone(), context).await?;
        }
        let session = context(1, &CancelSource::new())?.session;
        let started = Self { executor: fixture.executor(), session };
        let running = started.running();
        let expected: Vec<CallId> = calls.iter().copied().map(CallId).collect();
        ensure(running == expected, || format!("{running:?} are listed, and {expected:?} run"))?;
        Ok(Some(started))
    }

    fn running(&self) -> Vec<CallId> {
        let processes = self.executor.processes(&self.session).into_iter();
        let running = processes.filter(|process| process.state == ToolProcessState::Running);
        running.map(|process| process.id).collect()
    }
}
