//! Limits of the resources of confined processes.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Step, step};
use crate::plan::{HelperPlan, Namespaces};

/// Badness that is added to confined processes, so that a system without memory ends them first.
const OUT_OF_MEMORY: &str = "500";

/// Too few bytes for a core file. Unlike 0 it also holds where the system pipes cores to a program of the
/// administrator's (`do_coredump` of the kernel).
const NO_CORE: u64 = 1;

pub(super) fn set(plan: &HelperPlan) -> Step<()> {
    let limits = plan.limits;
    let processes = match plan.namespaces {
        // The kernel counts within the user namespace.
        Namespaces::User | Namespaces::Bubblewrap => limits.processes,
        // It counts all processes of the user, of which there may be as many as there are at all.
        Namespaces::None | Namespaces::Root => {
            let there = u64::from(rustix::system::sysinfo().procs);
            limits.processes.saturating_add(there)
        }
    };
    lower(Resource::Nproc, processes)?;
    lower(Resource::Data, limits.memory_bytes)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Core, NO_CORE)?;
    // Older systems have one limit for all namespaces, and refuse.
    if let Namespaces::User | Namespaces::Root = plan.namespaces {
        let _ = fs::write("/proc/sys/kernel/pid_max", limits.processes.max(301).to_string());
    }
    // A hardened system may refuse.
    let _ = fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY);
    Ok(())
}

/// Lowers a limit. One that is lower already stays.
fn lower(resource: Resource, to: u64) -> Step<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(to, |limit| limit.min(to)));
    let new = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    setrlimit(resource, new).map_err(step(format!("limit {resource:?}")))
}
