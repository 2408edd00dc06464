//! Following what other nodes append.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use windlass_core::{Seq, SessionId};
use windlass_ports::LogStore;
use windlass_testkit::store::numbered_facts;

use crate::common::{TestSchema, encoded};
use crate::proxy::{Faults, open_by};
use crate::{LONG, run};

/// Longer than any test: what is waited for so long must come by another way.
pub(crate) const NEVER: &str = "&poll_ms=3600000";

pub(crate) async fn follows(place: &TestSchema, listening: &str) {
    let reader = Arc::new(place.open_with(listening).await);
    let writer = place.open_with(NEVER).await;
    let id = SessionId::new("s").unwrap();
    let epoch = writer.claim(&id).await.unwrap().epoch;
    let facts = numbered_facts(&id, Seq::ZERO, 1);
    writer.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    for after in 1..20 {
        let tailing = {
            let (reader, id) = (reader.clone(), id.clone());
            tokio::spawn(async move { reader.tail(&id, Seq(after), LONG).await })
        };
        let facts = numbered_facts(&id, Seq(after), 1);
        writer.append(&id, epoch, Seq(after), &facts).await.unwrap();
        assert_eq!(tailing.await.unwrap().unwrap(), Seq(after + 1));
    }
}

#[test]
fn a_notification_wakes() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async { follows(&place, NEVER).await });
}

#[test]
fn without_listening_it_is_asked_for() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async { follows(&place, "&listen=never&poll_ms=20").await });
}

/// Ends connections that listen for a place, each as soon as it does, and tells how long each took to come.
async fn deafened(place: &TestSchema, name: &str, times: usize) -> Vec<Duration> {
    let ears = format!(
        "select pid::text from pg_stat_activity where application_name = '{name}' \
         and (query like 'unlisten%' or query like '%listening%')"
    );
    let mut came = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        let pid = loop {
            if let Some(pid) = place.texts(&ears).await.pop() {
                break pid;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        came.push(began.elapsed());
        let end = format!("select pg_terminate_backend({pid}, 5000)");
        place.run(&end).await;
    }
    came
}

#[test]
fn whoever_could_listen_listens_again_at_once() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let name = format!("ears_{}", place.schema);
        let url = encoded(&format!("{}?application_name={name}", place.url));
        let _store = place.open_with(&format!("&listen={url}")).await;
        // The ninth wait of one that doubles would be 25 s, and no wait is longer than a second.
        let came = deafened(&place, &name, 9).await;
        assert!(came.iter().all(|wait| *wait < Duration::from_secs(20)), "{came:?}");
    });
}

#[test]
fn a_connection_that_listens_and_goes_silent_is_noticed() {
    let Some(place) = TestSchema::new() else {
        return;
    };
    run(async {
        let faults = Arc::new(Faults::of(b"listen windlass"));
        let reader = Arc::new(open_by(&place, &faults, NEVER).await);
        let writer = place.open_with(NEVER).await;
        let id = SessionId::new("s").unwrap();
        let epoch = writer.claim(&id).await.unwrap().epoch;
        for after in 0..2 {
            let facts = numbered_facts(&id, Seq(after), 1);
            writer.append(&id, epoch, Seq(after), &facts).await.unwrap();
            let heard = reader.tail(&id, Seq(after), LONG).await.unwrap();
            assert_eq!(heard, Seq(after + 1));
        }
        faults.silencing.store(1, Ordering::SeqCst);
        let tailing = {
            let (reader, id) = (reader.clone(), id.clone());
            tokio::spawn(async move { reader.tail(&id, Seq(2), LONG).await })
        };
        // Long enough for what follows to be waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let facts = numbered_facts(&id, Seq(2), 1);
        writer.append(&id, epoch, Seq(2), &facts).await.unwrap();
        assert_eq!(tailing.await.unwrap().unwrap(), Seq(3));
        // Where it was found by the first look, what came of the notification comes later.
        while faults.silent.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}
