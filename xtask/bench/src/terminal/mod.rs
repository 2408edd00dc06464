//! `cargo xtask bench terminal`: the built command at a pseudo terminal, beside barer commands.
//!
//! The model is a process of its own over loopback, so that the command's processor time is its own:
//! terminal, server and engine. Each target is printed with its measure and the verdict.

mod seat;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;

use crate::clients::{FIRST_WORD, LAST_WORD, Pace, Role, Text, judged};
use crate::meter::computed_s;
use crate::rounds::Spread;
use seat::{Output, Seat};
use xtask::say::say;

/// Deltas a second of the model.
const A_SECOND: u32 = 500;

/// Most processor time of the conversation while the model streams, in cores.
const CORES: f64 = 0.15;

/// Longest median time from start to prompt, in milliseconds.
const START_MS: f64 = 30.0;

/// Longest time from a key to its echo in the 99th percentile, in milliseconds.
const ECHO_MS: f64 = 5.0;

/// Keys of (c), each another letter: what is drawn again is no echo.
const KEYS: std::ops::Range<u32> = 0x100..0x164;

/// Mark before the person's message.
const PROMPT: &str = "›";

/// Longest wait for a text.
const PATIENCE: Duration = Duration::from_secs(30);

/// Extent of the terminal's measures.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Seconds that the model streams in each run.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    seconds: u32,
    /// Starts of each command.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
    /// One of the measures, by its letter; all when left out.
    #[arg(long)]
    only: Option<char>,
}

/// The command that is measured, in a workspace and with a state folder of its own.
struct Windlass {
    program: PathBuf,
    folder: tempfile::TempDir,
}

/// Measures, prints, and returns true if all targets are met.
///
/// # Errors
/// When the command is missing, or does not do as it should.
pub(crate) fn measure(plan: &Plan) -> anyhow::Result<bool> {
    let windlass = Windlass::beside_this_program()?;
    let wanted = |letter| plan.only.is_none_or(|only| only == letter);
    let mut met = true;
    if wanted('a') {
        met &= streaming(&windlass, plan.seconds)?;
    }
    if wanted('b') {
        met &= starting(&windlass, plan.starts)?;
    }
    if wanted('c') {
        met &= typing(&windlass, plan.seconds)?;
    }
    Ok(met)
}

impl Windlass {
    fn beside_this_program() -> anyhow::Result<Self> {
        let this = std::env::current_exe()?;
        let beside = this.parent().context("this program lies in no folder")?;
        let program = beside.join("windlass");
        let words = "missing: build it with `cargo build --release -p windlass-cli`";
        anyhow::ensure!(program.is_file(), "{} is {words}", program.display());
        let folder = tempfile::tempdir_in(beside).context("making a folder for the sessions")?;
        std::fs::create_dir_all(folder.path().join("work"))?;
        Ok(Self { program, folder })
    }

    /// A command without keys and configuration of whoever measures.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env_clear().current_dir(self.folder.path().join("work"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("TERM", "xterm-256color");
        command.env("WINDLASS_HOME", self.folder.path().join("state"));
        command
    }

    /// A command with a turn of this model.
    fn turn(&self, words: &[&str], model: &Role, seconds: u32) -> Command {
        let pace = Pace { deltas: A_SECOND * seconds, a_second: A_SECOND, text: Text::Markdown };
        let url = format!("http://{}/v1", model.address);
        let mut command = self.command(words);
        command.args([
            "--provider",
            "openai-chat",
            "--base-url",
            &url,
            "--model",
            &pace.name(),
            "go",
        ]);
        command
    }
}

/// (a): measures, prints, and returns true if the target is met.
fn streaming(windlass: &Windlass, seconds: u32) -> anyhow::Result<bool> {
    say(format_args!(
        "(a) processor time while a model streams {A_SECOND} deltas a second of Markdown, for {seconds} \
         seconds"
    ));
    let model = Role::start(&["speaking"])?;
    let mut bare = windlass.turn(&["run", "--json"], &model, seconds);
    let mut bare = bare.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut lines = Output::watch(bare.stdout.take().context("it has no output")?);
    let bare_cores = cores(bare.id(), &mut lines, seconds)?;
    anyhow::ensure!(bare.wait()?.success(), "windlass run failed");
    let mut chat = Seat::start(&mut windlass.turn(&["chat"], &model, seconds))?;
    let chat_cores = cores(chat.process(), &mut chat.output, seconds)?;
    let ratio = chat_cores / bare_cores;
    say(format_args!(
        "  chat {chat_cores:.3} cores : run --json {bare_cores:.3} cores = {ratio:.2}"
    ));
    let (percent, most) = (chat_cores * 100.0, CORES * 100.0);
    let what = format!("{percent:.1} per cent of a core, at most {most:.0}");
    Ok(judged(&what, chat_cores <= CORES))
}

/// Returns the cores that a process keeps busy from the first word of an answer to the last.
fn cores(process: u32, output: &mut Output, seconds: u32) -> anyhow::Result<f64> {
    let mut until = |text| {
        let patience = PATIENCE + Duration::from_secs(seconds.into());
        let at = output.until(text, patience, |_| Ok(()))?;
        anyhow::Ok((at, computed_s(process)?))
    };
    let (begin, before) = until(FIRST_WORD)?;
    let (end, after) = until(LAST_WORD)?;
    Ok((after - before) / (end - begin).as_secs_f64())
}

/// (b): measures, prints, and returns true if the target is met.
fn starting(windlass: &Windlass, starts: u32) -> anyhow::Result<bool> {
    say(format_args!("(b) start to prompt, {starts} starts of each command in turn"));
    let (mut chats, mut keyed, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..starts {
        chats.push(prompt_ms(&mut windlass.command(&["chat"]))?);
        let mut with_key = windlass.command(&["chat"]);
        keyed.push(prompt_ms(with_key.env("OPENAI_API_KEY", "key-of-the-bench"))?);
        let began = Instant::now();
        let version = windlass.command(&["--version"]).stdout(Stdio::null()).status()?;
        versions.push(began.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(version.success(), "windlass --version failed");
    }
    let [chat, keyed, version] = [chats, keyed, versions].map(Spread::of);
    let chat = chat.context("no start")?;
    let version = version.context("no start")?;
    let ratio = chat.median / version.median;
    say(format_args!("  chat {chat} ms : --version {version} ms = {ratio:.2}"));
    let keyed = keyed.context("no start")?;
    say(format_args!(
        "  chat with a key in the environment, which starts the command twice: {keyed} ms"
    ));
    beside_codex(windlass, starts, chat.median)?;
    let what = format!("median {:.1} ms, at most {START_MS:.0}", chat.median);
    Ok(judged(&what, chat.median <= START_MS))
}

/// Returns the time from the start of a command to the mark of its prompt, in milliseconds.
fn prompt_ms(command: &mut Command) -> anyhow::Result<f64> {
    let mut seat = Seat::start(command)?;
    let shown = seat.until(PROMPT, PATIENCE)?;
    Ok((shown - seat.began).as_secs_f64() * 1e3)
}

/// Prints the same of `codex` where it is installed and shows the same mark.
fn beside_codex(windlass: &Windlass, starts: u32, chat_ms: f64) -> anyhow::Result<()> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|path| path.join("codex").is_file()) {
        say("  codex: not measured, it is not on the PATH");
        return Ok(());
    }
    let mut codex = Command::new("codex");
    codex.current_dir(windlass.folder.path().join("work")).env("TERM", "xterm-256color");
    let times: anyhow::Result<Vec<f64>> = (0..starts).map(|_| prompt_ms(&mut codex)).collect();
    match times {
        Ok(times) => {
            let codex = Spread::of(times).context("no start")?;
            let ratio = chat_ms / codex.median;
            say(format_args!("  codex {codex} ms; chat : codex = {ratio:.2}"));
        }
        Err(error) => say(format_args!("  codex: not measured: {error:#}")),
    }
    Ok(())
}

/// (c): measures, prints, and returns true if the target is met.
fn typing(windlass: &Windlass, seconds: u32) -> anyhow::Result<bool> {
    say(format_args!(
        "(c) key to echo of {} keys while a model streams {A_SECOND} deltas a second",
        KEYS.len()
    ));
    let pause = Duration::from_secs(seconds.into()) * 6 / 10 / u32::try_from(KEYS.len())?;
    let script = "stty raw -echo; printf ready; exec cat";
    let mut bare = Seat::start(Command::new("sh").args(["-c", script]))?;
    bare.until("ready", PATIENCE)?;
    let bare = echoes_ms(&mut bare, pause)?;
    let model = Role::start(&["speaking"])?;
    let mut chat = Seat::start(&mut windlass.turn(&["chat"], &model, seconds))?;
    chat.until(FIRST_WORD, PATIENCE)?;
    let echoes = echoes_ms(&mut chat, pause)?;
    say(format_args!(
        "  median {:.2} ms, 99th percentile {:.2} ms; cat {:.2} ms, {:.2} ms",
        percentile(&echoes, 50),
        percentile(&echoes, 99),
        percentile(&bare, 50),
        percentile(&bare, 99),
    ));
    // It still comes: the model has streamed all the time.
    chat.until(LAST_WORD, PATIENCE).context("the answer ended before the last key")?;
    let late = percentile(&echoes, 99);
    let what = format!("99th percentile {late:.2} ms, at most {ECHO_MS:.0}");
    Ok(judged(&what, late <= ECHO_MS))
}

/// Returns the time from each key to its letter on the screen, in milliseconds, in ascending order.
fn echoes_ms(seat: &mut Seat, pause: Duration) -> anyhow::Result<Vec<f64>> {
    let mut echoes = Vec::new();
    for letter in KEYS.filter_map(char::from_u32) {
        // Not in step with the frames.
        std::thread::sleep(
            pause + Duration::from_micros(u64::from(u32::from(letter)) * 977 % 11_000),
        );
        let sent = seat.types(letter.encode_utf8(&mut [0; 4]))?;
        echoes.push(
            (seat.until(letter.encode_utf8(&mut [0; 4]), PATIENCE)? - sent).as_secs_f64() * 1e3,
        );
    }
    echoes.sort_by(f64::total_cmp);
    Ok(echoes)
}

/// Returns the number that so many hundredths of the numbers, in ascending order, do not exceed.
fn percentile(sorted: &[f64], hundredths: usize) -> f64 {
    let count = (sorted.len() * hundredths).div_ceil(100);
    sorted.get(count.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}
