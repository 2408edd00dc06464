//! The ways in which a machine lets its session go: release, drain and hand-off.

use alloc::vec;

use super::tests::{Shell, call, contains, done, ended, interrupt, is_call, send, settings, setup};
use super::*;
use crate::fact::StopWhen;
use crate::hook::{HookOrder, HookPoint, HookReply, HookSpec, OnFailure};
use crate::input::SampleNews;
use crate::owed::owed;

#[test]
fn a_session_at_rest_is_released_once_the_hooks_of_its_end_have_spoken() {
    let mut settings = settings();
    settings.hooks = vec![HookSpec {
        name: "h".into(),
        point: HookPoint::SessionEnd,
        only: None,
        order: HookOrder::Parallel,
        on_failure: OnFailure::Open,
        timeout_ms: 1_000,
    }];
    let mut shell = Shell::new(setup(settings));
    assert!(shell.machine.is_at_rest() && !shell.machine.is_closing());
    let released = shell.handle(Event::Released);
    assert!(contains(&released, "Release in 500"), "{released:?}");
    let refused = shell.command(0, send("hello", None));
    assert_eq!(refused, ["refuse 0 Closing"]);
    let mut late = Shell {
        machine: shell.machine.clone(),
    };
    assert!(contains(&shell.appended(), "start"));
    let key = *shell.machine.running().keys().next().unwrap();
    let reply = HookReply::pass();
    let spoken = shell.report(key, Input::Hooked { key, reply }, true);
    assert!(!contains(&spoken, "exit"), "it is not durable: {spoken:?}");
    assert!(contains(&shell.appended(), "exit Closed"));
    let unheard = late.handle(Event::Elapsed(Timer::Release));
    assert_eq!(unheard, ["exit Closed"]);
}

#[test]
fn a_drained_session_stops_each_turn_and_now_comes_before_later() {
    let mut shell = Shell::new(setup(settings()));
    let drain = |when| Event::Drain {
        when,
        reason: "r".repeat(2_000),
    };
    shell.handle(drain(StopWhen::AfterStep));
    shell.command(0, interrupt());
    assert!(shell.machine.is_closing());
    let mut shell = Shell::new(setup(settings()));
    shell.command(0, send("hello", None));
    shell.handle(drain(StopWhen::AfterStep));
    let turn = shell.machine.session().turn().unwrap();
    assert!(turn.pause.is_some() && turn.stop.is_none());
    let now = shell.handle(drain(StopWhen::Now));
    assert!(contains(&now, "Wind the sample"), "{now:?}");
    shell.handle(drain(StopWhen::AfterStep));
    assert!(shell.machine.session().turn().unwrap().stop.is_some());
}

fn hand_off(within_ms: u64) -> Event {
    Event::HandOff {
        within_ms,
        reason: "moved".into(),
    }
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
    // The observation is kept, and the sample that it would start is not.
    assert!(contains(&ran, "append"), "{ran:?}");
    assert!(!contains(&ran, "start"), "{ran:?}");
    assert!(!shell.machine.listens());
    let last = shell.appended();
    let exit = "exit HandedOff { reason: \"moved\", complete: true }";
    assert!(contains(&last, exit), "{last:?}");
    let folded = shell.machine.folded();
    assert!(
        owed(&folded.session).is_empty(),
        "a crash between two facts"
    );
}

#[test]
fn a_hand_off_whose_time_is_up_leaves_what_runs() {
    let mut shell = Shell::calling();
    shell.appended();
    shell.handle(hand_off(1_000));
    shell.handle(hand_off(2_000));
    let over = shell.handle(Event::Elapsed(Timer::HandOff));
    let exit = "exit HandedOff { reason: \"moved\", complete: false }";
    assert_eq!(over, [exit]);
    let mut shell = Shell::calling();
    shell.appended();
    assert!(contains(&shell.handle(hand_off(0)), exit));
}

#[test]
fn a_checkpoint_at_a_hand_off_has_nothing_of_what_was_held_back() {
    let mut shell = Shell::new(Setup {
        checkpoint_every: 1,
        ..setup(settings())
    });
    shell.handle(Event::Checkpointed { bytes: Some(0) });
    shell.command(0, send("hello", None));
    shell.handle(hand_off(1_000));
    let held = shell.sampled(SampleNews::Item(call()));
    assert!(contains(&held, "Wind the sample"), "{held:?}");
    shell.machine.handle(Stamped {
        at: Timestamp(10),
        entropy: 0,
        input: Event::Appended,
    });
    let mut written = 0;
    while let Some(action) = shell.machine.poll() {
        if let Action::Checkpoint = action {
            assert_eq!(shell.machine.last(), shell.machine.durable());
            written += 1;
        }
    }
    assert_eq!(written, 1);
    assert!(
        shell.machine.last() > shell.machine.durable(),
        "then it was decided"
    );
}
