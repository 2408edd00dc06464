//! Ways out of the sandbox that Landlock's rules alone leave open.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Place, done};
use crate::{confined, on_each_tier};

/// Runs a shell line that starts the command, so that the line prepares what the command inherits.
fn started_by(place: &Place, line: &str) -> crate::common::Done {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", line]).current_dir(place.path());
    command.env("WINDLASS", env!("CARGO_BIN_EXE_windlass"));
    command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
    done(command.output().unwrap())
}

#[test]
fn files_that_are_open_already_are_closed() {
    on_each_tier(|place, tier| {
        let secret = place.file("home/.ssh/id");
        let line = format!(
            "exec 9< {0} 251< {0}; exec \"$WINDLASS\" sandbox -- /bin/sh -c 'cat /proc/self/fd/9 /proc/self/fd/251; \
             ls /proc/self/fd | wc -l'",
            secret.display()
        );
        let ended = started_by(place, &line);
        assert!(!ended.out.contains("secret"), "{tier}: {}", ended.out);
        // The three streams and the folder that is listed.
        assert_eq!(ended.out.trim(), "4", "{tier}: {}", ended.err);
    });
}

#[test]
fn modes_and_times_outside_stay_as_they_are() {
    on_each_tier(|place, tier| {
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("file");
        fs::write(&victim, "before").unwrap();
        let before = fs::metadata(&victim).unwrap();
        let victim = victim.display();
        let line = format!("chmod 4777 {victim} && exit 9; exit 3");
        let ended = confined(place, tier, "workspace", &line);
        assert_eq!(ended.code, 3, "{tier}: {}", ended.err);
        let line = format!(
            "chmod 666 {victim}; touch -d 2001-01-01 {victim}; chown 1:1 {victim}; chmod 700 {}",
            outside.path().display()
        );
        confined(place, tier, "workspace", &line);
        let after = fs::metadata(outside.path().join("file")).unwrap();
        let same = after.permissions().mode() == before.permissions().mode()
            && after.modified().unwrap() == before.modified().unwrap();
        // Nothing of the kernel confines this there, which the documentation says.
        assert_eq!(same, tier != "landlock", "{tier}: {}", ended.err);
    });
}

#[test]
fn the_terminal_of_the_user_is_out_of_reach() {
    on_each_tier(|place, tier| {
        let line = "\"$WINDLASS\" sandbox -- /bin/sh -c '\
                    for i in /dev/tty /dev/pts/[0-9]*; do (echo spoofed > $i) 2>/dev/null; done; true' \
                    </dev/null >/dev/null 2>&1";
        let line = format!("script -qec \"$(cat <<'E'\n{line}\nE\n)\" /dev/null < /dev/null");
        let ended = started_by(place, &line);
        assert_eq!(ended.code, 0, "{tier}: {}", ended.err);
        assert!(!ended.out.contains("spoofed"), "{tier}: {}", ended.out);
    });
}

#[test]
fn limits_of_other_processes_stay_as_they_are() {
    on_each_tier(|place, tier| {
        let mut victim = Command::new("sleep").arg("60").spawn().unwrap();
        let id = victim.id();
        confined(place, tier, "workspace", &format!("prlimit --pid {id} --nofile=1:1"));
        let limits = fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
        victim.kill().unwrap();
        victim.wait().unwrap();
        let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        assert_ne!(files.split_whitespace().nth(3), Some("1"), "{tier}: {files}");
    });
}

#[test]
fn the_first_process_of_a_namespace_is_closed() {
    on_each_tier(|place, tier| {
        if tier != "namespaces" {
            // There it is none of ours.
            return;
        }
        let line = "for i in mem environ maps; do (: < /proc/1/$i) 2>/dev/null && echo open; \
                    (: >> /proc/1/$i) 2>/dev/null && echo open; done; kill -9 1; kill -STOP 1; exit 5";
        for profile in ["workspace", "full"] {
            let ended = confined(place, tier, profile, line);
            assert!(!ended.out.contains("open"), "{profile}: {}", ended.out);
            assert_eq!(ended.code, 5, "{profile}: {}", ended.err);
        }
    });
}

#[test]
fn a_workspace_behind_a_link_is_protected() {
    on_each_tier(|place, tier| {
        let link = tempfile::tempdir().unwrap();
        let link = link.path().join("w");
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        let line =
            "echo a > .git/config; echo a > .git/hooks/x; cat home/.ssh/id; echo a > home/x/y";
        let line =
            format!("cd {}; exec \"$WINDLASS\" sandbox -- /bin/sh -c '{line}'", link.display());
        let ended = started_by(place, &line);
        assert_eq!(ended.code, 0, "{tier}: {}", ended.err);
        assert!(!ended.out.contains("secret"), "{tier}");
        assert_eq!(fs::read_to_string(place.file(".git/config")).unwrap(), "before", "{tier}");
        assert!(!place.file(".git/hooks/x").exists(), "{tier}");
        assert!(place.file("home/x/y").exists(), "{tier}");
    });
}

#[test]
fn a_command_that_is_asked_to_end_may_clean_up() {
    on_each_tier(|place, tier| {
        if tier == "bubblewrap" {
            // It ends at once, and all with it.
            return;
        }
        let line = "trap 'echo clean > home/x/end; exit 7' TERM; echo up > home/x/up; \
                    while :; do sleep 0.02; done";
        let words = ["sandbox", "--", "/bin/sh", "-c", line];
        let mut command = place.command(&words);
        command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
        let mut engine = command.spawn().unwrap();
        until(|| place.file("home/x/up").exists());
        let children = format!("/proc/{0}/task/{0}/children", engine.id());
        let helper = fs::read_to_string(children).unwrap();
        let sent = Command::new("kill").arg("-TERM").arg(helper.trim()).status().unwrap();
        assert!(sent.success());
        assert_eq!(engine.wait().unwrap().code(), Some(7), "{tier}");
        assert_eq!(fs::read_to_string(place.file("home/x/end")).unwrap(), "clean\n", "{tier}");
    });
}

#[test]
fn temporary_files_of_a_killed_engine_are_removed_by_the_next() {
    on_each_tier(|place, tier| {
        let temporary = place.file("temporary");
        fs::create_dir_all(&temporary).unwrap();
        let command = |line: &str| {
            let mut command = place.command(&["sandbox", "--", "/bin/sh", "-c", line]);
            command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
            command.env("TMPDIR", &temporary);
            command
        };
        let folders = || fs::read_dir(&temporary).unwrap().count();
        let mut engine =
            command("echo a > $TMPDIR/a; echo up > home/x/up; sleep 60").spawn().unwrap();
        until(|| place.file("home/x/up").exists());
        // One that is in use is left alone.
        assert_eq!(done(command("true").output().unwrap()).code, 0, "{tier}");
        assert_eq!(folders(), 1, "{tier}");
        engine.kill().unwrap();
        engine.wait().unwrap();
        assert_eq!(folders(), 1, "{tier}");
        assert_eq!(done(command("true").output().unwrap()).code, 0, "{tier}");
        assert_eq!(folders(), 0, "{tier}");
    });
}

/// Waits until something is so.
fn until(so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < end, "it did not come about in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}
