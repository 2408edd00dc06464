//! Cases of who hears, and of how a teller knows.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use windlass_core::SessionId;
use windlass_ports::{LiveItem, LogSignal};

use super::checks::{Three, session, shown};
use super::{Checked, LiveFixture, Violation};
use crate::store::{ensure, run};

/// What nobody elsewhere hears goes nowhere, and is not heard by who comes later.
pub fn nobody_hears_what_was_told_before(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let (id, beside) = (session("s")?, session("beside")?);
        let _own = three.teller.subscribe(&id);
        let _beside = three.heard(&beside).await?;
        ensure!(
            !three.teller.has_subscribers(&id),
            "nobody elsewhere hears a session, and it is told to be heard"
        );
        three.teller.publish(&id, b"before");
        let mut hearing = three.heard(&id).await?;
        let all = three.tell_until_heard(&id, b"after", &mut hearing).await?;
        let before = |heard: &LiveItem| matches!(heard, LiveItem::Message(told) if told == b"before".as_slice());
        ensure!(!all.iter().any(before), "who began to hear afterwards heard {}", shown(&all));
        Ok(())
    })
}

/// Who begins to hear is told to all other nodes that ask: the first one of a session, one on another
/// node, and one that begins again.
pub fn who_begins_to_hear_is_announced(at: &dyn LiveFixture) -> Checked {
    run(async {
        let three = Three::open(at).await?;
        let (id, beside) = (session("s")?, session("beside")?);
        let mut news = three.teller.new_subscribers();
        let mut also = three.third.new_subscribers();
        let first = three.hearer.subscribe(&id);
        announced(&three, &mut news, &id, "when the first began to hear").await?;
        announced(&three, &mut also, &id, "to a third node").await?;
        three.until_heard(&*three.teller, &id, true, "once its hearer was announced").await?;
        let _second = three.third.subscribe(&id);
        announced(&three, &mut news, &id, "when one on another node began").await?;
        drop(first);
        let _anew = three.hearer.subscribe(&id);
        announced(&three, &mut news, &id, "when one began anew").await?;
        // One's own are no news.
        let _own = three.teller.subscribe(&beside);
        announced(&three, &mut also, &beside, "to a third node").await?;
        let own = tokio::time::timeout(Duration::from_millis(50), async {
            while let Some(told) = news.next().await {
                if told == beside {
                    return;
                }
            }
        });
        ensure!(own.await.is_err(), "a node is told that it hears itself");
        Ok(())
    })
}

async fn announced(three: &Three, news: &mut LogSignal, id: &SessionId, when: &str) -> Checked {
    let waited = tokio::time::timeout(three.soon(), async {
        while let Some(told) = news.next().await {
            if told == *id {
                return true;
            }
        }
        false
    });
    let told = waited.await.map_err(|_| {
        Violation::new(format!("nobody announced {id} within {:?}, {when}", three.soon()))
    })?;
    ensure!(told, "the news of hearers ended, {when}");
    Ok(())
}

/// A session counts as heard for as long as somebody elsewhere hears it, and not much longer: also
/// when the node that heard it has gone.
pub fn who_hears_no_more_lapses(at: &dyn LiveFixture) -> Checked {
    run(async {
        let mut three = Three::open(at).await?;
        let (id, beside) = (session("s")?, session("beside")?);
        let (one, two) = (three.heard(&id).await?, three.hearer.subscribe(&id));
        let stays = three.heard(&beside).await?;
        drop(one);
        // As long as it would take to lapse, and more.
        let linger = Duration::from_millis(three.declared.linger_ms + 500);
        let ((), stood) = standing(tokio::time::sleep(linger * 2)).await;
        // Where the machine stood still its announcement may have come too late, and comes again.
        ensure!(
            stood >= linger / 3 || three.teller.has_subscribers(&id),
            "one of two who heard a session went, and it does not count as heard any more"
        );
        let when = "while one of two who heard it does";
        three.until_heard(&*three.teller, &id, true, when).await?;
        drop(two);
        let when = "since the last one who heard it went";
        let lapses = three.until_heard(&*three.teller, &id, false, when);
        let (lapsed, stood) = standing(lapses).await;
        lapsed?;
        ensure!(
            stood >= linger / 3 || three.teller.has_subscribers(&beside),
            "a session is not heard any more since another one is not"
        );
        let when = "while somebody hears it, and nobody another one";
        three.until_heard(&*three.teller, &beside, true, when).await?;
        let gone = at.open().await;
        drop(std::mem::replace(&mut three.hearer, gone));
        let when = "since the node that heard it went";
        three.until_heard(&*three.teller, &beside, false, when).await?;
        drop(stays);
        Ok(())
    })
}

/// What comes, and for how long at a time this machine stood still meanwhile.
async fn standing<T>(comes: impl Future<Output = T>) -> (T, Duration) {
    const TICK: Duration = Duration::from_millis(10);
    let mut comes = pin!(comes);
    let mut longest = Duration::ZERO;
    loop {
        let begun = Instant::now();
        tokio::select! {
            biased;
            come = &mut comes => return (come, longest.max(begun.elapsed())),
            () = tokio::time::sleep(TICK) => longest = longest.max(begun.elapsed()),
        }
    }
}

/// Whoever hears is told the end when the relay object is gone.
pub fn hearing_ends_with_the_relay(at: &dyn LiveFixture) -> Checked {
    run(async {
        let mut three = Three::open(at).await?;
        let id = session("s")?;
        let mut hearing = three.heard(&id).await?;
        let mut news = three.hearer.new_subscribers();
        let gone = at.open().await;
        drop(std::mem::replace(&mut three.hearer, gone));
        let soon = three.soon();
        let ends = async {
            while hearing.next().await.is_some() {}
            while news.next().await.is_some() {}
        };
        let ended = tokio::time::timeout(soon, ends).await;
        ensure!(
            ended.is_ok(),
            "a relay object is gone, and what it told has no end within {soon:?}"
        );
        Ok(())
    })
}
