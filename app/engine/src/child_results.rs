//! Child results: brings the result of a detached child to its parent session.
//!
//! One task a child follows its log until the turn of its prompt has settled, keeps it driven until
//! then, and sends the result to the parent, which takes it once. A process that dies in between
//! leaves the parent with the child in its state, so that the next driver of the parent begins again.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::{CallId, DetachedChild, Reject, Scope, Seq, SessionId, child_result};
use windlass_ports::sync::Mutex;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::agents::{ReportFinder, agent_session, describe_outcome};
use crate::capacity;
use crate::engine::{Engine, Inner};
use crate::error::{SendError, StartError};
use crate::event::Event;
use crate::report::TurnReport;
use crate::session::SessionCommand;

/// Reason for bringing a result.
const CHILD_ENDED: &str = "an agent that was detached from its call has ended";

/// Pause before a failed attempt is repeated.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval of checks that the child has a driver, possibly on another node.
const DRIVER_CHECK: Duration = Duration::from_secs(5);
/// Most looks for a child that does not exist: the process that was to open it may be gone.
const LOOKS: usize = 5;
/// Time for the prompt of a child that has none: the process that was to send it may be gone.
const PROMPT_WAIT: Duration = Duration::from_secs(10);
/// Most bytes of an answer in a result.
const MAX_ANSWER: usize = 24 * 1024;

/// Results that are being brought, by parent and call.
pub(crate) type ResultCouriers = Mutex<HashSet<(SessionId, CallId)>>;

/// A result that is to be brought.
pub(crate) struct ChildResult {
    pub(crate) parent: SessionId,
    pub(crate) child: DetachedChild,
    /// Idempotency key of the call.
    pub(crate) key: String,
    /// Most bytes of the answer, as far as the parent's window limits it.
    pub(crate) max_answer: u64,
}

/// How a detached child ended.
enum ChildEnd {
    Report(Box<TurnReport>),
    /// There is no log of the child.
    Missing,
    /// The child received no prompt.
    NotStarted,
}

/// Brings the result of a detached child, unless a task does so already.
pub(crate) fn bring(engine: &Engine, result: ChildResult) {
    let Some(session) = agent_session(&result.key) else {
        return;
    };
    let id = (result.parent.clone(), result.child.call);
    if !engine.inner.couriers.lock().insert(id.clone()) {
        return;
    }
    let courier = Courier { engine: Arc::downgrade(&engine.inner), session, result };
    tokio::spawn(async move {
        let _listed = Listed { engine: courier.engine.clone(), id };
        courier.run().await
    });
}

/// Entry of a task among those of its engine.
struct Listed {
    engine: Weak<Inner>,
    id: (SessionId, CallId),
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(inner) = self.engine.upgrade() {
            inner.couriers.lock().remove(&self.id);
        }
    }
}

struct Courier {
    engine: Weak<Inner>,
    /// Session of the child.
    session: SessionId,
    result: ChildResult,
}

impl Courier {
    /// Returns `None` when the engine is gone, and its drivers with it.
    async fn run(self) -> Option<()> {
        let ended = match self.exists().await? {
            true => self.wait().await?,
            false => ChildEnd::Missing,
        };
        self.deliver(&self.text(&ended)).await
    }

    /// Returns true if the child exists.
    async fn exists(&self) -> Option<bool> {
        let mut missing = 0;
        loop {
            match self.engine()?.lookup(&self.session, &self.result.child.scope).await {
                Ok(_) => return Some(true),
                Err(StartError::Unknown(_)) if missing >= LOOKS => return Some(false),
                Err(StartError::Unknown(_)) => missing += 1,
                Err(error) => self.warn(&error),
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits for the end of the turn that executes the prompt, on any node.
    async fn wait(&self) -> Option<ChildEnd> {
        tokio::select! {
            ended = self.follow() => ended,
            () = self.keep_driven() => None,
        }
    }

    async fn follow(&self) -> Option<ChildEnd> {
        let mut watch = self.engine()?.subscribe(&self.session, Some(Seq::ZERO));
        let mut following = ReportFinder::of(&self.result.key);
        let late = Instant::now().checked_add(PROMPT_WAIT)?;
        loop {
            let event = tokio::select! {
                event = watch.next() => event,
                () = sleep_until(late), if !following.has_prompt() => {
                    return Some(ChildEnd::NotStarted);
                }
            };
            match event {
                Ok(Event::Fact(fact)) => {
                    if let Some(report) = following.apply(&fact.into()) {
                        return Some(ChildEnd::Report(Box::new(report)));
                    }
                }
                Ok(Event::Live(_) | Event::Lagged { .. } | Event::Ended(_)) => {}
                Err(error) => {
                    self.engine()?;
                    unreadable(&self.session, &error);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Ensures that the child has a driver. Returns only when the engine is gone.
    async fn keep_driven(&self) {
        let mut held = None;
        loop {
            // A child that has ended is reported at once, and needs no driver.
            sleep(PAUSE).await;
            let Some(engine) = self.engine() else {
                return;
            };
            match engine.session(&self.session, &self.result.child.scope).await {
                Ok(handle) => held = Some(handle),
                Err(StartError::ShutDown(_)) => return,
                Err(error) => self.warn(&error),
            }
            drop(engine);
            sleep(DRIVER_CHECK).await;
            drop(held.take());
        }
    }

    fn text(&self, ended: &ChildEnd) -> String {
        let child = &self.result.child;
        let max = usize::try_from(self.result.max_answer).unwrap_or(usize::MAX).min(MAX_ANSWER);
        let (how, answer) = match ended {
            ChildEnd::Report(report) => {
                let how = format!("The agent {}.", describe_outcome(&report.outcome));
                (how, capacity::shorten_text(&report.answer, max))
            }
            ChildEnd::Missing => {
                let how = format!(
                    "There is no log of its session {} here: it may have done all of its work, a \
                     part of it or nothing.",
                    self.session
                );
                (how, String::new())
            }
            ChildEnd::NotStarted => {
                ("The agent did nothing: it was not told its task.".to_owned(), String::new())
            }
        };
        child_result(&child.agent, child.call, &how, &answer)
    }

    /// Sends the result until the parent has taken it, or does not await it any more.
    async fn deliver(&self, text: &str) -> Option<()> {
        let scope = Scope::system(CHILD_ENDED);
        loop {
            let command =
                SessionCommand::ChildEnded { call: self.result.child.call, text: text.to_owned() };
            let sent = match self.engine()?.session(&self.result.parent, &scope).await {
                Ok(handle) => handle.execute(command, scope.clone(), None).await,
                Err(error) => Err(SendError::Start(Arc::new(error))),
            };
            match sent {
                Ok(_) | Err(SendError::Rejected(Reject::Duplicate(_) | Reject::NotDetached(_))) => {
                    return Some(());
                }
                Err(SendError::Start(error)) if ends(&error) => return None,
                Err(error) => self.warn(&error),
            }
            sleep(PAUSE).await;
        }
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }

    fn warn(&self, error: &dyn std::fmt::Display) {
        let (child, parent) = (&self.session, &self.result.parent);
        tracing::debug!(session = %parent, %child, %error, "the result of an agent is delayed");
    }
}

/// Returns true if the parent is gone, or its engine is.
fn ends(error: &StartError) -> bool {
    matches!(error, StartError::Unknown(_) | StartError::ShutDown(_))
}

fn unreadable(child: &SessionId, error: &StoreError) {
    if error.kind != StoreErrorKind::Unknown {
        tracing::warn!(session = %child, %error, "an agent's log cannot be read now");
    }
}
