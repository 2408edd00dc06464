//! Bound on the processes of an administrator, whom no limit of the kernel's holds back: they are counted,
//! and ended beyond it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;

use rustix::event::Timespec;
use rustix::process::{Pid, geteuid};
use rustix::system::sysinfo;

use crate::plan::{HelperPlan, HelperStage, Namespaces};

/// Time between counts.
const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Most processes and threads of a command.
pub(super) struct ProcessBound {
    most: u64,
    /// Processes and threads of the whole system when the command started. As long as there are not many
    /// more, nothing needs to be counted.
    before: u64,
    /// Namespaces hide all processes but those of the command.
    alone: bool,
}

impl ProcessBound {
    /// Returns the bound of a plan, if this stage counts the processes.
    pub(super) fn of(plan: &HelperPlan) -> Option<Self> {
        let (counts, alone) = match plan.namespaces {
            Namespaces::None => (plan.stage == HelperStage::Guard, false),
            Namespaces::Bubblewrap => (true, false),
            Namespaces::User | Namespaces::Root => (true, true),
        };
        (counts && geteuid().is_root()).then(|| Self {
            most: plan.limits.processes,
            before: u64::from(sysinfo().procs),
            alone,
        })
    }

    pub(super) fn interval(&self) -> &'static Timespec {
        &INTERVAL
    }

    /// Counts the processes that descend from one, and says so if there are too many.
    pub(super) fn is_exceeded(&mut self, root: Pid) -> bool {
        let now = u64::from(sysinfo().procs);
        self.before = self.before.min(now);
        if now.saturating_sub(self.before) <= self.most {
            return false;
        }
        let there = Processes::read();
        let threads = if self.alone { there.threads() } else { there.threads_beneath(root) };
        if threads <= self.most {
            return false;
        }
        // Nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "[killed the command: it had more than {} processes and threads]",
            self.most
        );
        true
    }
}

/// Returns the processes that descend from one.
pub(super) fn descendants(root: Pid) -> Vec<Pid> {
    let all = Processes::read().beneath(root);
    all.into_iter().filter_map(Pid::from_raw).collect()
}

/// Processes with their parents and numbers of threads.
struct Processes(BTreeMap<i32, (i32, u64)>);

impl Processes {
    fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let rows =
            ids.filter_map(|id| Some((id, stat(&fs::read(format!("/proc/{id}/stat")).ok()?)?)));
        Self(rows.collect())
    }

    fn threads(&self) -> u64 {
        self.0.values().map(|(_, threads)| threads).sum()
    }

    fn threads_beneath(&self, root: Pid) -> u64 {
        self.beneath(root).iter().filter_map(|id| self.0.get(id)).map(|(_, threads)| threads).sum()
    }

    fn beneath(&self, root: Pid) -> BTreeSet<i32> {
        let mut children = BTreeMap::<i32, Vec<i32>>::new();
        for (id, (parent, _)) in &self.0 {
            children.entry(*parent).or_default().push(*id);
        }
        let (mut found, mut next) = (BTreeSet::new(), vec![root.as_raw_nonzero().get()]);
        while let Some(parent) = next.pop() {
            let new = children.get(&parent).into_iter().flatten();
            next.extend(new.filter(|child| found.insert(**child)));
        }
        found
    }
}

/// Reads the parent and the number of threads (`man 5 proc_pid_stat`). The name may contain anything.
fn stat(line: &[u8]) -> Option<(i32, u64)> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(line.get(end + 2..)?).ok()?;
    let mut fields = fields.split(' ');
    Some((fields.nth(1)?.parse().ok()?, fields.nth(15)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_confuse_the_fields() {
        let line = b"12 (a) b) (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 99";
        assert_eq!(stat(line), Some((7, 3)));
        assert_eq!(stat(b"12 (a"), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let rows = [(2, (1, 1)), (3, (2, 1)), (4, (3, 2)), (5, (1, 1))];
        let all = Processes(rows.into());
        let root = Pid::from_raw(2).unwrap();
        assert_eq!(all.beneath(root), [3, 4].into());
        assert_eq!((all.threads_beneath(root), all.threads()), (3, 5));
    }
}
