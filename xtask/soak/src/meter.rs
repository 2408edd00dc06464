//! Measures the server process and its store, and fits their growth.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// One measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// Time since the soak began, in hours.
    pub(crate) hours: f64,
    /// Which process of the server it was.
    pub(crate) life: u64,
    /// Age of that process in seconds.
    pub(crate) age: f64,
    /// Resident memory in MiB.
    pub(crate) memory: f64,
    pub(crate) descriptors: f64,
    pub(crate) threads: f64,
    /// Files of the store.
    pub(crate) files: f64,
    /// Their size in MiB.
    pub(crate) stored: f64,
    /// Turns that had settled.
    pub(crate) turns: f64,
}

const MIB: f64 = 1_048_576.0;

impl Sample {
    /// Measures a process and a folder; time, life and turns are the caller's.
    pub(crate) fn of(pid: u32, store: &Path) -> anyhow::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse::<f64>().ok()).context("no number in /proc")
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        let (files, bytes) = folder(store);
        Ok(Self {
            memory: field("VmRSS:")? / 1_024.0,
            threads: field("Threads:")?,
            descriptors: descriptors as f64,
            files: files as f64,
            stored: bytes as f64 / MIB,
            ..Self::default()
        })
    }
}

/// Number and size of the files below a folder. Files that go meanwhile are not counted.
fn folder(at: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(meta) if meta.is_dir() => {
                let (more, size) = folder(&entry.path());
                files += more;
                bytes += size;
            }
            Ok(meta) => {
                files += 1;
                bytes += meta.len();
            }
            Err(_) => {}
        }
    }
    (files, bytes)
}

/// Growth of one value with another by least squares. Each life has a level of its own, so a restart is no
/// growth. `None` without two different points in a life.
pub(crate) fn slope(
    samples: &[Sample],
    life: impl Fn(&Sample) -> u64,
    x: impl Fn(&Sample) -> f64,
    y: impl Fn(&Sample) -> f64,
) -> Option<f64> {
    let lives: std::collections::BTreeSet<u64> = samples.iter().map(&life).collect();
    let (mut products, mut squares) = (0.0, 0.0);
    for one in lives {
        let of = || samples.iter().filter(|sample| life(sample) == one);
        let count = of().count() as f64;
        let mean_x = of().map(&x).sum::<f64>() / count;
        let mean_y = of().map(&y).sum::<f64>() / count;
        products += of().map(|sample| (x(sample) - mean_x) * (y(sample) - mean_y)).sum::<f64>();
        squares += of().map(|sample| (x(sample) - mean_x).powi(2)).sum::<f64>();
    }
    (squares > 0.0).then_some(products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(hours: f64, life: u64, memory: f64) -> Sample {
        Sample { hours, life, memory, ..Sample::default() }
    }

    #[test]
    fn a_slope_is_that_of_the_line() {
        let line: Vec<Sample> =
            (0..10).map(|at| sample(f64::from(at), 0, 5.0 + 3.0 * f64::from(at))).collect();
        let grown = slope(&line, |one| one.life, |one| one.hours, |one| one.memory);
        assert!(grown.is_some_and(|grown| (grown - 3.0).abs() < 1e-9), "{grown:?}");
    }

    #[test]
    fn a_restart_neither_hides_growth_nor_is_growth() {
        let saw: Vec<Sample> = (0..20_u32)
            .map(|at| sample(f64::from(at), u64::from(at / 5), 40.0 + f64::from(at % 5)))
            .collect();
        let memory = |one: &Sample| one.memory;
        let within = slope(&saw, |one| one.life, |one| one.hours, memory);
        assert!(within.is_some_and(|grown| (grown - 1.0).abs() < 1e-9), "{within:?}");
        assert_eq!(slope(&saw[..1], |one| one.life, |one| one.hours, memory), None);
    }
}
