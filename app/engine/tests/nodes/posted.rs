//! Letters that are large, late or not to be read, and an inbox that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_engine::core::{Fact, Goal, InputId, InterruptSource, Session, StopTiming};
use windlass_engine::ports::{MailboxCommand, MailboxCommandId, MailboxErrorKind};
use windlass_engine::{SendError, StartError};
use windlass_testkit::Gate;
use windlass_testkit::nodes::{InboxFault, InboxOperation, Nodes};
use windlass_testkit::provider::{say, stall};

use crate::fleet::{Fleet, id, me, said, soon, until};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn what_is_too_long_for_a_letter_comes_beside_it() {
    let fleet = Fleet::new([say("one")]);
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let text = "a long story. ".repeat(20_000);
    soon(reached.send(said(&text))).await.unwrap();
    assert_eq!(fleet.texts(), [text]);
}

#[tokio::test(start_paused = true)]
async fn images_are_kept_by_the_node_that_is_asked() {
    let fleet = Fleet::new([say("one")]);
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let mut send = said("what is this?");
    send.images = vec![b"\x89PNG\r\n\x1a\n and the rest".to_vec()];
    soon(reached.send(send)).await.unwrap();
    let shown = |fact: &Fact| matches!(fact, Fact::InputQueued(queued) if queued.images.len() == 1);
    assert_eq!(fleet.count(shown), 1);
}

#[tokio::test(start_paused = true)]
async fn letters_that_do_not_read_are_refused_and_hold_nothing_up() {
    let fleet = Fleet::new([say("one")]);
    let (one, other) = (fleet.member(), fleet.member());
    let inbox = other.node.inbox();
    let letters = [
        ("newer", r#"{"v":2,"key":"k","said":"in a form of tomorrow"}"#),
        ("noise", "\u{0}\u{1}"),
        (
            "lost",
            r#"{"v":1,"key":"k","scope":{"kind":"system","reason":"r"},"stored_at":1000,
                "until":9007199254740991,"body":{"blob":{"sha256":
                "0000000000000000000000000000000000000000000000000000000000000000","bytes":5}}}"#,
        ),
    ];
    for (name, bytes) in letters {
        let letter =
            MailboxCommand { id: MailboxCommandId::new(name).unwrap(), bytes: bytes.into() };
        inbox.send(&id("s"), &letter).await.unwrap();
    }
    let _conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("hello"))).await.unwrap();
    for (name, _) in letters {
        let name = MailboxCommandId::new(name).unwrap();
        let reply = inbox.acknowledgement(&id("s"), &name, Duration::ZERO).await;
        let reply = reply.unwrap().unwrap();
        let reply = String::from_utf8(reply.to_vec()).unwrap();
        assert!(reply.starts_with(r#"{"v":1,"execution":{"rejected":{"unreadable":"#), "{reply}");
    }
    assert_eq!(fleet.texts(), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_does_not_read_is_told_as_such() {
    let fleet = Fleet::new([]);
    let (one, other) = (fleet.place.node(), fleet.member());
    let conversation = fleet.drives(&other).await;
    soon(conversation.close()).await;
    let epoch = one.store().claim(&id("s")).await.unwrap().epoch;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    until(|| fleet.place.waiting(&id("s")) == 1).await;
    let letters = one.inbox().pending(&id("s"), epoch, 9).await.unwrap();
    let reply = br#"{"v":3,"execution":"something"}"#;
    let inbox = one.inbox();
    inbox.acknowledge(&id("s"), epoch, &letters[0].id, reply).await.unwrap();
    let told = soon(sending).await.unwrap();
    assert!(matches!(told, Err(SendError::Unreadable(_))), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_do_now_waits_and_is_done_later_and_once() {
    let fleet = Fleet::new([say("one"), say("other")]);
    let full = [fleet.member_of(1), fleet.member_of(1)];
    let conversation = fleet.drives(&full[0]).await;
    soon(conversation.close()).await;
    let busy = ["a", "b"];
    let mut held = Vec::new();
    for (member, name) in full.iter().zip(busy) {
        let opened = member.engine.open(&id(name), &me(), fleet.start()).await;
        held.push(opened.unwrap());
    }
    let refused = full[0].engine.open(&id("s"), &me(), fleet.start()).await;
    assert!(matches!(refused, Err(StartError::Busy { most: 1, .. })));
    let pay = || {
        let mut send = said("pay");
        send.key = Some("once".to_owned());
        send
    };
    for member in &full {
        let reached = soon(member.engine.session(&id("s"), &me())).await.unwrap();
        let at = Instant::now();
        let waits = soon(reached.send(pay())).await;
        assert!(matches!(waits, Err(SendError::Pending { .. })), "{waits:?}");
        let waited = at.elapsed();
        assert!(waited >= MINUTE / 2 && waited < MINUTE, "{waited:?}");
    }
    assert_eq!((fleet.texts().len(), fleet.place.waiting(&id("s"))), (0, 1));
    // A third one has room.
    let third = fleet.member();
    drop(soon(third.engine.session(&id("s"), &me())).await.unwrap());
    until(|| fleet.texts().len() == 1).await;
    until(|| fleet.place.waiting(&id("s")) == 0).await;
    let reached = soon(full[1].engine.session(&id("s"), &me())).await.unwrap();
    let input = soon(reached.send(pay())).await.unwrap();
    let log = fleet.log();
    let queued =
        |one: &&windlass_engine::core::RecordedFact| matches!(one.fact, Fact::InputQueued(_));
    let queued = log.iter().find(queued).unwrap();
    assert_eq!((input, fleet.texts().len()), (InputId(queued.seq.0), 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_changes_nothing() {
    let fleet = Fleet::new([say("one")]);
    let (one, other) = (fleet.member_of(1), fleet.member());
    let conversation = fleet.drives(&other).await;
    soon(conversation.close()).await;
    let opened = one.engine.open(&id("a"), &me(), fleet.start()).await;
    let _held = opened.unwrap();
    let reached = soon(one.engine.session(&id("s"), &me())).await.unwrap();
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    until(|| fleet.place.waiting(&id("s")) == 1).await;
    sending.abort();
    drop(soon(other.engine.session(&id("s"), &me())).await.unwrap());
    until(|| fleet.texts() == ["hello"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_left_first_is_heard_first() {
    let fleet = Fleet::new([say("one"), say("two")]);
    let (one, other) = (fleet.member_of(1), fleet.member());
    let conversation = fleet.drives(&other).await;
    soon(conversation.close()).await;
    let opened = one.engine.open(&id("a"), &me(), fleet.start()).await;
    let _held = opened.unwrap();
    let reached = soon(one.engine.session(&id("s"), &me())).await.unwrap();
    let sending = tokio::spawn(async move { reached.send(said("left")).await });
    until(|| fleet.place.waiting(&id("s")) == 1).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("said"))).await.unwrap();
    soon(sending).await.unwrap().unwrap();
    assert_eq!(fleet.texts(), ["left", "said"]);
}

#[tokio::test(start_paused = true)]
async fn what_came_too_late_is_refused_unless_it_was_done() {
    let fleet = Fleet::new([say("one"), say("two")]);
    let (one, other) = (fleet.member(), fleet.member_of(1));
    let conversation = fleet.drives(&one).await;
    soon(conversation.send(said("hello"))).await.unwrap();
    soon(conversation.close()).await;
    let opened = other.engine.open(&id("a"), &me(), fleet.start()).await;
    let _held = opened.unwrap();
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let waits = soon(reached.resume()).await.unwrap_err();
    let SendError::Pending { command: letter } = &waits else { panic!("{waits:?}") };
    let told = soon(reached.send(said("later"))).await;
    assert!(matches!(told, Err(SendError::Pending { .. })));
    sleep(11 * MINUTE).await;
    let before = fleet.log().len();
    let conversation = fleet.drives(&one).await;
    until(|| fleet.place.waiting(&id("s")) == 0).await;
    let inbox = other.node.inbox();
    let reply = inbox.acknowledgement(&id("s"), letter, Duration::ZERO).await;
    let reply = String::from_utf8(reply.unwrap().unwrap().to_vec()).unwrap();
    assert!(reply.starts_with(r#"{"v":1,"execution":{"rejected":{"expired":"#), "{reply}");
    assert_eq!(fleet.texts(), ["hello", "later"], "an input lasts for a day");
    assert!(fleet.log().len() > before);
    drop(conversation);
}

#[tokio::test(start_paused = true)]
async fn an_inbox_that_fails_for_a_while_holds_no_session_up() {
    let fleet = Fleet::new([say("one"), say("two")]);
    let fleet = fleet.failing(|operation, number| match (operation, number) {
        (InboxOperation::Letters, 1..6) => vec![InboxFault::Fail(MailboxErrorKind::Unavailable)],
        (InboxOperation::Leave, 1) => vec![InboxFault::FailAfter(MailboxErrorKind::Io)],
        (InboxOperation::Reply, 1) => vec![InboxFault::Fail(MailboxErrorKind::Unavailable)],
        (InboxOperation::Reply, 2) => vec![InboxFault::FailAfter(MailboxErrorKind::Io)],
        (InboxOperation::Replied, 1..3) => vec![InboxFault::Fail(MailboxErrorKind::Unavailable)],
        _ => Vec::new(),
    });
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    soon(conversation.send(said("here"))).await.unwrap();
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("there"))).await.unwrap();
    assert_eq!(fleet.texts(), ["here", "there"]);
    until(|| fleet.place.waiting(&id("s")) == 0).await;
}

/// A letter whose replies fail until they are let through, and as much as can be said where it was taken.
/// Whoever drives at the end has done it once.
async fn said_beside_a_letter(dies: bool) {
    let (began, replies) = (Gate::new(), Arc::new(AtomicBool::new(false)));
    let (at, stand) = (began.clone(), replies.clone());
    let fleet = Fleet::new([stall(), say("one"), say("two"), say("three")]);
    let fleet = fleet.failing(move |operation, number| match (operation, number) {
        (InboxOperation::Reply, 1) => {
            vec![InboxFault::Wait(at.clone()), InboxFault::Fail(MailboxErrorKind::Unavailable)]
        }
        (InboxOperation::Reply, _) if !stand.load(Ordering::Relaxed) => {
            vec![InboxFault::Fail(MailboxErrorKind::Unavailable)]
        }
        _ => Vec::new(),
    });
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    soon(conversation.send(said("first"))).await.unwrap();
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let sending = tokio::spawn(async move { reached.send(said("hello")).await });
    began.reached().await;
    began.open();
    let here = soon(one.engine.session(&id("s"), &me())).await.unwrap();
    let (mut taken, mut refused) = (0, 0);
    for number in 0..2 * Session::MAX_KEYS {
        let goal = (number % 2 == 0).then(|| Goal { text: "more".into(), turns: 3 });
        match soon(here.set_goal(goal, me())).await {
            Ok(_) => taken += 1,
            Err(SendError::Mailbox(error)) => {
                assert_eq!(error.kind, MailboxErrorKind::Unavailable);
                refused += 1;
            }
            told => panic!("{told:?}"),
        }
    }
    assert_eq!((taken, refused), (55, 73), "room is kept for what cannot wait");
    let stop = here.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    soon(stop).await.unwrap();
    if dies {
        one.node.cut();
    }
    replies.store(true, Ordering::Relaxed);
    soon(sending).await.unwrap().unwrap();
    until(|| fleet.place.waiting(&id("s")) == 0).await;
    assert_eq!(fleet.texts(), ["first", "hello"]);
    if !dies {
        soon(here.set_goal(None, me())).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_letter_without_a_reply_is_done_once_however_much_is_said_meanwhile() {
    said_beside_a_letter(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_letter_without_a_reply_is_done_once_whoever_drives_next() {
    said_beside_a_letter(true).await;
}

#[tokio::test(start_paused = true)]
async fn an_inbox_that_is_full_or_gone_is_told_as_such() {
    let fleet = Fleet::new([]).failing(|operation, number| match (operation, number) {
        (InboxOperation::Leave, 1) => vec![InboxFault::Fail(MailboxErrorKind::Full)],
        (InboxOperation::Leave, _) => vec![InboxFault::Fail(MailboxErrorKind::Unavailable)],
        _ => Vec::new(),
    });
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let kind = async || match soon(reached.send(said("hello"))).await {
        Err(SendError::Mailbox(error)) => error.kind,
        told => panic!("{told:?}"),
    };
    let at = Instant::now();
    assert_eq!(kind().await, MailboxErrorKind::Full);
    assert!(at.elapsed() < Duration::from_secs(1), "at once");
    assert_eq!(kind().await, MailboxErrorKind::Unavailable);
    let waited = at.elapsed();
    assert!(waited > MINUTE / 2 && waited < MINUTE, "{waited:?}");
    assert!(fleet.texts().is_empty() && waited > Nodes::LEASE);
}
