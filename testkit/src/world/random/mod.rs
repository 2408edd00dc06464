//! Random worlds: strategies for scripts that shrink to something readable.

mod phrase;
mod settings;
mod stream;
mod worlds;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use windlass_core::{
    BudgetUsage, Delivery, FailureKind, Goal, HookVerdict, InterruptSource, Mode,
    ObservationStatus, PROGRAM_TOOL, Permissions, RetainedChange, Retry, SEARCH_TOOLS_TOOL,
    StopReason, StopTiming, Widening,
};

use super::posture::{Posture, RECONCILES, TOOLS};
use super::programs::{ProgramEndWord, ProgramWord};
use super::script::{Compacted, Cost, Script, Step, Word};
use super::tool::WorldTool;

pub(crate) use settings::{limits, posture};
pub use stream::stream;
pub use worlds::{Weights, Worlds, WorldsFailure};

/// A script of up to `steps` steps, or a few more.
pub fn script(steps: usize) -> impl Strategy<Value = Script> {
    Worlds::new().steps(steps).script()
}

fn step(worlds: &Worlds) -> impl Strategy<Value = Step> + use<> {
    let Weights { user: users, model, answers, process, phrases: _ } = worlds.weights;
    let kinds = [
        (users, user().boxed()),
        (model, sample(&worlds.tools).boxed()),
        (answers, answer(&worlds.tools).boxed()),
        (process, machine().boxed()),
    ];
    // A weight of 0 is refused by the union, and so is none at all.
    let mut kinds: Vec<_> = kinds.into_iter().filter(|(weight, _)| *weight > 0).collect();
    if kinds.is_empty() {
        kinds.push((1, Just(Step::Sync).boxed()));
    }
    Union::new_weighted(kinds)
}

/// What users do, and the clock.
fn user() -> impl Strategy<Value = Step> {
    let when = prop_oneof![3 => Just(StopTiming::Now), 1 => Just(StopTiming::AfterStep)];
    let widening = select(vec![Widening::Forbidden, Widening::Allowed]);
    let said = prop_oneof![
        6 => send(),
        1 => goal(),
        1 => Just(Step::Continue),
        1 => select(vec!["", "ports"]).prop_map(|focus| Step::Compact(focus.to_owned())),
        1 => select(vec!["read", "put", RECONCILES]).prop_map(|tool| {
            Step::Command { tool: tool.to_owned(), arguments: String::from("{}") }
        }),
        2 => (interrupter(), when, meant())
            .prop_map(|(by, when, turn)| Step::Interrupt { by, when, turn }),
        2 => queued(),
        1 => (posture().boxed(), widening)
            .prop_map(|(posture, widening)| Step::Configure { posture, widening }),
    ];
    prop_oneof![
        11 => keyed(said.boxed()),
        1 => posture().prop_map(|posture| Step::Ceiling(Box::new(narrow(posture)))),
        5 => prop_oneof![0..3_u64, 0..3_000_u64].prop_map(Step::Wait),
        1 => (1..2_000_u64).prop_map(Step::Back),
    ]
}

/// What a ceiling has of a posture.
fn narrow(posture: Posture) -> Posture {
    let Posture { mode, permissions, rules, hooks, .. } = posture;
    let holds = mode == Mode::Build && permissions == Permissions::Auto;
    Posture { mode, permissions, rules, hooks, holds, ..Posture::default() }
}

/// A turn that is meant, now and then: most of these are not the one that runs.
fn meant() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![9 => Just(None), 1 => (3..12_u64).prop_map(Some)]
}

/// What becomes of inputs that wait, and of what was said before.
fn queued() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..3_usize, words()).prop_map(|(nth, text)| Step::Edit { nth, text }),
        1 => (0..3_usize, prop::option::of(0..3_usize))
            .prop_map(|(nth, before)| Step::Move { nth, before }),
        1 => (0..3_usize).prop_map(Step::Withdraw),
        1 => words().prop_map(Step::Rename),
        1 => (0..40_u64).prop_map(Step::Rewind),
        1 => (3..12_u64, words()).prop_map(|(of, path)| Step::Restored { of, path }),
    ]
}

/// What is said, now and then under a key, of which there are so few that they come again.
fn keyed(said: BoxedStrategy<Step>) -> impl Strategy<Value = Step> {
    let key = prop_oneof![3 => Just(None), 1 => select(vec!["k", "m", "n"]).prop_map(Some)];
    (said, key).prop_map(|(step, key)| match key {
        Some(key) => Step::Keyed { key: key.to_owned(), step: Box::new(step) },
        None => step,
    })
}

/// What the sample that runs says.
fn sample(tools: &[WorldTool]) -> impl Strategy<Value = Step> + use<> {
    let own = tools.iter().filter(|tool| tool.weight > 0);
    let own = own.map(|tool| (tool.weight, own_call(tool).boxed()));
    let usual = [
        (4, words().prop_map(Step::Text).boxed()),
        (1, words().prop_map(Step::Refusal).boxed()),
        (1, words().prop_map(Step::Reasoning).boxed()),
        (14, call().boxed()),
        (10, end().boxed()),
        (4, fail().boxed()),
        (2, partial().prop_map(Step::Yielded).boxed()),
    ];
    Union::new_weighted(usual.into_iter().chain(own).collect())
}

/// A call of a tool of the user.
fn own_call(tool: &WorldTool) -> impl Strategy<Value = Step> + use<> {
    let name = tool.name().to_owned();
    let fault = prop::option::weighted(0.05, Just(String::from("broken")));
    (select(tool.arguments.clone()), fault).prop_map(move |(arguments, fault)| Step::Call {
        tool: name.clone(),
        id: String::new(),
        fault,
        arguments,
    })
}

/// What else that runs says.
fn answer(tools: &[WorldTool]) -> impl Strategy<Value = Step> + use<> {
    prop_oneof![
        12 => finish(),
        2 => suspended(),
        2 => (0..2_usize, output()).prop_map(|(nth, output)| Step::Detach { nth, output }),
        2 => (0..2_usize, words()).prop_map(|(nth, text)| Step::ChildEnded { nth, text }),
        12 => hook(),
        10 => program(tools),
        4 => keyed(answered().boxed()),
        3 => keyed(submitted().boxed()),
        3 => (0..3_usize, prop::option::weighted(0.8, word()))
            .prop_map(|(nth, word)| Step::Asked { nth, word }),
        2 => reconciled(),
        4 => compacted(),
    ]
}

/// What befalls the process.
fn machine() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..8_usize).prop_map(Step::Late),
        1 => (0..4_usize).prop_map(Step::Never),
        6 => Just(Step::Sync),
        3 => crash(),
        1 => Just(Step::Close),
    ]
}

fn crash() -> impl Strategy<Value = Step> {
    let away_ms = prop_oneof![2 => Just(0), 1 => 0..5_000_u64];
    (0..6_usize, away_ms).prop_map(|(lose, away_ms)| Step::Crash { lose, away_ms })
}

/// Short words, and now and then some that fill a small window.
fn words() -> impl Strategy<Value = String> {
    let short = select(vec!["a", "yes", "two words", "ä\u{1F980}"]);
    prop_oneof![9 => short.prop_map(String::from), 1 => long()]
}

fn long() -> impl Strategy<Value = String> {
    (100..1_200_usize).prop_map(|bytes| "x".repeat(bytes))
}

fn send() -> impl Strategy<Value = Step> {
    let delivery = prop_oneof![
        3 => Just(Delivery::Turn),
        3 => Just(Delivery::Steer),
        1 => Just(Delivery::FollowUp),
    ];
    let key = prop_oneof![2 => Just(None), 1 => select(vec!["k", "l"]).prop_map(Some)];
    let text = prop_oneof![8 => words(), 1 => Just(String::new())];
    let dry_run = prop_oneof![4 => Just(false), 1 => Just(true)];
    let part = (select(vec!["A", "B"]), select(vec!["one", "two"]));
    let part = part.prop_map(|(from, text)| (from.to_owned(), text.to_owned()));
    let context = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(part, 1..3)];
    let images = prop_oneof![8 => Just(0), 1 => 1..3_u32, 1 => Just(17)];
    let whole = (delivery, meant(), key, dry_run, context, images, text);
    whole.prop_map(|(delivery, turn, key, dry_run, context, images, text)| Step::Send {
        delivery,
        turn,
        key: key.map(String::from),
        dry_run,
        context,
        images,
        text,
    })
}

fn goal() -> impl Strategy<Value = Step> {
    let goal = (select(vec!["", "all is well"]), 0..4_u32);
    let goal = goal.prop_map(|(text, turns)| {
        let text: Arc<str> = text.into();
        Some(Goal { text, turns })
    });
    prop_oneof![1 => Just(None), 3 => goal].prop_map(Step::Goal)
}

fn interrupter() -> impl Strategy<Value = InterruptSource> {
    select(vec![InterruptSource::Person, InterruptSource::Parent, InterruptSource::Shutdown])
}

fn call() -> impl Strategy<Value = Step> {
    let known: Vec<&str> = TOOLS.iter().map(|(name, _, _)| *name).collect();
    let tool = prop_oneof![
        12 => select(known),
        4 => Just(PROGRAM_TOOL),
        1 => Just(SEARCH_TOOLS_TOOL),
        1 => Just("absent"),
    ];
    let id = select(vec!["", "c1", "c2"]);
    let fault = prop_oneof![9 => Just(None), 1 => Just(Some(String::from("broken")))];
    (tool, id, fault, arguments()).prop_map(|(tool, id, fault, arguments)| Step::Call {
        tool: tool.to_owned(),
        id: id.to_owned(),
        fault,
        arguments,
    })
}

/// What a program says.
fn program(tools: &[WorldTool]) -> impl Strategy<Value = Step> + use<> {
    let known: Vec<&str> = TOOLS.iter().map(|(name, _, _)| *name).collect();
    let tool = prop_oneof![12 => select(known), 1 => Just("absent")];
    let call = (tool.prop_map(str::to_owned), arguments()).boxed();
    let own = tools.iter().filter(|tool| tool.weight > 0).map(|tool| {
        let name = tool.name().to_owned();
        let call = select(tool.arguments.clone()).prop_map(move |given| (name.clone(), given));
        (tool.weight, call.boxed())
    });
    let call = Union::new_weighted([(14, call)].into_iter().chain(own).collect());
    let calls = prop::collection::vec(call, 1..4).prop_map(ProgramWord::Calls);
    let calls = (0..2_usize, calls).prop_map(|(nth, word)| Step::Program { nth, word });
    let spoken = Just(Step::Spoken(String::from("x")));
    prop_oneof![5 => calls, 3 => program_end(), 1 => spoken]
}

/// How a program ends.
fn program_end() -> impl Strategy<Value = Step> {
    let end = select(ProgramEndWord::ALL.to_vec());
    let fault = prop::option::weighted(0.2, Just(String::from("odd")));
    let keeps = prop::option::weighted(0.2, Just(String::from("m")));
    let change = (select(vec!["a", "b"]), prop::option::weighted(0.7, select(vec!["1", "2"])));
    let change = change.prop_map(|(name, value)| RetainedChange {
        name: name.into(),
        value: value.map(Into::into),
    });
    let retains = prop::collection::vec(change, 0..3);
    let value = prop_oneof![4 => Just("1"), 1 => Just("null")];
    let ends = (end, fault, keeps, retains, value);
    let ends = ends.prop_map(|((_, end), fault, keeps, retains, value)| ProgramWord::Ends {
        end,
        fault,
        keeps,
        retains,
        value: String::from(value),
    });
    (0..2_usize, ends).prop_map(|(nth, word)| Step::Program { nth, word })
}

fn arguments() -> impl Strategy<Value = String> {
    let inside = select(vec!["{}", r#"{"a":1}"#, r#"{"a":"2"}"#]);
    prop_oneof![12 => inside, 1 => Just(r#"{"outside":true}"#)].prop_map(String::from)
}

fn end() -> impl Strategy<Value = Step> {
    let stop = prop_oneof![
        9 => Just(StopReason::Stop),
        1 => Just(StopReason::Length),
        1 => Just(StopReason::ContentFilter),
        2 => Just(StopReason::Unfinished),
        1 => Just(StopReason::Other(String::from("paused"))),
    ];
    let fault = prop::option::weighted(0.1, Just(String::from("odd")));
    (stop, cost(), fault).prop_map(|(stop, cost, fault)| Step::End { stop, cost, fault })
}

fn cost() -> impl Strategy<Value = Cost> {
    let count = || prop_oneof![2 => Just(None), 1 => (0..1_500_u64).prop_map(Some)];
    (count(), count()).prop_map(|(tokens, out)| Cost { tokens, out })
}

/// All the ways in which a sample fails, also some that no provider should speak of.
pub const FAILURES: [FailureKind; 19] = [
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
    FailureKind::Steered,
    FailureKind::Hook,
    FailureKind::Unsupported,
];

fn fail() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        5 => select(&FAILURES[..]),
        1 => Just(FailureKind::ContextOverflow),
    ];
    let retry = prop_oneof![
        3 => Just(Retry::Soon),
        1 => Just(Retry::Never),
        1 => Just(Retry::Now),
        1 => (0..5_000_u64).prop_map(Retry::AfterMs),
    ];
    (kind, retry, cost(), partial()).prop_map(|(kind, retry, cost, partial)| Step::Fail {
        kind,
        retry,
        cost,
        partial,
    })
}

fn partial() -> impl Strategy<Value = String> {
    prop_oneof![2 => Just(String::new()), 1 => words()]
}

fn status() -> impl Strategy<Value = ObservationStatus> {
    select(vec![
        ObservationStatus::Done,
        ObservationStatus::Failed,
        ObservationStatus::Aborted,
        ObservationStatus::Unknown,
    ])
}

fn output() -> impl Strategy<Value = String> {
    let short = select(vec!["", "ok", "two words"]);
    prop_oneof![4 => short.prop_map(String::from), 1 => long()]
}

fn finish() -> impl Strategy<Value = Step> {
    let took = (0..4_u32, 0..200_u64, 0..200_u64);
    let took = took.prop_map(|(samples, tokens, cost_micros)| BudgetUsage {
        samples,
        tokens,
        cost_micros,
    });
    let took = prop::option::weighted(0.3, took);
    let whole = (status(), 0..4_usize, took, output());
    whole.prop_map(|(status, nth, took, output)| Step::Finish { status, nth, took, output })
}

fn suspended() -> impl Strategy<Value = Step> {
    let whole = (0..3_usize, prop::bool::weighted(0.7), any::<bool>());
    whole.prop_map(|(nth, asks, repeatable)| Step::Suspend { nth, asks, repeatable })
}

fn hook() -> impl Strategy<Value = Step> {
    let verdict = prop_oneof![
        6 => Just(HookVerdict::Pass),
        1 => Just(HookVerdict::Allow),
        1 => Just(HookVerdict::Ask),
        2 => Just(HookVerdict::Deny),
        1 => Just(HookVerdict::Halt),
        1 => Just(HookVerdict::Failed),
    ];
    let context = select(vec!["note", "another-note"]).prop_map(String::from);
    let context = prop::option::weighted(0.4, context);
    let reason = select(vec!["", "because"]);
    let whole = (0..3_usize, verdict, edit(), context, reason);
    whole.prop_map(|(nth, verdict, edit, context, reason)| Step::Hook {
        nth,
        verdict,
        edit,
        context,
        reason: reason.to_owned(),
    })
}

/// What may take the place of arguments, and of a prompt; one of them is no object.
fn edit() -> impl Strategy<Value = Option<String>> {
    let text = prop_oneof![4 => arguments(), 1 => Just(String::from("[]"))];
    prop::option::weighted(0.3, text)
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        3 => edit().prop_map(|edit| Word::Allow { edit }),
        1 => select(vec!["", "not now"]).prop_map(|reason| Word::Deny {
            reason: reason.to_owned(),
        }),
    ]
}

fn answered() -> impl Strategy<Value = Step> {
    let about = prop::option::weighted(0.2, Just(String::from("other")));
    (0..3_usize, about, word()).prop_map(|(nth, about, word)| Step::Answer { nth, about, word })
}

fn reconciled() -> impl Strategy<Value = Step> {
    let status = prop::option::weighted(0.7, status());
    (0..3_usize, status, output()).prop_map(|(nth, status, output)| Step::Reconciled {
        nth,
        status,
        output,
    })
}

fn submitted() -> impl Strategy<Value = Step> {
    let whole = (0..3_usize, status(), output());
    whole.prop_map(|(nth, status, output)| Step::Submit { nth, status, output })
}

fn compacted() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => select(vec!["", "in short"]).prop_map(|text| Compacted::Sketched(text.to_owned())),
        1 => (0..3_u32).prop_map(|requests| Compacted::After(requests, "in short".to_owned())),
        1 => Just(Compacted::Idle),
        1 => Just(Compacted::Fails),
    ]
    .prop_map(Step::Compacted)
}
