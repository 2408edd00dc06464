//! Cases of reading: by cursor, without a claim, and of nothing that is not there.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::Seq;
use windlass_ports::{SessionFilter, StoreErrorKind, VerifiedLog};

use super::StoreFixture;
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::{Writer, check_facts, session};

/// A read gives the facts after its cursor, as many as asked for while there are any.
pub fn reading_pages(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for count in [1, 3, 3] {
            writer.append(writer.next(count)).await?;
        }
        for after in [0, 1, 2, 3, 4, 5, 6, 7, 8, u64::MAX] {
            for limit in [0, 1, 2, 3, 6, 7, 8, usize::MAX] {
                let read = store.read(&writer.id, Seq(after), limit).await;
                let read = done(read, &format!("reading {limit} after {after}"))?;
                let rest = writer.log.iter().filter(|fact| fact.seq > Seq(after));
                let expected: Vec<_> = rest.take(limit).map(Arc::clone).collect();
                ensure!(
                    read.len() == expected.len(),
                    "reading {limit} after {after} of 7 gave {} facts and not {}",
                    read.len(),
                    expected.len()
                );
                check_facts(&read, &expected)?;
            }
        }
        Ok(())
    })
}

/// A session that was never written is unknown, and asking about it does not create it.
pub fn an_unknown_session_is_unknown(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "known").await?;
        writer.append(writer.next(1)).await?;
        for name in ["unknown", "know", "known.", "KNOWN"] {
            let id = session(name)?;
            for limit in [0, 1] {
                let read = store.read(&id, Seq::ZERO, limit).await;
                refused(read, &StoreErrorKind::Unknown, &format!("reading {name}"))?;
            }
            let verified = store.verify(&id).await;
            refused(verified, &StoreErrorKind::Unknown, &format!("verifying {name}"))?;
        }
        let sessions =
            done(store.sessions(SessionFilter::ALL_TENANTS, None, 10).await, "listing sessions")?;
        ensure!(
            sessions.len() == 1,
            "asking about sessions that are unknown created them: {sessions:?}"
        );
        Ok(())
    })
}

/// Reading works with and without a claim, and does not take the claim away.
pub fn reading_needs_no_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(3)).await?;
        writer.check().await?;
        done(store.verify(&writer.id).await, "verifying while claimed")?;
        writer.append(writer.next(1)).await?;
        done(store.release(&writer.id, writer.epoch).await, "releasing")?;
        writer.check().await?;
        done(store.verify(&writer.id).await, "verifying after the release")?;
        Ok(())
    })
}

/// Verifying tells where a sound log ends, and a chain, where there is one, covers every fact.
pub fn verifying_tells_the_end(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        let mut earlier = None;
        for count in [1, 4, 2] {
            writer.append(writer.next(count)).await?;
            let verified = done(store.verify(&writer.id).await, "verifying")?;
            ensure!(
                verified.last == writer.last() && verified.torn_bytes == 0,
                "verifying a sound log that ends at {} says {verified:?}",
                writer.last()
            );
            let again = done(store.verify(&writer.id).await, "verifying again")?;
            ensure!(again == verified, "verifying twice says {verified:?}, then {again:?}");
            if let Some((bytes, chain)) = earlier {
                ensure!(
                    verified.bytes > bytes,
                    "the log grew and is said to have {} bytes, {bytes} before",
                    verified.bytes
                );
                ensure!(
                    verified.chain != chain,
                    "the log grew and its chain still ends in {chain:?}"
                );
            }
            earlier = Some((verified.bytes, verified.chain));
        }
        writer.check().await
    })
}

/// Several logs that are read or verified at once give what each of them gives alone.
pub fn many_logs_at_once_are_as_each_alone(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let (mut one, mut two) = (Writer::new(&store, "a").await?, Writer::new(&store, "b").await?);
        for _ in 0..3 {
            one.append(one.next(2)).await?;
            two.append(two.next(3)).await?;
        }
        let ids = [two.id.clone(), session("unknown")?, one.id.clone(), two.id.clone()];
        let none = store.read_logs(&ids, usize::MAX, Some(&["GoalSet"])).await;
        let found = none.iter().flatten().flatten().count();
        ensure!(found == 0, "{found} facts of another kind are read");
        let kind = one.log.first().map(|fact| fact.fact.kind());
        let kinds: [Option<&'static [&'static str]>; 2] = match kind {
            Some("InputQueued") => [None, Some(&["GoalSet", "InputQueued"])],
            kind => return Err(Violation::new(format!("the case has facts of kind {kind:?}"))),
        };
        for (limit, kinds) in [0, 1, 4, 6, 7, usize::MAX].into_iter().zip(kinds.into_iter().cycle())
        {
            let read = store.read_logs(&ids, limit, kinds).await;
            ensure!(read.len() == ids.len(), "reading {} logs gave {}", ids.len(), read.len());
            for (id, read) in ids.iter().zip(read) {
                let (alone, what) = (store.read(id, Seq::ZERO, limit).await, "is read at once as");
                let (read, alone) = (read.map_err(|e| e.kind), alone.map_err(|e| e.kind));
                ensure!(read == alone, "{id}, limit {limit}, {what} {read:?}, alone as {alone:?}");
            }
            let verified = store.verify_logs(&ids, limit, "1").await;
            ensure!(verified.len() == ids.len(), "verifying {} logs gave {verified:?}", ids.len());
            for (id, log) in ids.iter().zip(verified) {
                let alone = match store.verify(id).await {
                    Ok(verification) => {
                        let all = store.read(id, Seq::ZERO, usize::MAX).await;
                        let all = done(all, "reading a verified log")?;
                        let facts = if all.len() <= limit { all } else { Vec::new() };
                        Ok(VerifiedLog { verification, facts, checkpoint: None })
                    }
                    Err(error) => Err(error.kind),
                };
                let log = log.map_err(|error| error.kind);
                ensure!(log == alone, "{id} is verified at once as {log:?}, alone as {alone:?}");
            }
        }
        Ok(())
    })
}
