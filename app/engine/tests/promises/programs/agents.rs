//! Agents as functions of a program: each is a session of its own, beside others, within one budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::agent_session;
use windlass_engine::core::{Fact, TurnOutcome};
use windlass_testkit::provider::{ScriptedProvider, Step, say, stall};

use super::{Stage, acting, returned, run};
use crate::agents::{agent, count, outcome, scout};
use crate::world::{Cast, hello, id, limits, soon, until};

/// A program sends two agents out, beside each other.
const TWO: &str = "both scout {\"prompt\":\"left\"} scout {\"prompt\":\"right\"}\nreturn $LAST";

/// The model of session `s` writes this program, and those of its agents answer as a function says.
fn sends(
    source: &'static str,
    samples: u32,
    answer: impl Fn(&str) -> Step + Send + Sync + 'static,
) -> Stage {
    let provider = ScriptedProvider::responding(move |request| match request.session.as_str() {
        "s" => run(source),
        child => answer(child),
    });
    let stage = acting([], [], |cast| Cast { provider: Arc::new(provider), ..cast });
    let mut stage = stage.tuned(|settings| settings.tools.push(scout(agent(&[], 1))));
    stage.world = stage.world.limited(limits().with(|it| {
        it.samples = samples;
        it.call_ms = 60_000;
    }));
    stage
}

/// The agents of session `s`, in the order in which its program called them.
fn children(stage: &Stage) -> Vec<String> {
    let called = stage.world.log();
    let called = called.iter().filter(|one| matches!(one.fact, Fact::ProgramCalled(_)));
    let named = called.map(|one| agent_session(&format!("s.{}", one.seq)));
    named.map(|name| name.unwrap().to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_program_sends_agents_out_beside_each_other() {
    let stage = sends(TWO, 4, |child| say(child));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let children = children(&stage);
    assert_eq!(children.len(), 2);
    let said = serde_json::to_string(&children).unwrap();
    assert_eq!(stage.ends(), [returned(&said)], "in their order");
    assert_eq!((report.spent.samples, report.spent.calls), (1, 3));
    assert_eq!(report.spent.with_agents().samples, 3);
}

#[tokio::test(start_paused = true)]
async fn agents_of_a_program_take_no_more_than_the_turn_has() {
    // One for the program and one to conclude with leave one to lend.
    let stage = sends(TWO, 3, |child| say(child));
    let (report, _) = stage.world.turn().await;
    assert!(report.spent.with_agents().samples <= 3, "{:?}", report.spent);
    assert_eq!(stage.made().len(), 2);
    let lent = stage.world.picked(|fact| match fact {
        Fact::CallStarted(fact) => fact.grant,
        _ => None,
    });
    assert_eq!(lent.len(), 1);
    // The last program may not call agents, and none is left to correct it.
    assert!(matches!(report.outcome, TurnOutcome::InvalidOutput { .. }), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_a_crash_cut_off_hears_of_each_agent_once() {
    let cut = Arc::new(AtomicBool::new(true));
    let still = cut.clone();
    let first = sends(TWO, 9, move |child| {
        // The one that was called last is still at work when its process ends.
        match still.load(Ordering::SeqCst) && child == "s.11" {
            true => stall(),
            false => say(child),
        }
    });
    let conversation = first.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| count(&first.world.log(), "CallObserved") == 1).await;
    let children = children(&first);
    assert_eq!(children.last().unwrap(), "s.11");
    until(|| count(&first.world.store.log(&id("s.11")), "SampleStarted") == 1).await;
    cut.store(false, Ordering::SeqCst);
    let second = Stage { world: first.world.next_process(), ..first };
    let conversation = second.world.open("s").await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let said = serde_json::to_string(&children).unwrap();
    assert_eq!(second.ends(), [returned(&said)]);
    assert_eq!(count(&second.world.log(), "ProgramCalled"), 2, "as before");
    for child in &children {
        let log = second.world.store.log(&id(child));
        assert_eq!(count(&log, "InputQueued"), 1, "it was told once");
        assert_eq!(outcome(&log), Some(TurnOutcome::Completed));
    }
    assert_eq!(report.spent.agents.samples, 2);
}
