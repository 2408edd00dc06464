//! The conversation at a terminal, as a person has it: in a real terminal (tmux), and over a pipe.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::process::Stdio;

use common::server::Server;
use common::tmux::Tmux;
use common::{Place, count, done};

/// Starts a conversation in a terminal of this size.
fn chat(place: &Place, (columns, rows): (u16, u16), words: &[&str]) -> Tmux {
    let command = place.command(&[&["chat"], words].concat());
    let terminal = Tmux::start(columns, rows, &command);
    terminal.wait_for("/help lists");
    terminal
}

/// Times that a text was written.
fn times(text: &str, all: &str) -> usize {
    all.matches(text).count()
}

#[test]
fn a_pipe_is_a_conversation_of_a_line_a_turn() {
    let place = Place::new();
    let mut command = place.command(&[]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"write a.txt: hello\nread a.txt\n/status\n").unwrap();
    drop(input);
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    for needle in ["› write a.txt: hello", "● write_file a.txt", "+hello", "› read a.txt", "demo"]
    {
        assert!(done.out.contains(needle), "{needle}: {}", done.out);
    }
    assert!(!done.out.contains('\u{1b}'), "{}", done.out);
    assert!(done.err.contains("to continue: windlass chat --resume "), "{}", done.err);
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "hello\n");
}

#[test]
fn a_conversation_has_the_defaults_of_the_configuration() {
    let place = Place::new();
    let folder = place.file("home/.config/windlass");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "max_samples = 7\n[terminal]\nstatus = [\"model\", \"folder\"]\n";
    std::fs::write(folder.join("config.toml"), text).unwrap();
    let mut command = place.command(&[]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    let sessions = common::lines(&place.run(&["sessions", "--json"]).out);
    let log = place.log(sessions[0]["session"].as_str().unwrap());
    assert_eq!(log[0]["body"]["settings"]["limits"]["samples"], 7, "{}", log[0]);
    if Tmux::is_installed() {
        let terminal = chat(&place, (100, 24), &[]);
        let screen = terminal.wait_for(&place.path().display().to_string());
        assert!(!screen.contains("sandbox"), "{screen}");
    }
}

#[test]
fn a_conversation_is_in_the_scrollback_once_and_can_be_continued() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (80, 24), &[]);
    terminal.send("show markdown");
    terminal.wait_for("set phrases");
    terminal.send("repeat 3: list_dir {}");
    terminal.wait_for("3 times");
    terminal.send("/quit");
    terminal.wait_for("ended with 0");
    let all = terminal.scrollback();
    for needle in ["› show markdown", "What an answer may have", "› repeat 3: list_dir {}"] {
        assert_eq!(times(needle, &all), 1, "{needle}: {all}");
    }
    assert_eq!(times("✓ list_dir", &all), 3, "{all}");
    assert!(all.contains("to continue: windlass chat --resume"), "{all}");
    let again = chat(&place, (80, 24), &["--resume", "last"]);
    again.wait_for("3 times");
    again.send("hello");
    again.wait_for("Hello!");
}

#[test]
fn an_approval_survives_the_process_and_is_answered_on_return() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let first = chat(&place, (100, 30), &["--permissions", "ask"]);
    first.send("write a.txt: hello");
    let screen = first.wait_for("May it run? write_file a.txt");
    assert!(screen.contains("| hello") && screen.contains("1. Yes"), "{screen}");
    let pid = first.process().to_string();
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status();
    assert!(killed.unwrap().success());
    first.wait_for("ended with 137");
    assert!(!place.file("a.txt").exists());
    let again = chat(&place, (100, 30), &["--permissions", "ask", "--continue"]);
    again.wait_for("May it run? write_file a.txt");
    std::thread::sleep(std::time::Duration::from_millis(700));
    again.press(&["1"]);
    again.wait_for("write_file returned");
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "hello\n");
}

#[test]
fn a_denial_has_a_reason_and_a_question_has_choices() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (100, 30), &["--permissions", "ask"]);
    terminal.send("write a.txt: hello");
    terminal.wait_for("No, and say why");
    std::thread::sleep(std::time::Duration::from_millis(700));
    terminal.press(&["Down", "Down", "Down", "Down", "Enter"]);
    terminal.wait_for("Reason");
    terminal.send("not in this folder");
    terminal.wait_for("not in this folder");
    terminal.wait_for("was denied");
    assert!(!place.file("a.txt").exists());
    terminal.send("ask: which way? | left | right");
    terminal.wait_for("2. right");
    std::thread::sleep(std::time::Duration::from_millis(700));
    terminal.press(&["2"]);
    terminal.wait_for("You answered: “right”");
}

#[test]
fn a_paste_of_two_thousand_lines_is_one_span_and_is_sent_whole() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (80, 24), &[]);
    let text: String = (1..=2_000).map(|number| format!("line {number}\n")).collect();
    terminal.paste(&text);
    terminal.wait_for("[pasted 2,000 lines]");
    terminal.press(&["Enter"]);
    terminal.wait_for("Hello!");
    terminal.send("/quit");
    terminal.wait_for("ended with 0");
    let sessions = place.run(&["sessions", "--json"]).out;
    let id = sessions.split("\"session\":\"").nth(1).or_else(|| sessions.split("\"id\":\"").nth(1));
    let id = id.and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let log = place.log(&id);
    assert_eq!(count(&log, "InputQueued"), 1);
    let said = log.iter().find(|fact| fact["kind"] == "InputQueued").unwrap().to_string();
    assert!(said.contains("line 1\\nline 2\\n") && said.contains("line 2000"), "{said:.200}");
}

#[test]
fn a_large_output_and_a_narrow_terminal_are_shown() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (20, 12), &[]);
    terminal.send("run: head -c 10000000 /dev/zero | tr '\\0' x");
    terminal.wait_until("the turn has ended", |screen| {
        screen.contains("just now") && !screen.contains("interrupts")
    });
    let all = terminal.scrollback();
    assert!(all.contains("10.0 MB"), "{all:.2000}");
    terminal.send("hello");
    terminal.wait_until("it answers", |_| terminal.scrollback().contains("Hello!"));
}

#[test]
fn a_resize_in_the_middle_of_an_answer_writes_nothing_twice() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (80, 24), &[]);
    let words: Vec<String> = (1..=60).map(|number| format!("word{number}")).collect();
    terminal.send(&format!("slowly: {}", words.join(" ")));
    terminal.wait_for("word8");
    terminal.resize(40, 20);
    terminal.wait_for("word20");
    terminal.resize(120, 30);
    terminal.wait_for("word60");
    terminal.wait_until("the turn has ended", |screen| {
        screen.contains("(I am demo-script") && !screen.contains("Esc interrupts")
    });
    terminal.send("/quit");
    terminal.wait_for("ended with 0");
    let all = terminal.scrollback();
    // Once in the message, and once in the answer.
    for word in ["word1 ", "word30 ", "word59 "] {
        assert_eq!(times(word, &all), 2, "{word}: {all}");
    }
}

#[test]
fn an_interrupt_keeps_what_was_said_and_a_message_steers() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (80, 24), &[]);
    terminal.send("slowly: one two three four five six seven eight nine ten eleven twelve");
    terminal.wait_for("Answering");
    terminal.press(&["Escape"]);
    terminal.wait_for("interrupted");
    assert!(terminal.scrollback().contains("one two three four"));
    terminal.send("run: sleep 2; echo done");
    terminal.wait_for("● $ sleep 2");
    terminal.send("hello");
    terminal.wait_for("Hello!");
}

#[test]
fn two_terminals_share_a_session_of_a_server() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let at = format!("http://{}", server.at());
    let token = server.token().to_owned();
    let open = |words: &[&str]| {
        let mut command = place.command(&[&["chat", "--server", &at], words].concat());
        command.env("WINDLASS_TOKEN", &token);
        let terminal = Tmux::start(80, 24, &command);
        terminal.wait_for("/help lists");
        terminal
    };
    let one = open(&[]);
    one.send("hello");
    one.wait_for("Hello!");
    let two = open(&["--resume", "last"]);
    two.wait_for("Hello!");
    two.send("show markdown");
    two.wait_for("set phrases");
    one.wait_for("set phrases");
    assert!(one.scrollback().contains("› show markdown"));
    server.stop("TERM");
}

#[test]
fn messages_that_are_typed_before_the_session_is_open_are_all_sent_to_it() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let servers = place.file("home/.config/windlass/mcp.toml");
    std::fs::create_dir_all(servers.parent().unwrap()).unwrap();
    let slow = "[mcp_servers.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"sleep 2\"]\n";
    std::fs::write(servers, slow).unwrap();
    let terminal = chat(&place, (100, 40), &[]);
    // They arrive before the server's end, each once the one before is out of the editor.
    let prompt = |screen: &str| {
        let last = screen.lines().rev().find(|line| line.trim_start().starts_with('›'));
        last.map(|line| line.trim().to_owned()).unwrap_or_default()
    };
    for message in ["write a: 1", "write b: 2", "write c: 3"] {
        terminal.type_text(message);
        terminal.wait_until("it is typed", |screen| prompt(screen).ends_with(message));
        std::thread::sleep(std::time::Duration::from_millis(150));
        terminal.press(&["Enter"]);
        terminal.wait_until("it is taken", |screen| prompt(screen) == "›");
    }
    terminal.wait_until("all are answered", |_| {
        times("write_file returned", &terminal.scrollback()) == 3
    });
    // What is said of the server stands in a line of its own.
    terminal.wait_until("the server is named", |_| {
        let all = terminal.scrollback();
        all.lines().any(|line| line.trim_start().starts_with("the MCP server slow is not used"))
    });
    assert_eq!(place.run(&["sessions", "--json"]).out.lines().count(), 1);
}

#[test]
fn the_image_of_the_clipboard_is_attached() {
    use std::os::unix::fs::PermissionsExt as _;
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let program = place.file("xclip");
    let image = r"\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\001\0\0\0\001\010\002\0\0\0";
    std::fs::write(&program, format!("#!/bin/sh\nprintf '{image}'\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = place.command(&["chat"]);
    command.env("PATH", format!("{}:{path}", place.file("").display()));
    command.env_remove("WAYLAND_DISPLAY").env("DISPLAY", ":9");
    let terminal = Tmux::start(100, 20, &command);
    terminal.wait_for("/help lists");
    terminal.press(&["C-v"]);
    terminal.wait_for("[image windlass-");
    terminal.send(" hello");
    terminal.wait_for("a script and not a model");
    let sessions = common::lines(&place.run(&["sessions", "--json"]).out);
    let log = place.log(sessions[0]["session"].as_str().unwrap());
    let input = log.iter().find(|fact| fact["kind"] == "InputQueued").unwrap();
    assert_eq!(input["body"]["images"][0]["media"], "image/png", "{input}");
    std::fs::write(&program, "#!/bin/sh\nprintf text\n").unwrap();
    terminal.press(&["C-v"]);
    terminal.wait_for("the clipboard has no image");
}

#[test]
fn a_turn_that_was_killed_in_mid_answer_goes_on() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let first = chat(&place, (80, 24), &[]);
    first.send("slowly: one two three four five six seven eight nine ten eleven twelve");
    // Once as the message, and once as the answer.
    first.wait_until("it answers", |screen| times("one two three", screen) == 2);
    let pid = first.process().to_string();
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status();
    assert!(killed.unwrap().success());
    let again = chat(&place, (80, 24), &["--continue"]);
    again.wait_for("a script and not a model");
}

#[test]
fn a_terminal_without_a_live_area_asks_by_numbers() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let command = place.command(&["chat", "--plain", "--permissions", "ask"]);
    let terminal = Tmux::start(100, 40, &command);
    terminal.wait_for("> ");
    terminal.send("write a.txt: hello");
    terminal.wait_for("5. No, and say why");
    terminal.send("1");
    terminal.wait_for("write_file returned");
    terminal.send("/skills");
    terminal.wait_for("there are no skills");
    terminal.press(&["C-d"]);
    terminal.wait_for("ended with 0");
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "hello\n");
}

#[test]
fn a_message_that_a_hook_blocks_ends_a_pipe_with_its_code() {
    let place = Place::new();
    let hooks = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [
        {"type": "command", "command": "echo not today >&2; exit 2"}]}]}}"#;
    std::fs::write(place.file("hooks.json"), hooks).unwrap();
    let mut command = place.command(&["chat", "--hooks", "hooks.json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.code, 3, "{done:?}");
    assert!(done.out.contains("not today"), "{}", done.out);
}

/// Facts of the only session of a place.
fn log_of(place: &Place) -> Vec<serde_json::Value> {
    let sessions = common::lines(&place.run(&["sessions", "--json"]).out);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    place.log(sessions[0]["session"].as_str().unwrap())
}

#[test]
fn a_command_of_the_person_runs_and_its_output_is_in_the_next_request() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let words = ["chat", "--plain", "--permissions", "ask", "--mode", "plan"];
    let terminal = Tmux::start(100, 40, &place.command(&words));
    terminal.wait_for("> ");
    terminal.send("!echo from the $((1 + 1))nd; exit 3");
    terminal.wait_for("  from the 2nd");
    terminal.send("hello");
    terminal.wait_for("Hello!");
    let all = terminal.scrollback();
    for needle in ["› !echo from", "✗ $ echo from", "exit 3"] {
        assert!(all.contains(needle), "{needle}: {all}");
    }
    terminal.press(&["C-d"]);
    terminal.wait_for("ended with 0");
    let log = log_of(&place);
    let kinds: Vec<&str> = log.iter().filter_map(|fact| fact["kind"].as_str()).collect();
    let of_command = ["InputQueued", "TurnOpened", "InputAccepted", "CallDecided", "CallStarted"];
    assert_eq!(kinds[1..6], of_command, "{kinds:?}");
    assert_eq!(kinds[6..8], ["CallObserved", "TurnSettled"], "{kinds:?}");
    assert_eq!(log[4]["body"]["verdict"], "allow", "{}", log[4]);
    assert_eq!(count(&log, "SampleStarted"), 1);
    let replayed = place.run(&["replay", log[0]["session"].as_str().unwrap(), "--verify"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_pipe_runs_no_command_and_widens_nothing() {
    let place = Place::new();
    let mut command = place.command(&["chat", "--permissions", "ask"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let words = b"!echo no > ran.txt\n/permissions auto\n/plan\n";
    child.stdin.take().unwrap().write_all(words).unwrap();
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("› !echo no"), "{done:?}");
    assert_eq!(times("only a person at a terminal", &done.out), 2, "{done:?}");
    assert!(!place.file("ran.txt").exists());
    let log = log_of(&place);
    assert_eq!((count(&log, "SampleStarted"), count(&log, "SettingsChanged")), (1, 0));
}

#[test]
fn a_command_at_a_terminal_is_shown_with_its_output() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let terminal = chat(&place, (80, 24), &[]);
    terminal.send("!echo hi $((40 + 2))");
    // The end of the output is in the live area before the call has ended.
    let screen = terminal.wait_for("✓ $ echo hi");
    assert!(screen.contains("› !echo hi") && screen.contains("  hi 42"), "{screen}");
    terminal.send("hello");
    terminal.wait_for("Hello!");
}

#[test]
fn a_command_that_was_killed_is_not_run_again() {
    if !Tmux::is_installed() {
        return;
    }
    let place = Place::new();
    let first = chat(&place, (100, 30), &[]);
    first.send("!echo once >> runs.txt; sleep 600");
    let ran = || std::fs::read_to_string(place.file("runs.txt")).unwrap_or_default();
    first.wait_until("the command runs", |_| ran() == "once\n");
    let pid = first.process().to_string();
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status();
    assert!(killed.unwrap().success());
    first.wait_for("ended with 137");
    let again = chat(&place, (100, 30), &["--continue"]);
    again.wait_for("Unknown: the process that ran this call ended");
    again.send("hello");
    again.wait_for("Hello!");
    assert_eq!(ran(), "once\n");
    let log = log_of(&place);
    assert_eq!((count(&log, "CallStarted"), count(&log, "CallObserved")), (1, 1));
}
