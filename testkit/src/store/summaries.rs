//! Cases of what a listing tells of each session, and of listing only some.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Seq, SessionId};
use windlass_ports::{
    Durability, LogStore, SessionFilter, SessionSummary, StoreErrorKind, Tenants,
};

use super::StoreFixture;
use super::story::{Until, log_until, numbered, story, summary};
use super::violation::{Checked, Violation, done, ensure, run};
use super::writer::{Writer, session};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Tenants that a store may mix up with one another, or not be able to spell.
const TENANTS: [Option<&str>; 8] = [
    None,
    Some("acme"),
    Some("Acme"),
    Some("acme "),
    Some(""),
    Some("'; drop table sessions; -- %_\\ \"*?"),
    Some("e\u{301} 漢🦀\n\u{2028}"),
    Some("\0nul\u{1}"),
];

/// After each fact a listing tells what the log folds to: its last position, when that was decided,
/// whose it is, whether a turn is open, what waits and how many bytes it has; of facts that came one by one or in one
/// batch, and after the store was opened again.
pub fn a_listing_tells_what_a_log_folds_to(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut ends = Vec::new();
        for (name, tenant) in [("one-by-one", Some("acme")), ("system", None)] {
            let mut writer = Writer::new(&store, name).await?;
            let told = story(&writer.id, tenant);
            let facts = numbered(&writer.id, told.iter().map(|(fact, ..)| fact.clone()));
            for (fact, (_, turning, waiting)) in facts.iter().zip(&told) {
                writer.append(vec![fact.clone()]).await?;
                let expected = summary(&writer.id, tenant, fact.seq, *turning, *waiting);
                lists(&*store, &writer.id, &expected).await?;
            }
            let end = summary(&writer.id, tenant, Seq(12), false, 0);
            ends.push((writer.id, end));
        }
        for (until, last, turning, waiting) in [
            (Until::Waiting, 9, false, 1),
            (Until::Turning, 11, true, 0),
            (Until::Done, 12, false, 0),
        ] {
            let name = format!("at-once-{last}");
            let mut writer = Writer::new(&store, &name).await?;
            let facts = log_until(&writer.id, Some("acme"), until);
            writer.append(facts).await?;
            let expected = summary(&writer.id, Some("acme"), Seq(last), turning, waiting);
            lists(&*store, &writer.id, &expected).await?;
            ends.push((writer.id, expected));
        }
        if store.capabilities().durability == Durability::Memory {
            return Ok(());
        }
        drop(store);
        let store = at.open().await;
        for (id, expected) in &ends {
            lists(&*store, id, expected).await.map_err(|wrong| {
                Violation::new(format!("in a store that was opened again, {wrong}"))
            })?;
            // The fold goes on from where it stood.
            let claimed = done(store.claim(id).await, "claiming in a store opened again")?;
            let more = super::facts::numbered_facts(id, claimed.last, 2);
            let appended = store.append(id, claimed.epoch, claimed.last, &more).await;
            done(appended, "appending in a store opened again")?;
            let expected = SessionSummary {
                last: expected.last.plus(2),
                changed_at: more.last().map_or(expected.changed_at, |fact| fact.ts),
                waiting_inputs: expected.waiting_inputs + 2,
                bytes: expected
                    .bytes
                    .map(|bytes| more.iter().fold(bytes, |all, fact| all + fact.bytes())),
                ..expected.clone()
            };
            lists(&*store, id, &expected).await?;
        }
        Ok(())
    })
}

/// Holds the listing of a session to what it must say.
async fn lists(store: &dyn LogStore, id: &SessionId, expected: &SessionSummary) -> Checked {
    let heads = store.sessions(SessionFilter::ALL_TENANTS, None, usize::MAX).await;
    let heads = done(heads, "listing sessions")?;
    let head = heads.into_iter().find(|head| head.id == *id);
    let Some(head) = head else {
        return Err(Violation::new(format!("{id} is not listed")));
    };
    ensure!(
        head.summary.as_ref() == Some(expected),
        "of {id}, which stands at {expected:?}, the listing tells {:?}",
        head.summary
    );
    Ok(())
}

/// A listing under a filter has the sessions that it takes and no others, in the order of their ids;
/// also after the store was opened again.
pub fn a_listing_is_filtered(at: &dyn StoreFixture) -> Checked {
    run(async {
        let mut store = at.open().await;
        let mut listed = Vec::new();
        for (number, tenant) in TENANTS.into_iter().enumerate() {
            for (state, until) in
                [Until::Done, Until::Waiting, Until::Turning].into_iter().enumerate()
            {
                // The order of the ids is not the order of the tenants.
                let mut writer = Writer::new(&store, &format!("{state}-{number}")).await?;
                writer.append(log_until(&writer.id, tenant, until)).await?;
                listed.push((writer.id, tenant, until != Until::Done));
            }
        }
        listed.sort();
        let openings = match store.capabilities().durability {
            Durability::Memory => 1,
            Durability::Process | Durability::Power => 2,
        };
        for opening in 1..=openings {
            if opening > 1 {
                drop(store);
                store = at.open().await;
            }
            let tenants = TENANTS.into_iter().flatten().chain(["nobody", "acm", "%"]);
            for tenant in tenants.map(Some).chain([None]) {
                for open in [None, Some(true), Some(false)] {
                    let filter = SessionFilter { open, ..SessionFilter::of(one_or_all(tenant)) };
                    let taken = listed.iter().filter(|(_, of, is_open)| {
                        tenant.is_none_or(|tenant| *of == Some(tenant))
                            && open.is_none_or(|open| *is_open == open)
                    });
                    let ids: Vec<_> = taken.map(|(id, ..)| id.clone()).collect();
                    page(&*store, &filter, None, usize::MAX, &ids).await?;
                }
            }
        }
        Ok(())
    })
}

/// A page under a filter is as long as asked for while there are more that the filter takes, however
/// many it does not take stand between; and its cursor may be one that it does not take.
pub fn a_filtered_listing_is_paged(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut ids = Vec::new();
        for number in 0..24_u32 {
            let mut writer = Writer::new(&store, &format!("s{number:02}")).await?;
            let (tenant, until) = match number % 6 {
                1 => ("ours", Until::Waiting),
                3 => ("ours", Until::Done),
                _ => ("theirs", Until::Turning),
            };
            writer.append(log_until(&writer.id, Some(tenant), until)).await?;
            ids.push((writer.id, tenant, until != Until::Done));
        }
        let cursors = ids.iter().map(|(id, ..)| id.clone());
        let cursors: Vec<_> = cursors.chain([session("s05x")?]).map(Some).collect();
        for (tenant, open) in
            [(Some("ours"), None), (Some("ours"), Some(true)), (None, Some(false))]
        {
            let filter = SessionFilter { open, ..SessionFilter::of(one_or_all(tenant)) };
            let taken = ids.iter().filter(|(_, of, is_open)| {
                tenant.is_none_or(|tenant| *of == tenant)
                    && open.is_none_or(|open| *is_open == open)
            });
            let taken: Vec<_> = taken.map(|(id, ..)| id.clone()).collect();
            for cursor in cursors.iter().chain([&None]) {
                for limit in [0, 1, 3, usize::MAX] {
                    let rest = taken.iter().filter(|id| Some(*id) > cursor.as_ref());
                    let expected: Vec<_> = rest.take(limit).cloned().collect();
                    page(&*store, &filter, cursor.as_ref(), limit, &expected).await?;
                }
            }
        }
        Ok(())
    })
}

/// A listing of free sessions has those that no writer holds, and none that one holds: after a claim,
/// a release, a claim again, an erasure.
pub fn a_listing_of_free_sessions_has_none_that_is_claimed(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writers = Vec::new();
        for number in 0..12_u32 {
            let mut writer = Writer::new(&store, &format!("s{number:02}")).await?;
            let (tenant, until) = match number % 3 {
                0 => ("ours", Until::Turning),
                1 => ("theirs", Until::Waiting),
                _ => ("ours", Until::Done),
            };
            let log = log_until(&writer.id, Some(tenant), until);
            writer.append(log).await?;
            writers.push((writer, tenant, until != Until::Done));
        }
        let mut free = BTreeSet::new();
        check_free(&*store, &writers, &free).await?;
        for (at, (writer, ..)) in writers.iter_mut().enumerate() {
            if at % 4 != 3 {
                let released = store.release(&writer.id, writer.epoch).await;
                done(released, "releasing")?;
                free.insert(writer.id.clone());
            }
        }
        check_free(&*store, &writers, &free).await?;
        for (writer, ..) in writers.iter_mut().take(4) {
            let claimed = done(store.claim(&writer.id).await, "claiming after a release")?;
            writer.epoch = claimed.epoch;
            free.remove(&writer.id);
        }
        check_free(&*store, &writers, &free).await
    })
}

/// Holds listings of free sessions to those that are.
async fn check_free(
    store: &dyn LogStore,
    writers: &[(Writer, &str, bool)],
    free: &BTreeSet<SessionId>,
) -> Checked {
    for tenant in [None, Some("ours")] {
        for open in [None, Some(true), Some(false)] {
            let filter =
                SessionFilter { open, unclaimed: true, ..SessionFilter::of(one_or_all(tenant)) };
            let taken = writers.iter().filter(|(writer, of, is_open)| {
                free.contains(&writer.id)
                    && tenant.is_none_or(|tenant| *of == tenant)
                    && open.is_none_or(|open| *is_open == open)
            });
            let taken: Vec<_> = taken.map(|(writer, ..)| writer.id.clone()).collect();
            let cursors = [None, Some(session("s03")?), Some(session("s05x")?)];
            for cursor in &cursors {
                for limit in [0, 1, 3, usize::MAX] {
                    let rest = taken.iter().filter(|id| Some(*id) > cursor.as_ref());
                    let expected: Vec<_> = rest.take(limit).cloned().collect();
                    page(store, &filter, cursor.as_ref(), limit, &expected).await?;
                }
            }
        }
    }
    Ok(())
}

/// What one store object gave back is free for another one at the same place.
pub fn what_another_store_object_released_is_free(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let other = match at.open_beside().await {
            Ok(other) => other,
            Err(error) if error.kind == StoreErrorKind::Locked => return Ok(()),
            Err(error) => {
                let what = "a second store object at the same place";
                return Err(Violation::new(format!("{what} did not open: {error}")));
            }
        };
        let filter =
            SessionFilter { unclaimed: true, ..SessionFilter::of(one_or_all(Some("acme"))).open() };
        // Whatever a listing remembers must be overtaken by what is released later.
        done(other.sessions(&filter, None, 10).await, "listing free sessions of an empty store")?;
        let mut writer = Writer::new(&store, "s").await?;
        let log = log_until(&writer.id, Some("acme"), Until::Turning);
        writer.append(log).await?;
        done(store.release(&writer.id, writer.epoch).await, "releasing")?;
        let told = at.patience();
        let until = Instant::now() + told;
        loop {
            let heads = other.sessions(&filter, None, 10).await;
            let heads = done(heads, "listing free sessions")?;
            if heads.iter().any(|head| head.id == writer.id) {
                return Ok(());
            }
            ensure!(
                Instant::now() < until,
                "a session that another store object released is not listed as free after {told:?}"
            );
            sleep(LOOK).await;
        }
    })
}

/// Holds a page of a listing to the sessions that must be on it.
async fn page(
    store: &dyn LogStore,
    filter: &SessionFilter,
    after: Option<&SessionId>,
    limit: usize,
    expected: &[SessionId],
) -> Checked {
    let what = format!("listing {limit} sessions after {after:?} under {filter:?}");
    let heads = done(store.sessions(filter, after, limit).await, &what)?;
    let listed: Vec<_> = heads.into_iter().map(|head| head.id).collect();
    ensure!(listed == expected, "{what} gave {listed:?} and not {expected:?}");
    Ok(())
}

/// One tenant, or all.
fn one_or_all(tenant: Option<&str>) -> Tenants {
    tenant.map_or(Tenants::All, |tenant| Tenants::One(tenant.to_owned()))
}
