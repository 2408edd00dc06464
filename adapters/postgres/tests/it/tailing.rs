//! Following what other nodes append.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::LogStore;
use windlass_testkit::store::numbered_facts;

use crate::common::Place;
use crate::run;

/// Longer than any test: what is waited for so long must come by another way.
const NEVER: &str = "&poll_ms=3600000";
const LONG: Duration = Duration::from_secs(60);

async fn follows(place: &Place, listening: &str) {
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
    let Some(place) = Place::new() else { return };
    run(async { follows(&place, NEVER).await });
}

#[test]
fn without_listening_it_is_asked_for() {
    let Some(place) = Place::new() else { return };
    run(async { follows(&place, "&listen=never&poll_ms=20").await });
}
