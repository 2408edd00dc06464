//! Cases of what is heard of what is told.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::time::Duration;

use windlass_ports::LiveItem;

use super::checks::{Three, session, shown};
use super::{Checked, LiveFixture};
use crate::store::{ensure, run};

/// A message is heard on all other nodes that hear its session, byte for byte, also an empty one, and
/// not by whoever told it.
pub fn what_is_told_is_heard_elsewhere(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let id = session("s")?;
        let mut own = three.teller.subscribe(&id);
        let mut hearing = three.heard(&id).await?;
        let mut beside = three.third.subscribe(&id);
        let every_byte: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        for message in [every_byte.as_slice(), b"", "{\"text\":\"漢🦀'\\\"\"}\r\n".as_bytes()] {
            for hearing in [&mut hearing, &mut beside] {
                let all = three.tell_until_heard(&id, message, hearing).await?;
                let strange = all.iter().find(|heard| match heard {
                    LiveItem::Message(told) => {
                        told != message && !every_byte.starts_with(told) && !told.is_empty()
                    }
                    LiveItem::Missed => false,
                });
                ensure!(
                    strange.is_none(),
                    "{} was told, and this was heard: {}",
                    shown(&[LiveItem::Message(message.to_vec().into())]),
                    shown(&all)
                );
            }
        }
        let heard = tokio::time::timeout(Duration::from_millis(50), own.next()).await;
        ensure!(heard.is_err(), "who told hears itself: {heard:?}");
        Ok(())
    })
}

/// Of each session its own messages are heard, and no others.
pub fn messages_of_sessions_are_apart(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let names = ["a", "A", "a.b", "a-b", "a_b", "a.b.", "0"];
        let mut hearings = Vec::new();
        for name in names {
            hearings.push((name, three.heard(&session(name)?).await?));
        }
        for (name, hearing) in &mut hearings {
            for other in names.into_iter().filter(|other| other != name) {
                three.teller.publish(&session(other)?, other.as_bytes());
            }
            let id = session(name)?;
            let all = three.tell_until_heard(&id, name.as_bytes(), hearing).await?;
            let own = |heard: &LiveItem| match heard {
                LiveItem::Message(told) => *told == name.as_bytes(),
                LiveItem::Missed => true,
            };
            ensure!(all.iter().all(own), "who hears session {name} heard {}", shown(&all));
        }
        Ok(())
    })
}

/// What is heard of one teller is heard in order, each message at most once; where some are missing
/// that is said.
pub fn messages_are_heard_in_order(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let id = session("s")?;
        let mut hearing = three.heard(&id).await?;
        three.tell_until_heard(&id, b"begin", &mut hearing).await?;
        // More than may wait, in bursts, with time between to hear some.
        let count = three.declared.max_queued_messages * 3;
        for number in 0..count {
            let message = format!("{number:06} {}", "x".repeat(number % 300));
            three.teller.publish(&id, message.as_bytes());
            if number % 97 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let all = three.tell_until_heard(&id, b"end", &mut hearing).await?;
        let (mut last, mut missed, mut heard) = (None::<usize>, false, 0);
        for one in &all {
            let message = match one {
                LiveItem::Missed => {
                    missed = true;
                    continue;
                }
                LiveItem::Message(message) => String::from_utf8_lossy(message),
            };
            if message == "begin" || message == "end" {
                continue;
            }
            let number = message.split(' ').next().and_then(|it| it.parse().ok());
            let Some(number) = number else {
                let all = shown(&all);
                return Err(super::Violation::new(format!("nobody told {message:?}: {all}")));
            };
            let next = last.map_or(0, |last| last + 1);
            ensure!(
                last.is_none_or(|last| number > last),
                "message {number} is heard after {last:?}"
            );
            ensure!(
                number == next || missed,
                "message {number} is heard after {last:?}, and nobody says that some are missing"
            );
            (last, missed) = (Some(number), false);
            heard += 1;
        }
        ensure!(
            heard > 0 && (last == Some(count - 1) || missed),
            "of {count} messages {heard} are heard, the last is {last:?}, and it is not said that \
             more are missing"
        );
        Ok(())
    })
}

/// For one who hears and does not listen no more waits than is declared, the newest; and it is told
/// that it missed the others.
pub fn who_does_not_listen_is_told_that_it_missed(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let id = session("s")?;
        let mut idle = three.hearer.subscribe(&id);
        let mut hearing = three.heard(&id).await?;
        // Who listens tells when each has arrived on the node.
        for number in 0..three.declared.max_queued_messages + 10 {
            let message = format!("{number}");
            three.tell_until_heard(&id, message.as_bytes(), &mut hearing).await?;
        }
        let mut all = Vec::new();
        while let Ok(Some(heard)) =
            tokio::time::timeout(Duration::from_millis(50), idle.next()).await
        {
            all.push(heard);
        }
        let told = all.iter().filter(|heard| **heard != LiveItem::Missed).count();
        ensure!(
            (1..=three.declared.max_queued_messages).contains(&told),
            "{told} messages waited, and {} may",
            three.declared.max_queued_messages
        );
        ensure!(
            all.first() == Some(&LiveItem::Missed),
            "more came than may wait, and it is not said first that some are missing: {}",
            shown(&all)
        );
        let newest = format!("{}", three.declared.max_queued_messages + 9);
        ensure!(
            matches!(all.last(), Some(LiveItem::Message(told)) if told == newest.as_bytes()),
            "{newest} came last, and this waited: {}",
            shown(&all)
        );
        let dropped = three.hearer.dropped();
        ensure!(dropped >= 10, "10 were dropped, and {dropped} are counted");
        Ok(())
    })
}

/// What is told faster than it can go out is dropped and counted: telling does not wait, and what waits
/// to go out has a bound. Afterwards all goes on.
pub fn telling_drops_what_it_cannot_send(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let id = session("s")?;
        let mut hearing = three.heard(&id).await?;
        three.tell_until_heard(&id, b"begin", &mut hearing).await?;
        // Nothing else runs on this thread meanwhile, so nothing can go out.
        let message = vec![b'x'; 4_096];
        let count = three.declared.backlog_bytes / message.len() * 2
            + three.declared.max_queued_messages * 2;
        for _ in 0..count {
            three.teller.publish(&id, &message);
        }
        let all = three.tell_until_heard(&id, b"end", &mut hearing).await?;
        let dropped = three.teller.dropped() + three.hearer.dropped();
        let heard = all.iter().filter(|heard| **heard != LiveItem::Missed).count();
        ensure!(
            dropped > 0 && heard < count,
            "{count} messages were told at once, {heard} are heard, and {dropped} are counted as \
             dropped: whatever waits has no bound"
        );
        ensure!(
            all.contains(&LiveItem::Missed),
            "{dropped} messages were dropped, and nobody says so: {}",
            shown(&all)
        );
        Ok(())
    })
}

/// The largest message is heard; what has a byte more is dropped, counted, and told as missed.
pub fn what_is_too_large_is_missed(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let id = session("s")?;
        let mut hearing = three.heard(&id).await?;
        let mut largest = vec![b'x'; three.declared.message_bytes];
        three.tell_until_heard(&id, &largest, &mut hearing).await?;
        largest.push(b'x');
        let before = three.teller.dropped();
        three.teller.publish(&id, &largest);
        let dropped = three.teller.dropped() - before;
        ensure!(
            dropped == 1,
            "a message of a byte too many is counted as {dropped} that were dropped"
        );
        let all = three.tell_until_heard(&id, b"end", &mut hearing).await?;
        ensure!(
            !all.iter().any(|heard| matches!(heard, LiveItem::Message(told) if *told == largest)),
            "a message of a byte too many is heard"
        );
        ensure!(
            all.contains(&LiveItem::Missed),
            "a message of a byte too many was dropped, and nobody says so: {}",
            shown(&all)
        );
        Ok(())
    })
}
