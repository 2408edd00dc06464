//! Where a turn comes to something else than was recorded.

use std::fmt;

use serde_json::{Value, json};
use windlass_engine::core::{ObservationStatus, ProgramEnd, TurnOutcome, TurnSnapshot};
use windlass_ptclisp::read_session;

use crate::case::Case;
use crate::run::RunReport;

/// The longest text that is told whole, in characters.
const SHOWN: usize = 80;

/// One difference.
pub(crate) struct Differs {
    pub(crate) field: String,
    pub(crate) recorded: String,
    pub(crate) here: String,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, recorded, here } = self;
        write!(f, "{field}: recorded {recorded}, here {here}")
    }
}

/// What differs, in the order in which it happened.
#[derive(Default)]
struct Compared(Vec<Differs>);

impl Compared {
    fn add(&mut self, field: impl Into<String>, recorded: &str, here: &str) {
        if recorded != here {
            self.0.push(Differs {
                field: field.into(),
                recorded: short(recorded),
                here: short(here),
            });
        }
    }
}

/// All that differs.
pub(crate) fn differences(case: &Case, told: &RunReport) -> Vec<Differs> {
    let (expect, mut compared) = (&case.row["expect"], Compared::default());
    compared.add("outcome", &recorded_outcome(expect), &outcome(&told.outcome));
    let recorded = (expect["status"] == "ok").then(|| plain(&expect["return"]).to_string());
    let here = told.value.as_ref().map(|value| match case.says(value) {
        true => "the text of an answer".to_owned(),
        false => unworded(value.clone()).to_string(),
    });
    let nothing = || "nothing".to_owned();
    compared.add("value", &recorded.unwrap_or_else(nothing), &here.unwrap_or_else(nothing));
    compared.add("requests", &expect["llm_requests"].to_string(), &told.requests.len().to_string());
    let turns = expect["turns"].as_array().unwrap();
    compared.add("cycles", &turns.len().to_string(), &told.cycles.len().to_string());
    for (turn, cycle) in turns.iter().zip(&told.cycles) {
        let number = cycle.cycle().number;
        assert_eq!(turn["number"], number);
        let (recorded, here) = (of_turn(turn), of_cycle(cycle));
        for ((field, recorded), (_, here)) in recorded.into_iter().zip(here) {
            compared.add(format!("{field} {number}"), &recorded, &here);
        }
    }
    let asked = expect["llm_calls"].as_array().unwrap();
    for ((recorded, request), number) in asked.iter().zip(&told.requests).zip(1..) {
        let names = recorded["native_tools"].as_array().into_iter().flatten();
        let names = names.map(|name| match name.as_str().unwrap() {
            "lisp_eval" => "run_program",
            other => other,
        });
        let offered = request.prompt.settings.tools.iter();
        compared.add(
            format!("offered {number}"),
            &names.collect::<Vec<_>>().join(" "),
            &offered.map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" "),
        );
    }
    compared.0
}

/// How it ended, in our words where there are such.
fn recorded_outcome(expect: &Value) -> String {
    if expect["status"] == "ok" {
        return "completed".to_owned();
    }
    match expect["fail"]["reason"].as_str().unwrap() {
        "failed" => "failed: program".to_owned(),
        "llm_error" => "failed: server".to_owned(),
        "max_turns_exceeded" | "turn_budget_exhausted" => "exhausted: samples".to_owned(),
        "budget_callback_exceeded" => "exhausted: tokens".to_owned(),
        other => format!("failed: {other}"),
    }
}

fn outcome(outcome: &TurnOutcome) -> String {
    let told = serde_json::to_value(outcome).unwrap();
    let name = told["outcome"].as_str().unwrap();
    let more = ["failure", "limit"].into_iter().find_map(|more| told[more].as_str());
    more.map_or(name.to_owned(), |more| format!("{name}: {more}"))
}

const FIELDS: [&str; 7] = ["kind", "success", "program", "result", "prints", "calls", "memory"];

fn of_turn(turn: &Value) -> Vec<(&'static str, String)> {
    let names = turn["memory"].as_object().unwrap().keys();
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    let calls = turn["tool_calls"].as_array().unwrap().iter();
    let calls = calls.map(|call| {
        let name = call["name"].as_str().unwrap();
        told_call(name, &call["args"], &spoken(&plain(&call["result"])))
    });
    let told = [
        turn["type"].as_str().unwrap().to_owned(),
        turn["success"].to_string(),
        plain(&turn["program"]).to_string(),
        recorded_result(turn),
        turn["prints"].to_string(),
        calls.collect::<Vec<_>>().join(", "),
        names.join(" "),
    ];
    FIELDS.into_iter().zip(told).collect()
}

fn of_cycle(snapshot: &TurnSnapshot) -> Vec<(&'static str, String)> {
    let cycle = snapshot.cycle();
    let session = cycle.memory.as_deref().map(read_session);
    let session = session.transpose().unwrap().unwrap_or_default();
    let names: Vec<&str> = session.definitions.keys().map(|name| &**name).collect();
    let calls = cycle.tool_calls.iter().map(|made| {
        let arguments = serde_json::from_str(&made.call.arguments).unwrap();
        let observed = made.observation.as_ref().unwrap();
        let output = match observed.status {
            ObservationStatus::Done => observed.output.to_string(),
            _ => "null".to_owned(),
        };
        told_call(&made.call.name, &arguments, &output)
    });
    let told = [
        // The recordings call a re-ask a retry.
        json!(cycle.kind).as_str().unwrap().replace("re_ask", "retry"),
        snapshot.is_success().to_string(),
        json!(cycle.program).to_string(),
        result(snapshot),
        json!(cycle.prints).to_string(),
        calls.collect::<Vec<_>>().join(", "),
        names.join(" "),
    ];
    FIELDS.into_iter().zip(told).collect()
}

fn told_call(name: &str, arguments: &Value, output: &str) -> String {
    format!("{name} {arguments} -> {output}")
}

/// What the program came to: its value, or why it failed.
fn recorded_result(turn: &Value) -> String {
    let result = &turn["result"];
    if turn["success"] == true {
        return plain(result).to_string();
    }
    match result["reason"]["$kw"].as_str() {
        Some("failed") => format!("fail {}", result["message"].as_str().unwrap()),
        Some("return_validation_failed") => "rejected".to_owned(),
        Some(class) => class.to_owned(),
        None => format!("fail {}", plain(result)),
    }
}

fn result(snapshot: &TurnSnapshot) -> String {
    match (snapshot.fault(), &snapshot.cycle().result) {
        (Some(_), Some(ProgramEnd::Fail { value })) => format!("fail {value}"),
        (Some(why), _) => why.class.clone(),
        (None, Some(ProgramEnd::Value { value } | ProgramEnd::Return { value })) => {
            unworded(serde_json::from_str(value).unwrap()).to_string()
        }
        (None, Some(ProgramEnd::Fail { .. } | ProgramEnd::Fault(_)) | None) => "no result".into(),
    }
}

/// A recorded value as JSON: a keyword and a name are texts, as they are where a value leaves a
/// program here.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(entries) => {
            let kept = |tag: &str| entries.get(tag).and_then(Value::as_str);
            if let Some(name) = kept("$kw") {
                return json!(name);
            }
            if let Some(name) = kept("$var") {
                return json!(format!("#'{name}"));
            }
            if let Some(number) = kept("$float") {
                return serde_json::from_str(number).unwrap_or_else(|_| json!(number));
            }
            let entries = entries.iter();
            unworded(entries.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

/// A failure without its words, any other value as it is.
fn unworded(mut value: Value) -> Value {
    if let (true, Some(members)) = (value.get("reason").is_some(), value.as_object_mut()) {
        members.remove("message");
    }
    value
}

/// A value as the text that a tool's output is.
fn spoken(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text, or how it begins and how long it is.
fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN / 2).collect();
    format!("{head}... ({count} characters)")
}
