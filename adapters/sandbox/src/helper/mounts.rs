//! Mounts of a new namespace: everything but the writable roots is mounted again to be only read, hidden
//! paths are covered, and the processes see processes, shared memory and terminals of their own.
//!
//! Landlock refuses to write files, but has no rights for modes, owners, times and attributes. Mounts
//! that are only read refuse to change those too.

use std::env;
use std::ffi::{CStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use super::{Step, step};
use crate::plan::HelperPlan;

/// Largest shared memory of all confined processes.
const SHARED_MEMORY: &CStr = c"size=1g,mode=1777";
/// A folder without contents.
const EMPTY: &CStr = c"size=4k,nr_inodes=1,mode=0555";
/// Terminals that only the confined processes open.
const TERMINALS: &CStr = c"newinstance,ptmxmode=0666,mode=620";

pub(super) fn change(plan: &HelperPlan) -> Step<()> {
    let folder = env::current_dir().map_err(step("find its folder"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(step("separate its mounts"))?;
    only_read_the_rest(plan)?;
    own_kernel_files()?;
    for path in plan.held() {
        mount_bind_recursive(&path, &path).map_err(step(format!("hold {}", path.display())))?;
    }
    for path in there(&plan.protected) {
        protect(path).map_err(step(format!("protect {}", path.display())))?;
    }
    for path in there(&plan.hidden) {
        hide(path).map_err(step(format!("hide {}", path.display())))?;
    }
    // Until now it is the folder of the mounts before, to which none of this applies.
    env::set_current_dir(&folder).map_err(step(format!("enter {}", folder.display())))
}

/// Mounts everything outside of the writable roots again, to be only read.
fn only_read_the_rest(plan: &HelperPlan) -> Step<()> {
    let roots = &plan.writable;
    if roots.iter().any(|root| root == Path::new("/")) {
        return Ok(());
    }
    for root in roots.iter().filter(|root| root.exists()) {
        mount_bind_recursive(root, root).map_err(step(format!("mount {}", root.display())))?;
    }
    for point in mount_points()? {
        if roots.iter().any(|root| point.starts_with(root)) || point == Path::new("/proc") {
            continue;
        }
        match read_only(&point) {
            // One that no path leads to: it is covered, removed, or nobody here may reach it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::INVAL | Errno::ACCESS) => {}
            Err(error) => return Err(format!("cannot protect {}: {error}", point.display())),
        }
    }
    Ok(())
}

/// Returns the mount points of this namespace (`man 5 proc_pid_mountinfo`).
fn mount_points() -> Step<Vec<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo").map_err(step("list the mounts"))?;
    let lines = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let points = lines.map(|line| {
        let point =
            line.split(|byte| *byte == b' ').nth(4).ok_or("cannot read the list of mounts")?;
        Ok(PathBuf::from(OsString::from_vec(unescaped(point))))
    });
    points.collect()
}

/// Replaces escapes of three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(8).and_then(|digit| u8::try_from(digit).ok());
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, tail @ ..] = rest {
        let escape = match rest {
            [b'\\', a, b, c, ..] => digit(a).zip(digit(b)).zip(digit(c)),
            _ => None,
        };
        match escape {
            Some(((a, b), c)) => {
                plain.push((a << 6) | (b << 3) | c);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

/// Mounts the files of the kernel that show processes, shared memory and terminals.
fn own_kernel_files() -> Step<()> {
    // A container with parts of /proc hidden refuses it; the outer one then stays.
    let _ = mount("proc", "/proc", "proc", bare(), None);
    if Path::new("/dev/shm").is_dir() {
        let open = MountFlags::NOSUID | MountFlags::NODEV;
        let shared = mount("tmpfs", "/dev/shm", "tmpfs", open, SHARED_MEMORY);
        shared.map_err(step("mount /dev/shm"))?;
    }
    if Path::new("/dev/pts").is_dir() {
        let devices = MountFlags::NOSUID | MountFlags::NOEXEC;
        let terminals = mount("devpts", "/dev/pts", "devpts", devices, TERMINALS);
        terminals.map_err(step("mount /dev/pts"))?;
        let maker = Path::new("/dev/ptmx");
        if maker.exists() && !maker.is_symlink() {
            mount_bind("/dev/pts/ptmx", maker).map_err(step("mount /dev/ptmx"))?;
        }
    }
    Ok(())
}

/// Returns the paths that exist. Links are not mounted on: rules protect them.
fn there(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    paths.iter().map(PathBuf::as_path).filter(|path| path.exists() && !path.is_symlink())
}

fn protect(path: &Path) -> rustix::io::Result<()> {
    mount_bind_recursive(path, path)?;
    read_only(path)
}

fn hide(path: &Path) -> rustix::io::Result<()> {
    if path.is_dir() {
        return mount("tmpfs", path, "tmpfs", bare() | MountFlags::RDONLY, EMPTY);
    }
    mount_bind("/dev/null", path)?;
    read_only(path)
}

fn bare() -> MountFlags {
    MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC
}

/// Makes a mount read-only. Its other restrictions must be stated again: only an administrator may
/// remove them.
fn read_only(path: &Path) -> rustix::io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (has, flag) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(has) {
            flags |= flag;
        }
    }
    mount_remount(path, flags, c"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_mount_points_are_replaced() {
        assert_eq!(unescaped(br"/a\040b\134c"), br"/a b\c");
        assert_eq!(unescaped(br"/a\04"), br"/a\04");
        assert!(mount_points().unwrap().contains(&PathBuf::from("/")));
    }
}
