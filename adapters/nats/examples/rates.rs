//! Measures what a server of this machine gives: `cargo run --release -p windlass-nats --example
//! rates`. One server that syncs before it answers; facts of about 300 bytes, one an append.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring program stops where it may and prints what it finds"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_nats::{NatsConfig, NatsStore};
use windlass_ports::{LogStore, codec};
use windlass_testkit::nats::NatsServer;
use windlass_testkit::store::fact_of_size;

/// Duration of each measurement.
const TIME: Duration = Duration::from_secs(3);

/// Bytes of a fact's text form.
const BYTES: usize = 300;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = NatsServer::start().unwrap();
    for shards in [1, 4, 16] {
        for sessions in [1, 16, 128, 1_000] {
            let store = open(&server, &format!("p{shards}-{sessions}"), shards).await;
            let rate = rate(&store, sessions).await;
            println!("shards {shards:2}, sessions {sessions:4}: {rate:6.0} appends/s");
        }
    }
    let store = open(&server, "long", 1).await;
    let before = bytes(&server.data(0));
    let id = SessionId::new("long").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let count = 20_000;
    let mut written = 0;
    for seq in 0..count {
        let one = [fact_of_size(&id, Seq(seq), BYTES).unwrap()];
        written += codec::encode(&one[0]).unwrap().len() as u64;
        store.append(&id, epoch, Seq(seq), &one).await.unwrap();
    }
    let grown = bytes(&server.data(0)) - before;
    println!("disk: {grown} bytes for {written} of facts ({:.2})", grown as f64 / written as f64);
    let store = open(&server, "long", 1).await;
    let began = Instant::now();
    let read = store.read(&id, Seq::ZERO, usize::MAX).await.unwrap();
    println!("read {} facts in {:?}", read.len(), began.elapsed());
    let store = open(&server, "long", 1).await;
    let began = Instant::now();
    let read = store.read(&id, Seq(count - 10), 10).await.unwrap();
    println!("read the last {} in {:?}", read.len(), began.elapsed());
}

async fn open(server: &NatsServer, place: &str, shards: u32) -> Arc<NatsStore> {
    let url = format!("{}/{place}?shards={shards}&timeout_ms=60000", server.url());
    let config = NatsConfig::parse(&url).unwrap();
    Arc::new(NatsStore::open(&config).await.unwrap())
}

/// Appends a second, each session one after another.
async fn rate(store: &Arc<NatsStore>, sessions: u32) -> f64 {
    let mut claims: Vec<(SessionId, Epoch)> = Vec::new();
    for number in 0..sessions {
        let id = SessionId::new(&format!("s{number}")).unwrap();
        let epoch = store.claim(&id).await.unwrap().epoch;
        claims.push((id, epoch));
    }
    let began = Instant::now();
    let mut writers = JoinSet::new();
    for (id, epoch) in claims {
        let store = store.clone();
        writers.spawn(async move {
            let mut last = 0;
            while began.elapsed() < TIME {
                let one = [fact_of_size(&id, Seq(last), BYTES).unwrap()];
                store.append(&id, epoch, Seq(last), &one).await.unwrap();
                last += 1;
            }
            last
        });
    }
    let mut all = 0;
    while let Some(count) = writers.join_next().await {
        all += count.unwrap();
    }
    all as f64 / began.elapsed().as_secs_f64()
}

/// Bytes of all files below a folder.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => bytes(&path),
        path => fs::metadata(path).map_or(0, |file| file.len()),
    });
    sizes.sum()
}
