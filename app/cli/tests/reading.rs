//! A model that works from what it is shown finishes its task with the built command: over every
//! dialect and every strategy of compaction, with long outputs of the shell in a small window.
//!
//! `WINDLASS_READING=full` runs all windows and lengths.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "it tells how many cells there are")]

mod common;

use common::Place;
use windlass_testkit::http::ModelServer;
use windlass_testkit::reading::{ReadingModel, ReadingOrder, ReadingTask};

const DOCUMENTS: usize = 3;

const DIALECTS: [&str; 3] = ["openai", "openai-chat", "anthropic"];
const STRATEGIES: [&str; 3] = ["clear", "slide", "summary"];

fn read(
    dialect: &str,
    strategy: &str,
    window: u64,
    bytes: usize,
    order: ReadingOrder,
) -> Result<usize, String> {
    let task = ReadingTask::new(DOCUMENTS, bytes, order).in_shell();
    let place = Place::new();
    for name in task.names() {
        std::fs::write(place.file(&name), task.text(&name)).unwrap();
    }
    let model = ReadingModel::new().window(window);
    let server = ModelServer::start(model.script().strict()).unwrap();
    let (prompt, base_url, window) = (task.prompt(), server.base_url(), window.to_string());
    let done = place.run(&[
        "run",
        &prompt,
        "--provider",
        dialect,
        "--base-url",
        &base_url,
        "--window",
        &window,
        "--compaction",
        strategy,
        "--model",
        "scripted",
    ]);
    if done.code != 0 || !server.misses().is_empty() {
        return Err(format!("code {}: {} {:?}", done.code, done.err, server.misses()));
    }
    task.check(&done.out)?;
    let samples = server.samples();
    let requests = samples.iter().filter(|sample| !sample.asked().tools.is_empty()).count();
    let most = task.fewest_requests() + DOCUMENTS;
    match requests <= most {
        true => Ok(requests),
        false => Err(format!("it took {requests} requests, and {most} are enough")),
    }
}

#[test]
fn every_dialect_and_strategy_is_finished_in_time() {
    let full = std::env::var_os("WINDLASS_READING").is_some_and(|value| value == "full");
    let (windows, sizes): (&[u64], &[usize]) = match full {
        true => (&[8_000, 32_000, 200_000], &[1 << 10, 16 << 10, 128 << 10, 1 << 20]),
        false => (&[16_000], &[256 << 10]),
    };
    let (mut failures, mut requests, mut count) = (Vec::new(), 0, 0);
    for (dialect, strategy) in DIALECTS.iter().flat_map(|d| STRATEGIES.map(|s| (*d, s))) {
        for window in windows {
            for bytes in sizes {
                for order in [ReadingOrder::OneByOne, ReadingOrder::Together] {
                    count += 1;
                    match read(dialect, strategy, *window, *bytes, order) {
                        Ok(made) => requests += made,
                        Err(why) => failures.push(format!(
                            "{dialect}, {strategy}, window {window}, {bytes} bytes, {order:?}: {why}"
                        )),
                    }
                }
            }
        }
    }
    println!("{count} cells, {requests} requests");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
