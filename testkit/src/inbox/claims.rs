//! Cases of who takes letters, and what becomes of them with their driver and their session.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_core::Epoch;
use windlass_ports::{Durability, MailboxErrorKind};

use super::checks::{
    Two, claim, ids, leave, letter, letter_id, look, refused, release, reply, session, stored,
};
use super::{Checked, InboxFixture};
use crate::store::{ensure, run};

/// Letters are taken and replied to under the latest claim only: a driver that was superseded does
/// neither, and what it says changes nothing.
pub fn letters_are_for_the_latest_claim(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let id = session("s")?;
        leave(&two.one, &id, &letter("a", "x")?).await?;
        let mut stale: Vec<(Epoch, &str)> =
            vec![(Epoch(0), "no claim"), (Epoch(u64::MAX / 4), "a claim that was never granted")];
        for (node, who) in [two.both(), two.both()].into_iter().flatten() {
            let epoch = claim(node, &id).await?;
            let waits = ids(node, &id, epoch).await?;
            ensure!(waits == ["a"], "{who} claimed a session, and {waits:?} wait");
            for (epoch, whose) in &stale {
                for (node, _) in two.both() {
                    let kind = MailboxErrorKind::NotClaimed;
                    let taken = node.inbox.pending(&id, *epoch, 9).await;
                    refused(taken, kind, &format!("taking letters under {whose}"))?;
                    let name = letter_id("a")?;
                    let given = node.inbox.acknowledge(&id, *epoch, &name, b"stale").await;
                    refused(given, kind, &format!("replying under {whose}"))?;
                }
            }
            let replied = look(&two.other, &id, "a").await?;
            ensure!(replied.is_none(), "a stale driver replied {replied:?}");
            stale.push((epoch, "a claim that another followed"));
            release(node, &id, epoch).await?;
        }
        let epoch = claim(&two.other, &id).await?;
        reply(&two.other, &id, epoch, "a", "yes").await?;
        let replied = look(&two.one, &id, "a").await?;
        ensure!(
            replied.as_deref() == Some("yes"),
            "the latest driver replied, and {replied:?} is told"
        );
        Ok(())
    })
}

/// Letters and replies are there when whoever left them and whoever drove the session have gone.
pub fn letters_outlive_who_left_and_who_drove(at: &dyn InboxFixture) -> Checked {
    run(async {
        let id = session("s")?;
        let two = Two::open(at).await?;
        let durability = two.declared.durability;
        let epoch = claim(&two.one, &id).await?;
        for name in ["a", "b", "c"] {
            leave(&two.other, &id, &letter(name, "x")?).await?;
        }
        reply(&two.one, &id, epoch, "b", "yes").await?;
        release(&two.one, &id, epoch).await?;
        drop(two);
        let two = Two::open(at).await?;
        let epoch = claim(&two.one, &id).await?;
        let waits = ids(&two.one, &id, epoch).await?;
        let replied = look(&two.other, &id, "b").await?;
        let kept = waits == ["a", "c"] && replied.as_deref() == Some("yes");
        let empty = waits.is_empty() && replied.is_none();
        ensure!(
            kept || (empty && durability == Durability::Memory),
            "{durability:?} is declared, a and c waited and b had a reply; opened again, {waits:?} \
             wait and b has {replied:?}"
        );
        Ok(())
    })
}

/// With a session its letters and replies are erased, and nothing of another session. What is left
/// afterwards is for a new session.
pub fn erasing_takes_letters_and_replies_along(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        if !two.one.store.capabilities().erase {
            return Ok(());
        }
        let (id, beside) = (session("s")?, session("s.")?);
        for id in [&id, &beside] {
            let epoch = claim(&two.one, id).await?;
            for name in ["a", "b"] {
                leave(&two.other, id, &letter(name, "x")?).await?;
            }
            reply(&two.one, id, epoch, "a", "yes").await?;
            if *id == beside {
                release(&two.one, id, epoch).await?;
            }
        }
        let epoch = claim(&two.one, &id).await?;
        stored(two.one.store.erase(&id, epoch).await, "erasing")?;
        let (replied, still) =
            (look(&two.other, &id, "a").await?, look(&two.other, &beside, "a").await?);
        ensure!(replied.is_none(), "a session was erased, and a reply is there: {replied:?}");
        ensure!(
            still.as_deref() == Some("yes"),
            "a session was erased, and a reply of another is {still:?}"
        );
        let epoch = claim(&two.other, &id).await?;
        let waits = ids(&two.other, &id, epoch).await?;
        ensure!(waits.is_empty(), "a session was erased, and these letters wait: {waits:?}");
        // Its ids are known no more.
        leave(&two.one, &id, &letter("a", "new")?).await?;
        let waits = ids(&two.other, &id, epoch).await?;
        ensure!(
            waits == ["a"],
            "a letter was left for a session that was erased before, and {waits:?} wait"
        );
        let epoch = claim(&two.one, &beside).await?;
        let waits = ids(&two.one, &beside, epoch).await?;
        ensure!(waits == ["b"], "a session was erased, and of another these wait: {waits:?}");
        Ok(())
    })
}
