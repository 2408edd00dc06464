//! Random worlds: strategies for scripts that shrink to something readable.

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    FailureKind, Interrupter, Limits, Mode, ObservationStatus, Permissions, Retry, StopReason,
};

use super::posture::{Posture, TOOLS};
use super::script::{Durability, Opening, Script, Step};

/// A script of up to `steps` steps.
pub fn script(steps: usize) -> impl Strategy<Value = Script> {
    let steps = prop::collection::vec(step(), 1..=steps);
    (opening(), steps).prop_map(|(opening, mut steps)| {
        steps.insert(0, send_first());
        Script { opening, steps }
    })
}

/// Most of a script means nothing while nobody has said anything.
fn send_first() -> Step {
    Step::Send {
        key: None,
        dry_run: false,
        text: String::from("hello"),
    }
}

fn opening() -> impl Strategy<Value = Opening> {
    let durability = prop_oneof![
        2 => Just(Durability::Prompt),
        3 => Just(Durability::Lazy),
    ];
    let ceiling = prop_oneof![3 => Just(Limits::default()), 1 => limits()];
    (posture(), ceiling, 0..100_u64, durability).prop_map(|(posture, ceiling, seed, durability)| {
        Opening {
            posture,
            ceiling,
            seed,
            durability,
        }
    })
}

pub(super) fn posture() -> impl Strategy<Value = Posture> {
    let mode = prop_oneof![8 => Just(Mode::Build), 1 => Just(Mode::Plan)];
    let permissions = prop_oneof![
        8 => Just(Permissions::Auto),
        1 => Just(Permissions::Ask),
        1 => Just(Permissions::ReadOnly),
    ];
    let limits = prop_oneof![2 => Just(Limits::default()), 3 => limits()];
    (mode, permissions, limits).prop_map(|(mode, permissions, limits)| Posture {
        mode,
        permissions,
        limits,
    })
}

/// Limits small enough to be reached, each the default now and then.
pub(super) fn limits() -> impl Strategy<Value = Limits> {
    let ours = Limits::default();
    let count = |default: u32, most: u32| prop_oneof![Just(default), 0..=most];
    let ms = |default: u64, most: u64| prop_oneof![Just(default), 0..=most];
    let counts = (
        count(ours.samples, 5),
        count(ours.calls_per_sample, 4),
        count(ours.calls, 6),
        count(ours.attempts, 4),
        count(ours.restarts, 2),
        count(ours.parallel_calls, 3),
        count(ours.queue, 3),
    );
    let times = (
        ms(ours.tokens, 60),
        prop_oneof![3 => Just(ours.turn_ms), 1 => 1..=4_000_u64],
        ms(ours.backoff_ms, 800),
        ms(ours.backoff_max_ms, 2_000),
        ms(ours.call_ms, 1_000),
        ms(ours.grace_ms, 500),
    );
    (counts, times).prop_map(move |(counts, times)| {
        let (samples, calls_per_sample, calls, attempts, restarts, parallel_calls, queue) = counts;
        let (tokens, turn_ms, backoff_ms, backoff_max_ms, call_ms, grace_ms) = times;
        Limits {
            samples,
            calls_per_sample,
            calls,
            attempts,
            restarts,
            parallel_calls,
            tokens,
            turn_ms,
            queue,
            backoff_ms,
            backoff_max_ms,
            call_ms,
            grace_ms,
            ..ours
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => send(),
        1 => Just(Step::Continue),
        2 => interrupter().prop_map(Step::Interrupt),
        1 => posture().prop_map(Step::Configure),
        4 => prop_oneof![0..3_u64, 0..3_000_u64].prop_map(Step::Wait),
        1 => (1..2_000_u64).prop_map(Step::Back),
        4 => words().prop_map(Step::Text),
        1 => words().prop_map(Step::Refusal),
        1 => words().prop_map(Step::Reasoning),
        14 => call(),
        10 => end(),
        4 => fail(),
        12 => finish(),
        2 => (0..8_usize).prop_map(Step::Late),
        1 => (0..4_usize).prop_map(Step::Never),
        6 => Just(Step::Sync),
        3 => crash(),
    ]
}

fn crash() -> impl Strategy<Value = Step> {
    let away_ms = prop_oneof![2 => Just(0), 1 => 0..5_000_u64];
    (0..6_usize, away_ms).prop_map(|(lose, away_ms)| Step::Crash { lose, away_ms })
}

fn words() -> impl Strategy<Value = String> {
    select(vec!["a", "yes", "two words", "ä\u{1F980}"]).prop_map(String::from)
}

fn send() -> impl Strategy<Value = Step> {
    let key = prop_oneof![2 => Just(None), 1 => select(vec!["k", "l"]).prop_map(Some)];
    let text = prop_oneof![8 => words(), 1 => Just(String::new())];
    let dry_run = prop_oneof![4 => Just(false), 1 => Just(true)];
    (key, dry_run, text).prop_map(|(key, dry_run, text)| Step::Send {
        key: key.map(String::from),
        dry_run,
        text,
    })
}

fn interrupter() -> impl Strategy<Value = Interrupter> {
    select(vec![Interrupter::Person, Interrupter::Shutdown])
}

fn call() -> impl Strategy<Value = Step> {
    let known: Vec<&str> = TOOLS.iter().map(|(name, _, _)| *name).collect();
    let tool = prop_oneof![12 => select(known), 1 => Just("absent")];
    let id = select(vec!["", "c1", "c2"]);
    let fault = prop_oneof![9 => Just(None), 1 => Just(Some(String::from("broken")))];
    let arguments = select(vec!["{}", r#"{"a":1}"#]);
    (tool, id, fault, arguments).prop_map(|(tool, id, fault, arguments)| Step::Call {
        tool: tool.to_owned(),
        id: id.to_owned(),
        fault,
        arguments: arguments.to_owned(),
    })
}

fn end() -> impl Strategy<Value = Step> {
    let stop = prop_oneof![
        9 => Just(StopReason::Stop),
        1 => Just(StopReason::Length),
        1 => Just(StopReason::ContentFilter),
        2 => Just(StopReason::Unfinished),
        1 => Just(StopReason::Other(String::from("paused"))),
    ];
    let tokens = prop::option::of(0..30_u64);
    (stop, tokens).prop_map(|(stop, tokens)| Step::End { stop, tokens })
}

/// All the ways in which a sample fails, `Restart` too, which no provider should say.
pub const FAILURES: [FailureKind; 16] = [
    FailureKind::Server,
    FailureKind::Authentication,
    FailureKind::NotFound,
    FailureKind::InvalidRequest,
    FailureKind::ContextOverflow,
    FailureKind::RateLimit,
    FailureKind::Quota,
    FailureKind::Overloaded,
    FailureKind::ContentFilter,
    FailureKind::Unavailable,
    FailureKind::Protocol,
    FailureKind::Truncated,
    FailureKind::TooLarge,
    FailureKind::Timeout,
    FailureKind::Cancelled,
    FailureKind::Restart,
];

fn fail() -> impl Strategy<Value = Step> {
    let retry = prop_oneof![
        3 => Just(Retry::Soon),
        1 => Just(Retry::Never),
        1 => (0..5_000_u64).prop_map(Retry::AfterMs),
    ];
    let partial = prop_oneof![3 => Just(String::new()), 1 => words()];
    (select(&FAILURES[..]), retry, partial).prop_map(|(kind, retry, partial)| Step::Fail {
        kind,
        retry,
        partial,
    })
}

fn finish() -> impl Strategy<Value = Step> {
    let status = select(vec![
        ObservationStatus::Done,
        ObservationStatus::Failed,
        ObservationStatus::Aborted,
        ObservationStatus::Unknown,
    ]);
    let output = select(vec!["", "ok", "two words"]);
    (status, 0..4_usize, output).prop_map(|(status, nth, output)| Step::Finish {
        status,
        nth,
        output: output.to_owned(),
    })
}
