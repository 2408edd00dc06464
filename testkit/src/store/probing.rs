//! Cases of probing: it succeeds where appends do, and changes nothing that anybody can see.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_core::Seq;
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};

use super::StoreFixture;
use super::violation::{Checked, done, ensure, refused, run};
use super::writer::{Writer, session};

/// Probes of one case.
const PROBES: u32 = 5;

/// A probe of a store that works succeeds, and it is no fact, no session, no claim and no append.
pub fn a_probe_changes_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        done(store.probe().await, "probing an empty store")?;
        check_listing(&*store, &[]).await?;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        for _ in 0..PROBES {
            done(store.probe().await, "probing a store that works")?;
            writer.append(writer.next(1)).await?;
            check_listing(&*store, &["s"]).await?;
        }
        let last = writer.last();
        let facts = writer.log.split_off(writer.log.len() - 1);
        done(store.probe().await, "probing between an append and its repetition")?;
        let again = writer.offer(Seq(last.0 - 1), &facts).await;
        done(again, "repeating the last append after a probe")?;
        writer.log.extend(facts);
        writer.check().await?;
        let verified = done(store.verify(&writer.id).await, "verifying after probes")?;
        ensure!(
            verified.last == last,
            "a log that ends at {last} is verified up to {}",
            verified.last
        );
        let read = store.read(&session("probe")?, Seq::ZERO, 1).await;
        refused(read, &StoreErrorKind::Unknown, "reading the session probe, which nobody opened")?;
        drop((writer, store));
        let store = at.open().await;
        let listed = done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, "listing")?;
        ensure!(listed.len() <= 1, "a store that was probed and opened again lists {listed:?}");
        done(store.probe().await, "probing a store that was opened again")
    })
}

async fn check_listing(store: &dyn LogStore, expected: &[&str]) -> Checked {
    let what = "listing a store that was probed";
    let heads = done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, what)?;
    let listed: Vec<_> = heads.iter().map(|head| head.id.as_str()).collect();
    ensure!(listed == expected, "{what} gave {listed:?} and not {expected:?}");
    Ok(())
}
