//! What is particular to PostgreSQL: servers and connections that go away, other nodes, tables that
//! somebody changed. Where there is no server each test says that it was skipped.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is tests, which stop where they may"
)]

#[path = "../common/mod.rs"]
mod common;

mod damage;
mod disconnect;
mod nodes;
mod opening;
mod pooler;
mod prepared;
mod proxy;
mod remote_commands;
mod secret;
mod tailing;

use std::future::Future;
use std::time::Duration;

/// How long what comes at last is waited for.
const LONG: Duration = Duration::from_secs(120);

/// Runs a test on several threads.
fn run(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let bounded = async { tokio::time::timeout(3 * LONG, test).await };
    runtime.unwrap().block_on(bounded).unwrap();
}
