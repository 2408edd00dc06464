//! Rules of Landlock. They only grant: what a granted folder contains cannot be taken away again, so a
//! folder with an exception is granted entry by entry.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use super::{Step, step};
use crate::plan::{HelperNetwork, HelperPlan, Namespaces};

/// First ABI that confines truncating, and the one that confines signals.
const LEAST: u32 = 3;
const LEAST_WITHOUT_NAMESPACES: u32 = 6;

/// Newest ABI whose rights the rules handle. The kernel's own may be older.
const NEWEST: ABI = ABI::V9;

/// Devices without state of their own.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Terminals and shared memory, which the processes have for themselves where they have mounts.
const OWN_DEVICES: [&str; 4] = ["/dev/ptmx", "/dev/pts", "/dev/shm", "/dev/tty"];

/// Restricts this process, and returns the ABI in force. `mounted` says that mounts protect and hide.
pub(super) fn restrict(plan: &HelperPlan, mounted: bool) -> Step<u32> {
    let status = ruleset(plan, mounted)?.restrict_self().map_err(step("restrict itself"))?;
    let abi = abi(&status);
    let least = match plan.namespaces {
        Namespaces::Bubblewrap => 0,
        Namespaces::User | Namespaces::Root => LEAST,
        Namespaces::None => LEAST_WITHOUT_NAMESPACES,
    };
    if abi < least {
        return Err(format!("this kernel has Landlock ABI {abi}, and ABI {least} is needed"));
    }
    Ok(abi)
}

fn ruleset(plan: &HelperPlan, mounted: bool) -> Step<RulesetCreated> {
    let failed = |error: landlock::RulesetError| format!("cannot make the rules: {error}");
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .map_err(failed)?;
    if plan.network != HelperNetwork::All && !plan.namespaces.have_loopback() {
        ruleset =
            ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp).map_err(failed)?;
    }
    let mut rules = Rules { created: ruleset.create().map_err(failed)? };
    let outside = plan.namespaces == Namespaces::Bubblewrap;
    // A rule cannot except an entry that may come later. Until it does, there is nothing to protect.
    let excepted = |path: &&Path| {
        let enforced = outside || (mounted && !path.is_symlink());
        !enforced && path.symlink_metadata().is_ok()
    };
    let hidden = plan.hidden.iter().map(PathBuf::as_path);
    let hidden: Vec<&Path> = hidden.filter(excepted).collect();
    let protected = plan.protected.iter().map(PathBuf::as_path).filter(excepted);
    let read = AccessFs::from_read(NEWEST);
    let write = AccessFs::from_write(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let mut unreadable = hidden.clone();
    if !outside {
        unreadable.push(Path::new("/dev"));
    }
    for root in &plan.readable {
        rules.grant_root(root, &unreadable, read)?;
    }
    let mut unwritable: Vec<&Path> = hidden.into_iter().chain(protected).collect();
    if !outside {
        unwritable.push(Path::new("/dev"));
    }
    for root in &plan.writable {
        rules.grant_root(root, &unreadable, read)?;
        rules.grant_root(root, &unwritable, write)?;
    }
    for device in DEVICES {
        rules.grant_root(Path::new(device), &[], read | write)?;
    }
    let own = if mounted || outside { &OWN_DEVICES[..] } else { &[] };
    for device in own {
        rules.grant_root(Path::new(device), &[], read | write)?;
    }
    Ok(rules.created)
}

fn abi(status: &RestrictionStatus) -> u32 {
    ABI::from(status.landlock) as u32
}

struct Rules {
    created: RulesetCreated,
}

impl Rules {
    /// Grants rights to a root of the profile, with all beneath it but the exceptions. A root that does
    /// not exist has no rule.
    fn grant_root(
        &mut self,
        root: &Path,
        exceptions: &[&Path],
        rights: BitFlags<AccessFs>,
    ) -> Step<()> {
        match open(root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(folder) => self.grant(folder, root, exceptions, rights),
            Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(format!("cannot open {}: {error}", root.display())),
        }
    }

    fn grant(
        &mut self,
        at: OwnedFd,
        path: &Path,
        exceptions: &[&Path],
        rights: BitFlags<AccessFs>,
    ) -> Step<()> {
        let within: Vec<&Path> =
            exceptions.iter().filter(|one| one.starts_with(path)).copied().collect();
        if within.contains(&path) {
            return Ok(());
        }
        let kind = fstat(&at).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let kind = kind.map_err(step(format!("inspect {}", path.display())))?;
        if kind == FileType::Symlink {
            // Its target has rules of its own.
            return Ok(());
        }
        let is_folder = kind == FileType::Directory;
        if within.is_empty() || !is_folder {
            let rights = if is_folder { rights } else { rights & AccessFs::from_file(NEWEST) };
            let added = (&mut self.created).add_rule(PathBeneath::new(at, rights)).map(drop);
            return added.map_err(step(format!("grant {}", path.display())));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = openat(&at, c".", flags, Mode::empty()) else {
            // Without the right to list it, nothing beneath it is granted.
            return Ok(());
        };
        let entries = Dir::read_from(&folder).map_err(step(format!("list {}", path.display())))?;
        for entry in entries.flatten() {
            use std::os::unix::ffi::OsStrExt as _;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let inner = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            // A link that took the entry's place is opened itself, not its target.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&at, name, flags, Mode::empty()) {
                Ok(at) => self.grant(at, &inner, &within, rights)?,
                Err(Errno::NOENT | Errno::ACCESS) => {}
                Err(error) => return Err(format!("cannot open {}: {error}", inner.display())),
            }
        }
        Ok(())
    }
}
