//! Cases of replies.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::time::{Duration, Instant};

use super::checks::{Two, claim, done, ids, leave, letter, letter_id, look, reply, session};
use super::{Checked, InboxFixture, Violation};
use crate::store::{ensure, run};
use crate::suite::not_run;

/// With its reply a letter is gone, and no other; and the reply is there for all.
pub fn a_reply_takes_the_letter_away(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let epoch = claim(&two.one, &id).await?;
        for name in ["a", "b", "c"] {
            leave(&two.other, &id, &letter(name, name)?).await?;
            let early = look(&two.other, &id, name).await?;
            ensure!(early.is_none(), "a letter had a reply before: {early:?}");
        }
        reply(&two.one, &id, epoch, "b", "\0 yes").await?;
        let waits = ids(&two.one, &id, epoch).await?;
        ensure!(waits == ["a", "c"], "letter b of a, b, c has a reply, and these wait: {waits:?}");
        for (node, who) in two.both() {
            let replied = look(node, &id, "b").await?;
            ensure!(replied.as_deref() == Some("\0 yes"), "{who} has the reply {replied:?}");
        }
        Ok(())
    })
}

/// Of two replies the first stands; one to a letter that is not there changes nothing.
pub fn the_first_reply_stands(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let epoch = claim(&two.one, &id).await?;
        leave(&two.other, &id, &letter("a", "x")?).await?;
        for says in ["first", "second"] {
            reply(&two.one, &id, epoch, "a", says).await?;
            let replied = look(&two.other, &id, "a").await?;
            ensure!(
                replied.as_deref() == Some("first"),
                "after the {says} reply the letter has {replied:?}"
            );
        }
        reply(&two.one, &id, epoch, "nobody-left-it", "yes").await?;
        let waits = ids(&two.one, &id, epoch).await?;
        ensure!(waits.is_empty(), "after all replies these wait: {waits:?}");
        leave(&two.other, &id, &letter("nobody-left-it", "x")?).await?;
        let waits = ids(&two.one, &id, epoch).await?;
        ensure!(
            waits == ["nobody-left-it"],
            "a letter that was left after a reply to nothing does not wait: {waits:?}"
        );
        Ok(())
    })
}

/// Whoever waits for a reply has it as soon as it is given, on the same node and on another.
pub fn a_reply_reaches_who_waits(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        let epoch = claim(&two.one, &id).await?;
        for (node, who) in two.both() {
            let name = format!("by-{}", who.len());
            leave(node, &id, &letter(&name, "x")?).await?;
            let waiting = tokio::spawn({
                let (inbox, id, name) = (node.inbox.clone(), id.clone(), letter_id(&name)?);
                let longest = two.soon() * 2;
                async move { inbox.acknowledgement(&id, &name, longest).await }
            });
            // Some of the way it waits already; the reply is not missed either way.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            reply(&two.one, &id, epoch, &name, "yes").await?;
            let soon = two.soon();
            let waited = tokio::time::timeout(soon, waiting).await;
            let waited = waited.map_err(|_| {
                Violation::new(format!("{who} waited {soon:?} for a reply that was given"))
            })?;
            let died = |error| Violation::new(format!("who waited died: {error}"));
            let replied = done(waited.map_err(died)?, "waiting for a reply")?;
            ensure!(
                replied.as_deref() == Some(b"yes".as_slice()),
                "{who} waited and was told {replied:?}"
            );
        }
        Ok(())
    })
}

/// Without a reply whoever waits is told so when the patience is over, and not before.
pub fn patience_ends_without_a_reply(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        leave(&two.one, &id, &letter("a", "x")?).await?;
        let patience = Duration::from_millis(300);
        for name in ["a", "nobody-left-it"] {
            let begun = Instant::now();
            let name = letter_id(name)?;
            let waited = two.one.inbox.acknowledgement(&id, &name, patience);
            let soon = patience + two.soon();
            let waited = tokio::time::timeout(soon, waited).await;
            let over = |_| Violation::new(format!("a patience of {patience:?} lasts {soon:?}"));
            let replied = done(waited.map_err(over)?, "waiting for no reply")?;
            ensure!(replied.is_none(), "nobody replied, and {replied:?} is told");
            ensure!(
                begun.elapsed() >= patience,
                "a patience of {patience:?} was over after {:?}",
                begun.elapsed()
            );
        }
        Ok(())
    })
}

/// A reply is there for as long as replies are kept, and not for ever.
pub fn replies_are_kept_and_go(at: &dyn InboxFixture) -> Checked {
    run(async {
        let (Some(one), Some(other)) = (at.open_brief().await, at.open_brief().await) else {
            let method = "InboxFixture::open_brief";
            return not_run("inbox_suite", "replies_are_kept_and_go", method);
        };
        let two = Two::of(at, one, other)?;
        let kept_ms = two.declared.retain_acks_ms;
        ensure!(
            kept_ms <= 2_000,
            "the fixture keeps replies for {kept_ms} ms, and is asked for 2,000 at most"
        );
        let id = session("s")?;
        let epoch = claim(&two.one, &id).await?;
        leave(&two.one, &id, &letter("a", "x")?).await?;
        let begun = Instant::now();
        reply(&two.one, &id, epoch, "a", "yes").await?;
        for passed in [0, kept_ms / 2] {
            at.pass(passed).await;
            let replied = look(&two.other, &id, "a").await?;
            // Only as far as the machine did not stand still.
            ensure!(
                replied.is_some() || begun.elapsed() >= Duration::from_millis(kept_ms),
                "a reply is kept for {kept_ms} ms, and gone after {passed}"
            );
        }
        at.pass(kept_ms * 2).await;
        let until = Instant::now() + two.soon();
        while look(&two.other, &id, "a").await?.is_some() {
            ensure!(
                Instant::now() < until,
                "a reply that is kept for {kept_ms} ms is there after {} and {:?} more",
                kept_ms * 2,
                two.soon()
            );
            at.pass(100).await;
        }
        // What is not known any more is a letter like any other.
        leave(&two.other, &id, &letter("a", "again")?).await?;
        let waits = ids(&two.one, &id, epoch).await?;
        ensure!(waits == ["a"], "a new letter was left, and {waits:?} wait");
        Ok(())
    })
}
