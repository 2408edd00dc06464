//! The programs: of calls in a row, beside each other and in loops, of which some fail; and a second run
//! of each that has ended, over what is on record.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_engine::core::{
    CallId, Fact, History, ObservationStatus, ProgramCallState, ProgramEnd, ProgramFault,
    ProgramLimits, ProgramMode, ProgramTransport, RecordedFact, RetainedMemory, SampleKind,
};
use windlass_engine::ports::{ProgramAnswer, ProgramEnvironment, ProgramRuntime as _, ProgramStep};
use windlass_testkit::Answer;
use windlass_testkit::programs::{SCRIPTED, ScriptedRuntime};

use serde_json::json;

use crate::luck::Luck;
use crate::tools::{self, NAMES};
use crate::world::World;

/// How the model of a world hands programs over, if it writes any.
pub(crate) fn drawn(luck: &Luck) -> Option<ProgramTransport> {
    match luck.below(10) {
        0..3 => Some(ProgramTransport::Call),
        3..5 => Some(ProgramTransport::Text),
        _ => None,
    }
}

pub(crate) fn mode(transport: ProgramTransport) -> ProgramMode {
    ProgramMode {
        runtime: SCRIPTED.into(),
        transport,
        limits: limits(),
        data: None,
        corrections: ProgramMode::CORRECTIONS,
    }
}

/// Tight, so that they are met, and soon.
fn limits() -> ProgramLimits {
    ProgramLimits { steps: 500, memory_bytes: 1 << 16, calls: 8, ..ProgramLimits::default() }
}

/// An answer with a program.
pub(crate) fn answer(world: &World, transport: ProgramTransport) -> Answer {
    let source = source(&world.luck);
    let answer = Answer::new().tokens(10, 3);
    match transport {
        ProgramTransport::Call => answer.call("run_program", json!({ "source": source })),
        ProgramTransport::Text => answer.text(format!("I do it so:\n```scripted\n{source}\n```")),
    }
}

fn source(luck: &Luck) -> String {
    let mut lines: Vec<String> = (0..=luck.below(4)).map(|_| line(luck)).collect();
    lines.push(match luck.below(10) {
        0..5 => "value $LAST".to_owned(),
        5..7 => "return $LAST".to_owned(),
        7 => "fail \"it cannot be done\"".to_owned(),
        _ => String::new(),
    });
    lines.join("\n")
}

fn line(luck: &Luck) -> String {
    let name = || {
        let at = usize::try_from(luck.below(NAMES.len() as u64)).unwrap();
        *NAMES.get(at).unwrap()
    };
    let one = || format!("{} {{\"n\":{}}}", name(), luck.below(100));
    match luck.below(100) {
        0..15 => format!("call {}", one()),
        15..50 => format!("try {} else \"lost\"", one()),
        50..70 => format!("both {} {} {}", one(), one(), one()),
        70..78 => format!("each {} {} {{\"n\":\"$round\"}}", 2 + luck.below(3), name()),
        78..84 => format!("loop 2\ntry {} else $round\nend", one()),
        84..90 => format!("keep k{} = $LAST", luck.below(3)),
        90..94 => "print $LAST".to_owned(),
        94..96 => "spin".to_owned(),
        96..98 => "grow 1000000".to_owned(),
        _ => "call nothing {}".to_owned(),
    }
}

/// Each program that has ended is run again over what is on record: it makes the same calls and ends in
/// the same way, however often it was run.
pub(crate) fn again(log: &[RecordedFact]) {
    let mut history = History::default();
    let mut kind = SampleKind::Normal;
    let mut planned = BTreeSet::new();
    for recorded in log {
        match &recorded.fact {
            Fact::SampleStarted(fact) => kind = fact.kind,
            Fact::CallStarted(fact) if fact.plan => _ = planned.insert(fact.call),
            Fact::ProgramRun(fact) if !is_engines(&fact.outcome.end) => {
                let arguments = history.arguments(fact.program).unwrap();
                let arguments: serde_json::Value = serde_json::from_str(&arguments).unwrap();
                let source = arguments["source"].as_str().unwrap();
                let made = history.program_calls(fact.program);
                let memory = history.memory().clone();
                let end = run(source, kind, memory, &made, &planned);
                let end = end.unwrap_or_else(ProgramEnd::Fault);
                let ends = [end.clone(), end.as_returned()];
                assert!(ends.contains(&fact.outcome.end), "{source}: {ends:?}");
            }
            _ => {}
        }
        history.apply(recorded).unwrap();
    }
}

/// Whether the engine ended it, for a reason that another run does not meet. A runtime that keeps its
/// word never has one of the others.
fn is_engines(end: &ProgramEnd) -> bool {
    let ProgramEnd::Fault(fault) = end else {
        return false;
    };
    let never = [
        ProgramFault::DIVERGED,
        "runtime_panicked",
        "runtime_missing",
        "runtime_defect",
        "answer_unreadable",
    ];
    assert!(!never.contains(&&*fault.class), "{fault}");
    // Hooks may take the source away.
    ["timeout", "source_missing"].contains(&&*fault.class)
}

fn run(
    source: &str,
    kind: SampleKind,
    memory: Arc<RetainedMemory>,
    made: &[ProgramCallState],
    planned: &BTreeSet<CallId>,
) -> Result<ProgramEnd, ProgramFault> {
    let specs = tools::specs();
    let calls = kind == SampleKind::Normal;
    let names = specs.iter().filter(|_| calls);
    let world = ProgramEnvironment {
        tools: names.map(|tool| Arc::from(tool.name.as_str())).collect(),
        memory,
        limits: limits(),
        ..ProgramEnvironment::default()
    };
    let mut running = ScriptedRuntime.prepare(source, &world)?.start()?;
    let (mut answers, mut left) = (Vec::new(), made);
    loop {
        match running.resume(answers) {
            ProgramStep::Done(done) => {
                assert!(left.is_empty(), "{source}: {left:?} was called too");
                return Ok(done.end);
            }
            ProgramStep::Calls(calls) => {
                let (these, rest) = left.split_at(calls.len().min(left.len()));
                let names = these.iter().map(|one| (&*one.call.name, &*one.call.arguments));
                let asked = calls.iter().map(|one| (&*one.name, &*one.arguments));
                assert!(asked.eq(names), "{source}: {calls:?} and {these:?}");
                answers = these.iter().map(|made| told(made, planned.contains(&made.id))).collect();
                left = rest;
            }
        }
    }
}

/// The answer of a call. A program is given the description of a planned one.
fn told(made: &ProgramCallState, planned: bool) -> ProgramAnswer {
    let seen = made.observation.as_ref().unwrap();
    let output = seen.output.as_str().into();
    match seen.status {
        ObservationStatus::Done => ProgramAnswer::Done(output),
        ObservationStatus::NotStarted if planned => ProgramAnswer::Done(output),
        _ => ProgramAnswer::Failed(output),
    }
}
