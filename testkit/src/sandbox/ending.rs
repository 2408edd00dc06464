//! Ends: nothing of a launch is left.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::time::{Duration, Instant};

use super::place::{Place, grows, start};
use super::{Checked, SandboxFixture};
use crate::store::ensure;

/// Starts two processes that leave their group, one without its environment, and write until the place
/// is gone.
const LEAVES: &str = "setsid sh -c 'while echo a >> src/left; do sleep 0.05; done' \
    </dev/null >/dev/null 2>&1 & \
    (env -i setsid sh -c '(while echo b >> src/left; do sleep 0.05; done) &' \
    </dev/null >/dev/null 2>&1 &) ; \
    while [ \"$(sort -u src/left 2>/dev/null | wc -l)\" -lt 2 ]; do sleep 0.02; done";

/// Processes that left their group end with the program.
pub fn nothing_outlives_the_program(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let ran = place.run(&place.profile(), "leave", "w/src/left", LEAVES)?;
    ensure!(ran.code == 0, "the program ends by itself: {ran:?}");
    let left = place.base.join("w/src/left");
    ensure!(!grows(&left), "a process outlives the program that started it");
    Ok(())
}

/// They end too when the process of the launch is killed.
pub fn nothing_outlives_the_killed_launch(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let line = format!("{LEAVES}; touch src/ready; exec sleep 60");
    let launch = place.launch("/bin/sh", "leave", "w/src/left", &line);
    let mut child = start(place.confine(launch, &place.profile())?.launch)?;
    let end = Instant::now() + Duration::from_secs(20);
    while !place.exists("w/src/ready") && Instant::now() < end {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    // The kernel ends the others after their first one.
    std::thread::sleep(Duration::from_millis(200));
    let left = place.base.join("w/src/left");
    ensure!(!grows(&left), "a process outlives the killed process of its launch");
    Ok(())
}
