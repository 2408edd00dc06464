//! The tools: of every effect class, slow, deaf, lost or broken.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use windlass_engine::core::{
    EffectClass, EffectKey, Fact, Observation, ObservationStatus, Seq, ToolSpec,
};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};
use windlass_testkit::laws::Begun;
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

use crate::runs::What;
use crate::world::{Time, World, pause};

pub(crate) const NAMES: [&str; 5] = ["look", "list", "put", "pay", "lock"];

/// Tools whose effects are counted in the world.
pub(crate) struct ChaosTools {
    world: World,
    inner: ScriptedTools,
}

/// The counters of a world: what is really done outlives processes.
#[derive(Clone)]
pub(crate) struct Counters {
    pub(crate) idempotent: CounterTool,
    pub(crate) effectful: CounterTool,
    pub(crate) exclusive: CounterTool,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            idempotent: CounterTool::new("put", EffectClass::Idempotent),
            effectful: CounterTool::new("pay", EffectClass::Effectful),
            exclusive: CounterTool::new("lock", EffectClass::Effectful),
        }
    }
}

/// The tools as a model is shown them.
pub(crate) fn specs() -> Vec<ToolSpec> {
    scripted(&Counters::new()).tools()
}

fn scripted(counters: &Counters) -> ScriptedTools {
    ScriptedTools::new([
        ScriptedTool::new("look", EffectClass::ReadOnly).says("a view"),
        ScriptedTool::new("list", EffectClass::ReadOnly).says("a list"),
        counters.idempotent.tool(),
        counters.effectful.tool(),
        counters.exclusive.tool().exclusive(),
    ])
}

impl ChaosTools {
    pub(crate) fn new(world: &World, counters: &Counters) -> Self {
        Self { world: world.clone(), inner: scripted(counters) }
    }

    /// Notes a run that is about to change something. By now its start must be in the log.
    fn note(&self, class: EffectClass, context: &ToolContext) {
        let log = self.world.store.log(&context.session);
        let start = log.iter().find(|recorded| match &recorded.fact {
            Fact::CallStarted(fact) => {
                fact.call == context.call
                    && fact.attempt == context.attempt
                    && fact.idempotency_key == context.idempotency_key
            }
            _ => false,
        });
        let Some(start) = start else {
            let what = format!("{context:?} runs and its start is not in the log");
            return self.world.broke(what);
        };
        let begun = Begun {
            life: u32::try_from(self.world.seen.life.load(Ordering::SeqCst)).unwrap(),
            key: EffectKey::Call { call: context.call, started: start.seq },
            class,
            durable: Seq(log.len() as u64),
        };
        let seen = (context.session.clone(), begun);
        self.world.seen.begun.lock().unwrap().push(seen);
    }
}

#[async_trait]
impl ToolExecutor for ChaosTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.inner.tools()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let what = What::Call(context.call);
        let _run = self.world.runs(&context.session, what, Some(&context.cancel));
        let spec = self.inner.tools().into_iter().find(|tool| tool.name == call.name);
        let class = spec.map_or(EffectClass::ReadOnly, |tool| tool.effect);
        if class != EffectClass::ReadOnly {
            self.note(class, &context);
        }
        let luck = &self.world.luck;
        if self.world.is_fair() {
            return self.inner.run(call, context).await;
        }
        let (before, after, deaf) = (luck.below(150), luck.below(150), luck.percent(10));
        // On threads, a tool that must be given up costs real time.
        let (deaf, slow) = match self.world.time {
            Time::Virtual => (deaf, luck.percent(3)),
            Time::Threads => (false, false),
        };
        // There, a process seldom dies by itself at a moment that leaves a call in doubt.
        let fatal = self.world.time == Time::Threads && class == EffectClass::Effectful;
        let fatal = fatal && luck.percent(75);
        context.progress.report("on it");
        let cancel = context.cancel.clone();
        let told = async {
            cancel.cancelled().await;
            if deaf {
                std::future::pending::<()>().await;
            }
        };
        let error = |kind| ToolError::new(kind, "chaos");
        let work = async {
            pause(self.world.time, if slow { 4_000 } else { before }).await;
            if luck.percent(3) {
                return Err(error(ToolErrorKind::NotStarted));
            }
            let done = self.inner.run(call, context).await;
            if fatal && luck.open_now() {
                // It has taken effect, and its process dies before anybody hears of it.
                std::future::pending::<()>().await;
            }
            pause(self.world.time, after).await;
            if luck.percent(3) { Err(error(ToolErrorKind::Failed)) } else { done }
        };
        tokio::select! {
            done = work => done,
            () = told => Ok(Observation::new(ObservationStatus::Aborted, "stopped")),
        }
    }
}
