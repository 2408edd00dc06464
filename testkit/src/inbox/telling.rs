//! Cases of how it is told that letters came.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use super::checks::{Two, claim, done, leave, letter, reply, session, told};
use super::{Checked, InboxFixture};
use crate::store::{ensure, run};

/// A letter is told to all who ask, on the node where it was left and on others, as a letter of its
/// session.
pub fn arrivals_are_told_everywhere(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let mut asking = Vec::new();
        for (node, who) in two.both() {
            asking.push((node.inbox.arrivals(), who));
            asking.push((node.inbox.arrivals(), who));
        }
        for (number, (node, whose)) in two.both().into_iter().enumerate() {
            let id = session(&format!("s-{number}"))?;
            leave(node, &id, &letter("a", "x")?).await?;
            for (news, who) in &mut asking {
                let when = format!("to {who} after {whose} left a letter");
                told(news, &id, two.soon(), &when).await?;
            }
        }
        Ok(())
    })
}

/// A session in which a letter waits is told to those who begin to ask, and again and again; and not
/// any more once it has a reply.
pub fn what_waits_is_told_again(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let (id, beside) = (session("s")?, session("beside")?);
        leave(&two.one, &id, &letter("a", "x")?).await?;
        let mut news = two.other.inbox.arrivals();
        for time in 1..=3 {
            let when = format!("for the {time}. time, while its letter waits");
            told(&mut news, &id, two.soon(), &when).await?;
        }
        let epoch = claim(&two.other, &id).await?;
        reply(&two.other, &id, epoch, "a", "yes").await?;
        leave(&two.one, &beside, &letter("a", "x")?).await?;
        let mut after = two.other.inbox.arrivals();
        // Whoever was about to tell of the one before its reply may tell of it once more, in any round
        // that had begun. Then only the other one is told: three times with nothing between, for good
        // measure.
        let mut alone = 0;
        let only = tokio::time::timeout(two.soon(), async {
            while alone < 3 {
                match after.next().await {
                    Some(told) if told == beside => alone += 1,
                    Some(_) => alone = 0,
                    None => break,
                }
            }
        });
        ensure!(
            only.await.is_ok() && alone == 3,
            "only {beside} has a letter, and within {:?} it is not told without another one",
            two.soon()
        );
        Ok(())
    })
}

/// Sessions in which letters wait are listed, in the order of their ids, page by page, and no others.
pub fn sessions_with_letters_are_listed(at: &dyn InboxFixture) -> Checked {
    run(async {
        let two = Two::open(at).await?;
        let all = ["9", "B", "a", "a-b", "a.b", "b"];
        let mut expected = Vec::new();
        for name in all.into_iter().rev() {
            leave(&two.one, &session(name)?, &letter("x", name)?).await?;
            leave(&two.other, &session(name)?, &letter("y", name)?).await?;
        }
        for name in all {
            let id = session(name)?;
            let epoch = claim(&two.one, &id).await?;
            // Of some all letters have a reply, of others one, of others none.
            for letter in match name {
                "B" | "a.b" => ["x", "y"].as_slice(),
                "9" => ["y"].as_slice(),
                _ => [].as_slice(),
            } {
                reply(&two.one, &id, epoch, letter, "yes").await?;
            }
            if !matches!(name, "B" | "a.b") {
                expected.push(id);
            }
        }
        for limit in [1, 2, 3, 4, 100] {
            let (mut listed, mut after) = (Vec::new(), None);
            loop {
                let page = two.other.inbox.pending_sessions(after.as_ref(), limit).await;
                let page = done(page, "listing sessions with letters")?;
                ensure!(page.len() <= limit, "a page of {limit} has {} sessions", page.len());
                listed.extend_from_slice(&page);
                after = page.last().cloned();
                if page.len() < limit || listed.len() > all.len() {
                    break;
                }
            }
            ensure!(
                listed == expected,
                "letters wait in {expected:?}, and by pages of {limit} {listed:?} are listed"
            );
        }
        Ok(())
    })
}
