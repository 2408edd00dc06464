//! Hooks that speak from a script, in process, and remember what they were asked.

mod hook;
pub mod suite;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{HookReply, HookSpec, HookVerdict, Scope, SessionId, TurnId};
use windlass_ports::{Clock, HookCall, HookContext, HookError, Hooks, Redactor, TurnCalls};

pub use hook::{ScriptedHook, context, deny, edit, halt, verdict};

use crate::ledger::Ledger;

/// Hooks over scripted ones. Clones are the same hooks.
///
/// ```
/// use windlass_core::HookPoint;
/// use windlass_ports::Hooks;
/// use windlass_testkit::hooks::{ScriptedHook, ScriptedHooks, deny};
///
/// let hooks = ScriptedHooks::new([
///     ScriptedHook::new("guard", HookPoint::BeforeTool).only(["shell"]).says(deny("not here")),
/// ]);
/// assert_eq!(hooks.hooks().len(), 1);
/// assert!(hooks.asked().is_empty());
/// ```
#[derive(Clone)]
pub struct ScriptedHooks {
    hooks: Arc<Vec<ScriptedHook>>,
    clock: Option<Arc<dyn Clock>>,
    redactor: Option<Arc<MakeRedactor>>,
    redaction: String,
    asked: Arc<Ledger<Asked>>,
}

type MakeRedactor = dyn Fn() -> Box<dyn Redactor> + Send + Sync;

/// A question that a hook was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The question.
    pub call: HookCall,
    /// On whose behalf.
    pub scope: Arc<Scope>,
    /// The session.
    pub session: SessionId,
    /// The turn, if one was open.
    pub turn: Option<TurnId>,
    /// Calls of the turn before it.
    pub calls: TurnCalls,
    /// How it ended, once it has.
    pub ended: Option<HookEnded>,
}

/// How a hook's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEnded {
    /// With a verdict.
    Replied(HookVerdict),
    /// With an error: its own, or that it was told to stop or ran out of time.
    Failed,
    /// The caller dropped it first.
    Dropped,
}

impl ScriptedHooks {
    /// These hooks, asked in this order. They keep no time: one that is stuck ends by cancellation
    /// or by being dropped.
    #[must_use]
    pub fn new(hooks: impl IntoIterator<Item = ScriptedHook>) -> Self {
        Self {
            hooks: Arc::new(hooks.into_iter().collect()),
            clock: None,
            redactor: None,
            redaction: String::from("scripted"),
            asked: Arc::default(),
        }
    }

    /// Keeps the deadline of each run by this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Rewrites the text of each answer by a redactor of its own.
    #[must_use]
    pub fn with_redactor(
        mut self,
        make: impl Fn() -> Box<dyn Redactor> + Send + Sync + 'static,
    ) -> Self {
        self.redactor = Some(Arc::new(make));
        self
    }

    /// Calls what its redactors take out so, and not `scripted`.
    #[must_use]
    pub fn with_redaction(mut self, name: impl Into<String>) -> Self {
        self.redaction = name.into();
        self
    }

    /// The questions so far, in the order in which they were asked.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.snapshot()
    }

    /// Waits until `count` questions were asked.
    pub async fn wait_asked(&self, count: usize) {
        self.asked.until(|asked| (asked.len() >= count).then_some(())).await;
    }

    /// Waits until question `index`, from 0, has ended.
    pub async fn ended(&self, index: usize) -> HookEnded {
        self.asked.until(|asked| asked.get(index)?.ended).await
    }

    /// Asks a hook until it answers, is told to stop, or is out of time.
    async fn within_limits(
        &self,
        hook: &ScriptedHook,
        call: &HookCall,
        context: &HookContext,
    ) -> Result<HookReply, HookError> {
        let name = &call.hook;
        let late = async {
            match &self.clock {
                Some(clock) => clock.sleep_until(context.deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Err(HookError::failed(format!("the scripted hook {name} was told to stop")))
            }
            () = late => {
                let ms = context.timeout_ms;
                Err(HookError::failed(format!("the scripted hook {name} took more than {ms} ms")))
            }
            reply = hook.act(call) => reply,
        }
    }
}

#[async_trait]
impl Hooks for ScriptedHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        self.hooks.iter().map(|hook| hook.spec().clone()).collect()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let mut ending = Ending::begin(&self.asked, &call, &context);
        let hook = self.hooks.iter().find(|hook| hook.spec().name == call.hook);
        let result = match hook {
            Some(hook) => self.within_limits(hook, &call, &context).await,
            None => {
                Err(HookError::unsupported(format!("no scripted hook is called {:?}", call.hook)))
            }
        };
        ending.set(match &result {
            Ok(reply) => HookEnded::Replied(reply.verdict),
            Err(_) => HookEnded::Failed,
        });
        result
    }

    fn redaction(&self) -> Option<String> {
        self.redactor.as_ref().map(|_| self.redaction.clone())
    }

    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        self.redactor.as_ref().map(|make| make())
    }
}

impl fmt::Debug for ScriptedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedHooks").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// Writes down how a question ended; dropped before that, it was dropped.
struct Ending {
    asked: Arc<Ledger<Asked>>,
    index: usize,
    open: bool,
}

impl Ending {
    fn begin(asked: &Arc<Ledger<Asked>>, call: &HookCall, context: &HookContext) -> Self {
        let index = asked.push(Asked {
            call: call.clone(),
            scope: context.scope.clone(),
            session: context.session.clone(),
            turn: context.turn,
            calls: context.calls.clone(),
            ended: None,
        });
        Self { asked: asked.clone(), index, open: true }
    }

    fn set(&mut self, ended: HookEnded) {
        if std::mem::replace(&mut self.open, false) {
            self.asked.update(self.index, |asked| asked.ended = Some(ended));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.set(HookEnded::Dropped);
    }
}

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;
