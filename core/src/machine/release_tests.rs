//! The ways in which a machine releases its session: release, drain and hand-off.

use alloc::vec;

use super::tests::{Shell, call, contains, done, ended, interrupt, is_call, send, settings, setup};
use super::*;
use crate::desired_effects::desired_effects;
use crate::fact::StopTiming;
use crate::hook::{HookFailurePolicy, HookOrder, HookPoint, HookReply, HookSpec};
use crate::input::SampleEvent;

#[test]
fn a_session_at_rest_is_released_once_the_hooks_of_its_end_have_spoken() {
    let mut settings = settings();
    settings.hooks = vec![HookSpec {
        name: "h".into(),
        point: HookPoint::SessionEnd,
        only: None,
        order: HookOrder::Parallel,
        on_failure: HookFailurePolicy::Open,
        timeout_ms: 1_000,
    }];
    let mut shell = Shell::new(setup(settings));
    assert!(shell.machine.is_at_rest() && !shell.machine.is_closing());
    let released = shell.handle(MachineEvent::Released);
    assert!(contains(&released, "Release in 500"), "{released:?}");
    let refused = shell.command(0, send("hello", None));
    assert_eq!(refused, ["refuse 0 Closing"]);
    let mut late = Shell { machine: shell.machine.clone() };
    assert!(contains(&shell.appended(), "start"));
    let key = *shell.machine.running().keys().next().unwrap();
    let reply = HookReply::pass();
    let spoken = shell.report(key, Input::HookReplied { key, reply }, true);
    assert!(!contains(&spoken, "exit"), "it is not durable: {spoken:?}");
    assert!(contains(&shell.appended(), "exit Closed"));
    let unheard = late.handle(MachineEvent::Elapsed(Timer::Release));
    assert_eq!(unheard, ["exit Closed"]);
}

#[test]
fn a_drained_session_stops_each_turn_and_now_comes_before_later() {
    let mut shell = Shell::new(setup(settings()));
    let drain = |when| MachineEvent::Drain { when, reason: "r".repeat(2_000) };
    shell.handle(drain(StopTiming::AfterStep));
    shell.command(0, interrupt());
    assert!(shell.machine.is_closing());
    let mut shell = Shell::new(setup(settings()));
    shell.command(0, send("hello", None));
    shell.handle(drain(StopTiming::AfterStep));
    let turn = shell.machine.session().turn().unwrap();
    assert!(turn.pause.is_some() && turn.stop.is_none());
    let now = shell.handle(drain(StopTiming::Now));
    assert!(contains(&now, "Graceful the sample"), "{now:?}");
    shell.handle(drain(StopTiming::AfterStep));
    assert!(shell.machine.session().turn().unwrap().stop.is_some());
}

fn hand_off(within_ms: u64) -> MachineEvent {
    MachineEvent::HandOff { within_ms, reason: "moved".into() }
}

#[test]
fn a_hand_off_lets_effects_end_and_starts_nothing() {
    let mut shell = Shell::calling();
    shell.appended();
    shell.sampled(ended());
    shell.appended();
    let handing = shell.handle(hand_off(1_000));
    assert_eq!(handing, ["HandOff in 1000"]);
    assert!(shell.machine.deadline().is_none());
    let refused = shell.command(1, interrupt());
    assert!(contains(&refused, "refuse 1 HandingOff"), "{refused:?}");
    let key = shell.running(is_call);
    let ran = shell.report(key, done(key), true);
    // The observation is recorded; the sample that it would start is not.
    assert!(contains(&ran, "append"), "{ran:?}");
    assert!(!contains(&ran, "start"), "{ran:?}");
    assert!(!shell.machine.accepts_commands());
    let last = shell.appended();
    let exit = "exit HandedOff { reason: \"moved\", complete: true }";
    assert!(contains(&last, exit), "{last:?}");
    let folded = shell.machine.checkpoint_now();
    assert!(desired_effects(&folded.session).is_empty(), "a crash between two facts");
}

#[test]
fn a_hand_off_whose_time_is_up_leaves_what_runs() {
    let mut shell = Shell::calling();
    shell.appended();
    shell.handle(hand_off(1_000));
    shell.handle(hand_off(2_000));
    let over = shell.handle(MachineEvent::Elapsed(Timer::HandOff));
    let exit = "exit HandedOff { reason: \"moved\", complete: false }";
    assert_eq!(over, [exit]);
    let mut shell = Shell::calling();
    shell.appended();
    assert!(contains(&shell.handle(hand_off(0)), exit));
}

#[test]
fn a_checkpoint_at_a_hand_off_has_nothing_of_what_was_held_back() {
    let mut shell = Shell::new(MachineSetup { checkpoint_every: 1, ..setup(settings()) });
    shell.handle(MachineEvent::Checkpointed { bytes: Some(0) });
    shell.command(0, send("hello", None));
    shell.handle(hand_off(1_000));
    let held = shell.sampled(SampleEvent::Item(call()));
    assert!(contains(&held, "Graceful the sample"), "{held:?}");
    shell.machine.handle(Incoming { at: Timestamp(10), entropy: 0, input: MachineEvent::Appended });
    let mut written = 0;
    while let Some(action) = shell.machine.poll() {
        if let Action::Checkpoint = action {
            assert_eq!(shell.machine.last(), shell.machine.durable());
            written += 1;
        }
    }
    assert_eq!(written, 1);
    assert!(shell.machine.last() > shell.machine.durable(), "then it was decided");
}
