//! The crash harness finds what is wrong: forged evidence for each invariant, a layer that strikes
//! where its plan says, a sweep that leaves nothing out.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking, and forges one kind of fact"
)]

mod judging;
mod layer;
mod sweeping;

use serde_json::{Value, json};
use windlass_core::{CallId, Fact, Item, PROGRAM_TOOL, RecordedFact, Seq};
use windlass_testkit::crash::Effect;
use windlass_testkit::laws;
use windlass_testkit::world::{Script, Transitions, check_all};

/// A turn of three tools, one of each class.
const TURN: &str = "send hello\n\
    call read {}\nend stop\ndone 0 looked\n\
    call put {}\nend stop\ndone 1 kept\n\
    call write {}\nend stop\ndone 2 paid\n\
    text hi\nend stop\n";

/// The same calls by one program.
const PROGRAM: &str = "open program=5\nsend hello\n\
    call run_program {\"source\":\"x\"}\nend stop\n\
    program 0 calls read {} & put {}\ndone 0 looked\ndone 0 kept\n\
    program 0 calls write {}\ndone 0 paid\n\
    program 0 return 1\n";

/// The log of a script whose turn settles.
pub(crate) fn log(script: &str) -> Vec<RecordedFact> {
    let script: Script = script.parse().unwrap();
    let world = check_all(Transitions::CORE, laws::ALL, &script).unwrap();
    let log = world.log().to_vec();
    assert!(matches!(log.last().unwrap().fact, Fact::TurnSettled(_)), "{log:#?}");
    log
}

/// One run for each start in the log.
pub(crate) fn effects(log: &[RecordedFact]) -> Vec<Effect> {
    let starts = log.iter().filter_map(|recorded| match &recorded.fact {
        // A program notes nothing.
        Fact::CallStarted(fact) if tool(log, fact.call) != PROGRAM_TOOL => {
            Some(Effect { tool: tool(log, fact.call), key: fact.idempotency_key.clone() })
        }
        _ => None,
    });
    starts.collect()
}

fn tool(log: &[RecordedFact], call: CallId) -> String {
    let item = log.iter().find(|recorded| recorded.seq == Seq(call.0));
    match &item.unwrap().fact {
        Fact::ItemAdded(added) => match &added.item {
            Item::Call(call) => call.name.clone(),
            _ => panic!("no call"),
        },
        Fact::ProgramCalled(called) => called.item.name.clone(),
        _ => panic!("no item"),
    }
}

/// The requests of a turn with so many results: each extends the one before.
pub(crate) fn requests(results: &[&str]) -> Vec<Value> {
    let mut items = vec![json!({"role": "user", "content": "hello"})];
    let request = |items: &[Value]| json!({"model": "m", "tools": [], "messages": items});
    let mut requests = vec![request(&items)];
    for (number, result) in results.iter().enumerate() {
        let id = format!("call_{number}");
        items.push(json!({"role": "assistant", "tool_calls": [{"id": id}]}));
        items.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        requests.push(request(&items));
    }
    requests
}
