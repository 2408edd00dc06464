//! The scripted hooks say what their script says, and remember what they were asked.

use std::time::Duration;

use windlass_core::{
    HookOccurrence, HookPoint, InputId, Mode, Permissions, SessionId, Timestamp, TurnId,
};
use windlass_ports::{CancelSource, HookSubject, TurnCalls};

use super::*;
use crate::clock::ManualClock;
use crate::gate::Gate;
use crate::wait::within;

const LONG: Duration = Duration::from_secs(60);

fn question(hook: &str) -> HookCall {
    HookCall {
        hook: hook.into(),
        at: HookOccurrence::PromptSubmitted { input: InputId(2) },
        subject: HookSubject::Prompt { text: "hello".into() },
    }
}

fn told(cancel: &CancelSource) -> HookContext {
    HookContext {
        scope: Arc::new(Scope::local("somebody")),
        session: SessionId::new("s").unwrap(),
        turn: Some(TurnId(3)),
        workspace: None,
        mode: Mode::Build,
        permissions: Permissions::Auto,
        model: "scripted".into(),
        goal: None,
        calls: TurnCalls::default(),
        cancel: cancel.signal(),
        deadline: Timestamp(100),
        timeout_ms: 100,
        max_bytes: 1_000,
    }
}

#[test]
fn it_says_what_the_script_says() {
    let hooks = ScriptedHooks::new([
        ScriptedHook::new("deny", HookPoint::PromptSubmitted).says(deny("no")),
        ScriptedHook::new("echo", HookPoint::PromptSubmitted).answers(|call| match &call.subject {
            HookSubject::Prompt { text } => edit(&format!("{text}!")),
            HookSubject::Nothing
            | HookSubject::Answer { .. }
            | HookSubject::Call { .. }
            | HookSubject::Compaction { .. }
            | HookSubject::Ending { .. } => HookReply::pass(),
        }),
        ScriptedHook::new("broken", HookPoint::PromptSubmitted).fails(),
    ]);
    let cancel = CancelSource::default();
    let ask = |name: &str| within(LONG, hooks.ask(question(name), told(&cancel))).unwrap();
    assert_eq!(ask("deny").unwrap(), deny("no"));
    assert_eq!(ask("echo").unwrap(), edit("hello!"));
    ask("broken").unwrap_err();
    ask("nobody").unwrap_err();
    let ended: Vec<_> = hooks.asked().iter().map(|asked| asked.ended).collect();
    let replied = |verdict| Some(HookEnded::Replied(verdict));
    let failed = Some(HookEnded::Failed);
    let (no, pass) = (replied(HookVerdict::Deny), replied(HookVerdict::Pass));
    assert_eq!(ended, [no, pass, failed, failed]);
}

#[test]
fn it_stops_when_told_to_when_late_and_when_dropped() {
    let clock = ManualClock::new(Timestamp(0), 1);
    let hooks = ScriptedHooks::new([
        ScriptedHook::new("stuck", HookPoint::PromptSubmitted).stalls(),
        ScriptedHook::new("slow", HookPoint::PromptSubmitted).before(&Gate::new()),
    ])
    .with_clock(clock.clone());
    let cancel = CancelSource::default();
    let mut dropped = Box::pin(hooks.ask(question("slow"), told(&cancel)));
    assert!(within(Duration::ZERO, &mut dropped).is_none());
    drop(dropped);
    cancel.cancel();
    within(LONG, hooks.ask(question("stuck"), told(&cancel))).unwrap().unwrap_err();
    clock.advance(100);
    let late = hooks.ask(question("stuck"), told(&CancelSource::default()));
    within(LONG, late).unwrap().unwrap_err();
    let ended: Vec<_> = hooks.asked().iter().map(|asked| asked.ended).collect();
    let failed = Some(HookEnded::Failed);
    assert_eq!(ended, [Some(HookEnded::Dropped), failed, failed]);
}
