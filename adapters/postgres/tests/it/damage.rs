//! Tables that somebody changed by hand: found, with the position.

use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind, StoredCheckpoint};
use windlass_postgres::PostgresStore;
use windlass_testkit::store::numbered_facts;

use crate::common::TestSchema;
use crate::run;

/// A store with two sessions of four appends of two facts each.
async fn filled(place: &TestSchema) -> PostgresStore {
    let store = place.store().await;
    for name in ["one", "two"] {
        let id = SessionId::new(name).unwrap();
        let epoch = store.claim(&id).await.unwrap().epoch;
        for after in [0, 2, 4, 6].map(Seq) {
            let facts = numbered_facts(&id, after, 2);
            store.append(&id, epoch, after, &facts).await.unwrap();
        }
    }
    store
}

/// What was changed, the position before it, and from where on it can be read.
const BY_HAND: &[(&str, u64, u64)] = &[
    ("update SCHEMA.facts set body = set_byte(body, 9, 32) where last = 4", 2, 4),
    ("delete from SCHEMA.facts where last = 6", 4, 6),
    ("delete from SCHEMA.facts where last = 8", 6, 8),
    ("update SCHEMA.facts set last = last + 100 where last = 2", 0, 8),
    (
        "update SCHEMA.facts f set body = g.body, crc = g.crc from SCHEMA.facts g \
         where f.last = 4 and g.last = 4 and f.log <> g.log",
        2,
        4,
    ),
    (
        "update SCHEMA.facts f set body = g.body, crc = g.crc from SCHEMA.facts g \
         where f.last = 4 and g.last = 6 and f.log = g.log",
        2,
        4,
    ),
    ("update SCHEMA.facts set crc = crc + 1 where last = 8", 6, 8),
    ("update SCHEMA.sessions set last = 10", 8, 10),
];

#[test]
fn rows_that_were_changed_are_found() {
    let Some(_) = TestSchema::new() else { return };
    run(async {
        for (sql, after, sound) in BY_HAND {
            let Some(place) = TestSchema::new() else {
                return;
            };
            let store = filled(&place).await;
            place.run(sql).await;
            let id = SessionId::new("one").unwrap();
            let corrupt = StoreErrorKind::Corrupt { after: Seq(*after), offset: None };
            let error = store.read(&id, Seq::ZERO, 100).await.unwrap_err();
            assert_eq!(error.kind, corrupt, "{sql}: {error}");
            let error = store.verify(&id).await.unwrap_err();
            assert_eq!(error.kind, corrupt, "{sql}: {error}");
            let before = usize::try_from(*after).unwrap();
            let read = store.read(&id, Seq::ZERO, before).await.unwrap();
            assert_eq!(read.len(), before, "{sql}");
            if *sound < 8 {
                let read = store.read(&id, Seq(*sound), 100).await;
                let left = usize::try_from(8 - sound).unwrap();
                assert_eq!(read.unwrap().len(), left, "{sql}");
            }
        }
    });
}

#[test]
fn what_only_the_whole_log_tells_is_found_by_verifying() {
    let Some(_) = TestSchema::new() else { return };
    run(async {
        for sql in [
            "update SCHEMA.sessions set link = set_byte(link, 31, get_byte(link, 31) # 1)",
            "update SCHEMA.sessions set link = 'short'",
            "update SCHEMA.sessions set waiting = waiting + 1",
            "update SCHEMA.sessions set tenant = 'somebody else'",
            "update SCHEMA.sessions set turning = not turning",
            "update SCHEMA.sessions set changed = 1",
        ] {
            let Some(place) = TestSchema::new() else {
                return;
            };
            let store = filled(&place).await;
            place.run(sql).await;
            let id = SessionId::new("one").unwrap();
            let error = store.verify(&id).await.unwrap_err();
            let corrupt = matches!(error.kind, StoreErrorKind::Corrupt { .. });
            assert!(corrupt, "{sql}: {error}");
            assert_eq!(store.read(&id, Seq::ZERO, 100).await.unwrap().len(), 8);
        }
    });
}

#[test]
fn a_log_without_its_end_is_listed_and_not_claimed() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let store = filled(&place).await;
        let delete = "delete from SCHEMA.facts where last = 8 and log = \
                      (select log from SCHEMA.sessions where id = 'one')";
        place.run(delete).await;
        let heads = store.sessions(SessionFilter::ALL_TENANTS, None, 10).await.unwrap();
        let summaries: Vec<bool> = heads.iter().map(|head| head.summary.is_some()).collect();
        assert_eq!(summaries, [false, true]);
        let open = SessionFilter { open: Some(false), ..SessionFilter::ALL_TENANTS.clone() };
        let heads = store.sessions(&open, None, 10).await.unwrap();
        assert!(heads.iter().all(|head| head.id.as_str() == "two"), "{heads:?}");
        let one = SessionId::new("one").unwrap();
        let error = store.claim(&one).await.unwrap_err();
        let corrupt = matches!(error.kind, StoreErrorKind::Corrupt { .. });
        assert!(corrupt, "{error}");
    });
}

#[test]
fn a_snapshot_that_was_changed_is_none() {
    let Some(_) = TestSchema::new() else { return };
    run(async {
        for sql in [
            "update SCHEMA.snapshots set body = 'other'",
            "update SCHEMA.snapshots set seq = 5",
            "update SCHEMA.snapshots set seq = 50",
            "update SCHEMA.snapshots set version = 'w'",
            "update SCHEMA.snapshots set log = (select log from SCHEMA.sessions where id = 'two')",
            "update SCHEMA.facts set crc = crc + 1 where last = 6",
        ] {
            let Some(place) = TestSchema::new() else {
                return;
            };
            let store = filled(&place).await;
            let id = SessionId::new("one").unwrap();
            let snapshot = StoredCheckpoint {
                seq: Seq(6),
                version: "v".to_owned(),
                bytes: b"folded".to_vec(),
            };
            store.write_checkpoint(&id, &snapshot).await.unwrap();
            assert_eq!(store.read_checkpoint(&id, "v").await.unwrap(), Some(snapshot));
            place.run(sql).await;
            for name in ["one", "two"] {
                let id = SessionId::new(name).unwrap();
                for version in ["v", "w"] {
                    let kept = store.read_checkpoint(&id, version).await.unwrap();
                    assert_eq!(kept, None, "{sql}: {name}, {version}");
                }
            }
        }
    });
}
