//! `windlass sandbox`: what a confined command may do, on each tier that works here.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
mod escapes;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Done, Place};
use serde_json::json;
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

const TIERS: [&str; 3] = ["namespaces", "landlock", "bubblewrap"];

/// Runs a shell line confined, on a tier, with a profile.
fn confined(place: &Place, tier: &str, profile: &str, line: &str) -> Done {
    let config = place.file("config/windlass");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("sandbox.toml"), format!("tier = \"{tier}\"\n")).unwrap();
    let words = ["sandbox", "--sandbox", profile, "--", "/bin/sh", "-c", line];
    let mut command = place.command(&words);
    command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
    place.without_terminal_as(&command)
}

/// Calls a check with each tier that works here. The others are named.
fn on_each_tier(check: impl Fn(&Place, &str)) {
    let mut worked = 0;
    for tier in TIERS {
        let place = Place::new();
        for folder in [".git/hooks", "home/.ssh", "home/x"] {
            fs::create_dir_all(place.file(folder)).unwrap();
        }
        fs::write(place.file(".git/config"), "before").unwrap();
        fs::write(place.file("home/.ssh/id"), "secret").unwrap();
        let tried = confined(&place, tier, "workspace", "true");
        if tried.err.contains("cannot confine commands") {
            println!("skips {tier}: {}", tried.err);
            continue;
        }
        assert_eq!(tried.code, 0, "{tier}: {}", tried.err);
        check(&place, tier);
        worked += 1;
    }
    assert!(worked > 0, "no tier works here");
}

#[test]
fn a_command_writes_its_workspace_and_nothing_else() {
    on_each_tier(|place, tier| {
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("file");
        let words = format!("echo a > home/x/b; echo a > {} || exit 9", victim.display());
        let ended = confined(place, tier, "workspace", &words);
        assert_eq!(ended.code, 9, "{tier}: {}", ended.err);
        assert_eq!(fs::read_to_string(place.file("home/x/b")).unwrap(), "a\n");
        assert!(!victim.exists());
        let ended = confined(place, tier, "read-only", "echo b > home/x/b || exit 9");
        assert_eq!(ended.code, 9, "{tier}");
        let words = format!("echo a > {}", victim.display());
        assert_eq!(confined(place, tier, "full", &words).code, 0, "{tier}");
        assert!(victim.exists());
        let ended = confined(place, tier, "workspace", "echo a > .git/hooks/pre-commit || exit 9");
        assert_eq!(ended.code, 9, "{tier}");
        let ended = confined(place, tier, "workspace", "cat home/.ssh/id");
        assert!(!ended.out.contains("secret"), "{tier}: {}", ended.out);
    });
}

#[test]
fn interfaces_of_the_kernel_are_refused() {
    if !Path::new("/usr/bin/perl").exists() {
        println!("skips: perl is not installed");
        return;
    }
    on_each_tier(|place, tier| {
        for (name, call) in [
            ("io_uring_setup", libc::SYS_io_uring_setup),
            ("ptrace", libc::SYS_ptrace),
            ("process_vm_readv", libc::SYS_process_vm_readv),
            ("bpf", libc::SYS_bpf),
            ("keyctl", libc::SYS_keyctl),
            ("mount", libc::SYS_mount),
            ("unshare", libc::SYS_unshare),
            ("setns", libc::SYS_setns),
            ("userfaultfd", libc::SYS_userfaultfd),
        ] {
            let line = format!("perl -e 'syscall({call}, 0, 0, 0, 0, 0); print $!+0'");
            let ended = confined(place, tier, "workspace", &line);
            assert_eq!(ended.out, "1", "{tier}: {name} is refused with EPERM: {}", ended.err);
        }
        for flags in ["-U", "-n", "-m", "-p"] {
            let ended = confined(place, tier, "workspace", &format!("unshare {flags} true"));
            assert_ne!(ended.code, 0, "{tier}: unshare {flags}");
        }
    });
}

#[test]
fn other_sockets_are_refused_without_a_network() {
    if !Path::new("/usr/bin/perl").exists() {
        println!("skips: perl is not installed");
        return;
    }
    on_each_tier(|place, tier| {
        let own = tier != "landlock";
        for (domain, there) in [
            (libc::AF_INET, own),
            (libc::AF_INET6, own),
            (libc::AF_UNIX, false),
            (libc::AF_NETLINK, false),
            (libc::AF_PACKET, false),
            (libc::AF_VSOCK, false),
        ] {
            let line = format!("perl -e 'socket(my $s, {domain}, 1, 0) or print $!+0'");
            let ended = confined(place, tier, "workspace", &line);
            // Newer kernels decide about sockets in the file system, and local ones can be made.
            let decided = domain == libc::AF_UNIX && ended.out.is_empty();
            let expected = if there { "" } else { "1" };
            assert!(decided || ended.out == expected, "{tier}: family {domain}: {}", ended.err);
        }
        let pair = "perl -e 'socketpair(my $a, my $b, 1, 1, 0) and print \"pair\"'";
        assert_eq!(confined(place, tier, "workspace", pair).out, "pair", "{tier}");
    });
}

#[test]
fn a_command_reaches_the_hosts_of_its_profile_and_is_told_of_others() {
    on_each_tier(|place, tier| {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let config = place.file("config/windlass/sandbox.toml");
        let profile = "[profiles.few]\nhosts = [\"localhost\", \"127.0.0.1\"]\n";
        fs::write(config, format!("tier = \"{tier}\"\n{profile}")).unwrap();
        let ask = |host: &str| {
            let line = format!(
                "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}} && \
                 printf 'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n' >&3 && timeout 5 head -n 6 <&3"
            );
            let words = ["sandbox", "--sandbox", "few", "--", "/bin/bash", "-c", &line];
            let mut command = place.command(&words);
            command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
            place.without_terminal_as(&command)
        };
        let refused = ask("other.example");
        if tier == "landlock" {
            assert_eq!(refused.code, 2, "{}", refused.err);
            assert!(refused.err.contains("install bubblewrap"), "{}", refused.err);
            return;
        }
        assert!(
            refused.out.starts_with("HTTP/1.1 403 "),
            "{tier}: {} {}",
            refused.out,
            refused.err
        );
        assert!(refused.out.contains("refuses other.example: "), "{tier}: {}", refused.out);
        assert!(
            refused.out.contains("add it to `hosts` in sandbox.toml"),
            "{tier}: {}",
            refused.out
        );
        std::thread::scope(|scope| {
            // The server says a line to whoever comes.
            scope.spawn(|| {
                use std::io::Write as _;
                server.accept().unwrap().0.write_all(b"hello\n").unwrap();
            });
            let reached = ask("localhost");
            assert!(
                reached.out.contains(" 200 ") && reached.out.contains("hello"),
                "{tier}: {}",
                reached.out
            );
        });
    });
}

/// A server and its client in one command, as the tests of a project have them.
const SERVER_AND_CLIENT: &str = "perl -MIO::Socket::INET -e '\
    my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or exit 3; \
    if (!fork) { \
        my $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or exit 4; \
        print $c \"hello\"; exit 0 } \
    print $s->accept->getline'";

#[test]
fn a_command_has_a_loopback_of_its_own() {
    if !Path::new("/usr/bin/perl").exists() {
        println!("skips: perl is not installed");
        return;
    }
    on_each_tier(|place, tier| {
        let own = tier != "landlock";
        let ended = confined(place, tier, "workspace", SERVER_AND_CLIENT);
        assert_eq!(ended.out == "hello", own, "{tier}: {} {}", ended.out, ended.err);
        let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        outside.set_nonblocking(true).unwrap();
        let port = outside.local_addr().unwrap().port();
        let line = format!(
            "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\") or exit 9'"
        );
        assert_eq!(confined(place, tier, "workspace", &line).code, 9, "{tier}");
        assert!(outside.accept().is_err(), "{tier}: a command reaches the loopback outside");
        let mut doctor = place.command(&["doctor"]);
        doctor.env("XDG_CONFIG_HOME", place.file("config"));
        let said = common::done(doctor.output().unwrap());
        assert_eq!((said.out + &said.err).contains("own loopback"), own, "{tier}");
    });
}

#[test]
fn a_bomb_of_processes_is_bounded() {
    on_each_tier(|place, tier| {
        let config = place.file("config/windlass/sandbox.toml");
        let text = format!("tier = \"{tier}\"\n[profiles.few]\nprocesses = 301\n");
        fs::write(config, text).unwrap();
        let line = "i=0; while [ $i -lt 900 ]; do (sleep 30) & i=$((i+1)); done 2>/dev/null; sleep 1; \
                    ls -d /proc/[0-9]* | wc -l";
        let words = ["sandbox", "--sandbox", "few", "--", "/bin/sh", "-c", line];
        let mut command = place.command(&words);
        command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
        let ended = place.without_terminal_as(&command);
        // A shell that cannot start a process ends. An administrator's processes are counted and killed.
        let bounded = ended.code != 0 || ended.out.trim().parse().is_ok_and(|n: u32| n <= 301);
        assert!(bounded, "{tier}: {} {}", ended.out, ended.err);
        let ended = confined(place, tier, "workspace", "ls -d /proc/[0-9]* | wc -l");
        assert_eq!(ended.code, 0, "{tier}: nothing is left that hinders the next: {}", ended.err);
    });
}

#[test]
fn nothing_outlives_a_killed_engine() {
    on_each_tier(|place, tier| {
        let line = "setsid sh -c 'while :; do echo a >> home/x/left; sleep 0.05; done' >/dev/null 2>&1 & \
                    (env -i setsid sh -c '(while :; do echo b >> home/x/left; sleep 0.05; done) &' \
                    >/dev/null 2>&1 &) ; sleep 60";
        let words = ["sandbox", "--", "/bin/sh", "-c", line];
        let mut command = place.command(&words);
        command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
        let mut engine = command.spawn().unwrap();
        let written = || fs::read_to_string(place.file("home/x/left")).unwrap_or_default();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !(written().contains('a') && written().contains('b')) {
            assert!(std::time::Instant::now() < end, "{tier}: nothing was written");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        engine.kill().unwrap();
        engine.wait().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let before = written().len();
        std::thread::sleep(std::time::Duration::from_millis(400));
        assert_eq!(written().len(), before, "{tier}: a process outlives the engine");
    });
}

#[test]
fn a_missing_mechanism_refuses_to_start() {
    let place = Place::new();
    let config = place.file("config/windlass");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("sandbox.toml"), "tier = \"bubblewrap\"\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["sandbox", "--", "/bin/sh", "-c", "touch started"]).current_dir(place.path());
    command.env("PATH", place.path()).env("XDG_CONFIG_HOME", place.file("config"));
    let ended = common::done(command.output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("bubblewrap is not installed"), "{}", ended.err);
    assert!(ended.err.contains("--sandbox off"), "{}", ended.err);
    assert!(!place.file("started").exists());
}

/// Runs a turn in which the model runs one shell line.
fn turn(place: &Place, line: &str, more: &[&str], variables: &[(&str, &str)]) -> Done {
    let call = Answer::new().call("shell", json!({ "command": line }));
    let replies = [call, Answer::new().text("Done.")];
    let server = ModelServer::start(Script::list(replies.map(Reply::answer))).unwrap();
    let base_url = server.base_url();
    let at = ["run", "hello", "--session", "s", "--provider", "openai-chat", "--model", "m"];
    let words = [&at[..], &["--base-url", &base_url], more].concat();
    let mut command = place.command(&words);
    command.envs(variables.iter().copied());
    place.without_terminal_as(&command)
}

#[test]
fn the_shell_of_a_turn_is_confined_and_its_log_says_how() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("file");
    let line = format!("echo a > inside; echo b > {}; env", victim.display());
    for (flags, tier, written) in [
        (&[][..], "landlock", false),
        (&["--sandbox", "off", "--permissions", "auto"], "off", true),
    ] {
        let place = Place::new();
        let ended = turn(&place, &line, flags, &[("ANTHROPIC_API_KEY", "key-of-a-provider")]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(place.file("inside").exists());
        assert_eq!(victim.exists(), written, "{flags:?}");
        let log = place.log("s");
        let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
        let observation = &observed["body"]["observation"];
        assert_eq!(observation["confinement"]["tier"], tier, "{observation}");
        assert!(!observation["output"].as_str().unwrap().contains("key-of-a-provider"));
        let shown = place.run(&["show", "s"]).out;
        let expected =
            if written { "(sandbox: off, none)" } else { "(sandbox: workspace, landlock abi" };
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn a_tool_of_the_user_is_confined() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("file");
    let tools = json!({"tools": [{
        "name": "touch",
        "description": "Touches.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": false},
        "command": ["sh", "-c", format!("cat; touch inside; touch {}", victim.display())],
        "effect": "effectful",
        "concurrency": "exclusive",
    }]});
    fs::write(place.file("tools.json"), tools.to_string()).unwrap();
    let replies = [Answer::new().call("touch", json!({})), Answer::new().text("Done.")];
    let server = ModelServer::start(Script::list(replies.map(Reply::answer))).unwrap();
    let base_url = server.base_url();
    let at = ["run", "hello", "--session", "s", "--provider", "openai-chat", "--model", "m"];
    let ended = place.run(&[&at[..], &["--base-url", &base_url, "--tools", "tools.json"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(place.file("inside").exists() && !victim.exists());
    let log = place.log("s");
    let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    assert_eq!(observed["body"]["observation"]["confinement"]["profile"], "workspace");
}

#[test]
fn without_a_tier_a_call_is_refused_and_nothing_runs() {
    let place = Place::new();
    let config = place.file("config/windlass");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("sandbox.toml"), "tier = \"bubblewrap\"\n").unwrap();
    let config = place.file("config");
    let variables = [("PATH", "/nowhere"), ("XDG_CONFIG_HOME", config.to_str().unwrap())];
    let call = Answer::new().call("shell", json!({ "command": "echo > started" }));
    let replies = [call, Answer::new().text("Done.")];
    let server = ModelServer::start(Script::list(replies.map(Reply::answer))).unwrap();
    let base_url = server.base_url();
    let at = ["run", "hello", "--session", "s", "--provider", "openai-chat", "--model", "m"];
    let mut command = place.command(&[&at[..], &["--base-url", &base_url]].concat());
    let ended = common::done(command.envs(variables).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!place.file("started").exists());
    let log = place.log("s");
    let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    let observation = &observed["body"]["observation"];
    assert_eq!(observation["status"], "failed");
    let output = observation["output"].as_str().unwrap();
    assert!(output.contains("bubblewrap is not installed"), "{output}");
    assert!(output.contains("--sandbox off"), "{output}");
    let doctor = common::done(place.command(&["doctor"]).envs(variables).output().unwrap());
    assert!(doctor.err.contains("cannot confine commands"), "{}", doctor.err);
}

/// A process at a terminal is interrupted by its keys, and one that runs beyond its call is confined.
#[test]
fn a_terminal_controls_the_confined_session() {
    on_each_tier(|place, tier| {
        let line = "test -t 0 && stty size; trap 'echo int; exit 5' INT; touch ../out; echo set; \
                    while :; do sleep 0.01; done";
        let server = ModelServer::start(Script::respond(move |request| {
            let results = request.asked().results;
            match results.len() {
                0 => Reply::call(
                    "exec_command",
                    json!({"cmd": line, "tty": true, "yield_time_ms": 500}),
                ),
                _ if results.iter().any(|(_, output)| output.contains("[exit code")) => {
                    let all: Vec<&str> = results.iter().map(|(_, output)| &**output).collect();
                    Reply::say(all.concat())
                }
                made => {
                    let (_, id) = results[0].1.split_once("[process ").unwrap();
                    let id: u64 = id.split(' ').next().unwrap().parse().unwrap();
                    let set = results.iter().any(|(_, output)| output.contains("set"));
                    assert!(made < 100, "{results:?}");
                    let chars = if set { "\u{3}" } else { "" };
                    Reply::call(
                        "write_stdin",
                        json!({"id": id, "chars": chars, "yield_time_ms": 200}),
                    )
                }
            }
        }));
        let server = server.unwrap();
        let base_url = server.base_url();
        let words = ["run", "hello", "--provider", "openai-chat", "--model", "m"];
        let words = [&words[..], &["--base-url", &base_url]].concat();
        let mut command = place.command(&words);
        command.env("XDG_CONFIG_HOME", place.file("config")).env("HOME", place.file("home"));
        let ended = place.without_terminal_as(&command);
        assert_eq!(ended.code, 0, "{tier}: {}", ended.err);
        let said = &ended.out;
        assert!(said.contains("24 80") && said.contains("[exit code 5]"), "{tier}: {said}");
        assert!(said.contains("int") && said.contains("annot touch"), "{tier}: {said}");
    });
}
