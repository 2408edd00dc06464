//! Appends as prepared statements: the same answers, and prepared anew on each new connection.

use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

use crate::common::TestSchema;
use crate::run;

#[test]
fn appends_answer_the_same_also_on_a_new_connection() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let store = place.open_with("&prepared=yes&pool=1").await;
        let session = SessionId::new("s").unwrap();
        let epoch = store.claim(&session).await.unwrap().epoch;
        let facts = numbered_facts(&session, Seq::ZERO, 2);
        store.append(&session, epoch, Seq::ZERO, &facts).await.unwrap();

        let twice = numbered_facts(&session, Seq::ZERO, 1);
        let error = store.append(&session, epoch, Seq::ZERO, &twice).await;
        let kind = error.unwrap_err().kind;
        assert_eq!(kind, StoreErrorKind::Conflict { last: Seq(2) });

        // The connection goes, and with it the statement.
        place
            .run(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where query like '%SCHEMA.%' and pid <> pg_backend_pid()",
            )
            .await;
        let facts = numbered_facts(&session, Seq(2), 1);
        store.append(&session, epoch, Seq(2), &facts).await.unwrap();
        let read = store.read(&session, Seq::ZERO, 10).await.unwrap();
        assert_eq!(read.len(), 3);
    });
}
