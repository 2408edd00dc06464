//! (b) Latency of subscribers, and (c) the effect of one that stops reading on the others.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client::{Caller, Reader, Seen};
use super::pace::{Pace, Text};
use super::{Pair, judged};
use xtask::say::say;

const SESSIONS: usize = 100;
const SUBSCRIBERS: usize = 1_000;
const A_SECOND: u32 = 50;

/// Longest latency of a delta from model to client, in the 99th percentile.
const AT_MOST: Duration = Duration::from_millis(50);

/// Share of their rate that the other clients may lose.
const LOSS: f64 = 0.05;

/// Bytes of a delta where one stops reading: so many that what lies between it and the server is
/// full soon.
const HEAVY: usize = 4 * 1024;

/// The receive buffer of one that stops reading.
const SMALL: u32 = 4 * 1024;

/// Longest wait for a client that starts to read again.
const TOLD: Duration = Duration::from_secs(10);

/// Result of one run.
struct Ran {
    seen: Vec<Seen>,
    took: Duration,
    computed: f64,
}

impl Ran {
    fn deltas(&self) -> usize {
        self.seen.iter().map(|seen| seen.micros.len()).sum()
    }

    fn rate(&self) -> f64 {
        self.deltas() as f64 / self.took.as_secs_f64()
    }

    fn lagged(&self) -> usize {
        self.seen.iter().filter(|seen| seen.lagged).count()
    }

    /// Returns a percentile of the latencies.
    fn percentile(&self, hundredths: usize) -> Duration {
        let mut all: Vec<u32> = self.seen.iter().flat_map(|seen| &seen.micros).copied().collect();
        all.sort_unstable();
        let at = (all.len() * hundredths / 100).min(all.len().saturating_sub(1));
        let micros = all.get(at).copied().unwrap_or(u32::MAX);
        Duration::from_micros(micros.into())
    }
}

/// (b): measures, prints, and returns true if the target is met.
pub(super) async fn spread(seconds: u32) -> anyhow::Result<bool> {
    say(format_args!(
        "(b) {SUBSCRIBERS} subscribers on {SESSIONS} sessions, {A_SECOND} deltas a second each, for \
         {seconds} seconds"
    ));
    let pair = Pair::start()?;
    let pace =
        Pace { deltas: A_SECOND * seconds, a_second: A_SECOND, text: Text::Stamps { bytes: 0 } };
    let (ran, _) = run(&pair, SESSIONS, SUBSCRIBERS, pace, false).await?;
    let expected = pace.deltas as usize * SUBSCRIBERS;
    say(format_args!(
        "  {} of {expected} deltas heard, {:.0} a second; {} subscribers fell behind; the server \
         computed {:.2} seconds a second; median {:?}, 90th {:?}",
        ran.deltas(),
        ran.rate(),
        ran.lagged(),
        ran.computed / ran.took.as_secs_f64(),
        ran.percentile(50),
        ran.percentile(90),
    ));
    let all = ran.deltas() == expected;
    let latency = ran.percentile(99);
    let what = format!("99th percentile {latency:?}, at most {AT_MOST:?}, and every delta heard");
    Ok(judged(&what, latency <= AT_MOST && all))
}

/// (c): measures, prints, and returns true if the target is met.
pub(super) async fn stopped(seconds: u32) -> anyhow::Result<bool> {
    say(format_args!(
        "(c) 100 subscribers on 10 sessions, {A_SECOND} deltas of {HEAVY} bytes a second each, without \
         and with one more that reads nothing"
    ));
    let pace = Pace {
        deltas: A_SECOND * seconds,
        a_second: A_SECOND,
        text: Text::Stamps { bytes: HEAVY },
    };
    let pair = Pair::start()?;
    let (without, _) = run(&pair, 10, 100, pace, false).await?;
    let (with, stopped) = run(&pair, 10, 100, pace, true).await?;
    let loss = 1.0 - with.rate() / without.rate();
    say(format_args!(
        "  {:.0} deltas a second without, {:.0} with; 99th percentile {:?} and {:?}; {} and {} fell \
         behind",
        without.rate(),
        with.rate(),
        without.percentile(99),
        with.percentile(99),
        without.lagged(),
        with.lagged(),
    ));
    let told = match stopped {
        // Where so little was said that it did not fall behind, nothing tells it.
        Some(mut reader) => match timeout(TOLD, reader.follow(u32::MAX)).await {
            Ok(seen) => seen?.lagged,
            Err(_) => false,
        },
        None => false,
    };
    let what = format!(
        "the others lose {:.1} per cent, at most {:.0}; the one was told that it fell behind: {told}",
        loss * 100.0,
        LOSS * 100.0
    );
    Ok(judged(&what, loss < LOSS && told))
}

/// Has so many sessions speak at a pace, with subscribers spread over them evenly, and one more on
/// the first that reads nothing where that is wanted.
async fn run(
    pair: &Pair,
    sessions: usize,
    subscribers: usize,
    pace: Pace,
    stopped: bool,
) -> anyhow::Result<(Ran, Option<Reader>)> {
    let address = pair.server.address;
    let mut caller = Caller::new(address).await?;
    let mut ids = Vec::new();
    for _ in 0..sessions {
        ids.push(caller.open(&pace.name()).await?);
    }
    let one = match (stopped, ids.first()) {
        (true, Some(id)) => Some(Reader::new(address, id, Some(SMALL)).await?),
        (true, None) | (false, _) => None,
    };
    let mut following = JoinSet::new();
    for id in ids.iter().cycle().take(subscribers) {
        let mut reader = Reader::new(address, id, None).await?;
        following.spawn(async move { reader.follow(1).await });
    }
    let (before, began) = (pair.server.computed()?, Instant::now());
    for id in &ids {
        caller.turn(id).await?;
    }
    let mut seen = Vec::new();
    while let Some(one) = following.join_next().await {
        seen.push(one??);
    }
    let ran = Ran { seen, took: began.elapsed(), computed: pair.server.computed()? - before };
    Ok((ran, one))
}
