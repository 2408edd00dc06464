//! Recovery: a process continues the turns that an earlier process left open.

use futures_util::StreamExt as _;
use futures_util::stream;
use windlass_core::{
    GOAL_TOOL, READ_OUTPUT_TOOL, SEARCH_TOOLS_TOOL, Scope, Session, SessionId,
    is_background_agent_tool,
};
use windlass_ports::{Ports, SessionFilter, StoreError, Tenants};

use super::{Engine, Start};
use crate::driver::DriverParts;
use crate::error::StartError;
use crate::{lookup, program};

/// Most sessions of each kind that the report lists.
const NAMED: usize = 1_000;

/// Result of recovering sessions.
#[derive(Debug, Default)]
pub struct RecoveryReport {
    /// Number of sessions that continue here.
    pub opened: usize,
    /// Number of sessions that another process holds.
    pub locked: usize,
    /// Sessions with tools, hooks, a redaction or a program runtime that this process lacks, with
    /// their names. Opening one would fail its calls or allow what a hook forbids, so they are
    /// skipped. Open them in an engine that has these parts.
    pub missing: Vec<(SessionId, Vec<String>)>,
    /// Number of sessions of other workspaces, which are skipped.
    pub of_other_workspace: usize,
    /// Sessions that cannot be opened, with their errors. In most cases their logs are damaged.
    pub failed: Vec<(SessionId, StartError)>,
    /// Number of further sessions with missing parts or failures that are not listed.
    pub unnamed: usize,
}

impl Engine {
    /// Recovers unfinished work: opens every session that has an open turn or a waiting input, so
    /// that it continues; `at_once` of them at a time. Only sessions of `tenants` are opened. Engines
    /// of several tenants over one store each name theirs.
    ///
    /// No user stays attached: each driver stays as long as its turn is open. If the engine is
    /// [supervised](Engine::supervise), sessions that the store failed to open are opened again.
    ///
    /// A session whose summary cannot be read is in none of the lists; `windlass verify` finds it.
    ///
    /// # Errors
    /// [`StoreError`] when the sessions cannot be listed. Sessions that were opened until then
    /// continue.
    pub async fn recover(
        &self,
        tenants: &Tenants,
        at_once: usize,
    ) -> Result<RecoveryReport, StoreError> {
        self.recover_all(tenants, None, at_once).await
    }

    /// Recovers unfinished work of one workspace, as [`recover`](Self::recover) does. Sessions that
    /// were opened for another one are counted and unchanged: the tools of this engine work
    /// elsewhere.
    ///
    /// # Errors
    /// As [`recover`](Self::recover).
    pub async fn recover_workspace(
        &self,
        tenants: &Tenants,
        workspace: &str,
        at_once: usize,
    ) -> Result<RecoveryReport, StoreError> {
        self.recover_all(tenants, Some(workspace), at_once).await
    }

    async fn recover_all(
        &self,
        tenants: &Tenants,
        workspace: Option<&str>,
        at_once: usize,
    ) -> Result<RecoveryReport, StoreError> {
        let filter = SessionFilter::of(tenants.clone()).open();
        let page = self.inner.config.read_page.max(1);
        let store = self.inner.ports.store.clone();
        let mut recovered = RecoveryReport::default();
        let mut after = None;
        loop {
            let heads = store.sessions(&filter, after.as_ref(), page).await?;
            let more = heads.len() == page;
            after = heads.last().map(|head| head.id.clone());
            let ids = heads.into_iter().map(|head| head.id);
            let mut opening = stream::iter(ids)
                .map(|id| async move {
                    let opened = match self.is_elsewhere(&id, workspace).await {
                        Ok(true) => Ok(None),
                        Ok(false) => self.recover_session(&id).await.map(Some),
                        Err(error) => Err(error),
                    };
                    (id, opened)
                })
                .buffer_unordered(at_once.max(1));
            while let Some((id, opened)) = opening.next().await {
                match opened {
                    Ok(None) => recovered.of_other_workspace += 1,
                    Ok(Some(())) => recovered.count(id, Ok(())),
                    Err(error) => {
                        if let StartError::Store(error) = &error {
                            self.inner.on_store_error(&id, error);
                        }
                        recovered.count(id, Err(error));
                    }
                }
            }
            if !more {
                return Ok(recovered);
            }
        }
    }

    /// Returns true if a session was opened for another workspace than this one.
    async fn is_elsewhere(
        &self,
        id: &SessionId,
        workspace: Option<&str>,
    ) -> Result<bool, StartError> {
        let Some(here) = workspace else {
            return Ok(false);
        };
        let info = lookup::read(self.inner.ports.store.as_ref(), id).await?;
        let opened_in = info.opened().and_then(|opened| opened.workspace.as_deref());
        Ok(opened_in.is_some_and(|opened_in| opened_in != here))
    }

    pub(super) async fn recover_session(&self, id: &SessionId) -> Result<(), StartError> {
        let scope = Scope::system("what a process before this one left open is taken up");
        let opened = self.open_vetted(id, &scope, Start::Existing, true).await;
        opened.map(drop)
    }
}

impl Engine {
    pub(super) fn check_parts(
        &self,
        parts: DriverParts,
        vetted: bool,
    ) -> Result<DriverParts, StartError> {
        let lacking = || missing_parts(&self.inner.ports, &parts.loaded.session);
        let missing = if vetted { lacking() } else { Vec::new() };
        if missing.is_empty() {
            return Ok(parts);
        }
        let session = parts.loaded.session.id.clone();
        Err(StartError::MissingParts { session, missing })
    }
}

impl Engine {
    /// Ends what an earlier process left running of a session's calls. A call that may still run is
    /// not run again; the session goes on.
    pub(super) async fn end_runs(&self, id: &SessionId) {
        if let Err(error) = self.inner.ports.tools.end_runs(id).await {
            tracing::warn!(session = %id, %error, "a call of an earlier process may still run");
        }
    }
}

impl RecoveryReport {
    fn count(&mut self, id: SessionId, opened: Result<(), StartError>) {
        match opened {
            Ok(()) => self.opened += 1,
            Err(StartError::Locked(_)) => self.locked += 1,
            // The session was erased after it was listed.
            Err(StartError::Unknown(_)) => {}
            Err(StartError::MissingParts { missing, .. }) if self.missing.len() < NAMED => {
                self.missing.push((id, missing));
            }
            Err(error) if self.failed.len() < NAMED => self.failed.push((id, error)),
            Err(_) => self.unnamed += 1,
        }
    }
}

/// Lists a session's missing tools, hooks and redaction.
pub(super) fn missing_parts(ports: &Ports, session: &Session) -> Vec<String> {
    let settings = session.turn().map_or(&session.settings, |turn| &turn.settings);
    let (tools, hooks) = (ports.tools.tools(), ports.hooks.hooks());
    // The engine answers the calls of these itself.
    let own = |name: &str| {
        matches!(name, GOAL_TOOL | READ_OUTPUT_TOOL | SEARCH_TOOLS_TOOL)
            || is_background_agent_tool(name)
    };
    let has = |name: &str| own(name) || tools.iter().any(|tool| tool.name == name);
    // The engine itself runs agents, and clients run their tools.
    let run = settings.tools.iter().filter(|tool| tool.agent.is_none() && !tool.client);
    let names = run.map(|tool| &tool.name);
    let tools = names.filter(|name| !has(name));
    let tools = tools.map(|name| format!("the tool {name}"));
    let gone = settings.hooks.iter().filter(|hook| !hooks.contains(hook));
    let gone = gone.map(|hook| format!("the hook {}", hook.name));
    let redaction = settings.redaction.as_ref();
    let redaction = redaction.filter(|name| ports.hooks.redaction().as_ref() != Some(name));
    let redaction = redaction.map(|name| format!("the redaction {name}"));
    let program = program::missing_runtime(settings, &ports.programs);
    tools.chain(gone).chain(redaction).chain(program).collect()
}
