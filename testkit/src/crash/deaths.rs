//! Deaths: a scenario in one process, run once for each append at which its process may die.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use windlass_core::{EffectClass, Fact, RecordedFact};
use windlass_ports::sync::Mutex;

use crate::Gate;
use crate::faulty::{Fault, FaultyStore, Operation};
use crate::laws::{
    Held, law_01_live_equals_fold, law_05_one_observation_a_call, law_08_no_sample_without_reason,
    law_15_denied_calls_never_start, law_16_effectful_starts_once,
};
use crate::tools::CounterTool;

/// Longest time of one life.
const PATIENCE: Duration = Duration::from_secs(60);

/// One process of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioLife {
    store: FaultyStore,
    number: u32,
    counters: Counters,
}

/// Tools that count, by name: those of one death, for both of its processes.
type Counters = Arc<Mutex<BTreeMap<String, CounterTool>>>;

/// Deaths that a scenario went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deaths {
    /// Appends of an undisturbed run.
    pub appends: usize,
    /// Deaths: two for each append, before its facts were stored and after.
    pub count: usize,
}

/// A death that the scenario did not recover from.
#[derive(Debug)]
pub struct DeathFailure {
    /// The moment of the death; `None` for the undisturbed run.
    pub death: Option<Death>,
    /// Cause of the failure.
    pub why: String,
}

/// The moment of a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// Number of the append, from 1.
    pub append: usize,
    /// True if its facts were stored.
    pub stored: bool,
}

/// Runs a scenario once for each append of its store and each of two moments: the process dies before
/// the facts are stored, or after that and before it knows. A second process then runs the scenario
/// to its end, and the logs are checked: each call has one result, and none that changes something
/// started twice.
///
/// A death drops the whole runtime of the life, with all of its tasks. The scenario opens its engine
/// over [`ScenarioLife::store`], sends its input unless [`ScenarioLife::has_input`], and waits for the
/// outcome. [`ScenarioLife::counter`] has the tools whose effects are counted.
///
/// # Errors
/// [`DeathFailure`] with the first death after which the scenario fails, takes longer than a minute,
/// or leaves a log that breaks a law.
pub fn at_each_append(
    scenario: impl AsyncFn(ScenarioLife) -> Result<(), Box<dyn Error + Send + Sync>>,
) -> Result<Deaths, Box<DeathFailure>> {
    let mut deaths = Deaths { appends: 0, count: 0 };
    for append in 1.. {
        for stored in [false, true] {
            let death = Death { append, stored };
            let failed = |why: String| Box::new(DeathFailure { death: Some(death), why });
            let gate = Gate::new();
            let store = dying(death, &gate);
            let counters = Counters::default();
            let first =
                ScenarioLife { store: store.clone(), number: 1, counters: counters.clone() };
            let died = live(&scenario, first, &gate).map_err(|why| {
                Box::new(DeathFailure { death: None, why: format!("the first life failed: {why}") })
            })?;
            if !died {
                deaths.appends = append - 1;
                return Ok(deaths);
            }
            deaths.count += 1;
            let next =
                ScenarioLife { store: store.reopen(), number: 2, counters: counters.clone() };
            let never = Gate::new();
            live(&scenario, next, &never)
                .map_err(|why| failed(format!("the next life failed: {why}")))?;
            for log in store.logs() {
                judge(&log).map_err(|broken| failed(broken.to_string()))?;
            }
            for (name, counter) in &*counters.lock() {
                if let Some((session, call)) = counter.repeated().first() {
                    return Err(failed(format!(
                        "call {call} of {session} had {name} take effect twice"
                    )));
                }
            }
        }
    }
    Ok(deaths)
}

/// A store that hangs at an append.
fn dying(death: Death, gate: &Gate) -> FaultyStore {
    let gate = gate.clone();
    FaultyStore::responding(move |operation, number| {
        if operation != Operation::Append || number != death.append {
            return Vec::new();
        }
        match death.stored {
            false => vec![Fault::Wait(gate.clone())],
            true => vec![Fault::WaitAfter(gate.clone())],
        }
    })
}

/// Runs one life. Returns true if it died at the gate.
fn live(
    scenario: &impl AsyncFn(ScenarioLife) -> Result<(), Box<dyn Error + Send + Sync>>,
    life: ScenarioLife,
    gate: &Gate,
) -> Result<bool, String> {
    let runtime: Runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start a runtime: {error}"))?;
    let lived = runtime.block_on(async {
        tokio::select! {
            biased;
            () = gate.reached() => None,
            ended = tokio::time::timeout(PATIENCE, scenario(life)) => Some(ended),
        }
    });
    runtime.shutdown_background();
    match lived {
        None => Ok(true),
        Some(Ok(Ok(()))) => Ok(false),
        Some(Ok(Err(error))) => Err(error.to_string()),
        Some(Err(_)) => Err(format!("it did not end within {PATIENCE:?}")),
    }
}

/// Checks a log by itself.
fn judge(log: &[RecordedFact]) -> Held {
    law_01_live_equals_fold::fold(log)?;
    law_05_one_observation_a_call::check(log)?;
    law_08_no_sample_without_reason::check(log)?;
    law_15_denied_calls_never_start::check(log)?;
    law_16_effectful_starts_once::check(log, &[])
}

impl ScenarioLife {
    /// Returns the store of this process. It has what earlier ones made durable.
    #[must_use]
    pub fn store(&self) -> FaultyStore {
        self.store.clone()
    }

    /// Returns the counting tool of this name. It outlives the process, as the world does, and is
    /// fresh for each death. A call of it that takes effect twice fails the run.
    #[must_use]
    pub fn counter(&self, name: &str, effect: EffectClass) -> CounterTool {
        let mut counters = self.counters.lock();
        let new = || CounterTool::new(name, effect);
        counters.entry(name.to_owned()).or_insert_with(new).clone()
    }

    /// Returns true for the process that dies.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.number == 1
    }

    /// Returns true if an input is durable, so that the scenario must not send it again.
    #[must_use]
    pub fn has_input(&self) -> bool {
        let queued = |recorded: &RecordedFact| matches!(recorded.fact, Fact::InputQueued(_));
        self.store.logs().iter().flatten().any(queued)
    }
}

impl Error for DeathFailure {}

impl fmt::Display for DeathFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.death {
            None => write!(f, "without a death: {}", self.why),
            Some(Death { append, stored }) => {
                let when = if stored { "after" } else { "before" };
                write!(f, "death {when} the facts of append {append} were stored: {}", self.why)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{CallId, Seq};
    use windlass_ports::{LogStore as _, ToolCall, ToolContext, ToolExecutor as _};

    use super::*;
    use crate::tools::ScriptedTools;
    use crate::world::{Transitions, run};

    /// Appends the facts of a turn that are missing, one by one.
    async fn append(life: &ScenarioLife) -> Result<usize, Box<dyn Error + Send + Sync>> {
        let script = "send hello\ntext hi\nend stop".parse()?;
        let world = run(Transitions::CORE, &script)?;
        let (store, id) = (life.store(), world.session().id.clone());
        let claim = store.claim(&id).await?;
        for fact in world.log().iter().filter(|fact| fact.seq > claim.last) {
            let after = Seq(fact.seq.0 - 1);
            store.append(&id, claim.epoch, after, &[Arc::new(fact.clone())]).await?;
        }
        Ok(world.log().len())
    }

    /// Pays, as the same call each time.
    async fn pay(life: &ScenarioLife) -> Result<(), Box<dyn Error + Send + Sync>> {
        let tools = ScriptedTools::new([life.counter("pay", EffectClass::Effectful).tool()]);
        let session = windlass_core::SessionId::new("s")?;
        let key = String::from("k");
        let context = ToolContext::new(session, CallId(6));
        let context = ToolContext { idempotency_key: key, ..context };
        tools.run(ToolCall { name: "pay".into(), arguments: "{}".into() }, context).await?;
        Ok(())
    }

    #[test]
    fn a_scenario_dies_twice_at_each_append() {
        let deaths = at_each_append(async |life| append(&life).await.map(drop)).unwrap();
        assert_eq!((deaths.appends, deaths.count), (8, 16));
    }

    #[test]
    fn a_scenario_that_does_not_recover_is_named_with_its_death() {
        let failure = at_each_append(async |life| match life.has_input() && !life.is_first() {
            true => Err("nothing can be done".into()),
            false => append(&life).await.map(drop),
        });
        let told = failure.unwrap_err().to_string();
        let wanted =
            "death after the facts of append 2 were stored: the next life failed: nothing can";
        assert!(told.starts_with(wanted), "{told}");
    }

    #[test]
    fn an_effect_that_comes_twice_is_found() {
        let failure = at_each_append(async |life| {
            pay(&life).await?;
            append(&life).await.map(drop)
        });
        let told = failure.unwrap_err().to_string();
        assert!(told.contains("had pay take effect twice"), "{told}");
    }
}
