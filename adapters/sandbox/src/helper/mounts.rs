//! Mounts of a new namespace: protected paths are mounted again to be only read, hidden ones are
//! covered, and the processes see a `/proc` and shared memory of their own.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
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

pub(super) fn change(plan: &HelperPlan) -> Step<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(step("separate its mounts"))?;
    let bare = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // A container with parts of /proc hidden refuses it; the outer one then stays.
    let _ = mount("proc", "/proc", "proc", bare, None);
    if Path::new("/dev/shm").is_dir() {
        let open = MountFlags::NOSUID | MountFlags::NODEV;
        let shared = mount("tmpfs", "/dev/shm", "tmpfs", open, SHARED_MEMORY);
        shared.map_err(step("mount /dev/shm"))?;
    }
    for path in there(&plan.protected) {
        protect(path).map_err(step(format!("protect {}", path.display())))?;
    }
    for path in there(&plan.hidden) {
        hide(path, bare).map_err(step(format!("hide {}", path.display())))?;
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

fn hide(path: &Path, bare: MountFlags) -> rustix::io::Result<()> {
    if path.is_dir() {
        return mount("tmpfs", path, "tmpfs", bare | MountFlags::RDONLY, EMPTY);
    }
    mount_bind("/dev/null", path)?;
    read_only(path)
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
