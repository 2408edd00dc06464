//! A device at a pseudo terminal: modes, inputs as they arrive, and restoring.
//!
//! The program runs itself as the process at the terminal, which prints each input it gets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use windlass_terminal::{Device, Input, Key, KeyCode};

/// Variable that makes this program the process at the terminal.
const ROLE: &str = "WINDLASS_TERMINAL_ROLE";
/// Longest wait for the process.
const PATIENCE: Duration = Duration::from_secs(20);
/// Answer of a terminal that is asked for its background.
const ANSWER: &str = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\";

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        return run_at_terminal(&role);
    }
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let trials = vec![
        trial("inputs_arrive_and_modes_are_restored", inputs_arrive_and_modes_are_restored),
        trial("an_unmarked_paste_is_one_input", an_unmarked_paste_is_one_input),
        trial("a_long_unmarked_paste_submits_nothing", a_long_unmarked_paste_submits_nothing),
        trial("the_end_of_the_terminal_ends_the_inputs", the_end_of_the_terminal_ends_the_inputs),
        trial("an_answer_in_time_is_returned", an_answer_in_time_is_returned),
        trial("a_late_answer_is_no_input", a_late_answer_is_no_input),
        trial("a_panic_restores_before_its_message", a_panic_restores_before_its_message),
        trial("a_panic_elsewhere_does_not_last", a_panic_elsewhere_does_not_last),
        trial("a_pause_leaves_the_terminal_to_others", a_pause_leaves_the_terminal_to_others),
        trial("suspending_stops_and_continues", suspending_stops_and_continues),
        trial("a_resize_is_an_input", a_resize_is_an_input),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Prints inputs until `q`. Other keys try the device.
fn run_at_terminal(role: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut device = Device::new().unwrap();
        let wait = match role {
            "ask" => Some(PATIENCE),
            "ask in vain" => Some(Duration::from_millis(50)),
            _ => None,
        };
        if let Some(wait) = wait {
            let answer = device.background(wait).await.unwrap();
            say(&mut device, &format!("background {answer:?}"));
        }
        say(&mut device, "ready");
        while let Some(input) = device.next().await.unwrap() {
            say(&mut device, &format!("{input:?}"));
            match input {
                Input::Key(key) if key == Key::char('q') => break,
                Input::Key(key) if key == Key::char('!') => panic!("on purpose"),
                Input::Key(key) if key == Key::char('?') => {
                    std::thread::spawn(|| panic!("elsewhere")).join().unwrap_err();
                    say(&mut device, "caught");
                }
                Input::Key(key) if key == Key::char('p') => pause(&mut device),
                Input::Key(key) if key == Key::char('z') => {
                    device.suspend().unwrap();
                    say(&mut device, "continued");
                }
                Input::Key(_) | Input::Paste(_) | Input::Resize { .. } | Input::Focus(_) => {}
            }
        }
    });
    ExitCode::SUCCESS
}

/// Lets this process read a line as another program would.
fn pause(device: &mut Device) {
    device.pause().unwrap();
    say(device, "paused");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    device.resume().unwrap();
    say(device, &format!("read {line:?}"));
}

fn say(device: &mut Device, text: &str) {
    device.write(format!("{text}\r\n").as_bytes()).unwrap();
}

/// The other end of the terminal, and the process at it.
struct Person {
    keyboard: File,
    terminal: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    process: Child,
}

impl Person {
    fn at(role: &str) -> Self {
        let (keyboard, terminal) = open_terminal();
        let process = start(role, &terminal);
        let screen = watch(keyboard.try_clone().unwrap());
        Self { keyboard, terminal, screen, seen: String::new(), process }
    }

    fn ready(role: &str) -> Self {
        let mut person = Self::at(role);
        person.sees("ready");
        person
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text and returns all before it.
    fn sees(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some((before, after)) = self.seen.split_once(text) {
                let (before, after) = (before.to_owned(), after.to_owned());
                self.seen = after;
                return before;
            }
            let left = until.saturating_duration_since(Instant::now());
            let bytes = self.screen.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Returns true while the terminal is in raw mode.
    fn is_raw(&self) -> bool {
        is_raw(&self.terminal)
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Ends the process with `q`.
    fn leaves(mut self) {
        self.types("q");
        self.sees("Char('q')");
        assert!(self.process.wait().unwrap().success());
        assert!(!self.is_raw());
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn open_terminal() -> (File, File) {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    fcntl_setfd(&keyboard, FdFlags::CLOEXEC).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let path = ptsname(&keyboard, Vec::<u8>::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits() as i32)
        .open(path)
        .unwrap();
    (keyboard.into(), terminal)
}

/// Starts the process at the terminal.
fn start(role: &str, terminal: &File) -> Child {
    let end = || terminal.try_clone().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).env("TERM", "xterm").env("RUST_BACKTRACE", "0").process_group(0);
    command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
}

fn is_raw(terminal: &File) -> bool {
    let modes = tcgetattr(terminal).unwrap().local_modes;
    !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
}

/// Reads the screen in a thread, until the terminal is closed.
fn watch(mut screen: File) -> Receiver<Vec<u8>> {
    fcntl_setfl(&screen, fcntl_getfl(&screen).unwrap() - OFlags::NONBLOCK).unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = screen.read(&mut bytes) {
            if sender.send(bytes[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

fn line(input: &Input) -> String {
    format!("{input:?}\r\n")
}

fn key(code: KeyCode) -> String {
    line(&Key::plain(code).into())
}

fn inputs_arrive_and_modes_are_restored() {
    let mut person = Person::at("keys");
    let start = person.sees("ready\r\n");
    assert!(start.contains("\x1b[?2004h") && start.contains("\x1b[>5u"), "{start:?}");
    assert!(person.is_raw());
    person.types("\x1b[200~one\rtwo\n\x1b[201~\r");
    let paste = line(&Input::Paste("one\rtwo\n".into()));
    assert_eq!(person.sees(&key(KeyCode::Enter)), paste);
    person.types("\x1b[13;2u\x1b[A\x1b");
    let shifted = line(&Key::shift(KeyCode::Enter).into());
    assert_eq!(person.sees(&key(KeyCode::Esc)), shifted + &key(KeyCode::Up));
    person.types("q");
    person.sees(&key(KeyCode::Char('q')));
    assert!(person.process.wait().unwrap().success());
    for end in ["\x1b[<1u", "\x1b[?1004l", "\x1b[?2004l", "\x1b[?25h"] {
        person.sees(end);
    }
    assert!(!person.is_raw());
}

fn an_unmarked_paste_is_one_input() {
    let mut person = Person::ready("keys");
    person.types("one\rtwo\rthree\r");
    person.sees(&line(&Input::Paste("one\ntwo\nthree\n".into())));
    person.leaves();
}

/// However slow this machine is, all of it arrives, and as nothing but pastes.
fn a_long_unmarked_paste_submits_nothing() {
    let mut person = Person::ready("keys");
    let mut keyboard = person.keyboard.try_clone().unwrap();
    let typing = std::thread::spawn(move || {
        (0..2_000).for_each(|at| keyboard.write_all(format!("line {at}\r").as_bytes()).unwrap());
    });
    person.sees("line 1999\\n");
    typing.join().unwrap();
    person.types("\x1b[Z");
    assert!(!person.sees(&key(KeyCode::BackTab)).contains("Enter"));
    person.leaves();
}

fn the_end_of_the_terminal_ends_the_inputs() {
    let (keyboard, terminal) = open_terminal();
    let mut process = start("keys", &terminal);
    let until = Instant::now() + PATIENCE;
    while !is_raw(&terminal) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop((keyboard, terminal));
    while process.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = process.try_wait().unwrap();
    process.kill().unwrap();
    assert!(ended.is_some(), "the process still waits for inputs");
}

fn an_answer_in_time_is_returned() {
    let mut person = Person::at("ask");
    person.types("a");
    person.types(ANSWER);
    assert!(!person.sees("background ").contains("Char"));
    person.sees("Some(\"rgb:1e1e/1e1e/2e2e\")\r\nready\r\n");
    assert_eq!(person.sees(&key(KeyCode::Char('a'))), "");
    person.leaves();
}

fn a_late_answer_is_no_input() {
    let mut person = Person::at("ask in vain");
    person.sees("background None\r\nready\r\n");
    person.types(ANSWER);
    person.types("a");
    assert_eq!(person.sees(&key(KeyCode::Char('a'))), "");
    person.leaves();
}

fn a_panic_restores_before_its_message() {
    let mut person = Person::ready("keys");
    person.types("!");
    assert!(person.sees("on purpose").contains("\x1b[?2004l"));
    assert!(!person.process.wait().unwrap().success());
    assert!(!person.is_raw());
}

fn a_panic_elsewhere_does_not_last() {
    let mut person = Person::ready("keys");
    person.types("?");
    person.sees("caught");
    person.sees("Resize");
    assert!(person.is_raw());
    person.leaves();
}

fn a_pause_leaves_the_terminal_to_others() {
    let mut person = Person::ready("keys");
    person.types("p");
    person.sees("paused");
    assert!(!person.is_raw());
    person.types("for another\n");
    person.sees("read \"for another\\n\"");
    assert!(person.is_raw());
    person.leaves();
}

fn suspending_stops_and_continues() {
    let mut person = Person::ready("keys");
    person.types("z");
    let (_, status) = waitpid(Some(person.id()), WaitOptions::UNTRACED).unwrap().unwrap();
    assert!(status.stopped(), "{status:?}");
    assert!(!person.is_raw());
    kill_process(person.id(), Signal::CONT).unwrap();
    person.sees("continued");
    assert!(person.is_raw());
    person.leaves();
}

fn a_resize_is_an_input() {
    let mut person = Person::ready("keys");
    let size = Winsize { ws_row: 33, ws_col: 99, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person.terminal, size).unwrap();
    // The kernel signals only processes whose controlling terminal this is.
    kill_process(person.id(), Signal::WINCH).unwrap();
    person.sees(&line(&Input::Resize { columns: 99, rows: 33 }));
    person.leaves();
}
