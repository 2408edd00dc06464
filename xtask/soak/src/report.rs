//! The report: a line each minute, and at the end the slopes and the verdict.

use std::fmt;

use crate::meter::{Sample, slope};
use crate::tally::{Tally, read};

/// Bounds on growth in an hour, by least squares over the second half: MiB of memory, descriptors, threads.
pub(crate) const BOUNDS: [f64; 3] = [48.0, 60.0, 30.0];
/// Bound on files of the store for each settled turn, if the store erases.
pub(crate) const FILES_A_TURN: f64 = 0.05;
/// A process that is younger is warming up, and not fitted. In seconds.
const WARM: f64 = 60.0;
/// A shorter soak is not held to the bounds. In hours.
const SHORT: f64 = 0.3;

/// Growth in an hour over the second half, and files for each settled turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    memory: Option<f64>,
    descriptors: Option<f64>,
    threads: Option<f64>,
    stored: Option<f64>,
    files_a_turn: Option<f64>,
}

/// The line of a minute.
pub(crate) fn line(at: &Sample, tally: &Tally) -> String {
    format!(
        "minute {:.1}: {} turns settled, {} of {} inputs ended, memory {:.1} MiB, {} descriptors, {} threads, \
         store {:.2} MiB in {} files, {} restarts, {} erased, {} wrong, load {}",
        at.hours * 60.0,
        at.turns,
        read(&tally.ended),
        read(&tally.accepted),
        at.memory,
        at.descriptors,
        at.threads,
        at.stored,
        at.files,
        read(&tally.restarts),
        read(&tally.erased),
        tally.wrongs(),
        load(),
    )
}

/// Load of the machine over the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

impl Growth {
    /// Fits the second half of the samples.
    pub(crate) fn fit(samples: &[Sample]) -> Self {
        let end = samples.last().map_or(0.0, |last| last.hours);
        let half: Vec<Sample> =
            samples.iter().filter(|one| one.hours >= end / 2.0).copied().collect();
        let mut warm = half.clone();
        warm.retain(|one| one.age >= WARM);
        let process =
            |value: fn(&Sample) -> f64| slope(&warm, |one| one.life, |one| one.hours, value);
        Self {
            memory: process(|one| one.memory),
            descriptors: process(|one| one.descriptors),
            threads: process(|one| one.threads),
            stored: slope(&half, |_| 0, |one| one.hours, |one| one.stored),
            files_a_turn: slope(&half, |_| 0, |one| one.turns, |one| one.files),
        }
    }

    /// Says what exceeds its bound, in a soak of so many hours.
    pub(crate) fn exceeds(&self, hours: f64, erases: bool) -> Vec<String> {
        if hours < SHORT {
            return Vec::new();
        }
        let values = [self.memory, self.descriptors, self.threads];
        let names = ["memory (MiB)", "descriptors", "threads"];
        let mut exceeded = Vec::new();
        for ((value, bound), name) in values.into_iter().zip(BOUNDS).zip(names) {
            match value {
                Some(value) if value <= bound => {}
                Some(value) => {
                    exceeded.push(format!("{name} grow by {value:.1} an hour, over {bound}"))
                }
                None => exceeded.push(format!("{name} were not measured")),
            }
        }
        if let Some(files) = self.files_a_turn.filter(|files| erases && *files > FILES_A_TURN) {
            exceeded.push(format!("{files:.3} files for each turn, over {FILES_A_TURN}"));
        }
        exceeded
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |value: Option<f64>| value.map_or("unknown".into(), |value| format!("{value:+.2}"));
        let [memory, descriptors, threads] = BOUNDS;
        write!(
            f,
            "slopes over the second half, an hour: memory {} MiB (bound {memory}), descriptors {} (bound \
             {descriptors}), threads {} (bound {threads}), store {} MiB; files for each turn {} (bound \
             {FILES_A_TURN} if the store erases)",
            shown(self.memory),
            shown(self.descriptors),
            shown(self.threads),
            shown(self.stored),
            self.files_a_turn.map_or("unknown".into(), |value| format!("{value:+.4}")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour of samples, each second minute, whose memory grows by so much.
    fn grown(by: f64) -> Growth {
        let samples = (0..60_u32).map(|minute| {
            let hours = f64::from(minute) / 60.0;
            let files = 10.0 + f64::from(minute % 3);
            let turns = f64::from(minute) * 10.0;
            let memory = 50.0 + by * hours;
            Sample { hours, age: hours * 3_600.0, memory, files, turns, ..Sample::default() }
        });
        Growth::fit(&samples.collect::<Vec<_>>())
    }

    #[test]
    fn growth_beyond_a_bound_is_said() {
        assert_eq!(grown(1.0).exceeds(1.0, true), [""; 0]);
        let exceeded = grown(100.0).exceeds(1.0, true);
        assert_eq!(exceeded, ["memory (MiB) grow by 100.0 an hour, over 48"]);
        assert_eq!(grown(100.0).exceeds(0.1, true), [""; 0], "a short soak measures its start");
    }
}
