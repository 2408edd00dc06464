//! What holds in every turn of programs, whatever was recorded of it: tried with the recorded answers,
//! and with answers that try to break it.

use serde_json::json;
use windlass_engine::core::{EffectClass, PromptItem, SampleKind, program_report_text};
use windlass_engine::ports::SampleRequest;
use windlass_testkit::Answer;
use windlass_testkit::provider::Step;

use crate::case::{self, Case};
use crate::run::run;

/// A program that calls a tool and returns what it answers.
const CALLS: &str = "(return (tool/echo {:a 1}))";
/// How the model is told that a sample is the last one for work.
const LAST: &str = "It cannot call tools";
/// How it is told what a program that failed has done.
const DONE: &str = "do not repeat them";

#[tokio::test]
async fn from_the_last_sample_for_work_on_no_tool_can_be_called() {
    let Some(cases) = case::all() else { return };
    let all_are_known = case::written_with(&cases);
    let (mut tried, mut retries) = (0, 0);
    for case in cases {
        let case = case.with_tool("echo");
        let answers = case.responses();
        let told = run(&case, &answers, EffectClass::Effectful).await;
        let mut last = false;
        for (at, (request, cycle)) in told.requests.iter().zip(&told.cycles).enumerate() {
            let kind = cycle.cycle().kind;
            last |= kind == SampleKind::MustReturn;
            assert_eq!(text(request).contains(LAST), last, "{} {kind:?}", case.id);
            if last {
                none_is_called(&case, &answers[..at.min(answers.len())], kind).await;
                tried += 1;
                retries += usize::from(kind == SampleKind::ReAsk);
            }
        }
    }
    assert!(
        !all_are_known || (tried > 10 && retries > 0),
        "only {tried} samples, {retries} retries"
    );
}

/// Tries to call a tool in the sample after these answers.
async fn none_is_called(case: &Case, answers: &[Step], kind: SampleKind) {
    let answers = [answers, &[program(case, CALLS)]].concat();
    let told = run(case, &answers, EffectClass::Effectful).await;
    let cycle = &told.cycles[answers.len() - 1];
    assert_eq!(cycle.cycle().kind, kind, "{}", case.id);
    assert_eq!(cycle.cycle().program.as_deref(), Some(CALLS), "{}", case.id);
    assert_eq!(cycle.fault().unwrap().class, "unknown_tool", "{}", case.id);
    let before = told.cycles[..answers.len() - 1].iter();
    let made: usize = before.map(|cycle| cycle.cycle().tool_calls.len()).sum();
    assert_eq!(told.runs.len(), made, "{}", case.id);
}

#[tokio::test]
async fn each_sample_comes_out_of_its_own_budget() {
    let Some(cases) = case::all() else { return };
    for case in cases {
        let told = run(&case, &case.responses(), EffectClass::Effectful).await;
        let (mut worked, mut retried) = (0, 0);
        let mut rejected = false;
        for (cycle, number) in told.cycles.iter().zip(1..) {
            let (kind, id) = (cycle.cycle().kind, &case.id);
            assert_eq!((cycle.cycle().number, cycle.cycle().attempts), (number, 1));
            assert_eq!(kind == SampleKind::ReAsk, rejected, "{id} {number}");
            match kind {
                SampleKind::ReAsk => retried += 1,
                SampleKind::Normal | SampleKind::MustReturn => worked += 1,
            }
            let last = kind == SampleKind::MustReturn;
            assert!(kind == SampleKind::ReAsk || last == (worked == case.work()), "{id} {number}");
            let why = cycle.fault().map(|why| why.class.as_str());
            rejected = matches!(why, Some("rejected" | "invalid_output"));
        }
        assert!(worked <= case.work() && retried <= case.retries());
        assert_eq!(told.requests.len(), told.cycles.len(), "{}", case.id);
        assert_eq!(told.compacted > 0, case.compacts(), "{}", case.id);
    }
}

#[tokio::test]
async fn a_program_that_failed_leaves_nothing_and_its_model_is_told_what_it_has_done() {
    let Some(cases) = case::all() else { return };
    let all_are_known = case::written_with(&cases);
    let mut checked = 0;
    for case in cases {
        for effect in [EffectClass::Effectful, EffectClass::ReadOnly] {
            let told = run(&case, &case.responses(), effect).await;
            let mut memory = None;
            for (cycle, number) in told.cycles.iter().zip(1..) {
                let at = format!("{} {number}", case.id);
                if cycle.is_success() {
                    memory.clone_from(&cycle.cycle().memory);
                    continue;
                }
                assert_eq!(cycle.cycle().memory, memory, "{at}");
                let Some(next) = told.requests.get(number) else {
                    continue;
                };
                let made = &cycle.cycle().tool_calls;
                let made: Vec<_> = made.iter().filter(|call| call.program.is_some()).collect();
                let words = news(next);
                let changes = effect == EffectClass::Effectful && !made.is_empty();
                assert_eq!(words.contains(DONE), changes, "{at}: {words}");
                if changes {
                    checked += 1;
                    for call in made {
                        let line = format!("\n- {} {}: ", call.call.name, call.call.arguments);
                        assert!(words.contains(&line), "{at}: {line} is not in {words}");
                    }
                }
            }
        }
    }
    assert!(!all_are_known || checked > 2, "only {checked} programs failed after calls");
}

#[tokio::test]
async fn the_same_answers_make_the_same_log() {
    let Some(cases) = case::all() else { return };
    for case in cases {
        let one = run(&case, &case.responses(), EffectClass::Effectful).await;
        let other = run(&case, &case.responses(), EffectClass::Effectful).await;
        assert_eq!(one.log, other.log, "{}", case.id);
    }
}

/// An answer that hands over a program, as the case has it done.
fn program(case: &Case, source: &str) -> Step {
    Step::from(match case.calls() {
        true => Answer::new().call("run_program", json!({ "source": source })),
        false => Answer::new().text(source),
    })
}

/// All that a model is shown.
fn text(request: &SampleRequest) -> String {
    format!("{:?}", request.prompt.items.iter().collect::<Vec<_>>())
}

/// What a model is told after its own last words.
fn news(request: &SampleRequest) -> String {
    let items: Vec<_> = request.prompt.items.iter().collect();
    let own =
        |item: &&PromptItem| matches!(item, PromptItem::Text { .. } | PromptItem::Call { .. });
    let from = items.iter().rposition(own).map_or(0, |at| at + 1);
    let told = items[from..].iter().map(|item| match item {
        PromptItem::User { text } | PromptItem::Context { text } => text.to_string(),
        PromptItem::Result { observation, .. } => observation.output.to_string(),
        PromptItem::CallReport { calls } => calls.text(),
        PromptItem::ProgramReport { observation, .. } => program_report_text(observation),
        _ => String::new(),
    });
    told.collect::<Vec<_>>().join("\n")
}
