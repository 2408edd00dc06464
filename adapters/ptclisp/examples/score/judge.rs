//! Runs recorded programs and compares what they come to with what was recorded.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use windlass_kit_ptclisp::{
    Fault, Inputs, Limits, LispSession, MisuseError, Program, RunEnd, RunOutcome, RunStep,
};

use crate::{contract, tools, typed};

/// Scores a folder.
pub(crate) fn folder(folder: &Path) -> Board {
    let mut board = Board::default();
    for (file, score) in [
        ("cases.jsonl", case as fn(&Json, &mut Board)),
        ("sessions.jsonl", session),
        ("response_extract.jsonl", contract::answer),
        ("signatures.jsonl", contract::signature),
    ] {
        match std::fs::read_to_string(folder.join(file)) {
            Err(error) => {
                board.broken |= error.kind() != std::io::ErrorKind::NotFound;
                board.missing.push((file, error.to_string()));
            }
            Ok(text) => {
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    match serde_json::from_str(line) {
                        Ok(row) => score(&row, &mut board),
                        Err(error) => {
                            board.broken = true;
                            board.missing.push((file, error.to_string()));
                        }
                    }
                }
            }
        }
    }
    board
}

/// How many there are, and how many are right.
#[derive(Clone, Copy, Default)]
pub(crate) struct Score {
    pub(crate) all: u32,
    pub(crate) strict: u32,
    pub(crate) loose: u32,
}

/// What is promised of a group: how many there are to be at least, and which shares of them, in percent,
/// are to come to the same, loosely and strictly.
pub(crate) struct Promised {
    group: &'static str,
    least: u32,
    loose: u32,
    strict: u32,
}

const fn promised(group: &'static str, least: u32, loose: u32, strict: u32) -> Promised {
    Promised { group, least, loose, strict }
}

/// Of recordings that nobody has looked at before.
pub(crate) const ANY: &[Promised] = &[
    promised(PROGRAMS, 1, 95, 90),
    promised("sessions", 1, 90, 90),
    promised("extract", 1, 100, 100),
    promised("signatures", 1, 100, 100),
];
/// Of the recordings that the crate was written with.
#[allow(dead_code, reason = "the test that knows them asks for it")]
pub(crate) const KNOWN: &[Promised] = &[
    promised(PROGRAMS, 1_500, 99, 99),
    promised("sessions", 50, 95, 95),
    promised("extract", 30, 100, 100),
    promised("signatures", 20, 100, 100),
];

/// The group of all programs that name nothing of Java.
const PROGRAMS: &str = "all without java";

/// The scores by group, and what differs.
#[derive(Default)]
pub(crate) struct Board {
    /// Files that are not there, and lines that are no JSON.
    pub(crate) missing: Vec<(&'static str, String)>,
    /// True if one of these is there and cannot be read.
    broken: bool,
    pub(crate) groups: BTreeMap<String, Score>,
    /// What differs: its group, and how.
    pub(crate) failing: Vec<(String, String)>,
}

impl Board {
    pub(crate) fn add(&mut self, group: &str, strict: bool, loose: bool) {
        let score = self.groups.entry(group.to_owned()).or_default();
        score.all += 1;
        score.strict += u32::from(strict);
        score.loose += u32::from(loose);
    }

    /// Lists what differs in a group, or in `all`.
    pub(crate) fn print_failing(&self, group: &str) {
        for (known, how) in &self.failing {
            if known == group || group == "all" {
                println!("{how}");
            }
        }
    }

    /// What keeps it from being a good score, a line each: files that cannot be read, and groups that are
    /// short of what is promised of any recordings. A file that is not there is not scored, and where none
    /// is there, nothing is.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.groups.is_empty() {
            faults.push("nothing could be scored".to_owned());
        }
        if self.broken {
            faults.push("not all that is there could be read".to_owned());
        }
        let scored = ANY.iter().filter(|promised| self.groups.contains_key(promised.group));
        faults.extend(self.short_of(scored));
        faults
    }

    /// What is short of what is promised, a line each.
    pub(crate) fn short_of<'a>(
        &self,
        promised: impl IntoIterator<Item = &'a Promised>,
    ) -> Vec<String> {
        let mut short = Vec::new();
        for promised in promised {
            let Promised { group, least, .. } = promised;
            let score = self.groups.get(*group).copied().unwrap_or_default();
            if score.all < *least {
                short.push(format!("{group}: only {} cases of {least}", score.all));
            }
            for (how, right, share) in
                [("loose", score.loose, promised.loose), ("strict", score.strict, promised.strict)]
            {
                if u64::from(right) * 100 < u64::from(score.all) * u64::from(share) {
                    let all = score.all;
                    short.push(format!("{group}: {right} of {all} {how}, less than {share}%"));
                }
            }
        }
        short
    }

    /// Prints a line a group.
    pub(crate) fn print(&self) {
        let percent = |part: u32, all: u32| 100.0 * f64::from(part) / f64::from(all.max(1));
        println!("{:<24} {:>6} {:>16} {:>16}", "group", "cases", "strict", "loose");
        for (group, score) in &self.groups {
            println!(
                "{group:<24} {:>6} {:>8} {:>6.2}% {:>8} {:>6.2}%",
                score.all,
                score.strict,
                percent(score.strict, score.all),
                score.loose,
                percent(score.loose, score.all)
            );
        }
    }
}

/// One program, with what it is given.
fn case(row: &Json, board: &mut Board) {
    let id = row["id"].as_str().unwrap_or_default();
    let java = row["meta"]["java"].as_bool().unwrap_or(false);
    let mut session = LispSession::default();
    if let Some(memory) = row["memory"].as_object() {
        for (name, value) in memory {
            session.definitions.insert(name.as_str().into(), typed::value(value));
        }
    }
    for value in row["history"].as_array().into_iter().flatten() {
        session.history.push(typed::value(value));
    }
    let verdict = judge(row, &row["program"], &row["expect"], &mut session);
    let group =
        if java { "java".to_owned() } else { id.split('/').next().unwrap_or_default().to_owned() };
    tell(board, &group, id, &row["program"], &verdict);
    if !java {
        board.add(PROGRAMS, verdict.strict, verdict.loose);
    }
}

/// Several programs that share a session.
fn session(row: &Json, board: &mut Board) {
    let id = row["id"].as_str().unwrap_or_default();
    let mut session = LispSession::default();
    for turn in row["turns"].as_array().into_iter().flatten() {
        let verdict = judge(row, &turn["program"], &turn["expect"], &mut session);
        tell(board, "sessions", id, &turn["program"], &verdict);
    }
}

fn tell(board: &mut Board, group: &str, id: &str, program: &Json, verdict: &Verdict) {
    board.add(group, verdict.strict, verdict.loose);
    if !verdict.strict {
        let mark = if verdict.loose { "strict" } else { "LOOSE" };
        let program = program.as_str().unwrap_or_default();
        let Verdict { expected, actual, .. } = verdict;
        let how = format!("{mark} {id}\n  {program}\n  expected {expected}\n  actual   {actual}");
        board.failing.push((group.to_owned(), how));
    }
}

struct Verdict {
    strict: bool,
    loose: bool,
    expected: String,
    actual: String,
}

/// Runs a program and compares what it came to.
fn judge(row: &Json, program: &Json, expect: &Json, session: &mut LispSession) -> Verdict {
    let opts = &row["opts"];
    let mut limits = Limits::default();
    if let Some(chars) = opts["max_print_length"].as_u64() {
        limits.print_chars = usize::try_from(chars).unwrap_or(usize::MAX);
    }
    if let Some(bytes) = opts["max_program_bytes"].as_u64() {
        limits.program_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    let inputs = inputs(row);
    let source = program.as_str().unwrap_or_default();
    let outcome = run(source, &inputs, session, &limits);
    let (kind, value, prints) = match &outcome {
        Err(fault) => ("error", typed::reason(fault), Vec::new()),
        Ok(outcome) => {
            session.commit(outcome);
            let prints = outcome.prints.clone();
            match &outcome.end {
                RunEnd::Value(value) => ("value", typed::json(value), prints),
                RunEnd::Return(value) => ("return", typed::json(value), prints),
                RunEnd::Fail(value) => ("fail", typed::json(value), prints),
                RunEnd::Fault(fault) => ("error", typed::reason(fault), prints),
            }
        }
    };
    let expected_kind = expect["outcome"].as_str().unwrap_or_default();
    let same_kind = kind == expected_kind;
    let same_value = match expected_kind {
        "error" => true,
        _ if expect["check"] == "outcome" => true,
        _ => {
            let value = match opts["float_precision"].as_i64() {
                Some(digits) => typed::rounded(&value, digits),
                None => value.clone(),
            };
            typed::same(&value, &expect["value"])
        }
    };
    let same_reason = expected_kind != "error" || value["reason"] == expect["reason"];
    let expected_prints: Vec<&str> =
        expect["prints"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let same_prints = prints == expected_prints;
    let loose = same_kind && same_value;
    let shown = if expected_kind == "error" {
        format!("{}: {}", expect["reason"], expect["message"])
    } else {
        expect["value"].to_string()
    };
    Verdict {
        strict: loose && same_reason && same_prints,
        loose,
        expected: format!("{expected_kind} {shown} {expected_prints:?}"),
        actual: format!("{kind} {value} {prints:?}"),
    }
}

fn inputs(row: &Json) -> Inputs {
    let mut inputs = Inputs::default();
    let mut data = BTreeMap::new();
    for (name, value) in row["context"].as_object().into_iter().flatten() {
        data.insert(name.as_str().into(), typed::value(value));
    }
    inputs.data = data.into();
    let tools = row["tools"].as_array().into_iter().flatten();
    let tools: std::collections::BTreeSet<_> =
        tools.filter_map(Json::as_str).map(Into::into).collect();
    inputs.tools = tools.into();
    inputs.strict_data = row["opts"]["strict_data"].as_bool().unwrap_or(false);
    inputs
}

fn run(
    source: &str,
    inputs: &Inputs,
    session: &LispSession,
    limits: &Limits,
) -> Result<Box<RunOutcome>, Fault> {
    let program = Program::prepare(source, inputs, session, limits)?;
    match driven(&program, session) {
        Ok(outcome) => Ok(outcome),
        Err(misuse) => unreachable!("each call is answered once: {misuse}"),
    }
}

/// Runs a program to its end, each call answered by the recordings' tools.
fn driven(program: &Program, session: &LispSession) -> Result<Box<RunOutcome>, MisuseError> {
    let mut run = program.start(session);
    let mut step = run.begin()?;
    loop {
        match step {
            RunStep::Done(outcome) => return Ok(outcome),
            RunStep::Calls(calls) => {
                step = run.resume(calls.iter().map(tools::answer).collect())?
            }
        }
    }
}
