//! A model that works from what it is shown finishes its task: over every strategy of compaction,
//! windows from 8,000 to 200,000 tokens, and results from 1 KB to 1 MB. For each result it needs one
//! request at most more than with an unbounded window.
//!
//! `WINDLASS_READING=full` runs all cells; else those at the ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "it tells how many cells there are")]

#[path = "support/clock.rs"]
mod clock;

use std::sync::Arc;

use windlass_engine::core::{
    CompactionStrategy, ContextWindow, Lineage, OpenSession, Scope, SessionId, Timestamp,
    TurnOutcome, read_output_tool,
};
use windlass_engine::ports::{
    NoApprover, NoHooks, Ports, ProgramRuntimes, Provider, ToolExecutor as _,
};
use windlass_engine::{Config, Engine, NewInput, Start};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::ScriptedProvider;
use windlass_testkit::reading::{ReadingModel, ReadingOrder, ReadingTask};
use windlass_testkit::tools::ScriptedTools;

use clock::RuntimeClock;

const DOCUMENTS: usize = 6;

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Cell {
    strategy: CompactionStrategy,
    window: u64,
    bytes: usize,
    order: ReadingOrder,
}

fn is_full() -> bool {
    std::env::var_os("WINDLASS_READING").is_some_and(|value| value == "full")
}

fn cells() -> Vec<Cell> {
    let (windows, sizes): (&[u64], &[usize]) = match is_full() {
        true => (
            &[8_000, 16_000, 32_000, 64_000, 128_000, 200_000],
            &[1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
        ),
        false => (&[8_000, 200_000], &[1 << 10, 64 << 10, 1 << 20]),
    };
    let mut cells = Vec::new();
    for strategy in
        [CompactionStrategy::Clear, CompactionStrategy::Slide, CompactionStrategy::Summary]
    {
        for order in [ReadingOrder::OneByOne, ReadingOrder::Together] {
            for window in windows {
                let cell = |bytes: &usize| Cell { strategy, window: *window, bytes: *bytes, order };
                cells.extend(sizes.iter().map(cell));
            }
        }
    }
    cells
}

fn me() -> Scope {
    Scope::local("tester")
}

/// Runs a task to its end. Returns the number of requests, without those for a summary.
async fn run(
    task: &ReadingTask,
    provider: ScriptedProvider,
    window: ContextWindow,
    readable: bool,
) -> Result<usize, String> {
    let tools = ScriptedTools::new([task.tool()]);
    let mut offered = tools.tools();
    offered.extend(readable.then(read_output_tool));
    let settings = windlass_testkit::settings().with(|it| {
        it.tools = offered;
        it.window = window;
    });
    let port: Arc<dyn Provider> = Arc::new(provider.clone());
    let ports = Ports {
        provider: port,
        store: Arc::new(FaultyStore::new()),
        tools: Arc::new(tools),
        blobs: Arc::new(HeldBlobs::new(1 << 30)),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(RuntimeClock::new(Timestamp(0), 1)),
        programs: ProgramRuntimes::none(),
    };
    let engine = Engine::new(ports, Config::default());
    let opening = OpenSession { owner: me(), workspace: None, settings, lineage: Lineage::Root };
    let start = Start::New(Box::new(opening));
    let session = engine.open(&SessionId::new("s").unwrap(), &me(), start).await.unwrap();
    let input = session.send(NewInput::new(me(), task.prompt())).await.unwrap();
    let report = session.outcome(input).await.unwrap();
    if report.outcome != TurnOutcome::Completed {
        return Err(format!("{:?}", report.outcome));
    }
    task.check(&report.answer)?;
    let works = |prompt: &&windlass_engine::core::Prompt| !prompt.settings.tools.is_empty();
    Ok(provider.prompts().iter().filter(works).count())
}

async fn read(cell: Cell) -> Result<usize, String> {
    let task = ReadingTask::new(DOCUMENTS, cell.bytes, cell.order);
    let model = ReadingModel::new().window(cell.window);
    let window = ContextWindow { tokens: cell.window, strategy: cell.strategy };
    let requests = run(&task, model.provider(), window, true).await?;
    let most = task.fewest_requests() + DOCUMENTS;
    match requests <= most {
        true => Ok(requests),
        false => Err(format!("it took {requests} requests, and {most} are enough")),
    }
}

#[tokio::test(start_paused = true)]
async fn an_unbounded_window_needs_the_fewest_requests() {
    for order in [ReadingOrder::OneByOne, ReadingOrder::Together] {
        let task = ReadingTask::new(DOCUMENTS, 10_000, order);
        let provider = ReadingModel::new().provider();
        let requests = run(&task, provider, ContextWindow::default(), true).await;
        assert_eq!(requests, Ok(task.fewest_requests()), "{order:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_cell_is_finished_in_time() {
    let cells = cells();
    let (mut failures, mut requests) = (Vec::new(), 0);
    for cell in &cells {
        match read(*cell).await {
            Ok(count) => requests += count,
            Err(why) => failures.push(format!("{cell:?}: {}", why.get(..200).unwrap_or(&why))),
        }
    }
    println!("{} cells, {requests} requests", cells.len());
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {} cells:\n{}", cells.len(), failures.join("\n"));
}
