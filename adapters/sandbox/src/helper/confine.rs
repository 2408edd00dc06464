//! The inner process: gives up its rights one mechanism after the other, and runs the program.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus};

use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, ioctl_tiocsctty, set_dumpable_behavior,
    set_parent_process_death_signal, setsid, wait,
};

use super::{
    Step, capabilities, exit_code, filter, handing, left, limits, loopback, mounts, rules, step,
};
use crate::plan::{HelperNetwork, HelperPlan, Namespaces};

pub(super) fn run(plan: HelperPlan) -> Step<u8> {
    let owns = match plan.namespaces {
        Namespaces::None | Namespaces::Bubblewrap => false,
        Namespaces::User | Namespaces::Root => true,
    };
    if plan.namespaces != Namespaces::Bubblewrap {
        die_with_the_supervisor(plan.watched)?;
    }
    // In a session of its own it has no terminal: the one of the user is for answers to questions.
    setsid().map_err(step("leave the session"))?;
    control_terminal();
    if owns {
        mounts::change(&plan)?;
    }
    if owns && plan.network != HelperNetwork::All {
        loopback::enter()?;
    }
    let proxy = match &plan.network {
        HelperNetwork::Proxy(proxy) => Some(handing::listen(&handing::inherited(proxy.channel)?)?),
        HelperNetwork::Off | HelperNetwork::All => None,
    };
    limits::set(&plan)?;
    capabilities::reduce()?;
    let abi = rules::restrict(&plan, owns)?;
    filter::apply(&plan, abi)?;
    let Some((program, arguments)) = plan.command.split_first() else {
        let report = writeln!(std::io::stdout(), "landlock {abi}");
        return report.map(|()| 0).map_err(step("report the mechanisms"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(port) = proxy {
        use_proxy(&mut command, port);
    }
    let not_started = |error| format!("cannot start {}: {error}", program.display());
    if !owns {
        return Err(not_started(command.exec()));
    }
    // The first process of a namespace ignores most signals, so the program is its child, which could
    // otherwise change the memory of this one and have it outlive the supervisor.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step("close its memory"))?;
    let child = command.spawn().map_err(not_started)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == child.id() => {
                use std::os::unix::process::ExitStatusExt as _;
                let status = ExitStatus::from_raw(status.as_raw());
                // A command that is stopped may have had no time to end the others.
                if status.code().is_some() {
                    left::name_others();
                }
                return Ok(exit_code(status));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("cannot wait for the program: {error}")),
        }
    }
}

/// Makes a terminal that was made for the command the one of its session, so that it interrupts the
/// command. One that belongs to another session, as that of the user does, stays there.
fn control_terminal() {
    let input = std::io::stdin();
    if input.is_terminal() {
        let _ = ioctl_tiocsctty(&input);
    }
}

/// Tells the program of its proxy, which does not serve its own loopback.
fn use_proxy(command: &mut Command, port: u16) {
    let proxy = format!("http://127.0.0.1:{port}");
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy"]
    {
        command.env(name, &proxy);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
}

/// Has the kernel kill this process when its parent ends, which must not have happened yet.
pub(super) fn die_with_the_supervisor(supervisor: i32) -> Step<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(step("follow its parent"))?;
    // The parent is outside of the namespace, so only /proc of that one shows it.
    let status = fs::read_to_string("/proc/self/status").map_err(step("read its status"))?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    match parent.and_then(|parent| parent.trim().parse::<i32>().ok()) {
        Some(parent) if parent == supervisor => Ok(()),
        Some(_) | None => Err(String::from("the supervisor has ended")),
    }
}
