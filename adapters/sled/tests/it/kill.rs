//! What was acknowledged survives `kill -9` at any moment, and what was not is whole or absent.
//!
//! The writers are this very program as a child, which says on its standard output what was
//! acknowledged to it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use crate::child;
use tokio::task::JoinSet;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::LogStore;
use windlass_sled::SledStore;
use windlass_testkit::store::{fact_of_size, numbered_facts};

const SESSIONS: usize = 4;
const MIB: usize = 1024 * 1024;
const PARTS: u64 = 5;

fn session(number: usize) -> SessionId {
    SessionId::new(&format!("s{number}")).unwrap()
}

/// Says a line of its own: the test harness may have begun one.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{line}\n").unwrap();
    out.flush().unwrap();
}

/// The facts after a position, the same in each process: every seventh log position begins a
/// batch of three, every eleventh is of two chunks.
fn batch(id: &SessionId, after: Seq) -> Vec<Arc<RecordedFact>> {
    if after.0.is_multiple_of(7) {
        return numbered_facts(id, after, 3);
    }
    match after.0.is_multiple_of(11) {
        true => vec![fact_of_size(id, after, 100_000).unwrap()],
        false => numbered_facts(id, after, 1),
    }
}

async fn write(store: Arc<SledStore>, id: SessionId, batches: usize) {
    let claimed = store.claim(&id).await.unwrap();
    let mut last = claimed.last;
    for _ in 0..batches {
        let facts = batch(&id, last);
        store.append(&id, claimed.epoch, last, &facts).await.unwrap();
        last = last.plus(facts.len() as u64);
        say(&format!("acknowledged {id} {last}"));
    }
}

/// Appends to four sessions at once: for ever as a child, a little otherwise.
#[tokio::test]
async fn writer() {
    let own = tempfile::tempdir().unwrap();
    let (place, batches) = match child::place() {
        Some(place) => (place, usize::MAX),
        None => (own.path().join("store"), 12),
    };
    say("opening");
    let store = Arc::new(SledStore::open(place).unwrap());
    let mut writers = JoinSet::new();
    for number in 0..SESSIONS {
        writers.spawn(write(store.clone(), session(number), batches));
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    for number in 0..SESSIONS {
        check(&store, &session(number), 12).await;
    }
}

/// Reads a log and holds every fact of it against what its writer wrote there.
async fn check(store: &SledStore, id: &SessionId, acknowledged: u64) -> u64 {
    let claimed = store.claim(id).await.unwrap();
    assert_eq!(claimed.repaired, None, "{id}");
    let read = match claimed.last {
        Seq::ZERO => Vec::new(),
        _ => store.read(id, Seq::ZERO, usize::MAX).await.unwrap(),
    };
    let mut expected = Vec::new();
    while expected.len() < read.len() {
        expected.extend(batch(id, Seq(expected.len() as u64)));
    }
    assert_eq!(expected.len(), read.len(), "{id} ends within an append");
    assert!(expected.iter().map(Arc::as_ref).eq(&read), "{id} is not what was appended");
    assert!(read.len() as u64 >= acknowledged, "{id}: {} of {acknowledged}", read.len());
    read.len() as u64
}

#[tokio::test]
async fn what_was_acknowledged_survives_kills() {
    let own = tempfile::tempdir().unwrap();
    let place = own.path().join("store");
    let mut acknowledged = [0_u64; SESSIONS];
    // Moments of the kill, in lines of the child; 0 is in the middle of opening.
    let moments = [40_u64, 1, 0, 7, 2, 0, 90, 3, 0, 25, 0, 11, 60, 5, 0, 33, 4, 0, 150, 17];
    for lines in moments {
        let (mut writer, said) = start("kill::writer", &place);
        let mut count = 0;
        for line in said {
            // What the child had said before it died counts too, so this reads to the end.
            if let Some((id, last)) = line.strip_prefix("acknowledged s").and_then(|rest| {
                let (id, last) = rest.split_once(' ')?;
                Some((id.parse::<usize>().ok()?, last.parse::<u64>().ok()?))
            }) {
                acknowledged[id] = acknowledged[id].max(last);
                count += 1;
            }
            if count >= lines && (count > 0 || line == "opening") {
                writer.kill().unwrap();
            }
        }
        assert!(!writer.wait().unwrap().success(), "the writer ended by itself");
        let store = SledStore::open(place.clone()).unwrap();
        for (number, acknowledged) in acknowledged.iter_mut().enumerate() {
            *acknowledged = check(&store, &session(number), *acknowledged).await;
        }
    }
    // Each line is of one fact at least, in whichever session.
    assert!(
        acknowledged.iter().sum::<u64>() >= moments.iter().sum(),
        "hardly anything ran: {acknowledged:?}"
    );
}

/// Appends batches that span several of the database's segments of 8 MiB: 10 MiB, and again so
/// much that the database moves about.
#[tokio::test]
async fn big_writer() {
    let own = tempfile::tempdir().unwrap();
    let (place, batches) = match child::place() {
        Some(place) => (place, usize::MAX),
        None => (own.path().join("store"), 1),
    };
    let store = SledStore::open(place).unwrap();
    let id = session(0);
    let claimed = store.claim(&id).await.unwrap();
    let mut last = claimed.last;
    for _ in 0..batches {
        let facts: Vec<_> =
            (0..PARTS).map(|n| fact_of_size(&id, last.plus(n), 2 * MIB).unwrap()).collect();
        say("appending");
        store.append(&id, claimed.epoch, last, &facts).await.unwrap();
        last = last.plus(PARTS);
        say(&format!("acknowledged s0 {last}"));
    }
    assert_eq!(store.verify(&id).await.unwrap().last, last);
}

#[tokio::test]
async fn a_batch_over_many_segments_is_whole_or_absent() {
    let own = tempfile::tempdir().unwrap();
    let place = own.path().join("store");
    let mut acknowledged = 0;
    let size = || std::fs::metadata(place.join("db/db")).map_or(0, |meta| meta.len());
    for grown_mib in [0, 1, 9, 5, 14] {
        let (mut writer, said) = start("kill::big_writer", &place);
        let mut dead = false;
        for line in said {
            if let Some(last) = line.strip_prefix("acknowledged s0 ") {
                acknowledged = last.parse().unwrap();
            }
            if line == "appending" && !dead {
                // The kill falls while the database's file grows, or after a bounded wait.
                let from = size();
                let grown = grown_mib * MIB as u64;
                let waits = 0..20_000_000_u64;
                let grows = |_: &u64| {
                    thread::yield_now();
                    size() < from + grown
                };
                let waited = waits.take_while(grows).count();
                assert!(waited < 20_000_000, "the file does not grow");
                writer.kill().unwrap();
                dead = true;
            }
        }
        assert!(!writer.wait().unwrap().success(), "the writer ended by itself");
        let store = SledStore::open(place.clone()).unwrap();
        let claimed = store.claim(&session(0)).await.unwrap();
        assert_eq!(claimed.repaired, None, "the database kept half a batch");
        assert_eq!(claimed.last.0 % PARTS, 0, "half a batch was kept");
        assert!(claimed.last.0 >= acknowledged);
        if claimed.last > Seq::ZERO {
            assert_eq!(store.verify(&session(0)).await.unwrap().last, claimed.last);
        }
    }
}

fn start(test: &str, place: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut command: Command = child::command(&child::program(), test, place);
    let mut writer = command.spawn().unwrap();
    let said = BufReader::new(writer.stdout.take().unwrap());
    (writer, said.lines().map_while(Result::ok))
}
