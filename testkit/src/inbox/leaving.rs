//! Cases of leaving letters.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use tokio::task::JoinSet;
use windlass_ports::MailboxErrorKind;

use super::checks::{Two, claim, done, ids, leave, letter, look, refused, reply, session};
use super::{Checked, InboxFixture, Violation};
use crate::store::{ensure, run, run_in_parallel};

/// A letter is taken byte for byte, also an empty one, and stays until it is replied to. The session
/// need not be there when it is left.
pub fn a_letter_is_taken_as_it_was_left(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let every_byte: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        let left = [
            letter("a", &every_byte)?,
            letter("b", "")?,
            letter("c", "{\"text\":\"漢🦀\\n\"}\r\n")?,
        ];
        for letter in &left {
            leave(&two.one, &id, letter).await?;
        }
        let epoch = claim(&two.other, &id).await?;
        for time in ["first", "second"] {
            let taken = two.other.inbox.pending(&id, epoch, 9).await;
            let taken = done(taken, "taking letters")?;
            ensure!(taken == left, "{left:?} were left, and taken the {time} time as {taken:?}");
        }
        Ok(())
    })
}

/// Letters are taken in the order in which they were left, wherever that was, and as many as asked.
pub fn letters_are_taken_in_order(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let all = ["m", "z", "a", "9", "B", "b"];
        let nodes = two.both().into_iter().cycle();
        for (name, (node, _)) in all.iter().zip(nodes) {
            leave(node, &id, &letter(name, name)?).await?;
        }
        let epoch = claim(&two.other, &id).await?;
        for limit in [0, 1, 4, 6, 7, usize::MAX] {
            let taken = two.other.inbox.pending(&id, epoch, limit).await;
            let taken = done(taken, "taking letters")?;
            let taken: Vec<&str> = taken.iter().map(|letter| letter.id.as_str()).collect();
            let expected: Vec<&str> = all.iter().copied().take(limit).collect();
            ensure!(
                taken == expected,
                "{all:?} were left, and up to {limit} are taken as {taken:?}"
            );
        }
        Ok(())
    })
}

/// A letter that is left again changes nothing: while it waits, and when it was replied to.
pub fn a_letter_left_twice_is_one(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let epoch = claim(&two.one, &id).await?;
        for (node, says) in [(&two.one, "first"), (&two.other, "first"), (&two.one, "2nd")] {
            leave(node, &id, &letter("a", says)?).await?;
        }
        let taken = done(two.one.inbox.pending(&id, epoch, 9).await, "taking letters")?;
        ensure!(
            taken == [letter("a", "first")?],
            "one letter was left three times, and {taken:?} is taken"
        );
        reply(&two.one, &id, epoch, "a", "yes").await?;
        for (node, who) in two.both() {
            leave(node, &id, &letter("a", "first")?).await?;
            let waits = ids(&two.one, &id, epoch).await?;
            ensure!(
                waits.is_empty(),
                "a letter that has a reply was left again by {who} and waits: {waits:?}"
            );
            let reply = look(node, &id, "a").await?;
            ensure!(
                reply.as_deref() == Some("yes"),
                "after the letter was left again its reply is {reply:?}"
            );
        }
        Ok(())
    })
}

/// Sessions, and letters, whose ids are easily mixed up.
const IDS: [&str; 7] = ["a", "A", "a.b", "a-b", "a_b", "a.b.", "0"];

/// Each session has letters of its own, and each letter a reply of its own.
pub fn letters_of_sessions_are_apart(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        for of in IDS {
            for name in IDS {
                leave(&two.one, &session(of)?, &letter(name, format!("{of} {name}"))?).await?;
            }
        }
        for of in IDS {
            let id = session(of)?;
            let epoch = claim(&two.other, &id).await?;
            let taken = done(two.other.inbox.pending(&id, epoch, 99).await, "taking")?;
            let says: Vec<_> = taken.iter().map(|letter| letter.bytes.clone()).collect();
            let expected: Vec<_> = IDS.iter().map(|name| format!("{of} {name}")).collect();
            ensure!(
                says == expected,
                "in session {of} {expected:?} was left, and {says:?} is taken"
            );
            reply(&two.other, &id, epoch, "a.b", &format!("{of} a.b")).await?;
        }
        for of in IDS {
            for name in IDS {
                let reply = look(&two.one, &session(of)?, name).await?;
                let expected = (name == "a.b").then(|| format!("{of} a.b"));
                ensure!(
                    reply == expected,
                    "letter {name} of session {of} has the reply {reply:?}, and {expected:?} was given"
                );
            }
        }
        Ok(())
    })
}

/// A session in which as many letters wait as may takes no other, until one has a reply. A letter that
/// is known is not refused, and other sessions have room of their own.
pub fn a_full_session_takes_no_more(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let (id, beside) = (session("s")?, session("beside")?);
        let epoch = claim(&two.one, &id).await?;
        for number in 0..two.declared.max_commands {
            leave(&two.one, &id, &letter(&format!("n{number}"), "x")?).await?;
        }
        for (node, who) in two.both() {
            let more = node.inbox.send(&id, &letter("more", "x")?).await;
            let what = format!("one letter more than may wait, by {who},");
            refused(more, MailboxErrorKind::Full, &what)?;
            leave(node, &id, &letter("n0", "x")?).await?;
            leave(node, &beside, &letter(&format!("by-{}", who.len()), "x")?).await?;
        }
        let waits = ids(&two.one, &id, epoch).await?;
        ensure!(
            waits.len() == two.declared.max_commands && !waits.contains(&"more".to_owned()),
            "{} letters wait at most, and these do: {waits:?}",
            two.declared.max_commands
        );
        reply(&two.one, &id, epoch, "n0", "yes").await?;
        leave(&two.other, &id, &letter("more", "x")?).await?;
        leave(&two.other, &id, &letter("n0", "x")?).await
    })
}

/// Of letters that are left by many at once, each stands once, and not more than may wait.
pub fn of_many_left_at_once_each_stands_once(at: &dyn InboxFixture) -> Checked {
    run_in_parallel(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let most = two.declared.max_commands;
        for number in 0..most.saturating_sub(4) {
            leave(&two.one, &id, &letter(&format!("n{number}"), "x")?).await?;
        }
        // Eight letters, each by both nodes, for which there are at most four places.
        let mut leaving = JoinSet::new();
        for number in 0..16 {
            let inbox = two.both()[number % 2].0.inbox.clone();
            let letter = letter(&format!("racer-{}", number / 2), "x")?;
            let id = id.clone();
            leaving.spawn(async move { inbox.send(&id, &letter).await.map(|()| letter.id) });
        }
        let mut left = Vec::new();
        while let Some(ended) = leaving.join_next().await {
            let died = |error| Violation::new(format!("a racer died: {error}"));
            match ended.map_err(died)? {
                Ok(letter) => left.push(letter.to_string()),
                full => refused(full, MailboxErrorKind::Full, "leaving a letter beside others")?,
            }
        }
        let epoch = claim(&two.one, &id).await?;
        let mut waits = ids(&two.one, &id, epoch).await?;
        ensure!(
            waits.len() == most,
            "{most} letters may wait, more were left at once, and {} wait",
            waits.len()
        );
        ensure!(
            left.iter().all(|letter| waits.contains(letter)),
            "{left:?} were acknowledged, and these wait: {waits:?}"
        );
        waits.sort();
        waits.dedup();
        ensure!(waits.len() == most, "a letter waits twice among {waits:?}");
        Ok(())
    })
}

/// The largest letter and the largest reply are taken, and what has a byte more is not.
pub fn what_is_too_large_is_refused(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let largest = vec![0xFE; two.declared.max_command_bytes];
        let larger = vec![0xFE; two.declared.max_command_bytes + 1];
        let kind = MailboxErrorKind::TooLarge;
        let left = two.one.inbox.send(&id, &letter("larger", &larger)?).await;
        refused(left, kind, "a letter of one byte too many")?;
        leave(&two.one, &id, &letter("a", &largest)?).await?;
        let epoch = claim(&two.other, &id).await?;
        let taken = done(two.other.inbox.pending(&id, epoch, 9).await, "taking")?;
        ensure!(
            taken.len() == 1 && taken.iter().all(|taken| taken.bytes == largest),
            "the largest letter was left, and {} letters are taken, or another one",
            taken.len()
        );
        let name = &letter("a", "")?.id;
        let given = two.other.inbox.acknowledge(&id, epoch, name, &larger).await;
        refused(given, kind, "a reply of one byte too many")?;
        let given = two.other.inbox.acknowledge(&id, epoch, name, &largest).await;
        done(given, "the largest reply")?;
        let replied = two.one.inbox.acknowledgement(&id, name, two.soon()).await;
        let replied = done(replied, "waiting for the largest reply")?;
        ensure!(
            replied.is_some_and(|reply| reply == largest),
            "the largest reply came otherwise than it was given"
        );
        Ok(())
    })
}
