//! Programs: what a model writes as one is run, and what it calls are calls like any others.

mod again;
mod agents;
mod calling;
mod contracts;
mod deaf;
mod failures;
mod fairness;
mod keeping;
mod limits;
mod runtimes;
mod snapshots;
mod text;
mod waiting;
mod window;

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    CallId, Fact, Observation, ObservationStatus, ProgramEnd, ProgramMode, ProgramOutcome,
    RecordedFact, Seq, Settings,
};
use windlass_engine::ports::LogStore;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::programs::SCRIPTED;
use windlass_testkit::provider::{ScriptedProvider, Step, call};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{Cast, World, id};

/// The model hands over a program.
fn run(source: &str) -> Step {
    call("run_program", json!({ "source": source }))
}

fn mode(settings: &mut Settings) {
    settings.options.program = Some(ProgramMode {
        runtime: SCRIPTED.into(),
        transport: Default::default(),
        limits: Default::default(),
        data: None,
        corrections: 0,
    });
}

/// What stands around programs.
struct Stage {
    world: World,
    provider: ScriptedProvider,
    tools: ScriptedTools,
}

fn stage(
    script: impl IntoIterator<Item = Step>,
    tools: impl IntoIterator<Item = ScriptedTool>,
) -> Stage {
    acting(script, tools, |cast| cast)
}

fn acting(
    script: impl IntoIterator<Item = Step>,
    tools: impl IntoIterator<Item = ScriptedTool>,
    with: impl FnOnce(Cast) -> Cast,
) -> Stage {
    let provider = ScriptedProvider::new(script);
    let tools = ScriptedTools::new(tools);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(tools.clone()),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), with(cast)).tuned(mode);
    Stage { world, provider, tools }
}

impl Stage {
    fn tuned(mut self, tune: impl Fn(&mut Settings) + Send + Sync + 'static) -> Self {
        self.world = self.world.tuned(move |settings| {
            mode(settings);
            tune(settings);
        });
        self
    }

    /// The same stage, whose store holds these facts of session `s`.
    async fn after(self, facts: &[RecordedFact]) -> Self {
        let store = self.world.store.clone();
        let (session, facts) = (id("s"), facts.iter().cloned().map(Arc::new));
        let claim = store.claim(&session).await.unwrap();
        let facts: Vec<_> = facts.collect();
        let appended = store.append(&session, claim.epoch, Seq::ZERO, &facts);
        appended.await.unwrap();
        store.release(&session, claim.epoch).await.unwrap();
        self
    }

    /// What the programs of session `s` came to, and why what they returned was rejected.
    fn outcomes(&self) -> Vec<(Arc<ProgramOutcome>, Option<String>)> {
        self.world.picked(|fact| match fact {
            Fact::ProgramRun(run) => Some((run.outcome.clone(), run.fault.clone())),
            _ => None,
        })
    }

    /// How the programs of session `s` ended.
    fn ends(&self) -> Vec<ProgramEnd> {
        let outcomes = self.outcomes().into_iter();
        outcomes.map(|(outcome, _)| outcome.end.clone()).collect()
    }

    /// The calls that programs of session `s` have made, with what became of them.
    fn made(&self) -> Vec<(String, String, ObservationStatus)> {
        let seen = self.observations();
        let made = self.world.log();
        let made = made.iter().filter_map(|recorded| match &recorded.fact {
            Fact::ProgramCalled(fact) => Some((CallId(recorded.seq.0), fact.item.clone())),
            _ => None,
        });
        let status = |id| seen.iter().find(|(call, _)| *call == id).unwrap().1.status;
        made.map(|(id, item)| (item.name.clone(), item.arguments.clone(), status(id))).collect()
    }

    fn observations(&self) -> Vec<(CallId, Observation)> {
        self.world.picked(|fact| match fact {
            Fact::CallObserved(fact) => Some((fact.call, (*fact.observation).clone())),
            _ => None,
        })
    }

    /// What the model was told of programs: the observations of session `s` that end with one.
    fn told(&self) -> Vec<String> {
        let programs = self.world.picked(|fact| match fact {
            Fact::ProgramRun(run) => Some(run.program),
            _ => None,
        });
        let seen = self.observations().into_iter();
        let of_programs = seen.filter(|(call, _)| programs.contains(call));
        of_programs.map(|(_, seen)| seen.output).collect()
    }

    fn runs(&self) -> Vec<String> {
        let runs = self.tools.runs().into_iter();
        runs.map(|run| format!("{} {}", run.call.name, run.call.arguments)).collect()
    }
}

fn value(text: &str) -> ProgramEnd {
    ProgramEnd::Value { value: text.into() }
}

fn returned(text: &str) -> ProgramEnd {
    ProgramEnd::Return { value: text.into() }
}

fn class(end: &ProgramEnd) -> String {
    match end {
        ProgramEnd::Fault(fault) => fault.class.clone(),
        other => panic!("{other:?}"),
    }
}
