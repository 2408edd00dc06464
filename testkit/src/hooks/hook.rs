//! One scripted hook: its declaration, and what it says when it is asked.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use windlass_core::{
    Edit, HookFailurePolicy, HookOrder, HookPoint, HookReply, HookSpec, HookVerdict,
};
use windlass_ports::{HookCall, HookError};

use crate::gate::Gate;

/// A hook and what it says.
#[derive(Clone)]
pub struct ScriptedHook {
    spec: HookSpec,
    act: Act,
    before: Option<Gate>,
}

#[derive(Clone)]
enum Act {
    /// Asks a function.
    Function(Arc<Function>),
    /// Gives no verdict.
    Fails,
    /// Does not end by itself.
    Stalls,
}

type Function = dyn Fn(&HookCall) -> HookReply + Send + Sync;

impl ScriptedHook {
    /// A sequential hook of this name that has nothing to say. Its failure counts as a denial.
    #[must_use]
    pub fn new(name: impl Into<String>, point: HookPoint) -> Self {
        Self::from_spec(HookSpec::new(name, point, 60_000))
    }

    /// A hook with all of its declaration.
    #[must_use]
    pub fn from_spec(spec: HookSpec) -> Self {
        Self { spec, act: Act::Function(Arc::new(|_| HookReply::pass())), before: None }
    }

    /// How the engine sees it.
    #[must_use]
    pub fn spec(&self) -> &HookSpec {
        &self.spec
    }

    /// Is asked at the same time as the other parallel ones.
    #[must_use]
    pub fn parallel(mut self) -> Self {
        self.spec.order = HookOrder::Parallel;
        self
    }

    /// Counts as if it had nothing to say where it fails.
    #[must_use]
    pub fn fails_open(mut self) -> Self {
        self.spec.on_failure = HookFailurePolicy::Open;
        self
    }

    /// Is asked about these subjects only.
    #[must_use]
    pub fn only<T: Into<String>>(mut self, subjects: impl IntoIterator<Item = T>) -> Self {
        self.spec.only = Some(subjects.into_iter().map(Into::into).collect());
        self
    }

    /// May take this long.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.spec.timeout_ms = timeout_ms;
        self
    }

    /// Says this, each time.
    #[must_use]
    pub fn says(self, reply: HookReply) -> Self {
        self.answers(move |_| reply.clone())
    }

    /// Says what a function says, each time.
    #[must_use]
    pub fn answers(
        mut self,
        function: impl Fn(&HookCall) -> HookReply + Send + Sync + 'static,
    ) -> Self {
        self.act = Act::Function(Arc::new(function));
        self
    }

    /// Fails, each time.
    #[must_use]
    pub fn fails(mut self) -> Self {
        self.act = Act::Fails;
        self
    }

    /// Does not end by itself.
    #[must_use]
    pub fn stalls(mut self) -> Self {
        self.act = Act::Stalls;
        self
    }

    /// Waits at a gate before it says anything.
    #[must_use]
    pub fn before(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    pub(super) async fn act(&self, call: &HookCall) -> Result<HookReply, HookError> {
        if let Some(gate) = &self.before {
            gate.pass().await;
        }
        match &self.act {
            Act::Function(function) => Ok(function(call)),
            Act::Fails => {
                let name = &self.spec.name;
                let why = format!("the scripted hook {name} fails: the script says so");
                Err(HookError::failed(why))
            }
            Act::Stalls => pending().await,
        }
    }
}

impl fmt::Debug for ScriptedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedHook").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A verdict with its reason.
#[must_use]
pub fn verdict(verdict: HookVerdict, reason: impl Into<String>) -> HookReply {
    HookReply { verdict, reason: reason.into(), ..HookReply::pass() }
}

/// A denial.
#[must_use]
pub fn deny(reason: impl Into<String>) -> HookReply {
    verdict(HookVerdict::Deny, reason)
}

/// The end of the turn.
#[must_use]
pub fn halt(reason: impl Into<String>) -> HookReply {
    verdict(HookVerdict::Halt, reason)
}

/// Nothing against it, and something that the model is to know.
#[must_use]
pub fn context(text: &str) -> HookReply {
    HookReply { context: Some(text.into()), ..HookReply::pass() }
}

/// Nothing against it with these words in the place of the prompt or the arguments.
#[must_use]
pub fn edit(text: &str) -> HookReply {
    let edit = Edit::unchecked(text.into());
    HookReply { edit: Some(edit), ..HookReply::pass() }
}
