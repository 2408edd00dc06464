//! Meters: resources of a process as the kernel counts them.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};

/// A meter that runs.
#[derive(Debug)]
pub(crate) struct Meter {
    start_ns: u64,
    user_ns: u64,
    sys_ns: u64,
    rss_kb: u64,
    written: u64,
}

/// Resources that the process used while a meter ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// When the meter started, on the monotonic clock.
    pub(crate) start_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) user_ns: u64,
    pub(crate) sys_ns: u64,
    /// Resident memory when the meter started.
    pub(crate) rss_start_kb: u64,
    /// Resident memory when it was read.
    pub(crate) rss_kb: u64,
    /// The most resident memory of the process's life.
    pub(crate) hwm_kb: u64,
    /// Bytes sent to storage.
    pub(crate) write_bytes: u64,
}

impl Meter {
    /// Starts a meter of this process.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let rss_kb = status_kb("VmRSS:");
        let written = write_bytes();
        let (user_ns, sys_ns) = cpu_ns()?;
        Ok(Self { start_ns: monotonic_ns()?, user_ns, sys_ns, rss_kb, written })
    }

    /// Reads the resources used since the start.
    pub(crate) fn read(&self) -> anyhow::Result<Reading> {
        let now = monotonic_ns()?;
        let (user_ns, sys_ns) = cpu_ns()?;
        Ok(Reading {
            start_ns: self.start_ns,
            wall_ns: now.saturating_sub(self.start_ns),
            user_ns: user_ns.saturating_sub(self.user_ns),
            sys_ns: sys_ns.saturating_sub(self.sys_ns),
            rss_start_kb: self.rss_kb,
            rss_kb: status_kb("VmRSS:"),
            hwm_kb: status_kb("VmHWM:"),
            write_bytes: write_bytes().saturating_sub(self.written),
        })
    }
}

impl Reading {
    /// Processor time of all threads, in the program and in the kernel for it.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.sys_ns)
    }
}

/// Reads the monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> anyhow::Result<u64> {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

/// Processor time of this process so far: finer than `getrusage`, and one call.
pub(crate) fn process_ns() -> anyhow::Result<u64> {
    clock_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of another process so far, in seconds, to a hundredth.
pub(crate) fn computed_s(process: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let rest = stat.rsplit(") ").next().context("a process without times")?;
    let times = rest.split(' ').skip(11).take(2);
    let ticks = times.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    // Linux tells this in hundredths, whatever its own ticks are.
    Ok(ticks / 100.0)
}

fn clock_ns(clock: ClockId) -> anyhow::Result<u64> {
    let time = clock_gettime(clock).context("reading a clock")?;
    Ok(nanoseconds(Duration::from(time)))
}

/// User and system time of this process so far.
fn cpu_ns() -> anyhow::Result<(u64, u64)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("reading this process's usage")?;
    Ok((time_ns(usage.user_time()), time_ns(usage.system_time())))
}

fn time_ns(time: TimeVal) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec()).unwrap_or(0);
    nanoseconds(Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros)))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a field of `/proc/self/status`; 0 without it.
fn status_kb(field: &str) -> u64 {
    number("/proc/self/status", field)
}

/// Bytes that this process has sent to storage; 0 where the kernel does not say.
fn write_bytes() -> u64 {
    number("/proc/self/io", "write_bytes:")
}

fn number(file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let meter = Meter::start().unwrap();
        let before = process_ns().unwrap();
        let mut sum = 0_u64;
        while process_ns().unwrap() - before < 5_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let reading = meter.read().unwrap();
        assert!(reading.cpu_ns() >= 4_000_000, "{reading:?}");
        assert!(reading.rss_kb > 0 && reading.hwm_kb >= reading.rss_kb, "{reading:?}");
    }
}
