//! Descriptors that the starter of this process left open: a file or folder that is open already is
//! confined by nothing.

use std::fs;
use std::os::fd::RawFd;

use super::{Step, step};

/// First descriptor after the standard streams.
const FIRST: RawFd = 3;

/// Closes all descriptors but the standard streams. This process has opened none of its own yet.
pub(super) fn close_inherited() -> Step<()> {
    let listed = fs::read_dir("/proc/self/fd").map_err(step("list its open files"))?;
    let numbers = listed.map(|entry| {
        let name = entry.map_err(step("list its open files"))?.file_name();
        name.to_str()
            .and_then(|name| name.parse().ok())
            .ok_or_else(|| String::from("cannot read its open files"))
    });
    // The list itself is one of them, and is closed once it is read.
    let numbers = numbers.collect::<Result<Vec<RawFd>, String>>()?;
    for number in numbers.into_iter().filter(|number| *number >= FIRST) {
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
