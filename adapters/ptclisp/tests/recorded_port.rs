//! The recorded programs and answers through the port that the engine runs programs by: what lasts from
//! one program to the next is text there, values are JSON, and a tool's output is text.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking, says what it skips, and takes some kinds of JSON apart"
)]

#[path = "support/recordings.rs"]
mod recordings;
#[path = "../examples/score/tools.rs"]
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use recordings::rows;
use serde_json::Value as Json;
use windlass_core::{ProgramEnd, ProgramLimits, RetainedChange, RetainedMemory};
use windlass_kit_ptclisp::{
    Inputs, Limits, LispSession, Program, RunEnd, RunStep, ToolAnswer, ToolCall, from_json, to_json,
};
use windlass_ports::{ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramRuntime, ProgramStep};
use windlass_ptclisp::PtcLisp;

/// What comes to something else through the port: a program that names an input which is not there is refused.
const KNOWN: &[(&str, &str, &str)] = &[("authored/129", "error", r#""unbound_var""#)];

/// What a program came to: how it ended, with which value or class of fault, and what it printed.
#[derive(Debug, PartialEq)]
struct ProgramReport {
    how: &'static str,
    value: Json,
    prints: Vec<String>,
}

#[test]
fn recorded_programs_come_to_the_same_through_the_port() {
    let Some(folder) = recordings::folder() else {
        return;
    };
    let programs = rows(&folder, "cases.jsonl");
    let all_are_known = recordings::written_with(&programs);
    let mut compared = Compared::default();
    for row in programs {
        let mut session = LispSession::default();
        for (name, value) in row["memory"].as_object().into_iter().flatten() {
            let value = from_json(value).unwrap();
            session.definitions.insert(name.as_str().into(), value);
        }
        for value in row["history"].as_array().into_iter().flatten() {
            session.history.push(from_json(value).unwrap());
        }
        let memory = session.to_text(1 << 20).unwrap();
        let source = row["program"].as_str().unwrap();
        let as_text = by_language(&row, source, &mut session.clone(), spoken);
        let one = by_language(&row, source, &mut session, tools::answer);
        let memory = RetainedMemory { base: Some(memory.into()), ..RetainedMemory::default() };
        let (other, _) = by_port(&row, source, &memory);
        compared.add(&row, source, one, as_text, other);
    }
    for row in rows(&folder, "sessions.jsonl") {
        let (mut session, mut told, mut memory) =
            (LispSession::default(), LispSession::default(), RetainedMemory::default());
        for turn in row["turns"].as_array().unwrap() {
            let source = turn["program"].as_str().unwrap();
            let one = by_language(&row, source, &mut session, tools::answer);
            let as_text = by_language(&row, source, &mut told, spoken);
            let (other, changes) = by_port(&row, source, &memory);
            memory.apply(&changes);
            compared.add(&row, source, one, as_text, other);
        }
    }
    assert_eq!(compared.for_no_reason, [] as [String; 0]);
    // Other recordings have other programs.
    let known = KNOWN.iter().filter(|(id, ..)| compared.ids.contains(*id));
    let known: BTreeMap<_, _> =
        known.map(|(id, how, value)| ((*id).to_owned(), (*how, (*value).to_owned()))).collect();
    let (same, mut differs) = (compared.same, compared.differs);
    println!("{same} come to the same, {} do not: {differs:#?}", differs.len());
    if !all_are_known {
        differs.retain(|id, _| known.contains_key(id));
    }
    assert_eq!(differs, known);
    let least = if all_are_known { 1_000 } else { 1 };
    assert!(same >= least, "only {same} programs");
}

/// What the two ways came to.
#[derive(Default)]
struct Compared {
    ids: BTreeSet<String>,
    same: u32,
    /// What the port came to where it is something else, by id.
    differs: BTreeMap<String, (&'static str, String)>,
    /// Of these, what neither of the two reasons explains.
    for_no_reason: Vec<String>,
}

impl Compared {
    /// `as_text`: what it comes to by the language where the tools' outputs are texts as they are for the
    /// port.
    fn add(
        &mut self,
        row: &Json,
        source: &str,
        one: ProgramReport,
        as_text: ProgramReport,
        other: ProgramReport,
    ) {
        let id = row["id"].as_str().unwrap().to_owned();
        self.ids.insert(id.clone());
        if one == other {
            self.same += 1;
            return;
        }
        let refused = other == fault_of("unbound_var", Vec::new()) && names_no_input(row, source);
        if as_text != other && !refused {
            let told = format!("{id}: {source}: {other:?} and not {one:?}");
            self.for_no_reason.push(told);
        }
        let told = (other.how, other.value.to_string());
        assert_eq!(self.differs.insert(id, told), None, "it differs twice");
    }
}

/// What a tool puts out, as the port has it: an object or an array is data, anything else is text.
fn spoken(call: &ToolCall) -> ToolAnswer {
    match tools::answer(call) {
        ToolAnswer::Value(data @ (Json::Object(_) | Json::Array(_))) => ToolAnswer::Value(data),
        ToolAnswer::Value(Json::String(text)) => {
            let read = serde_json::from_str(&text).ok();
            let data = read.filter(|read: &Json| read.is_object() || read.is_array());
            ToolAnswer::Value(data.unwrap_or(Json::String(text)))
        }
        ToolAnswer::Value(other) => ToolAnswer::Value(Json::String(other.to_string())),
        other => other,
    }
}

/// Whether a program names an input that is not there.
fn names_no_input(row: &Json, source: &str) -> bool {
    let named = source.split("data/").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"-_?!*.".contains(c));
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    let there = |name: &String| {
        let context = row["context"].as_object().into_iter().flatten();
        let mut names = context.map(|(known, _)| known);
        names.any(|known| known == name || *known == name.replace('-', "_"))
    };
    named.into_iter().any(|name| !there(&name))
}

fn tool_names(row: &Json) -> Vec<Arc<str>> {
    let tools = row["tools"].as_array().into_iter().flatten();
    tools.map(|name| name.as_str().unwrap().into()).collect()
}

/// By the language's own interface, where a tool answers with a value.
fn by_language(
    row: &Json,
    source: &str,
    session: &mut LispSession,
    answer: fn(&ToolCall) -> ToolAnswer,
) -> ProgramReport {
    let context = row["context"].as_object().into_iter().flatten();
    let data = context.map(|(name, value)| (name.as_str().into(), from_json(value).unwrap()));
    let inputs = Inputs {
        data: Arc::new(data.collect()),
        tools: Arc::new(tool_names(row).into_iter().collect()),
        strict_data: true,
    };
    let program = match Program::prepare(source, &inputs, session, &Limits::default()) {
        Ok(program) => program,
        Err(fault) => return fault_of(fault.class.name(), Vec::new()),
    };
    let mut run = program.start(session);
    let mut step = run.begin().unwrap();
    let outcome = loop {
        step = match step {
            RunStep::Done(outcome) => break outcome,
            RunStep::Calls(calls) => run.resume(calls.iter().map(answer).collect()).unwrap(),
        };
    };
    session.commit(&outcome);
    let prints = outcome.prints.clone();
    let (how, value) = match &outcome.end {
        RunEnd::Value(value) => ("value", to_json(value)),
        RunEnd::Return(value) => ("return", to_json(value)),
        RunEnd::Fail(value) => ("fail", to_json(value)),
        RunEnd::Fault(fault) => return fault_of(fault.class.name(), prints),
    };
    match value {
        Ok(value) => ProgramReport { how, value, prints },
        // Two keys of a map that are one in JSON.
        Err(fault) => fault_of(fault.class.name(), prints),
    }
}

fn by_port(
    row: &Json,
    source: &str,
    memory: &RetainedMemory,
) -> (ProgramReport, Vec<RetainedChange>) {
    let world = ProgramEnvironment {
        tools: tool_names(row),
        data: row["context"].is_object().then(|| row["context"].to_string().into()),
        memory: Arc::new(memory.clone()),
        limits: ProgramLimits { loop_rounds: 1_000, ..ProgramLimits::default() },
        ..ProgramEnvironment::default()
    };
    let begun = PtcLisp.prepare(source, &world).and_then(|prepared| prepared.start());
    let mut run = match begun {
        Ok(run) => run,
        Err(fault) => return (fault_of(&fault.class, Vec::new()), Vec::new()),
    };
    let mut step = run.resume(Vec::new());
    let done = loop {
        step = match step {
            ProgramStep::Done(done) => break done,
            ProgramStep::Calls(calls) => run.resume(calls.into_iter().map(answered).collect()),
        };
    };
    let (how, value) = match &done.end {
        ProgramEnd::Value { value } => ("value", value),
        ProgramEnd::Return { value } => ("return", value),
        ProgramEnd::Fail { value } => ("fail", value),
        ProgramEnd::Fault(fault) => return (fault_of(&fault.class, done.prints), Vec::new()),
    };
    let value = serde_json::from_str(value).unwrap();
    let prints = done.prints;
    (ProgramReport { how, value, prints }, done.retained)
}

fn fault_of(class: &str, prints: Vec<String>) -> ProgramReport {
    let value = Json::from(class);
    ProgramReport { how: "error", value, prints }
}

/// What a tool puts out is text.
fn answered(call: ProgramCall) -> ProgramAnswer {
    let args = serde_json::from_str(&call.arguments).unwrap();
    let call = ToolCall { index: 0, name: call.name, args };
    match tools::answer(&call) {
        ToolAnswer::Value(Json::String(text)) => ProgramAnswer::Done(text.into()),
        ToolAnswer::Value(data) => ProgramAnswer::Done(data.to_string().into()),
        ToolAnswer::Text(text) | ToolAnswer::Output(text) => ProgramAnswer::Done(text),
        ToolAnswer::Error(why) => ProgramAnswer::Failed(why.into()),
    }
}

#[test]
fn what_is_found_in_recorded_answers_is_what_the_port_finds() {
    let Some(folder) = recordings::folder() else {
        return;
    };
    let answers = rows(&folder, "response_extract.jsonl");
    assert!(!answers.is_empty());
    for row in answers {
        let found = PtcLisp.extract(row["response"].as_str().unwrap());
        match (&row["expect"], found) {
            (expect, Some(Ok(program))) => assert_eq!(expect["ok"], program, "{row}"),
            (expect, Some(Err(fault))) => assert_eq!(expect["error"], fault.class, "{row}"),
            (expect, None) => assert!(
                expect["error"].is_string() && expect["error"] != "multiple_code_blocks",
                "{row}"
            ),
        }
    }
}
