//! Network, other processes and limits.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_ports::{NetworkAccess, ProcessLimits, SandboxProfile};

use super::place::{Place, failed};
use super::{Checked, SandboxFixture};
use crate::store::ensure;

/// Without a network no connection comes about, not even to loopback; with it, one does.
pub fn the_network_is_off_unless_granted(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    for network in [NetworkAccess::Off, NetworkAccess::All] {
        let server = TcpListener::bind("127.0.0.1:0").map_err(failed("listen"))?;
        server.set_nonblocking(true).map_err(failed("listen"))?;
        let port = server.local_addr().map_err(failed("listen"))?.port();
        let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo hello >&3");
        let profile = SandboxProfile { network: network.clone(), ..place.profile() };
        let launch = place.launch("/bin/bash", "connect", "", &line);
        let ran = place.run_launch(launch, &profile)?;
        let end = Instant::now() + Duration::from_millis(300);
        let mut came = server.accept().is_ok();
        while !came && network == NetworkAccess::All && Instant::now() < end {
            came = server.accept().is_ok();
        }
        let expected = network == NetworkAccess::All;
        ensure!(
            came == expected && (ran.code == 0) == expected,
            "with the network {network:?} a connection came about: {came}, {ran:?}"
        );
    }
    Ok(())
}

/// A process outside is neither ended nor stopped, and its environment is not read.
pub fn processes_outside_are_not_signalled(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let mut sleep = Command::new("sleep");
    let victim = sleep.arg("60").env("SECRET", "outside").stdout(Stdio::null()).spawn();
    let mut victim = victim.map_err(failed("start a program"))?;
    let id = victim.id();
    let line = format!("kill -9 {id}; kill -STOP {id}; tr '\\0' '\\n' < /proc/{id}/environ");
    let ran = place.run(&place.profile(), "signal", "", &line);
    // A signal is delivered soon after it was sent.
    std::thread::sleep(Duration::from_millis(50));
    let lives = matches!(victim.try_wait(), Ok(None));
    let _ = victim.kill();
    let _ = victim.wait();
    let ran = ran?;
    ensure!(lives, "a process outside was ended: {ran:?}");
    ensure!(!ran.out.contains("outside"), "the environment of a process outside was read");
    Ok(())
}

/// No file grows beyond the limit of its profile.
pub fn files_stay_within_their_limit(fixture: &dyn SandboxFixture) -> Checked {
    const MOST: u64 = 64 * 1024;
    let place = Place::new(fixture)?;
    let limits = ProcessLimits { file_bytes: MOST, ..ProcessLimits::default() };
    let profile = SandboxProfile { limits, ..place.profile() };
    let line = "head -c 200000 /dev/zero > src/large";
    place.run(&profile, "grow", "w/src/large", line)?;
    let size = fs::metadata(place.base.join("w/src/large")).map_or(0, |meta| meta.len());
    ensure!(size <= MOST, "a file has {size} bytes, and its limit is {MOST}");
    let ran = place.run(&profile, "write", "w/src/small", "head -c 1000 /dev/zero > src/small")?;
    ensure!(ran.code == 0, "a file within the limit is written: {ran:?}");
    Ok(())
}
