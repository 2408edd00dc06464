//! Detached children: agents that outlive the call that they execute. The driver of an agent
//! follows the log of the parent session, and stops the agent when the call is over there first.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use windlass_core::{
    CallId, Fact, Input, InterruptSource, Lineage, RecordedFact, Scope, Seq, Session, SessionId,
    Settings, StopTiming, TurnId,
};
use windlass_ports::{LogStore, SessionFilter, StoreError, StoreErrorKind, Tenants};

use crate::agents::{CALL_ENDED, PromptFinder, agent_session, stop_agent_turn};
use crate::child_sessions::called_tool;
use crate::driver::DriverCommand;
use crate::engine::{Engine, Inner};
use crate::error::StartError;
use crate::event::Event;
use crate::slot::DriverLink;

/// Pause before a failed store is read again.
const PAUSE: Duration = Duration::from_secs(1);
/// Most sessions that are checked for being children of a session.
const MAX_CHECKED: usize = 256;

impl Engine {
    /// Stops the detached children of a session: agents that were to stop with their call, whose
    /// call is over, and that were not stopped since their process ended. Returns their number.
    ///
    /// An agent with a driver is stopped by its driver, on any node, also after [`Engine::recover`]
    /// or [`Engine::adopt`]. This method is for an engine that uses neither. It checks the first
    /// 256 unfinished sessions that are named after this one. If this session's id is too long for
    /// that naming, only the drivers of its children stop them. Sessions that `scope` may not see
    /// are unchanged.
    ///
    /// # Errors
    /// [`StoreError`] when the sessions cannot be listed, or the log cannot be read.
    pub async fn stop_detached_children(
        &self,
        of: &SessionId,
        scope: &Scope,
    ) -> Result<usize, StoreError> {
        let prefix = format!("{of}.");
        let Ok(after) = SessionId::new(&prefix) else {
            return Ok(0);
        };
        let (store, page) = (&self.inner.ports.store, self.inner.config.read_page.max(1));
        let open = SessionFilter::of(Tenants::of(scope)).open();
        let heads = store.sessions(&open, Some(&after), MAX_CHECKED).await?;
        let ids = heads.into_iter().map(|head| head.id);
        let named = ids.take_while(|id| id.as_str().starts_with(&prefix));
        let mut stopped = 0;
        for id in named {
            let info = match self.lookup(&id, scope).await {
                Ok(info) => info,
                // The session was erased, or opening it reports its own fault.
                Err(StartError::Store(error)) => return Err(error),
                Err(_) => continue,
            };
            let lineage = info.opened().map(|opened| &opened.lineage);
            let errand = lineage.and_then(|lineage| ParentCall::named(&id, lineage));
            let Some(errand) = errand.filter(|errand| errand.of == *of) else {
                continue;
            };
            let store = store.as_ref();
            if errand.stops_with_call(store).await? && errand.is_over(store, page).await? {
                stop_agent_turn(self, &id, &errand.key()).await;
                stopped += 1;
            }
        }
        Ok(stopped)
    }
}

/// Call that a session executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentCall {
    of: SessionId,
    call: CallId,
}

impl ParentCall {
    /// Returns the call of a session, if the session is the agent of one.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        Self::named(&session.id, &session.lineage)
    }

    fn named(id: &SessionId, lineage: &Lineage) -> Option<Self> {
        let Lineage::Child { of, call } = lineage else {
            return None;
        };
        let errand = Self { of: of.clone(), call: *call };
        // An executor chooses the id of a session that it opens for its own call.
        (agent_session(&errand.key()).as_ref() == Some(id)).then_some(errand)
    }

    /// Returns the call's idempotency key.
    fn key(&self) -> String {
        format!("{}.{}", self.of, self.call)
    }

    /// Returns true if the agent must stop when the call is over. If the log of the call is gone,
    /// the agent must stop.
    async fn stops_with_call(&self, store: &dyn LogStore) -> Result<bool, StoreError> {
        let Some(brought) = fact(store, &self.of, Seq(self.call.0)).await? else {
            return Ok(true);
        };
        let Some(turn) = brought.turn else {
            return Ok(true);
        };
        let opened = fact(store, &self.of, Seq(turn.0)).await?;
        let settings = match opened.map(|opened| opened.fact) {
            Some(Fact::TurnOpened(opened)) => fact(store, &self.of, opened.settings).await?,
            Some(_) | None => None,
        };
        let settings = settings.as_ref().and_then(recorded_settings);
        let Some((tool, settings)) = called_tool(&brought).zip(settings) else {
            return Ok(true);
        };
        let agent = settings.tool(tool).and_then(|tool| tool.agent.as_deref());
        Ok(agent.is_some_and(|agent| !agent.can_detach()))
    }

    /// Returns true if the call is over, as far as the log shows.
    async fn is_over(&self, store: &dyn LogStore, page: usize) -> Result<bool, StoreError> {
        let mut after = Seq(self.call.0);
        loop {
            let facts = store.read(&self.of, after, page).await?;
            if facts.iter().any(|fact| self.is_end(fact)) {
                return Ok(true);
            }
            let Some(last) = facts.last().filter(|_| facts.len() >= page) else {
                return Ok(false);
            };
            after = last.seq;
        }
    }

    fn is_end(&self, recorded: &RecordedFact) -> bool {
        matches!(&recorded.fact, Fact::CallObserved(fact) if fact.call == self.call)
    }
}

/// Returns the settings that a fact contains.
fn recorded_settings(recorded: &RecordedFact) -> Option<&Settings> {
    if let Fact::SettingsChanged(changed) = &recorded.fact {
        return Some(&changed.settings);
    }
    if let Fact::SessionOpened(opened) = &recorded.fact {
        return Some(&opened.settings);
    }
    None
}

/// Reads the fact at a position; `None` if the log does not have it.
async fn fact(
    store: &dyn LogStore,
    session: &SessionId,
    at: Seq,
) -> Result<Option<RecordedFact>, StoreError> {
    let before = Seq(at.0.saturating_sub(1));
    match store.read(session, before, 1).await {
        Ok(facts) => Ok(facts.into_iter().next()),
        Err(error) if error.kind == StoreErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if a log does not exist, or ends before the call.
fn is_log_missing(error: &StoreError) -> bool {
    [StoreErrorKind::Unknown, StoreErrorKind::Invalid].contains(&error.kind)
}

/// Stops an agent when its call is over, as long as its driver is here.
pub(crate) fn watch_parent(
    engine: &Engine,
    child: SessionId,
    errand: ParentCall,
    link: DriverLink,
) {
    let guard = ParentWatch {
        engine: Arc::downgrade(&engine.inner),
        store: engine.inner.ports.store.clone(),
        child,
        parent: errand,
        mailbox: link.mailbox,
    };
    let bus = link.bus;
    tokio::spawn(async move {
        tokio::select! {
            _ = bus.wait_ended() => {}
            _ = guard.run() => {}
        }
    });
}

struct ParentWatch {
    engine: Weak<Inner>,
    store: Arc<dyn LogStore>,
    child: SessionId,
    parent: ParentCall,
    mailbox: mpsc::Sender<DriverCommand>,
}

impl ParentWatch {
    /// Returns `None` when the engine is gone, and its drivers with it.
    async fn run(self) -> Option<()> {
        loop {
            match self.parent.stops_with_call(self.store.as_ref()).await {
                Ok(true) => break,
                Ok(false) => return None,
                Err(error) => self.pause_after(&error).await,
            }
        }
        self.wait_call_end().await?;
        self.stop().await
    }

    /// Waits until the call is over, or its log is gone.
    async fn wait_call_end(&self) -> Option<()> {
        let from = Seq(self.parent.call.0);
        let mut watch =
            self.engine()?.subscribe(&self.parent.of, &Scope::system(CALL_ENDED), Some(from));
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) if self.parent.is_end(&fact) => return Some(()),
                Ok(
                    Event::Fact(_)
                    | Event::Live(_)
                    | Event::Lagged { .. }
                    | Event::Store(_)
                    | Event::Ended(_),
                ) => {}
                Err(error) if is_log_missing(&error) => return Some(()),
                Err(error) => self.pause_after(&error).await,
            }
        }
    }

    /// Stops the turn that executes the call's prompt, even if it is yet to open. Turns for other
    /// inputs are unaffected.
    async fn stop(&self) -> Option<()> {
        let mut watch =
            self.engine()?.subscribe(&self.child, &Scope::system(CALL_ENDED), Some(Seq::ZERO));
        let mut prompted = PromptFinder::new(&self.parent.key());
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) => {
                    if let Some(turn) = prompted.apply(&fact) {
                        self.interrupt(turn).await;
                        return Some(());
                    }
                }
                Ok(Event::Live(_) | Event::Lagged { .. } | Event::Store(_) | Event::Ended(_)) => {}
                Err(error) => self.pause_after(&error).await,
            }
        }
    }

    /// Interrupts the turn. If it has ended in the meantime, this is rejected, and nothing changes.
    async fn interrupt(&self, turn: TurnId) {
        let (first, _) = oneshot::channel();
        let (ack, _) = oneshot::channel();
        let input = Box::new(Input::Interrupt {
            by: InterruptSource::Parent,
            scope: Scope::system(CALL_ENDED),
            reason: CALL_ENDED.to_owned(),
            when: StopTiming::Now,
            turn: Some(turn),
        });
        let _ = self.mailbox.send(DriverCommand::Submit { input, first, ack }).await;
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }

    async fn pause_after(&self, error: &StoreError) {
        let of = &self.parent.of;
        tracing::warn!(session = %self.child, %of, %error, "not known whether an agent is still wanted");
        sleep(PAUSE).await;
    }
}
