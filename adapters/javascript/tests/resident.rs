//! A limit of memory holds within twice its value as resident memory, whatever takes it. The only test of its
//! process, so that nothing else is resident.

#![allow(clippy::panic, reason = "a test ends where something is wrong")]
#![allow(clippy::print_stderr, reason = "what is not checked is said")]

use windlass_core::{ProgramEnd, ProgramLimits};
use windlass_javascript::JavaScript;
use windlass_ports::{ProgramAnswer, ProgramEnvironment, ProgramRuntime, ProgramStep};

const LIMIT: u64 = 32 << 20;

/// The most bytes that were resident, where the system says.
fn most_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

/// Runs a program to its end, which takes its memory and no other limit.
fn end(source: &str) -> ProgramEnd {
    let limits =
        ProgramLimits { memory_bytes: LIMIT, steps: 10_000_000, ..ProgramLimits::default() };
    let tools = vec!["look".into()];
    let world = ProgramEnvironment { tools, limits, ..ProgramEnvironment::default() };
    let started = JavaScript.prepare(source, &world).and_then(|prepared| prepared.start());
    let mut running = started.unwrap_or_else(|fault| panic!("{source}: {fault}"));
    let mut answers = Vec::new();
    loop {
        match running.resume(answers) {
            ProgramStep::Done(done) => return done.end,
            ProgramStep::Calls(calls) => {
                answers = vec![ProgramAnswer::Done("1".into()); calls.len()];
            }
        }
    }
}

/// Programs that take all memory that they are given.
const GREEDY: [(&str, &str); 17] = [
    ("lists", "const all = []; for (;;) all.push(new Array(100).fill(7));"),
    ("a text", "let s = 'a'; for (;;) s += s;"),
    ("keys of an object", "const o = {}; for (let n = 0; ; n++) o['k' + n] = n;"),
    (
        "keys that are deleted",
        "const o = {}; for (let n = 0; ; n++) { o['k' + n] = n; delete o['k' + n]; }",
    ),
    ("large indexes", "const o = {}; for (let n = 2 ** 21; ; n++) o[n] = n;"),
    ("large indexes of many objects", "for (let n = 2 ** 21; ; n++) { const o = {}; o[n] = n; }"),
    ("numbers of a map", "const m = new Map(); for (let n = 0; ; n++) m.set(n, n);"),
    (
        "numbers of a map that are deleted",
        "const m = new Map(); for (let n = 0; ; n++) { m.set(n, n); m.delete(n); }",
    ),
    (
        "texts of a map that are deleted",
        "const m = new Map(); for (let n = 0; ; n++) { m.set('k' + n, n); m.delete('k' + n); }",
    ),
    (
        "keys of all kinds",
        "const m = new Map(); for (let n = 2 ** 21; ; n++) \
         { const o = {}; o[n] = n; o['k' + n] = n; m.set(n, n); m.set('k' + n, n); m.clear(); }",
    ),
    (
        "keys of JSON",
        "for (let n = 0; ; n += 100) JSON.parse('{' + [...Array(100).keys()].map(i => `\"k${n + i}\":1`).join(',') + '}');",
    ),
    (
        "arguments of calls",
        "const big = 'x'.repeat(2e6); return await Promise.all([...Array(200).keys()].map(n => tools.look({ n, big })));",
    ),
    (
        "arguments of many small values",
        "const a = new Array(2 ** 21).fill(1); return await tools.look({ a });",
    ),
    ("a long result", "return 'x'.repeat(2 ** 23);"),
    ("a result of many small values", "return new Array(2 ** 20).fill(1);"),
    ("a long print", "print('x'.repeat(2 ** 23));"),
    (
        "a long key with an escape",
        "const key = JSON.stringify('\\n' + 'x'.repeat(2 ** 21)); for (;;) JSON.parse(`{${key}:1}`);",
    ),
];

#[test]
fn a_limit_of_memory_holds_within_twice_its_value() {
    let Some(before) = most_resident() else {
        eprintln!("resident memory is not checked: the system does not say it");
        return;
    };
    let mut worst = (0, "");
    for (what, source) in GREEDY {
        let ended = match end(source) {
            ProgramEnd::Fault(fault) => fault.class,
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => {
                "none".into()
            }
        };
        let grown = most_resident().unwrap_or_default().saturating_sub(before);
        if grown > worst.0 {
            worst = (grown, what);
        }
        let expected =
            ["memory_exceeded", "fuel_exceeded", "value_limit_exceeded", "print_limit_exceeded"];
        assert!(expected.contains(&ended.as_str()), "{what}: {ended}");
        assert!(grown <= 2 * LIMIT, "{what}: {} MiB of {} MiB", grown >> 20, LIMIT >> 20);
    }
    eprintln!("at most {} MiB of {} MiB, by {}", worst.0 >> 20, LIMIT >> 20, worst.1);
}
