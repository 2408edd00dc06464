//! Phrases: steps that mean more one after the other, so that what is rare is reached at all.

use proptest::prelude::*;
use windlass_core::{
    Delivery, FailureKind, HookVerdict, InterruptSource, ObservationStatus, PROGRAM_TOOL, Retry,
    SEARCH_TOOLS_TOOL, StopReason, StopTiming,
};

use super::super::posture::{AGENT, RECONCILES};
use super::super::programs::{ProgramEndWord, ProgramWord};
use super::super::script::{Compacted, Cost, Step};
use super::{arguments, call, hook, long, partial, program_end, submitted, word, words};

/// Steps that mean more one after the other.
pub(super) fn phrase() -> impl Strategy<Value = Vec<Step>> {
    let ended = |fault| Step::End { stop: StopReason::Stop, cost: Cost::default(), fault };
    let end = move || ended(None);
    let misshapen = move || ended(Some(String::from("odd")));
    let overflow = Step::Fail {
        kind: FailureKind::ContextOverflow,
        retry: Retry::Never,
        cost: Cost::default(),
        partial: String::new(),
    };
    let compacted = || Step::Compacted(Compacted::Sketched(String::new()));
    prop_oneof![
        1 => (words(), hook()).prop_map(move |(text, hook)| vec![Step::Text(text), end(), hook]),
        1 => words().prop_map(move |text| {
            let text = || Step::Text(text.clone());
            vec![text(), end(), deny(), text(), end(), deny()]
        }),
        1 => words().prop_map(move |text| vec![Step::Refusal(text), end()]),
        2 => (words(), 0..16_u64)
            .prop_map(move |(text, to)| vec![Step::Text(text), end(), Step::Rewind(to)]),
        2 => (deployed(), words(), 1..3_u64).prop_map(move |(call, text, to)| {
            vec![call, end(), done(0), Step::Text(text), end(), Step::Rewind(to)]
        }),
        1 => (words(), words()).prop_map(move |(first, next)| {
            let (first, next) = (Step::Text(first), Step::Text(next));
            vec![first, misshapen(), next, misshapen()]
        }),
        1 => (long(), long()).prop_map(move |(said, answer)| {
            vec![Step::send(&said), Step::Text(answer), end(), compacted()]
        }),
        1 => Just(vec![overflow, compacted()]),
        1 => deployed().prop_map(|call| vec![call, Step::Sync, crash_at_once()]),
        2 => (called_tool("read"), submitted()).prop_map(|(call, result)| vec![call, result]),
        2 => (called_tool("write"), prop::bool::ANY).prop_map(move |(call, next)| {
            // In the answer that searches, or in the next one.
            let between = if next { vec![end()] } else { Vec::new() };
            let found = vec![search(), done(0)];
            [found, between, vec![call, end()]].concat()
        }),
        1 => (call(), word()).prop_map(|(call, word)| {
            let (nth, about) = (0, Some(String::from("other")));
            let other = Step::Answer {
                nth,
                about,
                word: word.clone(),
            };
            let word = Some(word);
            vec![call, other, Step::Asked { nth, word }]
        }),
        1 => (words(), partial())
            .prop_map(|(text, partial)| { vec![steer(text), Step::Yielded(partial)] }),
        4 => (program_end(), program_end()).prop_map(move |(first, next)| {
            let written = [written(), end(), called(), done(0), first, written(), end()];
            written.into_iter().chain([next]).collect()
        }),
        2 => prop::bool::ANY.prop_map(move |ends| {
            let over = if ends { done(0) } else { Step::Sync };
            vec![
                written(),
                end(),
                called(),
                over,
                enough(),
                Step::Wait(2_000),
            ]
        }),
        2 => Just(vec![lent(), end(), Step::Sync, crash_at_once()]),
        2 => prop::bool::ANY.prop_map(move |ends| {
            let over = if ends { end() } else { Step::Sync };
            vec![lent(), end(), detached(), over, child_ended(), child_ended()]
        }),
        2 => Just(vec![lent(), end(), enough(), Step::Wait(20_000)]),
        1 => Just(vec![
            written(),
            end(),
            rejected(),
            written(),
            end(),
            rejected()
        ]),
    ]
}

/// A program, in an answer that goes on.
fn written() -> Step {
    Step::Call {
        tool: PROGRAM_TOOL.to_owned(),
        id: String::new(),
        fault: None,
        arguments: String::from("{}"),
    }
}

/// It makes a call that changes something.
fn called() -> Step {
    let call = (String::from("write"), String::from("{}"));
    Step::Program { nth: 0, word: ProgramWord::Calls(vec![call]) }
}

/// It returns what does not fit.
fn rejected() -> Step {
    let word = ProgramWord::Ends {
        end: ProgramEndWord::Return,
        fault: Some(String::from("odd")),
        keeps: None,
        retains: Vec::new(),
        value: String::from("1"),
    };
    Step::Program { nth: 0, word }
}

fn done(nth: usize) -> Step {
    Step::Finish { status: ObservationStatus::Done, nth, took: None, output: String::from("ok") }
}

/// A call of the tool that is an agent, where one is.
fn lent() -> Step {
    Step::Call {
        tool: AGENT.to_owned(),
        id: String::new(),
        fault: None,
        arguments: String::from("{}"),
    }
}

/// Its agent goes on by itself.
fn detached() -> Step {
    Step::Detach { nth: 0, output: String::from("it goes on") }
}

fn child_ended() -> Step {
    Step::ChildEnded { nth: 0, text: String::from("found") }
}

fn enough() -> Step {
    Step::Interrupt { by: InterruptSource::Person, when: StopTiming::Now, turn: None }
}

/// A call that its tool can say of what became of it.
fn deployed() -> impl Strategy<Value = Step> {
    called_tool(RECONCILES)
}

fn search() -> Step {
    let (tool, arguments) = (SEARCH_TOOLS_TOOL.to_owned(), String::from("{}"));
    Step::Call { tool, id: String::new(), fault: None, arguments }
}

fn called_tool(tool: &'static str) -> impl Strategy<Value = Step> {
    arguments().prop_map(|arguments| Step::Call {
        tool: tool.to_owned(),
        id: String::new(),
        fault: None,
        arguments,
    })
}

fn crash_at_once() -> Step {
    Step::Crash { lose: 0, away_ms: 0 }
}

fn deny() -> Step {
    Step::Hook {
        nth: 0,
        verdict: HookVerdict::Deny,
        edit: None,
        context: None,
        reason: String::new(),
    }
}

fn steer(text: String) -> Step {
    Step::Send {
        delivery: Delivery::Steer,
        turn: None,
        key: None,
        dry_run: false,
        context: Vec::new(),
        images: 0,
        text,
    }
}
