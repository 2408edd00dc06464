//! Random settings: postures and limits of a simulated session, and how its world begins.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use windlass_core::{
    ArgumentPattern, CompactionStrategy as Compacting, ContextWindow, HookFailurePolicy, HookOrder,
    HookPoint, HookSpec, Limits, Mode, Permissions, Price, Rule, RuleVerdict,
};

use crate::world::declared::hook;
use crate::world::posture::{Posture, TOOLS};
use crate::world::script::{Durability, Kin, Opening};

/// How a world begins.
pub(super) fn opening() -> impl Strategy<Value = Opening> {
    let durability = prop_oneof![
        2 => Just(Durability::Prompt),
        3 => Just(Durability::Lazy),
    ];
    let kin = prop_oneof![9 => Just(Kin::Root), 1 => Just(Kin::Child)];
    let workspace = prop_oneof![3 => Just(None), 1 => Just(Some(String::from("/work")))];
    let ceiling = prop_oneof![3 => Just(Limits::default()), 1 => limits().boxed()];
    let whole = (posture().boxed(), ceiling, 0..100_u64, durability, kin, workspace);
    whole.prop_map(|(posture, ceiling, seed, durability, kin, workspace)| Opening {
        posture,
        ceiling,
        seed,
        durability,
        kin,
        workspace,
    })
}

pub(crate) fn posture() -> impl Strategy<Value = Posture> {
    let mode = prop_oneof![8 => Just(Mode::Build), 1 => Just(Mode::Plan)];
    let permissions = prop_oneof![
        6 => Just(Permissions::Auto),
        3 => Just(Permissions::Ask),
        1 => Just(Permissions::ReadOnly),
    ];
    let limits = prop_oneof![2 => Just(Limits::default()), 3 => limits().boxed()];
    let whole = (
        mode,
        permissions,
        limits,
        rules().boxed(),
        hooks().boxed(),
        window(),
        price(),
        shape(),
        (program(), agent(), client(), client()),
    );
    whole.prop_map(|(mode, permissions, limits, rules, hooks, window, price, shape, more)| {
        let (program, agent, client, defers) = more;
        Posture {
            mode,
            permissions,
            limits,
            rules,
            hooks,
            window,
            price,
            shape,
            program: program.map(|(calls, _)| calls),
            corrections: program.map_or(0, |(_, corrections)| corrections),
            agent: agent.map(|(samples, _)| samples),
            wakes: agent.is_some_and(|(_, wakes)| wakes),
            holds: false,
            understates: None,
            client,
            defers,
            tools: Vec::new(),
        }
    })
}

/// A tool that a client runs, or that is deferred, now and then.
fn client() -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.2, select(vec!["read", "write", "shell"]).prop_map(String::from))
}

/// Limits small enough to be reached, each the default now and then.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
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
        count(ours.continuations, 2),
        count(ours.compactions, 2),
    );
    let times = (
        ms(ours.tokens, 6_000),
        ms(ours.cost_micros, 6_000),
        prop_oneof![4 => Just(ours.context_bytes), 1 => 0..=40_u64],
        prop_oneof![3 => Just(ours.turn_ms), 1 => 1..=4_000_u64],
        prop_oneof![1 => Just(ours.approval_ms), 1 => 0..=2_000_u64],
        ms(ours.backoff_ms, 800),
        ms(ours.backoff_max_ms, 2_000),
        ms(ours.call_ms, 1_000),
        ms(ours.grace_ms, 500),
    );
    let bytes = prop_oneof![5 => Just(ours.session_bytes), 1 => 2_000..=12_000_u64];
    let empty = count(ours.empty_answers, 2);
    let silent = prop_oneof![2 => Just(ours.reask_after_ms), 1 => 0..=1_000_u64];
    (counts, times, bytes, silent, empty).prop_map(
        move |(counts, times, session_bytes, reask_after_ms, empty_answers)| {
            let (samples, calls_per_sample, calls, attempts, restarts, parallel_calls, ..) = counts;
            let (.., queue, continuations, compactions) = counts;
            let (tokens, cost_micros, context_bytes, turn_ms, approval_ms, ..) = times;
            let (.., backoff_ms, backoff_max_ms, call_ms, grace_ms) = times;
            ours.with(|it| {
                it.samples = samples;
                it.calls_per_sample = calls_per_sample;
                it.calls = calls;
                it.attempts = attempts;
                it.restarts = restarts;
                it.parallel_calls = parallel_calls;
                it.tokens = tokens;
                it.cost_micros = cost_micros;
                it.continuations = continuations;
                it.empty_answers = empty_answers;
                it.compactions = compactions;
                it.context_bytes = context_bytes;
                it.turn_ms = turn_ms;
                it.approval_ms = approval_ms;
                it.queue = queue;
                it.reask_after_ms = reask_after_ms;
                it.session_bytes = session_bytes;
                it.backoff_ms = backoff_ms;
                it.backoff_max_ms = backoff_max_ms;
                it.call_ms = call_ms;
                it.grace_ms = grace_ms;
            })
        },
    )
}

/// Most sessions have no rules, or a few.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let verdict = select(vec![RuleVerdict::Allow, RuleVerdict::Ask, RuleVerdict::Deny]);
    let tools: Vec<&str> = TOOLS.iter().map(|(name, _, _)| *name).collect();
    let tool = prop_oneof![3 => select(tools), 1 => select(vec!["*", "w*"])];
    let argument = prop_oneof![
        2 => Just(None),
        1 => select(vec!["1", "*"]).prop_map(|pattern| Some(ArgumentPattern {
            name: String::from("a"),
            pattern: pattern.to_owned(),
        })),
    ];
    let rule = (verdict, tool, argument).prop_map(|(verdict, tool, argument)| Rule {
        verdict,
        tool: tool.to_owned(),
        argument,
    });
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(rule, 1..3)]
}

/// Half of the sessions have no hooks, the others a few.
fn hooks() -> impl Strategy<Value = Vec<HookSpec>> {
    let order = select(vec![HookOrder::Sequential, HookOrder::Parallel]);
    let on_failure = select(vec![HookFailurePolicy::Closed, HookFailurePolicy::Open]);
    let subjects = subsequence(vec!["write", "read", "window", "resume"], 1..=2);
    let subjects = subjects.prop_map(|all| Some(all.into_iter().map(String::from).collect()));
    let only = prop_oneof![4 => Just(None), 1 => subjects];
    let point = prop_oneof![4 => select(HookPoint::ALL), 1 => Just(HookPoint::Stop)];
    let one = (point, order, on_failure, only);
    let named = prop::collection::vec(one, 1..5).prop_map(|all| {
        let named = all.into_iter().enumerate();
        let named = named.map(|(place, (point, order, on_failure, only))| {
            hook(place, point, order, on_failure, only)
        });
        named.collect()
    });
    prop_oneof![1 => Just(Vec::new()), 1 => named]
}

/// A third of the sessions know the model's window, and it is small.
fn window() -> impl Strategy<Value = ContextWindow> {
    let strategy = select(vec![Compacting::Clear, Compacting::Slide, Compacting::Summary]);
    let tokens = prop_oneof![2 => Just(0), 1 => 150..900_u64];
    (tokens, strategy).prop_map(|(tokens, strategy)| ContextWindow { tokens, strategy })
}

/// A quarter of the sessions have an agent.
fn agent() -> impl Strategy<Value = Option<(u32, bool)>> {
    prop_oneof![3 => Just(None), 1 => (0..4_u32, any::<bool>()).prop_map(Some)]
}

/// In a third of the sessions the model writes programs.
fn program() -> impl Strategy<Value = Option<(u32, u32)>> {
    prop_oneof![2 => Just(None), 1 => (0..5_u32, 0..3_u32).prop_map(Some)]
}

/// A quarter of the sessions ask for answers of a shape.
fn shape() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![3 => Just(None), 1 => (0..3_u32).prop_map(Some)]
}

fn price() -> impl Strategy<Value = Option<Price>> {
    let price = (0..5_000_000_u64, 0..500_000_u64, 0..9_000_000_u64);
    let price = price.prop_map(|(input_micros, cached_input_micros, output_micros)| {
        Some(Price { input_micros, cached_input_micros, cache_write_micros: None, output_micros })
    });
    prop_oneof![2 => Just(None), 1 => price]
}
