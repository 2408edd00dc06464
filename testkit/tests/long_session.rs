//! A turn of 300 tool steps against a small window: it settles, what it is about is in each request
//! word for word, no request is over the window, and a provider's grammar accepts them all.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_core::{
    Fact, History, Limits, PromptItem, RecordedFact, TurnOutcome, program_report_text, render,
};
use windlass_testkit::laws::{
    law_05_one_observation_a_call, law_08_no_sample_without_reason, law_09_limits_hold,
    law_10_prompts_extend,
};
use windlass_testkit::world::{Script, Transitions, World, run};

const REQUEST: &str = "count the files, and mind the hidden ones";
const WINDOW: u64 = 2_000;

fn session(strategy: &str) -> World {
    let mut script = format!(
        "open window={WINDOW} strategy={strategy} samples=400 compactions=400 ceiling.samples=400 ceiling.compactions=400\n"
    );
    writeln!(script, "send {REQUEST}").unwrap();
    for step in 0..300 {
        writeln!(script, "text Step {step}.\ncall read {{\"step\":{step}}}\nend stop").unwrap();
        writeln!(script, "done 0 a*800\ncompacted So far {step} files.").unwrap();
    }
    writeln!(script, "text 300 files.\nend stop").unwrap();
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap()
}

fn bytes(item: &PromptItem) -> u64 {
    let bytes = match item {
        PromptItem::Image { .. } => 0,
        PromptItem::User { text }
        | PromptItem::Context { text }
        | PromptItem::Text { text, .. }
        | PromptItem::Refusal { text, .. } => text.len(),
        PromptItem::Reasoning { item, .. } => item.text.len(),
        PromptItem::Call { call, .. } => call.name.len() + call.arguments.len(),
        PromptItem::Result { observation, .. } => observation.output.len(),
        PromptItem::CallReport { calls } => calls.text().len(),
        PromptItem::ProgramReport { observation, .. } => program_report_text(observation).len(),
    };
    bytes as u64
}

/// The texts of each request, in tokens of three bytes, which is more than any provider counts.
fn requests(log: &[RecordedFact]) -> Vec<(u64, bool)> {
    let Fact::SessionOpened(opened) = &log[0].fact else {
        return Vec::new();
    };
    let (mut history, mut seen) = (History::default(), Vec::new());
    for recorded in log {
        history.apply(recorded).unwrap();
        if let Fact::SampleStarted(_) = &recorded.fact {
            let prompt = render(&history, &opened.settings, &std::collections::BTreeSet::new());
            let tokens = prompt.items.iter().map(bytes).sum::<u64>().div_ceil(3);
            let request = PromptItem::User { text: Arc::from(REQUEST) };
            seen.push((tokens, prompt.items.iter().any(|item| *item == request)));
        }
    }
    seen
}

fn check(strategy: &str) {
    let world = session(strategy);
    let log = world.log();
    let kinds = |kind: &str| log.iter().filter(|one| one.fact.kind() == kind).count();
    assert_eq!(kinds("SampleStarted"), 301, "{strategy}");
    assert!(kinds("Compacted") > 3, "{strategy}");
    let Fact::TurnSettled(settled) = &log.last().unwrap().fact else {
        unreachable!("{strategy}: {:?}", log.last())
    };
    assert_eq!(settled.outcome, TurnOutcome::Completed, "{strategy}");
    for (tokens, holds) in requests(log) {
        assert!(tokens <= WINDOW, "{strategy}: {tokens}");
        assert!(holds, "{strategy}: a request without what the turn is about");
    }
    law_05_one_observation_a_call::check(log).unwrap();
    law_08_no_sample_without_reason::check(log).unwrap();
    let ceiling = Limits::default().with(|it| {
        it.samples = 400;
        it.compactions = 400;
    });
    law_09_limits_hold::check(log, &ceiling).unwrap();
    law_10_prompts_extend::check(History::apply, log).unwrap();
}

#[test]
fn old_results_are_cleared() {
    check("clear");
}

#[test]
fn the_oldest_parts_leave() {
    check("slide");
}

#[test]
fn a_summary_takes_their_place() {
    check("summary");
}
