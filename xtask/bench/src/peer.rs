//! The peer: Windlass as one of several programs that somebody else's bench runs side by side.
//!
//! The contract is the bench's: `--base-url URL --model SCRIPT --dir DIR --store
//! none|file|sled|URL --mode turns|prep|resume --turns T --concurrency C --warmup W --items N`;
//! arguments that are not known are ignored. The last line of standard output is one JSON object
//! with what the metered part took. Beyond the contract, `--api responses` speaks that protocol
//! instead of Chat Completions, and `--threads N` sets the runtime's threads.

mod arguments;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::contest::Tally;
use crate::engine::{Contender, Keep, Told};
use crate::kit;
use crate::meter::{Meter, Reading, monotonic_ns};
use crate::script::Script;
use crate::scripted::Scripted;
use arguments::{Arguments, Mode};
use xtask::say::say;

/// Session that `prep` writes and `resume` continues.
const SESSION: &str = "resume";

/// Runs the program with these arguments.
#[must_use]
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    match run(arguments) {
        Ok(line) => {
            say(line);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(serde_json::json!({ "ok": false, "error": format!("{error:#}") }));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> anyhow::Result<String> {
    let arguments = Arguments::parse(arguments)?;
    let runtime = runtime(arguments.threads)?;
    let line = runtime.block_on(async {
        match arguments.mode {
            Mode::Prep => {
                let items = prep(&arguments).await?;
                Ok(serde_json::json!({ "ok": true, "items": items }).to_string())
            }
            Mode::Resume => line(resume(&arguments).await?),
            Mode::Turns => line(turns(Arc::new(arguments)).await?),
        }
    });
    // A store may still be busy on a thread of its own; what was to be durable is.
    runtime.shutdown_background();
    line
}

fn runtime(threads: usize) -> anyhow::Result<Runtime> {
    let mut builder = match threads {
        0 | 1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().context("starting the runtime")
}

/// Metered part of a run.
struct Metered {
    reading: Reading,
    turns: u64,
    told: Heard,
}

/// Counts and latencies of some turns.
#[derive(Debug, Default)]
struct Heard {
    tally: Tally,
    /// Latency of each paced delta, in nanoseconds.
    late_ns: Vec<u32>,
    answer_bytes: usize,
}

impl Heard {
    fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.late_ns.extend(other.late_ns);
        self.answer_bytes = other.answer_bytes;
    }
}

/// Runs turns, each in a session of its own, several at a time.
async fn turns(arguments: Arc<Arguments>) -> anyhow::Result<Metered> {
    let keep = keep(&arguments)?;
    let provider = kit::provider(&arguments.base_url, arguments.api)?;
    let contender = Contender::new(provider, keep, &arguments.model);
    let warm = contender.with_model("tools-2");
    for number in 0..arguments.warmup {
        warm.turn(&format!("warmup-{number}"), &mut |_| {}).await?;
    }
    let next = Arc::new(AtomicU64::new(0));
    let meter = Meter::start()?;
    let mut told = Heard::default();
    let mut workers = JoinSet::new();
    for _ in 0..arguments.concurrency {
        workers.spawn(work(contender.clone(), arguments.clone(), next.clone()));
    }
    while let Some(heard) = workers.join_next().await {
        told.add(heard.context("a worker broke off")??);
    }
    Ok(Metered { reading: meter.read()?, turns: arguments.turns, told })
}

/// Runs turns until none is left.
async fn work(
    contender: Contender,
    arguments: Arc<Arguments>,
    next: Arc<AtomicU64>,
) -> anyhow::Result<Heard> {
    let mut heard = Heard::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= arguments.turns {
            return Ok(heard);
        }
        let session = format!("turn-{number}");
        let paced = arguments.paced();
        let mut late_ns = Vec::new();
        let mut on_text = |text: &str| note(&mut late_ns, paced, text);
        let told = contender.turn(&session, &mut on_text).await?;
        heard.add(self::heard(told, late_ns));
    }
}

/// Writes a session with at least this many items and returns their number.
async fn prep(arguments: &Arguments) -> anyhow::Result<usize> {
    let keep = keep(arguments)?;
    // A prompt, calls with their results, an answer.
    let calls = arguments.items.saturating_sub(2) / 2;
    let provider = Arc::new(Scripted::new(Script::tools(calls)));
    let contender = Contender::new(provider, keep, "prepared");
    contender.turn(SESSION, &mut |_| {}).await?;
    Ok(calls.saturating_mul(2).saturating_add(2))
}

/// Opens the session that was prepared and runs its next turn.
async fn resume(arguments: &Arguments) -> anyhow::Result<Metered> {
    let meter = Meter::start()?;
    let provider = kit::provider(&arguments.base_url, arguments.api)?;
    let contender = Contender::new(provider, keep(arguments)?, &arguments.model);
    let mut late_ns = Vec::new();
    let paced = arguments.paced();
    let mut on_text = |text: &str| note(&mut late_ns, paced, text);
    let told = contender.resume(SESSION, &mut on_text).await?;
    Ok(Metered { reading: meter.read()?, turns: 1, told: heard(told, late_ns) })
}

fn keep(arguments: &Arguments) -> anyhow::Result<Keep> {
    let dir = Path::new(&arguments.dir);
    match arguments.store.split_once(':').unwrap_or((&arguments.store, "")) {
        ("none" | "memory", "") if arguments.mode != Mode::Turns => {
            anyhow::bail!("--store {} keeps nothing to resume", arguments.store)
        }
        ("none" | "memory", "") => Ok(Keep::Nothing),
        ("file", "") => Ok(Keep::In(kit::file(dir)?)),
        ("file", path) => Ok(Keep::In(kit::file(Path::new(path))?)),
        ("sled", "") => Ok(Keep::In(kit::sled(dir)?)),
        ("sled", path) => Ok(Keep::In(kit::sled(Path::new(path))?)),
        (_, _) => anyhow::bail!("--store {}: use none, file or sled", arguments.store),
    }
}

/// Notes how late a paced delta is: its text is the moment it was sent.
fn note(late_ns: &mut Vec<u32>, paced: bool, text: &str) {
    let sent = text.trim().parse().ok().filter(|_: &u64| paced);
    if let (Some(sent), Ok(now)) = (sent, monotonic_ns()) {
        late_ns.push(u32::try_from(now.saturating_sub(sent)).unwrap_or(u32::MAX));
    }
}

fn heard(told: Told, late_ns: Vec<u32>) -> Heard {
    Heard { tally: told.tally, late_ns, answer_bytes: told.answer.len() }
}

/// Last line of standard output.
#[derive(Debug, Serialize)]
struct Line {
    ok: bool,
    turns: u64,
    tools: u64,
    deltas: u64,
    wall_ns: u64,
    user_ns: u64,
    sys_ns: u64,
    rss0_kb: u64,
    rss_kb: u64,
    hwm_kb: u64,
    write_bytes: u64,
    start_ns: u64,
    late_p50: u32,
    late_p99: u32,
    late_max: u32,
    final_len: usize,
}

fn line(metered: Metered) -> anyhow::Result<String> {
    let (reading, mut told) = (metered.reading, metered.told);
    told.late_ns.sort_unstable();
    let line = Line {
        ok: true,
        turns: metered.turns,
        tools: told.tally.calls,
        deltas: told.tally.deltas,
        wall_ns: reading.wall_ns,
        user_ns: reading.user_ns,
        sys_ns: reading.sys_ns,
        rss0_kb: reading.rss_start_kb,
        rss_kb: reading.rss_kb,
        hwm_kb: reading.hwm_kb,
        write_bytes: reading.write_bytes,
        start_ns: reading.start_ns,
        late_p50: percentile(&told.late_ns, 50),
        late_p99: percentile(&told.late_ns, 99),
        late_max: percentile(&told.late_ns, 100),
        final_len: told.answer_bytes,
    };
    Ok(serde_json::to_string(&line)?)
}

/// A percentile of sorted numbers; 0 when there are none.
fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last.saturating_mul(percent) / 100).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{listen, serve};

    #[test]
    fn percentiles_are_of_the_sorted_numbers() {
        let numbers: Vec<u32> = (1..=101).collect();
        assert_eq!(percentile(&numbers, 50), 51);
        assert_eq!(percentile(&numbers, 99), 100);
        assert_eq!(percentile(&numbers, 100), 101);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn only_paced_deltas_are_late() {
        let mut late_ns = Vec::new();
        let sent = monotonic_ns().unwrap();
        note(&mut late_ns, true, &format!(" {sent}"));
        note(&mut late_ns, true, " word");
        note(&mut late_ns, false, &format!(" {sent}"));
        assert_eq!(late_ns.len(), 1);
    }

    /// Runs the peer against a server of its own and gives its last line back.
    fn peer(arguments: &str) -> serde_json::Value {
        let (told, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = runtime(1).unwrap();
            runtime.block_on(async {
                let listener = listen().await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                serve(listener).await;
            });
        });
        let base = format!("--base-url http://{}/v1", address.recv().unwrap());
        let words = format!("{base} {arguments}");
        let words = words.split_whitespace().map(str::to_owned);
        serde_json::from_str(&run(words).unwrap()).unwrap()
    }

    #[test]
    fn runs_turns_several_at_a_time() {
        let line =
            peer("--model tools-3 --mode turns --turns 5 --concurrency 2 --warmup 1 --new x");
        for (field, number) in [("turns", 5), ("tools", 15), ("deltas", 10), ("final_len", 11)] {
            assert_eq!(line[field], number, "{field}: {line}");
        }
        assert_eq!(line["ok"], true);
        for field in ["wall_ns", "user_ns", "rss0_kb", "rss_kb", "hwm_kb", "start_ns"] {
            assert!(line[field].as_u64().unwrap() > 0, "{field}: {line}");
        }
    }

    #[test]
    fn takes_a_prepared_session_up() {
        for store in ["file", "sled"] {
            let dir = tempfile::tempdir().unwrap();
            let place = format!("--store {store} --dir {}", dir.path().display());
            assert_eq!(peer(&format!("--mode prep --items 20 {place}"))["items"], 20);
            let line = peer(&format!("--mode resume --model tools-2 {place}"));
            assert_eq!(line["tools"], 2, "{store}: {line}");
            assert_eq!(line["final_len"], " Every turn".len(), "{store}: {line}");
        }
    }

    #[test]
    fn a_mistake_is_an_error_that_names_it() {
        let error = |words: &str| {
            let words = words.split_whitespace().map(str::to_owned);
            format!("{:#}", run(words).unwrap_err())
        };
        assert_eq!(error("--mode dance"), "--mode dance: use turns, prep or resume");
        assert_eq!(error("--turns many"), "--turns many: use a number");
        assert_eq!(error("--store cloud:x"), "--store cloud:x: use none, file or sled");
        assert_eq!(error("--mode prep"), "--store none keeps nothing to resume");
    }
}
