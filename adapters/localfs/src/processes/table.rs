//! All processes of a workspace's sessions: those that run, and those whose end no call has returned.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use windlass_core::{CallId, SessionId};
use windlass_kit_process::{RecordedProcess, RunLocks};
use windlass_ports::sync::Mutex;

use super::process::{Process, StopReason};
use crate::config::LocalFsConfig;
use crate::fault::CallFailure;

/// Most ended processes of all sessions that are retained.
const ENDED: usize = 128;
/// Most bytes of output that an ended process retains beyond the release of its session.
const RELEASED_OUTPUT: usize = 64 * 1024;

/// Processes of a workspace's sessions.
#[derive(Debug)]
pub(crate) struct ProcessTable {
    sessions: Mutex<Sessions>,
    most_of_session: usize,
    most: usize,
}

type Sessions = HashMap<SessionId, BTreeMap<CallId, Arc<Process>>>;

impl ProcessTable {
    pub(crate) fn new(config: &LocalFsConfig) -> Self {
        let (most_of_session, most) = (config.processes, config.processes_in_all);
        Self { sessions: Mutex::default(), most_of_session, most }
    }

    /// Adds a process that is about to start, unless too many run.
    pub(crate) fn add(
        &self,
        session: &SessionId,
        process: &Arc<Process>,
    ) -> Result<(), CallFailure> {
        let mut sessions = self.sessions.lock();
        let of_session = sessions.get(session).map_or(0, running);
        if of_session >= self.most_of_session {
            return Err(CallFailure::Message(format!(
                "{of_session} processes of this session run, and no more may: stop one with \
                 stop_process first"
            )));
        }
        if sessions.values().map(running).sum::<usize>() >= self.most {
            return Err(CallFailure::Message(String::from(
                "too many processes of other sessions run: try again later, or use shell",
            )));
        }
        sessions.entry(session.clone()).or_default().insert(process.id, process.clone());
        drop_oldest_ended(&mut sessions);
        Ok(())
    }

    /// Returns a process of a session.
    pub(crate) fn find(&self, session: &SessionId, id: CallId) -> Option<Arc<Process>> {
        self.sessions.lock().get(session)?.get(&id).cloned()
    }

    /// Returns the processes of a session, in the order of their starts.
    pub(crate) fn all(&self, session: &SessionId) -> Vec<Arc<Process>> {
        let sessions = self.sessions.lock();
        sessions.get(session).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Removes a process whose end is returned to the model.
    pub(crate) fn remove(&self, session: &SessionId, id: CallId) {
        let mut sessions = self.sessions.lock();
        if let Some(processes) = sessions.get_mut(session) {
            processes.remove(&id);
            if processes.is_empty() {
                sessions.remove(session);
            }
        }
    }

    /// Returns the processes on record that are not here: they were lost.
    pub(crate) fn lost(
        &self,
        locks: Option<&RunLocks>,
        session: &SessionId,
    ) -> Vec<RecordedProcess> {
        let recorded = locks.map(|locks| locks.recorded(session));
        let mut recorded = recorded.transpose().unwrap_or_else(|error| {
            tracing::warn!(%session, %error, "cannot read the records of processes");
            None
        });
        if let Some(recorded) = &mut recorded {
            recorded.retain(|process| self.find(session, process.call).is_none());
        }
        recorded.unwrap_or_default()
    }

    /// Waits until no process of a session runs.
    pub(crate) async fn wait(&self, session: &SessionId) {
        for process in self.all(session) {
            process.wait().await;
        }
    }

    /// Stops a process for a user, and waits for its end. Returns false if no such process runs.
    pub(crate) async fn stop(&self, session: &SessionId, id: CallId) -> bool {
        let Some(process) = self.find(session, id).filter(|process| process.is_running()) else {
            return false;
        };
        process.stop(StopReason::User);
        process.wait().await;
        true
    }

    /// Stops all processes of a session and waits for their ends. What ended is retained: a later
    /// call may return it.
    pub(crate) async fn release(&self, session: &SessionId) {
        let all = self.all(session);
        for process in all.iter().filter(|process| process.is_running()) {
            tracing::info!(%session, process = %process.id, "stops a process with its session");
            process.stop(StopReason::Released);
        }
        for process in all {
            process.wait().await;
            process.shrink_output(RELEASED_OUTPUT);
        }
    }
}

impl Drop for ProcessTable {
    fn drop(&mut self) {
        for process in self.sessions.get_mut().values().flat_map(BTreeMap::values) {
            process.stop(StopReason::Released);
        }
    }
}

fn running(processes: &BTreeMap<CallId, Arc<Process>>) -> usize {
    processes.values().filter(|process| process.is_running()).count()
}

/// Drops the processes that ended first, beyond those that are retained.
fn drop_oldest_ended(sessions: &mut Sessions) {
    let ended = sessions.iter().flat_map(|(session, processes)| {
        let ended =
            processes.values().filter_map(|process| Some((process.ended()?.at, process.id)));
        ended.map(|(at, id)| (at, session.clone(), id))
    });
    let mut ended: Vec<_> = ended.collect();
    ended.sort_by_key(|(at, ..)| *at);
    let over = ended.len().saturating_sub(ENDED);
    for (_, session, id) in ended.into_iter().take(over) {
        if let Some(processes) = sessions.get_mut(&session) {
            processes.remove(&id);
        }
    }
    sessions.retain(|_, processes| !processes.is_empty());
}
