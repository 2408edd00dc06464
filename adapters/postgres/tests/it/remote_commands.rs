//! Letters between nodes, and what streams: by notifications alone, by asking alone, over tables from
//! before the inbox, and when the connection that listens is lost.

use std::time::Duration;

use windlass_core::SessionId;
use windlass_ports::{
    LiveBus, LiveItem, LogSignal, LogStore, Mailbox, MailboxCommand, MailboxCommandId,
};
use windlass_postgres::PostgresStore;

use crate::common::{TestSchema, own};
use crate::{LONG, run};

/// Longer than any test: what is waited for so long must come by another way.
const NEVER: &str = "&poll_ms=3600000";

fn letter(id: &str) -> MailboxCommand {
    MailboxCommand { id: MailboxCommandId::new(id).unwrap(), bytes: format!("letter {id}").into() }
}

async fn told(news: &mut LogSignal, session: &SessionId) {
    let told = async { while news.next().await.unwrap() != *session {} };
    tokio::time::timeout(LONG, told).await.unwrap();
}

/// Letters of one node to a session that the other drives, there and back.
async fn exchange(asks: &PostgresStore, drives: &PostgresStore) {
    let id = SessionId::new("s").unwrap();
    let epoch = drives.claim(&id).await.unwrap().epoch;
    let (asking, driving) = (asks.mailbox(), drives.mailbox());
    let mut arrivals = driving.arrivals();
    for number in 0..10 {
        let letter = letter(&format!("l-{number}"));
        asking.send(&id, &letter).await.unwrap();
        let waiting = tokio::spawn({
            let (asking, id, letter) = (asking.clone(), id.clone(), letter.id.clone());
            async move { asking.acknowledgement(&id, &letter, LONG).await }
        });
        told(&mut arrivals, &id).await;
        let taken = driving.pending(&id, epoch, 9).await.unwrap();
        assert_eq!(taken, [letter]);
        let name = &taken[0].id;
        driving.acknowledge(&id, epoch, name, b"accepted").await.unwrap();
        let replied = waiting.await.unwrap().unwrap();
        assert_eq!(replied.as_deref(), Some(b"accepted".as_slice()));
    }
}

#[test]
fn notifications_carry_letters_and_replies() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let (asks, drives) = (place.open_with(NEVER).await, place.open_with(NEVER).await);
        exchange(&asks, &drives).await;
        // On one node too.
        let id = SessionId::new("own").unwrap();
        let mut arrivals = asks.mailbox().arrivals();
        asks.mailbox().send(&id, &letter("a")).await.unwrap();
        told(&mut arrivals, &id).await;
    });
}

#[test]
fn without_listening_they_are_asked_for() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let asking = "&listen=never&poll_ms=20";
        let (asks, drives) = (place.open_with(asking).await, place.open_with(asking).await);
        exchange(&asks, &drives).await;
        assert!(asks.live_bus().is_none(), "nothing is heard without listening");
    });
}

#[test]
fn tables_from_before_the_inbox_get_it() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let id = SessionId::new("s").unwrap();
        let before = place.store().await;
        before.claim(&id).await.unwrap();
        before.close().await.unwrap();
        drop(before);
        place
            .run(
                "drop function SCHEMA.leave, SCHEMA.reply; drop table SCHEMA.letters, SCHEMA.replies;
                 drop index SCHEMA.sessions_held;
                 drop function SCHEMA.claim_counted, SCHEMA.keep_counted;
                 alter table SCHEMA.sessions drop column bytes;
                 delete from SCHEMA.version where version >= 3",
            )
            .await;
        let (asks, drives) = (place.store().await, place.store().await);
        exchange(&asks, &drives).await;
    });
}

#[test]
fn who_hears_is_told_that_the_connection_was_lost() {
    let Some(server) = own() else { return };
    run(async {
        let place = TestSchema { url: server.url(), schema: "s".to_owned(), pooler: None };
        let options = "&linger_ms=600";
        let (tells, hears) = (
            place.open_with(options).await.live_bus().unwrap(),
            place.open_with(options).await.live_bus().unwrap(),
        );
        let id = SessionId::new("s").unwrap();
        let mut news = tells.new_subscribers();
        let mut hearing = hears.subscribe(&id);
        told(&mut news, &id).await;
        let mut heard = async |message: &[u8]| {
            let mut missed = false;
            loop {
                tells.publish(&id, message);
                let next = tokio::time::timeout(Duration::from_millis(100), hearing.next());
                match next.await {
                    Ok(Some(LiveItem::Message(told))) if told == message => return missed,
                    Ok(Some(LiveItem::Message(_))) | Err(_) => {}
                    Ok(Some(LiveItem::Missed)) => missed = true,
                    Ok(None) => panic!("the hearing ended"),
                }
            }
        };
        heard(b"before").await;
        place
            .run(
                "select pg_terminate_backend(pid) from pg_stat_activity \
                 where query ilike '%listen %' and pid <> pg_backend_pid()",
            )
            .await;
        assert!(heard(b"after").await, "nobody says that some are missing");
    });
}
