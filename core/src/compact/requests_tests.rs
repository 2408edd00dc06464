//! Requests for a summary: retries, requests that are too large, summaries that are too long.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::kit::{SUMMARY_TEXT, TestConversation, settings, steps};
use super::summary::framed_bytes;
use super::{SummaryAnswer, SummaryRequests, SummaryStep};
use crate::compaction::CompactionStrategy;
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::input::CompactionResult;
use crate::limits::Limits;
use crate::render::Prompt;
use crate::settings::Settings;
use crate::usage::Usage;

const LIMITS: fn() -> Limits = || settings().limits;

fn requests(talk: &TestConversation, limits: Limits) -> SummaryRequests {
    let plan = talk.plan(CompactionStrategy::Summary, 8_000);
    SummaryRequests::new(&plan, &talk.history, talk.turn, limits, 100_000).unwrap()
}

fn asked(step: SummaryStep) -> (Prompt, u64) {
    match step {
        SummaryStep::Ask { prompt, wait_ms } => (prompt, wait_ms),
        SummaryStep::Done(result) => panic!("{result:?}"),
    }
}

fn done(step: SummaryStep) -> CompactionResult {
    match step {
        SummaryStep::Ask { .. } => panic!("another request"),
        SummaryStep::Done(result) => result,
    }
}

fn usage(output: u64) -> Option<Usage> {
    Some(Usage { output: Some(output), ..Usage::default() })
}

fn answer(text: impl Into<String>, usage: Option<Usage>) -> SummaryAnswer {
    SummaryAnswer { text: text.into(), whole: true, usage }
}

fn failure(kind: FailureKind, retry: Retry) -> SampleFailure {
    SampleFailure::new(kind, retry, "it failed")
}

fn texts(prompt: &Prompt) -> Vec<String> {
    prompt.items.iter().map(|item| String::from(super::summary::words(item))).collect()
}

#[test]
fn a_failed_request_is_repeated_after_the_wait_that_the_provider_asks_for() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    let (first, wait) = asked(requests.begin());
    assert_eq!(wait, 0);
    let overloaded = failure(FailureKind::Overloaded, Retry::AfterMs(7_000));
    let (second, wait) = asked(requests.on_failure(&overloaded, None, 0));
    assert_eq!((second == first, wait), (true, 7_000));
    let broken = failure(FailureKind::Truncated, Retry::Soon);
    let (_, wait) = asked(requests.on_failure(&broken, usage(5), 0));
    assert_eq!(wait, 500, "half of the second backoff");
    let (_, wait) = asked(requests.on_failure(&broken, None, u64::MAX));
    assert!((1_000..=2_000).contains(&wait), "{wait}");
    let result = done(requests.on_answer(&answer(SUMMARY_TEXT, usage(7))));
    assert_eq!(result.cut.summary.as_deref(), Some(SUMMARY_TEXT));
    assert_eq!((result.usage, result.unmeasured), (usage(12), Some(1)));
    assert_eq!(result.fallback, None);
}

#[test]
fn requests_end_with_the_attempts_of_a_sample() {
    let talk = steps(30);
    let mut requests = requests(&talk, Limits { attempts: 3, ..LIMITS() });
    let soon = failure(FailureKind::Overloaded, Retry::Soon);
    asked(requests.begin());
    asked(requests.on_failure(&soon, None, 0));
    asked(requests.on_failure(&soon, None, 0));
    let result = done(requests.on_failure(&soon, None, 0));
    assert_eq!(result.fallback.as_deref(), Some("it failed"));
    assert!(result.cut.summary.unwrap().starts_with("Left out here"));
    assert_eq!((result.usage, result.unmeasured), (None, Some(0)));
}

#[test]
fn a_failure_that_would_come_again_is_not_repeated() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    asked(requests.begin());
    let denied = failure(FailureKind::Authentication, Retry::Never);
    let result = done(requests.on_failure(&denied, None, 0));
    assert_eq!(result.fallback.as_deref(), Some("it failed"));
}

#[test]
fn a_request_that_is_too_large_is_repeated_without_the_oldest_parts() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    let (mut before, _) = asked(requests.begin());
    let overflow = failure(FailureKind::ContextOverflow, Retry::Never);
    for _ in 0..3 {
        let (next, wait) = asked(requests.on_failure(&overflow, None, 0));
        assert_eq!(wait, 0);
        let (old, new) = (texts(&before), texts(&next));
        let bytes = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        assert!(bytes(&new) <= bytes(&old) / 2, "{} of {}", bytes(&new), bytes(&old));
        assert!(new.len() > 1 && new.contains(&String::from("do it all")), "{new:?}");
        let step = |texts: &[String]| texts[texts.len() - 2].lines().next().map(String::from);
        assert_eq!(step(&new), step(&old), "the latest part stays");
        before = next;
    }
    let result = done(requests.on_answer(&answer(SUMMARY_TEXT, None)));
    assert_eq!(result.cut.summary.as_deref(), Some(SUMMARY_TEXT));
    assert_eq!(result.unmeasured, Some(1));
}

#[test]
fn a_request_of_which_nothing_would_be_left_is_not_repeated() {
    let talk = steps(30);
    let mut requests = requests(&talk, Limits { attempts: 100, ..LIMITS() });
    let overflow = failure(FailureKind::ContextOverflow, Retry::Never);
    let mut step = requests.begin();
    for _ in 0..20 {
        let SummaryStep::Ask { .. } = step else { break };
        step = requests.on_failure(&overflow, None, 0);
    }
    assert!(done(step).fallback.is_some());
}

fn long(bytes: usize) -> String {
    format!("{SUMMARY_TEXT}{}", "\n- a fact".repeat(bytes / 9))
}

#[test]
fn a_summary_that_is_too_long_is_requested_once_more_with_the_limit() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    let (first, _) = asked(requests.begin());
    let (second, wait) = asked(requests.on_answer(&answer(long(9_000), usage(2_250))));
    assert_eq!((second.items.len(), wait), (first.items.len() + 1, 0));
    assert!(second.items.extends(&first.items), "the provider's cache holds the first request");
    let last = texts(&second).pop().unwrap();
    assert!(last.starts_with("Your last summary had about 2263 tokens"), "{last}");
    assert!(last.ends_with(" tokens at most."), "{last}");
    let result = done(requests.on_answer(&answer(SUMMARY_TEXT, usage(7))));
    assert_eq!(result.cut.summary.as_deref(), Some(SUMMARY_TEXT));
    assert_eq!((result.usage, result.fallback), (usage(2_257), None));
}

#[test]
fn a_summary_that_is_too_long_again_is_cut_and_never_thrown_away() {
    let talk = steps(30);
    let room = talk.plan(CompactionStrategy::Summary, 8_000).summary_bytes;
    let cut = |step: SummaryStep| {
        let result = done(step);
        let text = result.cut.summary.unwrap();
        assert!(text.starts_with("## Goal\nwin\n## Done\nmuch\n"), "{text}");
        assert!(text.ends_with("- a fact\n[cut here: the summary was too long]"), "{text}");
        assert!(framed_bytes(&text) <= room && framed_bytes(&text) > room - 20);
        result.fallback.unwrap()
    };
    let mut twice = requests(&talk, LIMITS());
    asked(twice.begin());
    asked(twice.on_answer(&answer(long(9_000), None)));
    let why = cut(twice.on_answer(&answer(long(9_900), None)));
    assert_eq!(why, "the model's summary of 9953 bytes was too long and was cut");

    let mut failing = requests(&talk, LIMITS());
    asked(failing.begin());
    asked(failing.on_answer(&answer(long(9_000), None)));
    let denied = failure(FailureKind::Quota, Retry::Never);
    assert_eq!(cut(failing.on_failure(&denied, None, 0)), "it failed");

    let mut once = requests(&talk, Limits { attempts: 1, ..LIMITS() });
    asked(once.begin());
    cut(once.on_answer(&answer(long(9_000), None)));

    let mut stopped = requests(&talk, LIMITS());
    asked(stopped.begin());
    asked(stopped.on_answer(&answer(long(9_000), None)));
    assert_eq!(cut(stopped.stop(String::from("stopped"))), "stopped");
}

#[test]
fn a_summary_that_the_answers_limit_cut_off_is_requested_again_and_else_used() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    let cut_off = SummaryAnswer { whole: false, ..answer("## Goal\nwin\n## Done\n- ha", None) };
    asked(requests.begin());
    asked(requests.on_answer(&cut_off));
    let result = done(requests.on_answer(&cut_off));
    let text = "## Goal\nwin\n## Done\n- ha\n[cut here: the summary was too long]";
    assert_eq!(result.cut.summary.as_deref(), Some(text));
    assert!(result.fallback.unwrap().contains("was cut off"));
}

#[test]
fn an_answer_that_is_no_summary_gives_way_to_the_list() {
    let talk = steps(30);
    let mut requests = requests(&talk, LIMITS());
    asked(requests.begin());
    let result = done(requests.on_answer(&answer("It was fine.", usage(3))));
    assert!(result.cut.summary.unwrap().starts_with("Left out here"));
    assert!(result.fallback.unwrap().contains("none of the headings"));
    assert_eq!((result.usage, result.unmeasured), (usage(3), Some(0)));
}

#[test]
fn the_users_focus_stands_in_every_request() {
    let talk = steps(30);
    let focus = Some("the port numbers".into());
    let mut requests = requests(&talk, LIMITS()).with_focus(focus);
    let (first, _) = asked(requests.begin());
    assert!(texts(&first).pop().unwrap().ends_with("in every detail:\nthe port numbers"));
    let overflow = failure(FailureKind::ContextOverflow, Retry::Never);
    let (second, _) = asked(requests.on_failure(&overflow, None, 0));
    assert_eq!(texts(&second).pop(), texts(&first).pop());
}

#[test]
fn the_model_that_read_the_conversation_is_asked_first() {
    let talk = steps(30);
    let larger = Arc::new(Settings { model: String::from("large"), ..settings() });
    let mut requests = requests(&talk, LIMITS()).with_reader(Some(&larger));
    let (first, _) = asked(requests.begin());
    assert_eq!(first.settings.model, "large");
    let all = texts(&first).join("\n");
    assert!(!all.contains("were cleared") && !all.contains("not shown"), "{all}");
    let soon = failure(FailureKind::Overloaded, Retry::Soon);
    let (second, _) = asked(requests.on_failure(&soon, None, 0));
    assert_eq!(second.settings.model, "large");
    let gone = failure(FailureKind::NotFound, Retry::Never);
    let (third, _) = asked(requests.on_failure(&gone, None, 0));
    assert_eq!(third.settings.model, settings().model);
    assert!(texts(&third).join("\n").contains("bytes are left out here"));
    let result = done(requests.on_failure(&gone, None, 0));
    assert!(result.fallback.is_some());
}

#[test]
fn the_last_attempt_belongs_to_the_model_of_the_turn() {
    let talk = steps(30);
    let larger = Arc::new(Settings { model: String::from("large"), ..settings() });
    let limits = Limits { attempts: 3, ..LIMITS() };
    let mut requests = requests(&talk, limits).with_reader(Some(&larger));
    let soon = failure(FailureKind::Overloaded, Retry::Soon);
    let models = [
        asked(requests.begin()),
        asked(requests.on_failure(&soon, None, 0)),
        asked(requests.on_failure(&soon, None, 0)),
    ];
    let models = models.map(|(prompt, _)| prompt.settings.model.clone());
    assert_eq!(models, ["large", "large", settings().model.as_str()]);
    assert!(done(requests.on_failure(&soon, None, 0)).fallback.is_some());
}

#[test]
fn a_plan_without_a_summary_asks_nobody() {
    let talk = steps(30);
    let plan = talk.plan(CompactionStrategy::Slide, 8_000);
    let none = SummaryRequests::new(&plan, &talk.history, talk.turn, LIMITS(), 100_000);
    assert!(none.is_none());
}
