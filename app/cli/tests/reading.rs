//! A model that works from what it is shown finishes its task with the built command: over every
//! dialect and every strategy of compaction, with long outputs of the shell in a small window, by
//! calls and by programs.
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

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Cell {
    dialect: &'static str,
    strategy: &'static str,
    /// Language and transport of programs.
    program: Option<(&'static str, &'static str)>,
    window: u64,
    bytes: usize,
    order: ReadingOrder,
}

fn is_full() -> bool {
    std::env::var_os("WINDLASS_READING").is_some_and(|value| value == "full")
}

fn read(cell: Cell) -> Result<usize, String> {
    let task = ReadingTask::new(DOCUMENTS, cell.bytes, cell.order).in_shell();
    let place = Place::new();
    for name in task.names() {
        std::fs::write(place.file(&name), task.text(&name)).unwrap();
    }
    let model = ReadingModel::new().window(cell.window);
    let server = ModelServer::start(model.script().strict()).unwrap();
    let (prompt, base_url, window) = (task.prompt(), server.base_url(), cell.window.to_string());
    let words = ["run", &prompt, "--provider", cell.dialect, "--base-url", &base_url];
    let settings = ["--model", "scripted", "--window", &window, "--compaction", cell.strategy];
    let mut words = [&words[..], &settings].concat();
    if let Some((language, transport)) = cell.program {
        words.extend(["--program", language, "--program-transport", transport]);
    }
    let done = place.run(&words);
    if done.code != 0 || !server.misses().is_empty() {
        return Err(format!("code {}: {} {:?}", done.code, done.err, server.misses()));
    }
    task.check(&done.out)?;
    let samples = server.samples();
    let of_task = |user: String| user.contains(&prompt);
    let requests = samples.iter().filter(|sample| sample.asked().user.is_some_and(of_task)).count();
    // A command may change something, so one of a failed program is not started again at once.
    let more = cell.program.map_or(1, |_| 2);
    let most = task.fewest_requests() + more * DOCUMENTS;
    match requests <= most {
        true => Ok(requests),
        false => Err(format!("it took {requests} requests, and {most} are enough")),
    }
}

/// Runs all cells and fails with those that are not finished in time.
fn finish(cells: &[Cell]) {
    let (mut failures, mut requests) = (Vec::new(), 0);
    for cell in cells {
        match read(*cell) {
            Ok(made) => requests += made,
            Err(why) => failures.push(format!("{cell:?}: {}", why.get(..1_000).unwrap_or(&why))),
        }
    }
    println!("{} cells, {requests} requests", cells.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cells.len(), failures.join("\n"));
}

/// Every combination of these with both orders.
fn cells(
    ways: &[(&'static str, Option<(&'static str, &'static str)>)],
    windows: &[u64],
    sizes: &[usize],
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for ((dialect, program), strategy) in ways.iter().flat_map(|way| STRATEGIES.map(|s| (*way, s)))
    {
        for (window, bytes) in windows.iter().flat_map(|w| sizes.iter().map(|s| (*w, *s))) {
            for order in [ReadingOrder::OneByOne, ReadingOrder::Together] {
                cells.push(Cell { dialect, strategy, program, window, bytes, order });
            }
        }
    }
    cells
}

#[test]
fn every_dialect_and_strategy_is_finished_in_time() {
    let (windows, sizes): (&[u64], &[usize]) = match is_full() {
        true => (&[8_000, 32_000, 200_000], &[1 << 10, 16 << 10, 128 << 10, 1 << 20]),
        false => (&[16_000], &[256 << 10]),
    };
    finish(&cells(&DIALECTS.map(|dialect| (dialect, None)), windows, sizes));
}

#[cfg(all(feature = "javascript", feature = "ptclisp"))]
#[test]
fn every_language_and_transport_of_programs_is_finished_in_time() {
    let ways = [
        ("openai", Some(("ptclisp", "call"))),
        ("openai-chat", Some(("ptclisp", "text"))),
        ("anthropic", Some(("javascript", "call"))),
        ("openai", Some(("javascript", "text"))),
    ];
    let (windows, sizes): (&[u64], &[usize]) = match is_full() {
        true => (
            &[8_000, 16_000, 32_000, 64_000, 128_000, 200_000],
            &[1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
        ),
        false => (&[8_000], &[16 << 10, 256 << 10]),
    };
    finish(&cells(&ways, windows, sizes));
}
