//! Measures appends of one small fact to one session against a bare loop that writes the same bytes
//! and syncs after each: `cargo run --release --example throughput`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it is a measurement")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::LogStore;
use windlass_testkit::store::fact_of_size;

const APPENDS: u64 = 2_000;
const BYTES: usize = 300;
const ROUNDS: u32 = 5;

fn main() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut bare, mut store) = (Duration::ZERO, Duration::ZERO);
    for round in 0..ROUNDS {
        bare += bare_loop(&dir.path().join(format!("bare-{round}")));
        store += runtime.block_on(store_loop(&dir.path().join(format!("store-{round}"))));
    }
    let rate = |time: Duration| f64::from(ROUNDS) * APPENDS as f64 / time.as_secs_f64();
    println!("bare write and fdatasync: {:.0} appends a second", rate(bare));
    println!("file store:               {:.0} appends a second", rate(store));
    println!("wall time, store to bare: {:.2}", store.as_secs_f64() / bare.as_secs_f64());
}

fn bare_loop(path: &Path) -> Duration {
    let mut file = File::create_new(path).unwrap();
    let line = vec![b'x'; BYTES];
    let start = Instant::now();
    for _ in 0..APPENDS {
        file.write_all(&line).unwrap();
        file.sync_data().unwrap();
    }
    start.elapsed()
}

async fn store_loop(dir: &Path) -> Duration {
    let store = FileStore::open(dir.to_path_buf()).unwrap();
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let facts: Vec<_> =
        (0..APPENDS).map(|after| fact_of_size(&id, Seq(after), BYTES).unwrap()).collect();
    let start = Instant::now();
    for (fact, after) in facts.iter().zip(0..) {
        let batch = std::slice::from_ref(fact);
        store.append(&id, epoch, Seq(after), batch).await.unwrap();
    }
    start.elapsed()
}
