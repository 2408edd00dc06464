//! The filter of system calls: kernel interfaces that no build or test needs, and sockets.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::{Step, step};
use crate::plan::{HelperNetwork, HelperPlan, Namespaces};

/// First Landlock ABI that decides who may connect to a socket in the file system.
pub(super) const ABI_OF_SOCKETS: u32 = 9;

/// System calls that are refused, whatever the profile.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// System calls of System V and POSIX IPC, refused without a namespace for them.
const IPC: &[i64] =
    &[libc::SYS_mq_open, libc::SYS_msgget, libc::SYS_semget, libc::SYS_shmat, libc::SYS_shmget];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filter. It lasts for this process and all that it starts.
pub(super) fn apply(plan: &HelperPlan, abi: u32) -> Step<()> {
    // A libc tries the older call if this one does not exist; its flags are in memory.
    let unknown = Rules::from([(libc::SYS_clone3, Vec::new())]);
    install(unknown, libc::ENOSYS)?;
    install(refused(plan, abi)?, libc::EPERM)
}

fn install(rules: Rules, errno: i32) -> Step<()> {
    let rules = with_other_numbers(rules);
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().map_err(step("filter on this architecture"))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
    let program: Result<BpfProgram, _> = filter.and_then(TryInto::try_into);
    let program = program.map_err(step("make the filter of system calls"))?;
    apply_filter(&program).map_err(step("install the filter of system calls"))
}

/// Adds the numbers of the second interface of x86-64, x32.
fn with_other_numbers(mut rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    {
        let twins = rules.iter().map(|(call, rule)| (call | X32, rule.clone()));
        let twins: Vec<_> = twins.collect();
        rules.extend(twins);
    }
    rules
}

/// Bit of the numbers of x32, as the kernel defines it (`__X32_SYSCALL_BIT`).
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

fn refused(plan: &HelperPlan, abi: u32) -> Step<Rules> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let shares = match plan.namespaces {
        Namespaces::None => true,
        Namespaces::User | Namespaces::Root | Namespaces::Bubblewrap => false,
    };
    if shares {
        rules.extend(IPC.iter().map(|call| (*call, Vec::new())));
        rules.extend(other_processes_and_modes()?);
    }
    let namespaces = libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWUTS;
    let mut bits = Vec::new();
    for shift in 0..i32::BITS {
        let bit = number(namespaces) & (1 << shift);
        if bit != 0 {
            bits.push(rule(&[(0, SeccompCmpOp::MaskedEq(bit), bit)])?);
        }
    }
    rules.insert(libc::SYS_clone, bits);
    // Injects input into the terminal, and reads its selection.
    let mut ioctl = Vec::new();
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        ioctl.push(rule(&[(1, SeccompCmpOp::Eq, request)])?);
    }
    rules.insert(libc::SYS_ioctl, ioctl);
    rules.extend(sockets(plan, abi)?);
    Ok(rules)
}

/// Returns the rules of calls that Landlock does not decide about, for a tier that has nothing else: limits
/// of other processes, and modes that give a program the rights of its owner.
fn other_processes_and_modes() -> Step<Rules> {
    let privileged = |argument| -> Step<Vec<SeccompRule>> {
        let bits = [libc::S_ISUID, libc::S_ISGID].map(u64::from);
        bits.into_iter().map(|bit| rule(&[(argument, SeccompCmpOp::MaskedEq(bit), bit)])).collect()
    };
    let mut rules = Rules::from([
        (libc::SYS_prlimit64, vec![rule(&[(0, SeccompCmpOp::Ne, 0)])?]),
        (libc::SYS_fchmod, privileged(1)?),
        (libc::SYS_fchmodat, privileged(2)?),
        (SYS_FCHMODAT2, privileged(2)?),
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_chmod, privileged(1)?);
    Ok(rules)
}

/// Number of `fchmodat2`, on all architectures. Not every version of `libc` names it.
const SYS_FCHMODAT2: i64 = 452;

/// Returns the rules of sockets. A rule lists conditions of which all must hold to refuse a call.
fn sockets(plan: &HelperPlan, abi: u32) -> Step<Rules> {
    match plan.network {
        HelperNetwork::All => return Ok(Rules::new()),
        HelperNetwork::Off | HelperNetwork::Proxy(_) => {}
    }
    let mut families = Vec::new();
    if plan.namespaces.have_loopback() {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    // A socket in the file system may lead to a service with more rights, and no older Landlock decides
    // about it.
    if abi >= ABI_OF_SOCKETS {
        families.push(libc::AF_UNIX);
    }
    let other_than = |domain: &i32| (0, SeccompCmpOp::Ne, number(*domain));
    let conditions: Vec<_> = families.iter().map(other_than).collect();
    let refused = match conditions.is_empty() {
        // Without a condition it holds for all calls.
        true => Vec::new(),
        false => vec![rule(&conditions)?],
    };
    Ok(Rules::from([(libc::SYS_socket, refused)]))
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Step<SeccompRule> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    let rule = conditions.collect::<Result<Vec<_>, _>>().and_then(SeccompRule::new);
    rule.map_err(step("make a rule of the filter"))
}

/// Returns the bits of a constant of the C interface.
fn number(constant: i32) -> u64 {
    u64::from(constant.cast_unsigned())
}
