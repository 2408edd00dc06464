//! Output of `windlass show --turns`: a snapshot for each cycle, as JSON or in a few lines.

use windlass_engine::core::{
    Cycle, CycleCall, ProgramEnd, RecordedFact, SampleKind, TurnSnapshot, TurnSnapshots,
};

use crate::exit::{ExitKind, Failure};
use crate::present::{TurnNumbers, first_words, status_words, visible};

/// Characters of a text that are shown to people.
const MAX_SHOWN_CHARS: usize = 200;

/// Prints the cycles of a session from its log.
#[derive(Debug, Default)]
pub(super) struct CyclePrinter {
    fold: TurnSnapshots,
    turns: TurnNumbers,
    json: bool,
}

impl CyclePrinter {
    /// Creates a printer; with `json`, it prints one snapshot in each line.
    pub(super) fn new(json: bool) -> Self {
        Self { json, ..Self::default() }
    }

    /// Returns the text of the cycle that this fact ends, if any.
    pub(super) fn on_fact(&mut self, recorded: &RecordedFact) -> Result<Option<String>, Failure> {
        self.turns.apply(recorded);
        let snapshot = self.fold.apply(recorded).map_err(|misfit| {
            Failure::new(ExitKind::Store, format!("{misfit}; run `windlass verify`"))
        })?;
        snapshot.map(|snapshot| self.text(&snapshot)).transpose()
    }

    /// Returns the text of the open cycle, if the log has one.
    pub(super) fn unfinished(&self) -> Result<Option<String>, Failure> {
        let open = self.fold.unfinished();
        open.map(|snapshot| self.text(&snapshot)).transpose()
    }

    fn text(&self, snapshot: &TurnSnapshot) -> Result<String, Failure> {
        if !self.json {
            return Ok(visible(&self.lines(snapshot).join("\n  ")));
        }
        serde_json::to_string(snapshot).map_err(|error| {
            let cycle = snapshot.cycle();
            Failure::new(
                ExitKind::Failed,
                format!(
                    "cannot write cycle {} of turn {}: {error}",
                    cycle.number,
                    self.turns.name(cycle.turn)
                ),
            )
        })
    }

    fn lines(&self, snapshot: &TurnSnapshot) -> Vec<String> {
        let cycle = snapshot.cycle();
        let mut lines = vec![format!("turn {}, {}", self.turns.name(cycle.turn), head(snapshot))];
        let spoken = |text: &str| {
            (!text.trim().is_empty()).then(|| first_words(text.trim(), MAX_SHOWN_CHARS))
        };
        match &cycle.program {
            Some(source) => lines.extend(spoken(source).map(|source| format!("program: {source}"))),
            None => lines.extend(spoken(&cycle.raw_response).map(|said| format!("said: {said}"))),
        }
        lines.extend(cycle.tool_calls.iter().map(call));
        if !cycle.prints.is_empty() {
            let printed = first_words(&cycle.prints.join(" "), MAX_SHOWN_CHARS);
            lines.push(format!("printed: {printed}"));
        }
        lines.extend(result(cycle));
        if let Some(why) = snapshot.fault() {
            lines.push(format!("failure: {}", first_words(&why.to_string(), MAX_SHOWN_CHARS)));
        }
        lines
    }
}

fn head(snapshot: &TurnSnapshot) -> String {
    let cycle = snapshot.cycle();
    let end = match snapshot.is_success() {
        true => "success",
        false => "failure",
    };
    let kind = match cycle.kind {
        SampleKind::Normal => "",
        SampleKind::MustReturn => ", must return",
        SampleKind::ReAsk => ", retry",
    };
    let attempts = match cycle.attempts {
        1 => String::new(),
        many => format!(", {many} attempts"),
    };
    let tokens = cycle.usage.map_or(String::new(), |usage| format!(", {} tokens", usage.tokens()));
    format!(
        "cycle {}: {end}{kind}, {} calls{attempts}{tokens}, {} ms",
        cycle.number,
        cycle.tool_calls.len(),
        cycle.ended.since_ms(cycle.started)
    )
}

fn call(call: &CycleCall) -> String {
    let status = call.status().map_or("without an end", status_words);
    let (name, arguments) = (&call.call.name, first_words(&call.call.arguments, MAX_SHOWN_CHARS));
    format!("call {} {name} {arguments}: {status}", call.id)
}

fn result(cycle: &Cycle) -> Option<String> {
    let (verb, value) = match cycle.result.as_ref()? {
        ProgramEnd::Value { value } => ("value", value),
        ProgramEnd::Return { value } => ("returned", value),
        ProgramEnd::Fail { value } => ("gave up", value),
        ProgramEnd::Fault(_) => return None,
    };
    Some(format!("{verb}: {}", first_words(value, MAX_SHOWN_CHARS)))
}
