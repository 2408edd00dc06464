//! Runs programs that mean harm within the default limits, each in a process of its own on a thread with the
//! stack of any other, and prints how long it took, its steps, the most memory that was resident, and how it
//! ended. It fails where one takes more than it may, or takes its process down.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

#[path = "../tests/support/family/mod.rs"]
mod family;

use std::process::{Command, ExitCode};

use windlass_core::{ProgramEnd, ProgramFault, ProgramLimits};
use windlass_javascript::JavaScript;
use windlass_ports::{ProgramAnswer, ProgramEnvironment, ProgramRuntime, ProgramStep};

/// Most processor time for one program, in milliseconds.
const MOST_MS: u64 = 2_000;

/// Memory of the process beside the program's own, in MiB: the process itself, and parsing.
const AROUND_MIB: u64 = 96;

/// A field of what the system tells of this process.
fn told(file: &str, field: impl Fn(&str) -> Option<u64>) -> u64 {
    std::fs::read_to_string(file).ok().and_then(|text| field(&text)).unwrap_or(0)
}

/// The most MiB that were resident; 0 where the system does not say.
fn most_resident() -> u64 {
    told("/proc/self/status", |text| {
        let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib >> 10)
    })
}

/// The milliseconds of processor time that this process has taken: what others run at the same time does
/// not count. 0 where the system does not say.
fn processor_ms() -> u64 {
    told("/proc/self/stat", |text| {
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        // A tick is a hundredth of a second on every Linux.
        Some(10 * (user + system))
    })
}

/// Runs a program to its end: its steps, and how it ended.
fn ended(source: &str) -> Result<(u64, ProgramEnd), ProgramFault> {
    let world = ProgramEnvironment {
        tools: vec!["look".into(), "pay".into()],
        ..ProgramEnvironment::default()
    };
    let mut run = JavaScript.prepare(source, &world)?.start()?;
    let mut answers = Vec::new();
    loop {
        match run.resume(answers) {
            ProgramStep::Calls(calls) => {
                answers = vec![ProgramAnswer::Done("1".into()); calls.len()];
            }
            ProgramStep::Done(done) => return Ok((done.steps, done.end)),
        }
    }
}

/// Runs one and prints its line: milliseconds, MiB, steps, and how it ended.
fn run(source: String, apart: bool) -> ExitCode {
    let ended =
        if apart { std::thread::spawn(move || ended(&source)).join() } else { Ok(ended(&source)) };
    let (steps, end) = match ended {
        Ok(Ok((steps, end))) => (steps, end),
        Ok(Err(fault)) => (0, ProgramEnd::Fault(fault)),
        Err(_) => return ExitCode::FAILURE,
    };
    let words = match end {
        ProgramEnd::Fault(fault) => fault.to_string(),
        ProgramEnd::Value { value } => format!("value {value}"),
        ProgramEnd::Return { value } => format!("return {value}"),
        ProgramEnd::Fail { value } => format!("fail {value}"),
    };
    let words: String = words.chars().take(90).collect();
    println!(
        "{}\t{}\t{steps}\t{}",
        processor_ms(),
        most_resident(),
        words.replace(['\n', '\t'], " ")
    );
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let programs = family::family();
    let given: Vec<String> = std::env::args().skip(1).collect();
    let apart = !given.iter().any(|word| word == "main");
    if let [name, ..] = &given[..]
        && name != "main"
    {
        return match programs.into_iter().find(|(known, _)| known == name) {
            Some((_, source)) => run(source, apart),
            None => {
                eprintln!("there is no program {name:?}");
                ExitCode::FAILURE
            }
        };
    }
    let Ok(own) = std::env::current_exe() else {
        eprintln!("the path of this program is not known");
        return ExitCode::FAILURE;
    };
    let most_mib = (ProgramLimits::default().memory_bytes >> 20) + AROUND_MIB;
    let (mut worst_ms, mut worst_mib, mut wrong) = ((0, ""), (0, ""), 0);
    for (name, _) in &programs {
        let mut command = Command::new(&own);
        command.arg(name);
        if !apart {
            command.arg("main");
        }
        let line = match command.output() {
            Ok(output) if output.status.success() => output.stdout,
            other => {
                eprintln!("{name}: {other:?}");
                wrong += 1;
                continue;
            }
        };
        let line = String::from_utf8_lossy(&line);
        let mut fields = line.trim_end().split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let [ms, mib, steps] = [next(), next(), next()].map(|field| field.parse().unwrap_or(0_u64));
        let over = ms > MOST_MS || mib > most_mib;
        wrong += u32::from(over);
        worst_ms = worst_ms.max((ms, *name));
        worst_mib = worst_mib.max((mib, *name));
        println!(
            "{}{name:<34} {ms:>6} ms {mib:>4} MiB {steps:>9} steps  {}",
            if over { "! " } else { "  " },
            next()
        );
    }
    println!(
        "{} programs, worst: {} ms of processor ({}), {} MiB resident ({}); over {MOST_MS} ms or {most_mib} \
         MiB, or broken: {wrong}",
        programs.len(),
        worst_ms.0,
        worst_ms.1,
        worst_mib.0,
        worst_mib.1
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
