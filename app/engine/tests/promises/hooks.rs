//! Hooks: what they say is on record, within their time, and names them when it goes wrong.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{
    EffectClass, Fact, HookDecided, HookOccurrence, HookPoint, HookReply, HookSpec, HookVerdict,
    InterruptSource, Observation, ObservationStatus, StopTiming, TurnOutcome,
};
use windlass_engine::ports::{
    CancelSignal, HookCall, HookContext, HookError, HookSubject, Hooks, TurnCallStatus,
};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::hooks::{HookEnded, ScriptedHook, ScriptedHooks, context, deny, edit};
use windlass_testkit::provider::{call, calls, say, stall};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{Cast, World, failure, hello, me, ms, soon, until};

fn decided(world: &World) -> Vec<HookDecided> {
    world.picked(|fact| match fact {
        Fact::HookDecided(fact) => Some(fact.clone()),
        _ => None,
    })
}

/// A tool that tells its arguments, and counts its runs.
fn telling(runs: &Arc<AtomicU32>) -> ScriptedTool {
    let runs = runs.clone();
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    ScriptedTool::new("tell", EffectClass::Effectful).taking(schema).runs(move |call, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        let words = format!("told {}", call.arguments);
        Ok(Observation::new(ObservationStatus::Done, words))
    })
}

fn around_a_call(hook: ScriptedHook) -> (World, ScriptedHooks, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let hooks = ScriptedHooks::new([hook]);
    let cast = Cast::new([call("tell", json!({ "n": 1 })), say("so be it")], [telling(&runs)]);
    let world = World::of(FaultyStore::new(), cast.hooks(&hooks));
    (world, hooks, runs)
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_does_not_run() {
    let hook = ScriptedHook::new("guard", HookPoint::BeforeTool).says(deny("not here"));
    let (world, hooks, runs) = around_a_call(hook);
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (_, observation) = world.observation();
    assert_eq!(observation.status, ObservationStatus::Denied);
    assert!(observation.output.contains("not here"), "{observation:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let asked = hooks.asked();
    let [one] = &*asked else { panic!("{asked:?}") };
    let HookSubject::Call { tool, arguments, .. } = &one.call.subject else { panic!("{one:?}") };
    assert_eq!((tool.as_str(), &**arguments), ("tell", r#"{"n":1}"#));
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_are_run_and_checked_like_those_of_a_model() {
    let hook = || ScriptedHook::new("fix", HookPoint::BeforeTool);
    let (world, _, runs) = around_a_call(hook().says(edit(r#"{"n":2}"#)));
    world.turn().await;
    assert_eq!(world.observation().1.output, r#"told {"n":2}"#);
    assert_eq!(runs.load(Ordering::SeqCst), 1);

    let (world, _, runs) = around_a_call(hook().says(edit(r#"{"n":"two"}"#)));
    world.turn().await;
    let (_, observation) = world.observation();
    assert_eq!(observation.status, ObservationStatus::Failed);
    assert!(observation.output.contains("/n"), "{observation:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 0, "unfit arguments do not run");

    let (world, _, runs) = around_a_call(hook().says(edit(r#"{"n":2,"n":3}"#)));
    world.turn().await;
    let (_, observation) = world.observation();
    assert_eq!(observation.status, ObservationStatus::Failed);
    let words = &observation.output;
    assert!(words.contains(r#"the key "n" appears twice"#), "{words}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);

    let (world, _, _) = around_a_call(hook().says(edit(r#"{"n":1}"#)));
    world.turn().await;
    let decided = decided(&world);
    assert_eq!(decided[0].edit, None, "an edit that changes nothing is none");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_blocked_edited_or_told_more() {
    let at = |name| ScriptedHook::new(name, HookPoint::PromptSubmitted);
    let run = async |hook| {
        let hooks = ScriptedHooks::new([hook]);
        let provider = windlass_testkit::provider::ScriptedProvider::new([say("there")]);
        let mut cast = Cast::new([], []).hooks(&hooks);
        cast.provider = Arc::new(provider.clone());
        let world = World::of(FaultyStore::new(), cast);
        let (report, _) = world.turn().await;
        let prompts = provider.prompts();
        let seen = prompts.iter().flat_map(|prompt| prompt.items.iter());
        (report.outcome, format!("{:?}", seen.collect::<Vec<_>>()))
    };
    let (outcome, seen) = run(at("gate").says(deny("no"))).await;
    assert!(matches!(outcome, TurnOutcome::Blocked { .. }), "{outcome:?}");
    assert_eq!(seen, "[]", "nobody was asked");
    let (outcome, seen) = run(at("gate").says(edit("good day"))).await;
    assert_eq!(outcome, TurnOutcome::Completed);
    assert!(seen.contains("good day") && !seen.contains("hello"), "{seen}");
    let (_, seen) = run(at("gate").says(context("it rains"))).await;
    assert!(seen.contains("it rains") && seen.contains("hello"), "{seen}");
}

/// The calls that each question lists: arguments and status.
fn earlier(hooks: &ScriptedHooks) -> Vec<Vec<(String, TurnCallStatus)>> {
    let asked = hooks.asked();
    let calls = asked.iter().map(|one| {
        assert!(!one.calls.cut, "{one:?}");
        let listed = one.calls.listed.iter();
        listed.map(|call| (call.arguments.to_string(), call.status)).collect()
    });
    calls.collect()
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_told_the_calls_before_it_in_the_turn() {
    let edits =
        ScriptedHook::new("see", HookPoint::BeforeTool).answers(|call| match &call.subject {
            HookSubject::Call { arguments, .. } if arguments.contains('2') => deny("not two"),
            HookSubject::Call { arguments, .. } if arguments.contains('3') => edit(r#"{"n":30}"#),
            _ => HookReply::pass(),
        });
    let hooks = ScriptedHooks::new([edits, ScriptedHook::new("stop", HookPoint::Stop)]);
    let tell = |n: u32| ("tell", json!({ "n": n }));
    let runs = Arc::new(AtomicU32::new(0));
    let answers = [calls([tell(1), tell(2)]), calls([tell(3)]), call("tell", json!({ "n": 4 }))];
    let script = answers.into_iter().chain([say("done")]);
    let cast = Cast::new(script.collect::<Vec<_>>(), [telling(&runs)]);
    let world = World::of(FaultyStore::new(), cast.hooks(&hooks));
    world.turn().await;
    let done = TurnCallStatus::Ended(ObservationStatus::Done);
    let denied = TurnCallStatus::Ended(ObservationStatus::Denied);
    let told = earlier(&hooks);
    let n = |n: u32| format!(r#"{{"n":{n}}}"#);
    let [first, second, third, fourth, stop] = &*told else { panic!("{told:?}") };
    assert_eq!(*first, []);
    assert_eq!(*second, [(n(1), TurnCallStatus::Proposed)], "both are asked at the same time");
    assert_eq!(*third, [(n(1), done), (n(2), denied)]);
    assert_eq!(*fourth, [(n(1), done), (n(2), denied), (n(30), done)]);
    assert_eq!(stop.len(), 4, "{stop:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_after_a_tool_is_told_what_became_of_each_call() {
    let hooks = ScriptedHooks::new([ScriptedHook::new("see", HookPoint::AfterTool)]);
    let tell = |n: u32| ("tell", json!({ "n": n }));
    let runs = Arc::new(AtomicU32::new(0));
    let cast = Cast::new(
        [calls([tell(1), tell(2), tell(3)]), call("tell", json!({ "n": 4 })), say("done")],
        [telling(&runs)],
    );
    let world = World::of(FaultyStore::new(), cast.hooks(&hooks));
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let asked = hooks.asked();
    let mut seen: Vec<_> = asked.iter().map(|one| told(&one.call.subject)).collect();
    seen.sort();
    let wanted = |n: u32| (format!(r#"{{"n":{n}}}"#), format!(r#"told {{"n":{n}}}"#));
    assert_eq!(seen, (1..=4).map(wanted).collect::<Vec<_>>());
}

fn told(subject: &HookSubject) -> (String, String) {
    match subject {
        HookSubject::Call { arguments, observation: Some(observation), .. } => {
            (arguments.to_string(), observation.output.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_takes_too_long_fails_and_is_dropped() {
    let hook = ScriptedHook::new("slow", HookPoint::BeforeTool).timeout_ms(300);
    let (world, hooks, runs) = around_a_call(hook.clone().stalls());
    let (_, took) = world.turn().await;
    assert_eq!(took, ms(300));
    let decided_closed = decided(&world);
    assert_eq!(decided_closed[0].verdict, HookVerdict::Failed);
    let why = &decided_closed[0].reason;
    assert_eq!(why, "hook slow: it took longer than its limit of 300 ms");
    assert_ne!(hooks.ended(0).await, HookEnded::Replied(HookVerdict::Pass));
    assert_eq!(runs.load(Ordering::SeqCst), 0, "it counts as a denial");

    let (world, _, runs) = around_a_call(hook.stalls().fails_open());
    world.turn().await;
    assert_eq!(decided(&world)[0].verdict, HookVerdict::Failed);
    assert_eq!(runs.load(Ordering::SeqCst), 1, "it counts as nothing");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_panics_or_is_not_there_is_named() {
    let at = || ScriptedHook::new("bad", HookPoint::BeforeTool);
    let panics = at().answers(|_| panic!("a panic on purpose"));
    for (hook, word) in [(at().fails(), "the script says so"), (panics, "panicked")] {
        let (world, _, runs) = around_a_call(hook);
        world.turn().await;
        let why = &decided(&world)[0].reason;
        assert!(why.contains("hook bad") && why.contains(word), "{why}");
        assert_eq!(why.matches("hook bad").count(), 1, "{why}");
        assert_eq!(runs.load(Ordering::SeqCst), 0);
    }
    // A name that is a word of the failure does not name the hook.
    let script = ScriptedHook::new("script", HookPoint::BeforeTool).fails();
    let panics = ScriptedHook::new("it", HookPoint::BeforeTool);
    let panics = panics.answers(|_| panic!("a panic on purpose"));
    for (hook, start) in
        [(script, "the scripted hook script fails"), (panics, "hook it: it panicked")]
    {
        let (world, _, _) = around_a_call(hook);
        world.turn().await;
        let why = &decided(&world)[0].reason;
        assert!(why.starts_with(start), "{why}");
    }
    let (world, _, runs) = around_a_call(at());
    let world = world.tuned(|settings| settings.hooks[0].name = "gone".into());
    world.turn().await;
    let why = &decided(&world)[0].reason;
    assert!(why.starts_with("hook gone: the session's settings name it"), "{why}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_says_is_bounded() {
    let at = || ScriptedHook::new("loud", HookPoint::BeforeTool);
    let (world, _, _) = around_a_call(at().says(deny("x".repeat(100_000))));
    world.turn().await;
    assert_eq!(decided(&world)[0].reason.len(), 4_096);
    let hook = at().says(edit(&"x".repeat(17_000_000))).fails_open();
    let (world, _, runs) = around_a_call(hook);
    let (report, _) = world.turn().await;
    assert!(failure(&report).starts_with("Hook: hook loud: it said"));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let decided = &decided(&world)[0];
    assert_eq!((decided.verdict, &decided.edit), (HookVerdict::Overrun, &None));
    assert!(decided.reason.contains("17000000 bytes"), "{}", decided.reason);
}

#[tokio::test(start_paused = true)]
async fn hooks_hear_that_a_session_is_let_go_and_may_take_their_time() {
    let end = ScriptedHook::new("bye", HookPoint::SessionEnd);
    let hooks = ScriptedHooks::new([end.answers(|_| HookReply::pass())]);
    let cast = Cast::new([say("there")], []).hooks(&hooks);
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(hooks.asked().len(), 0);
    drop(conversation);
    until(|| !world.store.claimed(&crate::world::id("s"))).await;
    let asked = hooks.asked();
    let [one] = &*asked else { panic!("{asked:?}") };
    assert_eq!((one.call.at, one.turn), (HookOccurrence::SessionEnd, None));
    let log = world.log();
    assert!(matches!(log.last().unwrap().fact, Fact::HookDecided(_)));

    // One that never ends does not keep the session for ever.
    let stalls = ScriptedHook::new("bye", HookPoint::SessionEnd).timeout_ms(3_000_000);
    let hooks = ScriptedHooks::new([stalls.stalls()]);
    let cast = Cast::new([say("there")], []).hooks(&hooks);
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let at = tokio::time::Instant::now();
    soon(conversation.close()).await;
    assert_eq!(at.elapsed(), ms(30_000), "as long as a shutdown has");
    // The next process does not ask it again: the end that it was asked about is over.
    let next = world.next_process();
    soon(next.open("s").await.close()).await;
    assert_eq!(hooks.asked().len(), 1);
    assert_eq!(decided(&next)[0].verdict, HookVerdict::Failed);
}

/// A hook that never speaks, and keeps the signal and the time that it was given.
#[derive(Default)]
struct Silent {
    point: Option<HookPoint>,
    told: Mutex<Vec<(CancelSignal, u64)>>,
}

#[async_trait]
impl Hooks for Silent {
    fn hooks(&self) -> Vec<HookSpec> {
        let hook = |point| ScriptedHook::new("silent", point).spec().clone();
        self.point.map(hook).into_iter().collect()
    }

    async fn ask(&self, _: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let given = (context.cancel, context.timeout_ms);
        self.told.lock().unwrap().push(given);
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_waits_for_hooks_no_longer_than_its_grace_and_tells_them() {
    for (point, took) in [(HookPoint::PromptSubmitted, 0), (HookPoint::Interrupt, 700)] {
        let silent = Arc::new(Silent { point: Some(point), ..Silent::default() });
        let mut cast = Cast::new([stall()], []);
        cast.hooks = silent.clone();
        let world = World::of(FaultyStore::new(), cast);
        let conversation = world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        conversation.flush().await.unwrap();
        tokio::time::sleep(ms(5)).await;
        let at = tokio::time::Instant::now();
        conversation
            .interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now)
            .await
            .unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        let outcome = report.outcome;
        assert!(matches!(outcome, TurnOutcome::Interrupted { .. }), "{outcome:?}");
        assert_eq!(at.elapsed(), ms(took), "{point:?}");
        let told = silent.told.lock().unwrap();
        let [(signal, timeout_ms)] = &**told else { panic!("{told:?}") };
        assert!(signal.is_cancelled(), "{point:?}");
        assert_eq!(*timeout_ms == 700, took == 700, "{point:?}: {timeout_ms}");
    }
}
