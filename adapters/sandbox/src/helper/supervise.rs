//! The outer process: makes namespaces, starts the confined process, and ends all of it when the
//! watched process ends.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sched::CloneFlags;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getegid, geteuid, getpid, getppid, kill_process,
    pidfd_open, set_child_subreaper, wait,
};

use super::bound::{self, ProcessBound};
use super::signals::Signals;
use super::{Step, capabilities, descriptors, exit_code, handing, left, step};
use crate::NOT_CONFINED;
use crate::plan::{HelperNetwork, HelperPlan, HelperStage, Namespaces};

/// Most rounds of killing descendants. Each finds those that were started during the one before.
const ROUNDS: usize = 64;

pub(super) fn run(mut plan: HelperPlan) -> Step<u8> {
    descriptors::close_inherited()?;
    let watched = Pid::from_raw(plan.watched).ok_or("the plan names no process to watch")?;
    let handle = pidfd_open(watched, PidfdFlags::empty());
    let handle = handle.map_err(step("watch the process that started this one"))?;
    if getppid() != Some(watched) {
        return Err(String::from("the process that started this one has ended"));
    }
    let signals = Signals::hold()?;
    let channel = start_proxy(&mut plan)?;
    let mut most = ProcessBound::of(&plan);
    let (mut command, last) = next(plan)?;
    let child = command.spawn().map_err(step("start the next stage"))?;
    drop(channel);
    let pid = pid(&child).ok_or("cannot name the next stage")?;
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(step("watch the next stage"))?;
    let mut all = [handle.as_fd(), ended.as_fd(), signals.as_fd()]
        .map(|handle| PollFd::from_borrowed_fd(handle, PollFlags::IN));
    loop {
        // An interrupted wait is repeated.
        let _ = poll(&mut all, most.as_ref().map(ProcessBound::interval));
        let [watched, child_ended, signalled] = all.each_ref().map(|one| !one.revents().is_empty());
        if watched || child_ended {
            return end(child, last, watched);
        }
        if signalled {
            signals.pass_on(pid);
        }
        if most.as_mut().is_some_and(|most| most.is_exceeded(pid)) {
            // All others end with it, as at its own end.
            let _ = kill_process(pid, Signal::KILL);
            most = None;
        }
    }
}

/// Starts the proxy of a plan, if it has one, and returns the end of the channel for the next stage. It is
/// a process of its own: one that has made a namespace for processes can have no threads.
fn start_proxy(plan: &mut HelperPlan) -> Step<Option<OwnedFd>> {
    let HelperNetwork::Proxy(proxy) = &mut plan.network else { return Ok(None) };
    let (its, ours) = handing::channel()?;
    proxy.channel = handing::pass_on(&its)?;
    let stage = HelperPlan {
        stage: HelperStage::Proxy,
        watched: getpid().as_raw_nonzero().get(),
        command: Vec::new(),
        ..plan.clone()
    };
    let mut command = Command::new("/proc/self/exe");
    command.args(stage.arguments()).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(step("start the proxy"))?;
    if let HelperNetwork::Proxy(proxy) = &mut plan.network {
        proxy.channel = handing::pass_on(&ours)?;
    }
    Ok(Some(ours))
}

/// Last act of this process when the watched one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Kills its child, which is the first process of a namespace.
    KillsNamespace,
    /// Kills its child and all that descended from it.
    KillsDescendants,
    /// Ends, which its child sees.
    Leaves,
}

/// Returns the command of the next stage, with this process set up for it.
fn next(mut plan: HelperPlan) -> Step<(Command, Last)> {
    let stage = plan.stage;
    plan.watched = getpid().as_raw_nonzero().get();
    plan.stage = HelperStage::Confine;
    let mut command = Command::new("/proc/self/exe");
    let last = match plan.namespaces {
        Namespaces::None if stage == HelperStage::Guard => {
            set_child_subreaper(Some(getpid())).map_err(step("adopt orphaned processes"))?;
            Last::KillsDescendants
        }
        Namespaces::None => {
            plan.stage = HelperStage::Guard;
            command.process_group(0);
            Last::Leaves
        }
        Namespaces::User => {
            enter(CloneFlags::CLONE_NEWUSER)?;
            Last::KillsNamespace
        }
        Namespaces::Root => {
            enter(CloneFlags::empty())?;
            Last::KillsNamespace
        }
        Namespaces::Bubblewrap => {
            command = crate::bubblewrap::command(&plan)?;
            Last::KillsNamespace
        }
    };
    command.args(plan.arguments());
    Ok((command, last))
}

/// Enters new namespaces for mounts, processes and IPC.
fn enter(owner: CloneFlags) -> Step<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let new = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    nix::sched::unshare(owner | new).map_err(step("make namespaces"))?;
    if owner.is_empty() {
        return Ok(());
    }
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(step(format!("write {file}")))
    };
    map("setgroups", String::from("deny"))?;
    map("uid_map", format!("{user} {user} 1"))?;
    map("gid_map", format!("{group} {group} 1"))?;
    capabilities::pass_on()
}

/// Ends all confined processes, and returns the exit code of the first.
fn end(mut child: Child, last: Last, abandoned: bool) -> Step<u8> {
    match last {
        Last::Leaves if abandoned => return Ok(NOT_CONFINED),
        Last::KillsNamespace | Last::KillsDescendants if abandoned => {
            // It may have ended on its own.
            let _ = child.kill();
        }
        Last::Leaves | Last::KillsNamespace | Last::KillsDescendants => {}
    }
    let status = child.wait().map_err(step("wait for the next stage"))?;
    if last == Last::KillsDescendants {
        let left = kill_descendants();
        if status.code().is_some() {
            left::name(left);
        }
    }
    Ok(if abandoned { NOT_CONFINED } else { exit_code(status) })
}

/// Kills the processes that the program left, and names them. They are children of this one once their
/// parents ended.
fn kill_descendants() -> Vec<String> {
    let mut left = Vec::new();
    for round in 0..ROUNDS {
        // All of them in each round: those that start others must not be faster than this is.
        for process in bound::descendants(getpid()) {
            let folder = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
            left.extend(left::command_line(&folder).filter(|_| round == 0));
            let _ = kill_process(process, Signal::KILL);
        }
        // Reaps one, and waits for it; its own children have become this process's.
        if wait(WaitOptions::empty()).is_err() {
            break;
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
    left
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}
