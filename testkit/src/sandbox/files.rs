//! Files: what is read and written.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::path::PathBuf;

use windlass_ports::SandboxProfile;

use super::place::{Place, Ran, failed};
use super::{Checked, SandboxFixture};
use crate::store::ensure;

/// Entries of a writable root are created, changed, moved and removed, also at its top.
pub fn writable_roots_are_written(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    for (path, line) in [
        ("w/src/a", "echo after > src/a"),
        ("w/src/new", "mkdir -p src/x && echo after > src/x/y && mv src/x/y src/new"),
        ("w/b", "echo after >> b"),
        ("w/src/link", "ln -s a src/link"),
        ("w/src/moved", "mv src/new src/moved && rm -r src/x"),
    ] {
        let ran = place.run(&place.profile(), "write", path, line)?;
        ensure!(
            ran.code == 0 && place.exists(path),
            "`{line}` writes in a writable root, and ended with {ran:?}"
        );
    }
    let none = vec![place.base.join("w/.none")];
    let open = SandboxProfile { protected: none.clone(), hidden: none, ..place.profile() };
    let line = "mkdir top && echo after > top/file && echo after > new && mv new other";
    let ran = place.run(&open, "write", "w/other", line)?;
    ensure!(ran.code == 0, "new entries at the top of a writable root are made: {ran:?}");
    Ok(())
}

/// Nothing is written outside of the writable roots, by no way around.
pub fn nothing_else_is_written(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let base = place.base.display().to_string();
    for (file, line) in [
        ("out/a", format!("echo after > {base}/out/a")),
        ("out/a", format!("truncate -s 0 {base}/out/a")),
        ("out/a", String::from("echo after > to_out/a")),
        ("out/a", String::from("echo after > ../out/a")),
        ("out/a", format!("ln {base}/out/a src/hard && echo after > src/hard")),
        ("out/a", format!("rm {base}/out/a")),
        ("out/a", format!("mv {base}/out {base}/w/out")),
        ("out/a", format!("mv {base}/out/a {base}/w/gone")),
    ] {
        let ran = place.run(&place.profile(), "write", file, &line)?;
        ensure!(
            ran.code != 0 && place.content(file) == "before",
            "`{line}` writes outside of the writable roots, and ended with {ran:?}"
        );
    }
    std::fs::create_dir(place.base.join("w/src/deep")).map_err(failed("make a folder"))?;
    let nested = ["w/src", "w/src/deep"].map(|root| place.base.join(root)).to_vec();
    let nested = SandboxProfile { writable: nested, ..place.profile() };
    let line = format!("rmdir src/deep && ln -s {base}/out src/deep");
    let planted = place.run(&nested, "write", "w/src/deep", &line)?;
    ensure!(planted.code == 0, "`{line}` writes in a writable root, and ended with {planted:?}");
    let ran = place.run(&nested, "write", "out/a", "echo after > src/deep/a")?;
    ensure!(
        ran.code != 0 && place.content("out/a") == "before",
        "a link in place of a writable root leads outside, and the program ended with {ran:?}"
    );
    for (file, line) in [
        ("new", format!("echo after > {base}/new")),
        ("out/new", format!("mkdir {base}/out/new")),
        ("out/moved", format!("mv src/a {base}/out/moved")),
        ("out/link", format!("ln -s x {base}/out/link")),
    ] {
        let ran = place.run(&place.profile(), "write", file, &line)?;
        ensure!(
            ran.code != 0 && !place.exists(file),
            "`{line}` makes a file outside of the writable roots, and ended with {ran:?}"
        );
    }
    Ok(())
}

/// A protected path is read, and neither changed, moved nor removed.
pub fn protected_paths_are_only_read(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let read = place.run(&place.profile(), "read", "w/.git/config", "cat .git/config")?;
    ensure!(read.out == "before", "a protected path is read: {read:?}");
    for line in [
        "echo after > .git/config",
        "rm .git/config",
        "mv .git gone",
        "rm -rf .git",
        "mv .git/config src/config",
        "ln .git/config src/config && echo after > src/config",
    ] {
        let ran = place.run(&place.profile(), "write", "w/.git/config", line)?;
        ensure!(
            ran.code != 0 && place.content("w/.git/config") == "before",
            "`{line}` changes a protected path, and ended with {ran:?}"
        );
    }
    let mut within = place.launch("/bin/sh", "write", "w/.git/config", "echo after > config");
    within.folder = place.base.join("w/.git");
    let ran = place.run_launch(within, &place.profile())?;
    ensure!(
        ran.code != 0 && place.content("w/.git/config") == "before",
        "a program that starts in a protected path changes it, and ended with {ran:?}"
    );
    let deep =
        SandboxProfile { protected: vec![place.base.join("w/.git/hooks")], ..place.profile() };
    let line = "mv .git gone && mkdir -p .git/hooks";
    let ran = place.run(&deep, "write", "w/.git/hooks", line)?;
    ensure!(
        ran.code != 0 && place.exists("w/.git/config"),
        "`{line}` puts another folder around a protected path, and ended with {ran:?}"
    );
    for line in [
        "echo after > .git/hooks/pre-commit",
        "cp src/a .git/hooks/pre-commit",
        "mv src/a .git/hooks/pre-commit",
        "ln -s ../../src/a .git/hooks/pre-commit",
        "ln src/a .git/hooks/pre-commit",
        "mkdir .git/hooks/pre-commit",
    ] {
        let ran = place.run(&place.profile(), "write", "w/.git/hooks/pre-commit", line)?;
        ensure!(
            ran.code != 0 && !place.exists("w/.git/hooks/pre-commit"),
            "`{line}` adds to a protected path, and ended with {ran:?}"
        );
    }
    Ok(())
}

/// The contents of hidden paths are neither read nor written.
pub fn hidden_paths_are_not_read(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let base = place.base.display().to_string();
    for (file, line) in [
        ("secret/key", format!("cat {base}/secret/key")),
        ("secret/key", String::from("cat to_secret/key")),
        ("secret/key", format!("cp -r {base}/secret src/s && cat src/s/key")),
        ("secret/key", format!("cd {base}/secret && cat key")),
        ("token", format!("cat {base}/token")),
        ("w/.store/log", String::from("cat .store/log")),
        ("w/.store/log", String::from("mv .store shown && cat shown/log")),
    ] {
        let Ran { out, .. } = place.run(&place.profile(), "read", file, &line)?;
        ensure!(!out.contains("before"), "`{line}` shows a hidden path: {out:?}");
    }
    for (file, line) in [
        ("secret/key", format!("echo after > {base}/secret/key")),
        ("token", format!("echo after > {base}/token")),
        ("w/.store/log", String::from("echo after > .store/log")),
    ] {
        place.run(&place.profile(), "write", file, &line)?;
        ensure!(place.content(file) == "before", "`{line}` changes a hidden path");
    }
    Ok(())
}

/// A profile that names readable roots reads nothing else.
pub fn other_roots_are_not_read(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let system = ["/bin", "/etc", "/lib", "/lib64", "/usr", "/nix", "/proc"];
    let mut readable: Vec<PathBuf> = system.iter().map(PathBuf::from).collect();
    readable.push(place.base.join("secret"));
    let profile = SandboxProfile { readable, hidden: Vec::new(), ..place.profile() };
    let line = format!("cat {}/secret/key", place.base.display());
    let ran = place.run(&profile, "read", "secret/key", &line)?;
    ensure!(ran.out == "before", "a readable root is read: {ran:?}");
    let line = format!("cat {}/out/a", place.base.display());
    let ran = place.run(&profile, "read", "out/a", &line)?;
    ensure!(!ran.out.contains("before"), "`{line}` reads outside of the readable roots");
    Ok(())
}

/// A profile with temporary files has a writable folder for them.
pub fn temporary_files_have_a_folder(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let profile = SandboxProfile { temporary: true, writable: Vec::new(), ..place.profile() };
    let line = "test -n \"$TMPDIR\" && echo after > \"$TMPDIR/file\" && cat \"$TMPDIR/file\"";
    let ran = place.run(&profile, "temporary", "", line)?;
    ensure!(ran.out == "after\n", "TMPDIR is a writable folder: {ran:?}");
    Ok(())
}
