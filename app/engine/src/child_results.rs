//! Child results: delivers the result of a detached child to its parent session.
//!
//! One task a child follows its log until the turn of its prompt has settled, keeps it driven until
//! then, and sends the result to the parent, which accepts it once. A process that ends in between
//! leaves the parent with the child in its state, so that the next driver of the parent begins again.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use windlass_core::{CallId, DetachedChild, Reject, Scope, SessionId, child_result};
use windlass_ports::sync::Mutex;

use crate::agents::{agent_session, describe_outcome};
use crate::capacity;
use crate::engine::{Engine, Inner};
use crate::error::{SendError, StartError};
use crate::followed_child::{ChildFault, FollowedChild, Retries};
use crate::report::TurnReport;
use crate::session::SessionCommand;

/// Reason for delivering a result.
const CHILD_ENDED: &str = "an agent that was detached from its call has ended";

/// Most bytes of an answer in a result.
const MAX_ANSWER: usize = 24 * 1024;

/// Results that are being delivered, by parent and call.
pub(crate) type ResultDeliveries = Mutex<HashSet<(SessionId, CallId)>>;

/// A result that is to be delivered.
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
    /// The child received no prompt.
    NotStarted,
    /// Its end cannot be known here.
    Unknown(ChildFault),
}

/// Delivers the result of a detached child, unless a task does so already.
pub(crate) fn deliver(engine: &Engine, result: ChildResult) {
    let Some(session) = agent_session(&result.key) else {
        return;
    };
    let id = (result.parent.clone(), result.child.call);
    if !engine.inner.deliveries.lock().insert(id.clone()) {
        return;
    }
    let (key, scope) = (result.key.clone(), (*result.child.scope).clone());
    let delivery = ResultDelivery {
        engine: Arc::downgrade(&engine.inner),
        followed: FollowedChild::new(engine, session.clone(), key, scope),
        session,
        result,
    };
    tokio::spawn(async move {
        let _entry = DeliveryEntry { engine: delivery.engine.clone(), id };
        delivery.run().await
    });
}

/// Entry of a task among those of its engine.
struct DeliveryEntry {
    engine: Weak<Inner>,
    id: (SessionId, CallId),
}

impl Drop for DeliveryEntry {
    fn drop(&mut self) {
        if let Some(inner) = self.engine.upgrade() {
            inner.deliveries.lock().remove(&self.id);
        }
    }
}

struct ResultDelivery {
    engine: Weak<Inner>,
    /// Session of the child.
    session: SessionId,
    followed: FollowedChild,
    result: ChildResult,
}

impl ResultDelivery {
    /// Returns `None` if the engine is gone, and its drivers with it, or the parent cannot be
    /// reached.
    async fn run(self) -> Option<()> {
        let ended = self.wait_end().await?;
        self.send(&self.text(&ended)).await
    }

    /// Waits until the child has ended, or has no result.
    async fn wait_end(&self) -> Option<ChildEnd> {
        tokio::select! {
            report = self.followed.report() => Some(match report? {
                Ok(report) => ChildEnd::Report(Box::new(report)),
                Err(fault) => ChildEnd::Unknown(fault),
            }),
            fault = self.followed.keep_driven() => Some(ChildEnd::Unknown(fault?)),
            absent = self.followed.wait_without_prompt() => absent.map(|()| ChildEnd::NotStarted),
        }
    }

    fn text(&self, ended: &ChildEnd) -> String {
        let (child, session) = (&self.result.child, &self.session);
        let max = usize::try_from(self.result.max_answer).unwrap_or(usize::MAX).min(MAX_ANSWER);
        let mut answer = String::new();
        let how = match ended {
            ChildEnd::Report(report) => {
                answer = capacity::shorten_text(&report.answer, max);
                format!("The agent {}.", describe_outcome(&report.outcome))
            }
            ChildEnd::NotStarted => "The agent did nothing: it received no prompt.".to_owned(),
            ChildEnd::Unknown(ChildFault::Missing) => format!(
                "There is no log of its session {session} here: it may have done all of its work, \
                 a part of it or nothing."
            ),
            ChildEnd::Unknown(ChildFault::Unusable(why)) => format!(
                "Its session {session} cannot be followed here: {}. It may have done all of its \
                 work, a part of it or nothing.",
                capacity::shorten_text(why, max)
            ),
        };
        child_result(&child.agent, child.call, &how, &answer)
    }

    /// Sends the result until the parent has accepted it, or does not await it any more.
    async fn send(&self, text: &str) -> Option<()> {
        let (call, parent) = (self.result.child.call, &self.result.parent);
        let scope = Scope::system(CHILD_ENDED);
        // A command that is sent again is the same one, also in the mailbox of the parent.
        let key = format!("result {call}");
        let mut retries = Retries::default();
        loop {
            let command = SessionCommand::ChildEnded { call, text: text.to_owned() };
            let opened = self.engine()?.session(parent, &scope).await;
            let sent = match opened {
                Ok(handle) => handle.execute(command, scope.clone(), Some(&key)).await,
                Err(error) => Err(SendError::Start(Arc::new(error))),
            };
            let error = match sent {
                Ok(_) | Err(SendError::Rejected(Reject::Duplicate(_) | Reject::NotDetached(_))) => {
                    return Some(());
                }
                Err(SendError::Start(error)) if is_gone(&error) => return None,
                Err(error) => error,
            };
            let child = &self.session;
            tracing::warn!(session = %parent, %child, %error, "the result of an agent is delayed");
            if !retries.pause_after(error.is_transient()).await {
                tracing::error!(
                    session = %parent, %child, %error,
                    "the result of an agent cannot be delivered: repair its parent, and open it"
                );
                return None;
            }
        }
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }
}

/// Returns true if the parent is gone, or its engine is.
fn is_gone(error: &StartError) -> bool {
    matches!(error, StartError::Unknown(_) | StartError::ShutDown(_))
}
