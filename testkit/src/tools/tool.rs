//! One scripted tool.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::Arc;

use windlass_core::{Concurrency, EffectClass, Observation, ObservationStatus, ToolSpec};
use windlass_ports::sync::Mutex;
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolErrorKind};

use crate::gate::Gate;

/// A scripted tool. It takes any arguments and, until told otherwise, answers with nothing.
#[derive(Clone)]
pub struct ScriptedTool {
    spec: ToolSpec,
    act: Act,
    before: Option<Gate>,
    after: Option<Gate>,
    reports: Vec<String>,
}

/// What a run does between its gates.
#[derive(Clone)]
pub(super) enum Act {
    /// Gives this observation.
    Canned(Observation),
    /// Gives these, one a run; the executor fails when they have run out.
    List(Arc<Mutex<VecDeque<Observation>>>),
    /// Asks a function.
    Function(Arc<Function>),
    /// Fails to run, having begun or not.
    Fails { began: bool },
    /// Does not end by itself.
    Stalls,
}

pub(super) type Function =
    dyn Fn(&ToolCall, &ToolContext) -> Result<Observation, ToolError> + Send + Sync;

impl ScriptedTool {
    /// A tool of this name and effect class that may run beside others.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: EffectClass) -> Self {
        let spec = ToolSpec::new(name, effect).with(|it| {
            it.description = "A scripted tool.".into();
            it.concurrency = Concurrency::Parallel;
        });
        Self::from_spec(spec)
    }

    /// A tool with all of its specification.
    #[must_use]
    pub fn from_spec(spec: ToolSpec) -> Self {
        Self {
            spec,
            act: Act::Canned(Observation::new(ObservationStatus::Done, "")),
            before: None,
            after: None,
            reports: Vec::new(),
        }
    }

    /// How the engine sees it.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// May run only alone.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.spec.concurrency = Concurrency::Exclusive;
        self
    }

    /// Takes arguments of this JSON Schema.
    #[must_use]
    pub fn taking(mut self, parameters: impl Into<String>) -> Self {
        self.spec.parameters = parameters.into();
        self
    }

    /// Succeeds with this output.
    #[must_use]
    pub fn says(self, output: impl Into<String>) -> Self {
        self.observes(Observation::new(ObservationStatus::Done, output))
    }

    /// Gives this observation, each time.
    #[must_use]
    pub fn observes(mut self, observation: Observation) -> Self {
        self.act = Act::Canned(observation);
        self
    }

    /// Gives these observations, one a run. Once they have run out the executor fails, without
    /// having begun.
    #[must_use]
    pub fn observes_each(mut self, all: impl IntoIterator<Item = Observation>) -> Self {
        self.act = Act::List(Arc::new(Mutex::new(all.into_iter().collect())));
        self
    }

    /// Asks a function, each time.
    #[must_use]
    pub fn runs(
        mut self,
        function: impl Fn(&ToolCall, &ToolContext) -> Result<Observation, ToolError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.act = Act::Function(Arc::new(function));
        self
    }

    /// Cannot be run: the executor fails before it has begun.
    #[must_use]
    pub fn fails_to_begin(mut self) -> Self {
        self.act = Act::Fails { began: false };
        self
    }

    /// Is lost on the way: the executor fails after it has begun.
    #[must_use]
    pub fn is_lost(mut self) -> Self {
        self.act = Act::Fails { began: true };
        self
    }

    /// Does not end by itself.
    #[must_use]
    pub fn stalls(mut self) -> Self {
        self.act = Act::Stalls;
        self
    }

    /// Waits at a gate before it does anything.
    #[must_use]
    pub fn before(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// Waits at a gate when it has taken effect and before it answers: where a crash hurts most.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.after = Some(gate.clone());
        self
    }

    /// Reports these as progress before it does anything.
    #[must_use]
    pub fn reports<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.reports = texts.into_iter().map(Into::into).collect();
        self
    }

    pub(super) async fn act(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Observation, ToolError> {
        for text in &self.reports {
            context.progress.report(text);
        }
        if let Some(gate) = &self.before {
            gate.pass().await;
        }
        let result = match &self.act {
            Act::Canned(observation) => Ok(observation.clone()),
            Act::List(list) => {
                let next = list.lock().pop_front();
                next.ok_or_else(|| self.error(false, "its script has run out"))
            }
            Act::Function(function) => function(call, context),
            Act::Fails { began } => Err(self.error(*began, "the script says so")),
            Act::Stalls => pending().await,
        };
        if let Some(gate) = &self.after {
            gate.pass().await;
        }
        result
    }

    fn error(&self, began: bool, why: &str) -> ToolError {
        let name = &self.spec.name;
        let kind = if began { ToolErrorKind::Failed } else { ToolErrorKind::NotStarted };
        ToolError::new(kind, format!("the scripted tool {name} cannot be run: {why}"))
    }
}

impl fmt::Debug for ScriptedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
