//! The tool suite: scripted tools pass it, and each case finds the fault that it is there for.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use windlass_core::{CallId, EffectClass, SessionId, Timestamp};
use windlass_ports::{ToolEnd, ToolErrorKind, ToolProcess, ToolProcessState};

use super::suite::{Talkative, ToolFixture};
use super::*;
use crate::store::Checked;
use crate::suite::every_case_bites;

/// A clock whose time passes.
struct Passing;

#[async_trait]
impl Clock for Passing {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(since.as_millis().try_into().unwrap())
    }

    async fn sleep_until(&self, moment: Timestamp) {
        tokio::time::sleep(Duration::from_millis(moment.since_ms(self.now()))).await;
    }

    fn entropy(&self) -> u64 {
        0
    }
}

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    BadName,
    FailsCalls,
    UnknownBegins,
    UnknownFails,
    AnswersUndeclared,
    DeclaresWhatItCannot,
    DeafToCancel,
    NoDeadline,
    EndsAtOnce,
    Unbounded,
    ReaderWrites,
    CountsTwice,
    PlansForReal,
    AsksByDoing,
    NamesNoCalls,
    NamesOneCall,
    NamesACallOfNoTool,
    WorldIsBlind,
    PlanFails,
    PlanHangs,
    ReconcileHangs,
    ListsNoProcess,
    ReleaseLeaves,
    WaitEndsAtOnce,
    StopsAll,
    StopsNone,
    BeginsAnew,
}

/// Scripted tools, with a fault where one is planted.
struct Fixture {
    fault: Fault,
    tools: ScriptedTools,
    counter: CounterTool,
    written: Arc<AtomicU32>,
    processes: Processes,
}

/// Calls whose processes run.
type Processes = Arc<watch::Sender<BTreeSet<CallId>>>;

impl Fixture {
    fn new(fault: Fault) -> Self {
        let counter = CounterTool::new("count", EffectClass::Idempotent);
        let written = Arc::new(AtomicU32::new(0));
        let (writes, twice) = (written.clone(), written.clone());
        let large = Observation {
            status: ObservationStatus::Done,
            output: "x".repeat(if fault == Fault::Unbounded { 1_000 } else { 100 }),
            output_bytes: 1_000,
            omitted_bytes: 900,
            stored_output: None,
            exit_code: None,
            confinement: None,
            images: Vec::new(),
            changes: Vec::new(),
            offers: Vec::new(),
            lasting: None,
        };
        let look = ScriptedTool::new(
            if fault == Fault::BadName { "look around" } else { "look" },
            EffectClass::ReadOnly,
        );
        let failed = Observation::new(ObservationStatus::Failed, "no");
        let look = if fault == Fault::FailsCalls {
            look.observes(failed)
        } else if fault == Fault::ReaderWrites {
            look.runs(move |_, _| {
                writes.fetch_add(1, Ordering::SeqCst);
                Ok(Observation::new(ObservationStatus::Done, ""))
            })
        } else {
            look.says("two files")
        };
        let mut count = counter.tool();
        if fault == Fault::CountsTwice {
            count = count.runs(move |_, _| {
                twice.fetch_add(1, Ordering::SeqCst);
                Ok(Observation::new(ObservationStatus::Done, ""))
            });
        }
        let endless = ScriptedTool::new("wait", EffectClass::ReadOnly);
        let endless = if fault == Fault::EndsAtOnce {
            endless.says("over already")
        } else {
            endless.stalls()
        };
        let large = ScriptedTool::new("talk", EffectClass::ReadOnly).observes(large);
        let tools = ScriptedTools::new([look, count, endless, large]);
        let tools = if fault == Fault::NoDeadline { tools } else { tools.with_clock(Passing) };
        Self { fault, tools, counter, written, processes: Processes::default() }
    }
}

/// Does what the tools do, but for what only the executor itself can get wrong.
struct Faulty(ScriptedTools, Fault, Processes);

#[async_trait]
impl ToolExecutor for Faulty {
    fn tools(&self) -> Vec<ToolSpec> {
        let mut tools = self.0.tools();
        if self.1 == Fault::DeclaresWhatItCannot {
            tools.iter_mut().for_each(|tool| tool.reconciles = true);
        }
        tools
    }

    async fn run(
        &self,
        call: ToolCall,
        mut context: ToolContext,
    ) -> Result<Observation, ToolError> {
        if call.arguments == LASTING {
            self.2.send_if_modified(|processes| processes.insert(context.call));
        }
        if self.1 == Fault::DeafToCancel {
            context.cancel = windlass_ports::CancelSource::new().signal();
        }
        let began = self.1 == Fault::UnknownBegins;
        self.0.run(call, context).await.map_err(|mut error| {
            if began {
                error.kind = ToolErrorKind::Failed;
            }
            if self.1 == Fault::UnknownFails {
                error.kind = ToolErrorKind::NotStarted;
            }
            error
        })
    }

    async fn run_or_suspend(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<ToolEnd, ToolError> {
        if context.suspended.is_some() && self.1 != Fault::BeginsAnew {
            return self.0.run_or_suspend(call, context).await;
        }
        self.run(call, context).await.map(ToolEnd::Observed)
    }

    async fn plan(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if self.1 == Fault::PlansForReal {
            return self.run(call, context).await;
        }
        if self.1 == Fault::PlanFails {
            return Err(ToolError::unsupported("it cannot be planned"));
        }
        if self.1 == Fault::PlanHangs {
            return std::future::pending().await;
        }
        self.0.plan(call, context).await
    }

    async fn reconcile(
        &self,
        call: ToolCall,
        mut context: ToolContext,
    ) -> Result<Option<Observation>, ToolError> {
        if self.1 == Fault::AsksByDoing {
            context.idempotency_key.push('x');
            return self.run(call, context).await.map(Some);
        }
        if self.1 == Fault::AnswersUndeclared {
            return Ok(None);
        }
        if self.1 == Fault::ReconcileHangs {
            return std::future::pending().await;
        }
        self.0.reconcile(call, context).await
    }

    fn processes(&self, _: &SessionId) -> Vec<ToolProcess> {
        let running = self.2.borrow();
        let listed = running.iter().filter(|_| self.1 != Fault::ListsNoProcess);
        let process = |id: &CallId| ToolProcess {
            id: *id,
            command: String::from("sleep"),
            state: ToolProcessState::Running,
            age_ms: 0,
            unread_bytes: 0,
        };
        listed.map(process).collect()
    }

    async fn wait_processes(&self, _: &SessionId) {
        if self.1 != Fault::WaitEndsAtOnce {
            let _ = self.2.subscribe().wait_for(BTreeSet::is_empty).await;
        }
    }

    async fn stop_process(&self, _: &SessionId, id: CallId) -> Result<bool, ToolError> {
        let stopped = self.2.borrow().contains(&id);
        if self.1 == Fault::StopsAll {
            self.2.send_modify(BTreeSet::clear);
        } else if self.1 != Fault::StopsNone {
            self.2.send_if_modified(|running| running.remove(&id));
        }
        Ok(stopped)
    }

    async fn release(&self, _: &SessionId) {
        if self.1 != Fault::ReleaseLeaves {
            self.2.send_modify(BTreeSet::clear);
        }
    }
}

/// Arguments of the call whose process goes on.
const LASTING: &str = r#"{"lasts":true}"#;

fn call(name: &str) -> ToolCall {
    ToolCall { name: name.into(), arguments: "{}".into() }
}

impl ToolFixture for Fixture {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(Faulty(self.tools.clone(), self.fault, self.processes.clone()))
    }

    fn calls(&self) -> Vec<ToolCall> {
        let names = self.tools.tools();
        let look = call(&names[0].name);
        if self.fault == Fault::NamesNoCalls {
            Vec::new()
        } else if self.fault == Fault::NamesOneCall {
            vec![look]
        } else if self.fault == Fault::NamesACallOfNoTool {
            vec![look, call("count"), call("fly")]
        } else {
            vec![look, call("count")]
        }
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("wait"))
    }

    fn lasting(&self) -> Option<ToolCall> {
        Some(ToolCall { arguments: LASTING.into(), ..call("count") })
    }

    fn talkative(&self) -> Option<Talkative> {
        Some(Talkative { call: call("talk"), bytes: 1_000, most: 100 })
    }

    fn world(&self) -> Option<String> {
        if self.fault == Fault::WorldIsBlind {
            return Some(String::new());
        }
        Some(format!("{} {}", self.counter.total(), self.written.load(Ordering::SeqCst)))
    }

    fn patience(&self) -> Duration {
        // These hang, and the case is to find that.
        let hangs =
            [Fault::DeafToCancel, Fault::NoDeadline, Fault::PlanHangs, Fault::ReconcileHangs]
                .contains(&self.fault);
        if hangs { Duration::from_millis(400) } else { Duration::from_secs(60) }
    }
}

mod scripted_tools {
    use super::*;

    crate::tool_suite!(Fixture::new(Fault::None));
}

const RELEASED: &str = "a_process_ends_with_the_release_of_its_session";

#[test]
fn every_case_finds_its_fault() -> Checked {
    let bites = [
        ("tools_are_well_formed", Fault::BadName, "no name"),
        ("each_tool_has_a_call", Fault::NamesNoCalls, "the fixture names no call: "),
        ("each_tool_has_a_call", Fault::NamesOneCall, "names no call of count"),
        ("each_tool_has_a_call", Fault::NamesACallOfNoTool, "names a call of fly"),
        (
            "what_changes_something_shows_in_the_world",
            Fault::WorldIsBlind,
            "count was run and is not read-only",
        ),
        ("a_plan_changes_nothing", Fault::PlanFails, "look could not be planned"),
        ("a_plan_changes_nothing", Fault::PlanHangs, "planning look did not end within"),
        (
            "asking_what_became_of_a_call_changes_nothing",
            Fault::ReconcileHangs,
            "asking what became of look did not end within",
        ),
        (
            "asking_what_became_of_a_call_is_supported_as_declared",
            Fault::ReconcileHangs,
            "asking what became of look did not end within",
        ),
        ("a_call_is_observed", Fault::FailsCalls, "ended as Failed"),
        ("an_unknown_tool_does_not_begin", Fault::UnknownFails, "must answer Unsupported"),
        (
            "asking_what_became_of_a_call_is_supported_as_declared",
            Fault::AnswersUndeclared,
            "declares (false)",
        ),
        (
            "asking_what_became_of_a_call_is_supported_as_declared",
            Fault::DeclaresWhatItCannot,
            "declares (true)",
        ),
        ("an_unknown_tool_does_not_begin", Fault::UnknownBegins, "began"),
        (
            "a_call_that_is_cancelled_before_it_starts_changes_nothing",
            Fault::DeafToCancel,
            "ended as Done",
        ),
        ("a_running_call_ends_soon_after_it_is_cancelled", Fault::DeafToCancel, "did not end"),
        ("a_running_call_ends_at_its_deadline", Fault::NoDeadline, "did not end"),
        ("a_dropped_call_leaves_the_executor_in_order", Fault::EndsAtOnce, "ended at once"),
        ("output_is_bounded_and_its_size_is_true", Fault::Unbounded, "are the most"),
        ("what_only_reads_changes_nothing", Fault::ReaderWrites, "look changed"),
        (
            "what_is_idempotent_has_its_effect_once_per_key",
            Fault::CountsTwice,
            "changed something more",
        ),
        ("a_plan_changes_nothing", Fault::PlansForReal, "only planned"),
        ("asking_what_became_of_a_call_changes_nothing", Fault::AsksByDoing, "asked what became"),
        (RELEASED, Fault::ListsNoProcess, "[] are listed, and [CallId(1)] run"),
        (RELEASED, Fault::WaitEndsAtOnce, "ended while it ran"),
        (RELEASED, Fault::ReleaseLeaves, "[CallId(1)] run after the release"),
        ("a_suspended_call_is_not_begun_anew", Fault::BeginsAnew, "look was begun anew"),
        ("a_process_is_stopped_alone", Fault::StopsAll, "[] run, and only 2 is to"),
        ("a_process_is_stopped_alone", Fault::StopsNone, "[CallId(1), CallId(2)] run"),
    ];
    every_case_bites(suite::CASES, &bites, |case, fault| case(&Fixture::new(*fault)))
}

/// An ordinary executor: one tool, nothing to look at.
struct Ordinary(ScriptedTools);

impl ToolFixture for Ordinary {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(self.0.clone())
    }

    fn calls(&self) -> Vec<ToolCall> {
        vec![call("weather")]
    }
}

fn ordinary(tool: ScriptedTool) -> Ordinary {
    Ordinary(ScriptedTools::new([tool]))
}

mod one_tool {
    use super::*;

    crate::tool_suite!(ordinary(ScriptedTool::new("weather", EffectClass::ReadOnly).says("cold")));
}

#[test]
fn an_ordinary_executor_is_held_to_what_can_be_asked_of_it() {
    let failed = Observation::new(ObservationStatus::Failed, "no");
    let fails = ordinary(ScriptedTool::new("weather", EffectClass::ReadOnly).observes(failed));
    let violation = suite::a_call_is_observed(&fails).unwrap_err().to_string();
    assert!(violation.contains("weather ended as Failed"), "{violation}");
    let violation = suite::a_dropped_call_leaves_the_executor_in_order(&fails).unwrap_err();
    assert!(violation.to_string().contains("after a dropped call"), "{violation}");
}
