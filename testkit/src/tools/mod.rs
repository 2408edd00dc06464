//! Tools that run from a script, in process, and count what they do.

mod counter;
pub mod suite;
mod tool;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{CallId, Observation, ObservationStatus, Scope, SessionId, ToolSpec, TurnId};
use windlass_ports::{Clock, ToolCall, ToolContext, ToolError, ToolExecutor};

pub use counter::CounterTool;
pub use tool::ScriptedTool;

use crate::ledger::Ledger;

/// A tool executor over scripted tools. Clones are the same executor.
///
/// ```
/// use windlass_core::EffectClass;
/// use windlass_ports::ToolExecutor;
/// use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};
///
/// let counter = CounterTool::new("count", EffectClass::Effectful);
/// let tools = ScriptedTools::new([
///     ScriptedTool::new("look", EffectClass::ReadOnly).says("two files"),
///     counter.tool(),
/// ]);
/// assert_eq!(tools.tools().len(), 2);
/// assert_eq!(counter.total(), 0);
/// ```
#[derive(Clone)]
pub struct ScriptedTools {
    tools: Arc<Vec<ScriptedTool>>,
    clock: Option<Arc<dyn Clock>>,
    runs: Arc<Ledger<Run>>,
}

/// A run that the executor saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What was to be run.
    pub call: ToolCall,
    /// The call's id.
    pub id: CallId,
    /// Which run of the call, from 1.
    pub attempt: u32,
    /// The idempotency key.
    pub idempotency_key: String,
    /// On whose behalf.
    pub scope: Scope,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// How it ended, once it has.
    pub ended: Option<RunEnded>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnded {
    /// With an observation of this status.
    Observed(ObservationStatus),
    /// With an error of the executor.
    Failed,
    /// The caller dropped it first.
    Dropped,
}

impl ScriptedTools {
    /// An executor over these tools. It keeps no time: a tool that is stuck ends by cancellation
    /// or by being dropped.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = ScriptedTool>) -> Self {
        Self { tools: Arc::new(tools.into_iter().collect()), clock: None, runs: Arc::default() }
    }

    /// Keeps the deadline of each run by this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The runs so far, in the order in which they began.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        self.runs.snapshot()
    }

    /// How many run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.runs.look(|runs| runs.iter().filter(|run| run.ended.is_none()).count())
    }

    /// Waits until `count` runs have begun.
    pub async fn wait_runs(&self, count: usize) {
        self.runs.until(|runs| (runs.len() >= count).then_some(())).await;
    }

    /// Waits until run `index`, from 0, has ended.
    pub async fn ended(&self, index: usize) -> RunEnded {
        self.runs.until(|runs| runs.get(index)?.ended).await
    }

    /// Runs a tool until it ends, is told to stop, or is out of time.
    async fn within_limits(
        &self,
        tool: &ScriptedTool,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Observation, ToolError> {
        let late = async {
            match &self.clock {
                Some(clock) => clock.sleep_until(context.deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Ok(Observation::new(ObservationStatus::Aborted, "told to stop"))
            }
            () = late => {
                let text = format!("did not end within {} ms", context.timeout_ms);
                Ok(Observation::new(ObservationStatus::Failed, text))
            }
            result = tool.act(call, context) => result,
        }
    }
}

#[async_trait]
impl ToolExecutor for ScriptedTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let mut ending = Ending::begin(&self.runs, &call, &context);
        let tool = self.tools.iter().find(|tool| tool.spec().name == call.name);
        let result = match tool {
            Some(tool) => self.within_limits(tool, &call, &context).await,
            None => {
                Err(ToolError::unsupported(format!("no scripted tool is called {:?}", call.name)))
            }
        };
        ending.set(match &result {
            Ok(observation) => RunEnded::Observed(observation.status),
            Err(_) => RunEnded::Failed,
        });
        result
    }
}

impl fmt::Debug for ScriptedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        f.debug_struct("ScriptedTools").field("tools", &names).finish_non_exhaustive()
    }
}

/// Writes down how a run ended; dropped before that, it was dropped.
struct Ending {
    runs: Arc<Ledger<Run>>,
    index: usize,
    open: bool,
}

impl Ending {
    fn begin(runs: &Arc<Ledger<Run>>, call: &ToolCall, context: &ToolContext) -> Self {
        let index = runs.push(Run {
            call: call.clone(),
            id: context.call,
            attempt: context.attempt,
            idempotency_key: context.idempotency_key.clone(),
            scope: context.scope.clone(),
            session: context.session.clone(),
            turn: context.turn,
            ended: None,
        });
        Self { runs: runs.clone(), index, open: true }
    }

    fn set(&mut self, ended: RunEnded) {
        if std::mem::replace(&mut self.open, false) {
            self.runs.update(self.index, |run| run.ended = Some(ended));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.set(RunEnded::Dropped);
    }
}

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;
