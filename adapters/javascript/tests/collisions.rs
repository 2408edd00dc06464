//! Keys that were chosen to collide in the engine's hash tables: each of their uses is paid for by the length of
//! its chain, so that they end with the fault of the limit as soon as other work of that time does.

#![allow(clippy::panic, reason = "a test ends where something is wrong")]
#![allow(clippy::print_stderr, reason = "it says how long programs take")]

use std::time::{Duration, Instant};

use windlass_core::{ProgramEnd, ProgramLimits};
use windlass_javascript::JavaScript;
use windlass_ports::{
    ProgramAnswer, ProgramEnvironment, ProgramResult, ProgramRuntime, ProgramStep,
};

fn run(source: &str, steps: u64, answer: &str) -> (ProgramResult, Duration) {
    let limits = ProgramLimits { steps, ..ProgramLimits::default() };
    let tools = vec!["look".into()];
    let world = ProgramEnvironment { tools, limits, ..ProgramEnvironment::default() };
    let started = JavaScript.prepare(source, &world).and_then(|prepared| prepared.start());
    let mut running = started.unwrap_or_else(|fault| panic!("{source}: {fault}"));
    let (began, mut answers) = (Instant::now(), Vec::new());
    loop {
        match running.resume(answers) {
            ProgramStep::Done(done) => return (*done, began.elapsed()),
            ProgramStep::Calls(calls) => {
                answers = vec![ProgramAnswer::Done(answer.into()); calls.len()];
            }
        }
    }
}

fn class(done: &ProgramResult) -> &str {
    match &done.end {
        ProgramEnd::Fault(fault) => &fault.class,
        ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => "none",
    }
}

/// `text(n, true)` makes texts of one hash: of two pairs of letters that come to the same, in any order.
/// `indexes` makes those of which the first bits of the hash are the same.
const KEYS: &str = r"
const text = (n, same) => {
  let text = '';
  for (let bit = 0; bit < 16; bit++) text += n >> bit & 1 ? '\u0101\u0208' : same ? '\u0102\u0101' : '\u0102\u0102';
  return text;
};
const place = n => { const f = (n + 2147483648) * 0.38196601125010515; return f - Math.floor(f); };
const gaps = [10946, 17711, 28657, 46368, 75025, 121393, 196418];
const indexes = (count, same) => {
  const all = [];
  let n = 1048576;
  while (place(n) > 1.5e-5) n++;
  while (all.length < count && n < 2147000000) {
    all.push(same ? n : n + all.length % 1009);
    n += gaps.find(gap => place(n + gap) <= 1.5e-5) ?? 1;
  }
  return all;
};
const texts = (count, same) => Array.from({ length: count }, (_, n) => text(n, same));
";

const WORKS: [(&str, &str); 13] = [
    ("object", "const o = {}; for (const k of texts(#, same)) o[k] = 1;"),
    ("index", "const o = {}; for (const k of indexes(#, same)) o[k] = 1;"),
    ("index as a text", "const o = {}; for (const k of indexes(#, same)) o[String(k)] = 1;"),
    ("entries", "Object.fromEntries(texts(#, same).map(k => [k, 1]));"),
    ("groups", "Object.groupBy(texts(#, same), k => k);"),
    (
        "in",
        "const o = {}; let n = 0; for (const k of texts(#, same)) n += k in o || Object.hasOwn(o, k) ? 1 : (o[k] = 1, 0);",
    ),
    ("map", "const m = new Map(); for (const k of texts(#, same)) m.set(k, 1);"),
    ("set", "new Set(texts(#, same));"),
    ("groups of a map", "Map.groupBy(texts(#, same), k => k);"),
    (
        "json",
        "JSON.parse('{' + texts(#, same).map(k => JSON.stringify(k) + ':1').join(',') + '}');",
    ),
    (
        "json with half a pair",
        "JSON.parse('{\"x\":\"\\ud800\",' + texts(#, same).map(k => JSON.stringify(k) + ':1').join(',') + '}');",
    ),
    (
        "json in small parts",
        "const all = texts(#, same); for (let n = 0; n < all.length; n += 100) \
         JSON.parse('{' + all.slice(n, n + 100).map(k => '\"' + k + '\":1').join(',') + '}');",
    ),
    (
        "copies in small parts",
        "const all = texts(#, same), o = {}; for (let n = 0; n < all.length; n += 100) \
         Object.assign(o, JSON.parse('{' + all.slice(n, n + 100).map(k => '\"' + k + '\":1').join(',') + '}'));",
    ),
];

#[test]
fn colliding_keys_are_paid_for_by_their_chains() {
    for (name, work) in WORKS {
        let [plain, same] = ["false", "true"].map(|same| {
            let work = work.replace('#', "4000");
            let source = format!("{KEYS}\nconst same = {same};\n{work}\n;0");
            run(&source, u64::MAX, "").0
        });
        if name.starts_with("index") {
            assert_eq!((class(&plain), class(&same)), ("none", "fuel_exceeded"), "{name}");
            continue;
        }
        assert_eq!((class(&plain), class(&same)), ("none", "none"), "{name}");
        // All pairs of those that are counted, sixteen a step.
        let more = same.steps.saturating_sub(plain.steps);
        assert!(more > 300_000, "{name}: {} and {} steps", plain.steps, same.steps);
        assert!(plain.steps < 2_000_000, "{name}: {} steps", plain.steps);
    }
}

#[test]
fn fifty_thousand_colliding_keys_end_with_the_fault_of_the_limit() {
    for (name, work) in WORKS {
        for same in [false, true] {
            let work = work.replace('#', "50000");
            let source = format!("{KEYS}\nconst same = {same};\n{work}\n;0");
            let (done, took) = run(&source, 10_000_000, "");
            eprintln!("{name}, same: {same}: {took:?}, {} steps, {}", done.steps, class(&done));
            if same {
                assert_eq!(class(&done), "fuel_exceeded", "{name}");
            }
        }
    }
}

#[test]
fn colliding_keys_of_a_tool_are_paid_for_before_they_are_read() {
    let key = |n: usize| -> String {
        let pair = |bit: usize| if n >> bit & 1 == 1 { "\u{101}\u{208}" } else { "\u{102}\u{101}" };
        (0..16).map(pair).collect()
    };
    let entries: Vec<String> = (0..50_000).map(|n| format!("\"{}\":1", key(n))).collect();
    let answer = format!("{{{}}}", entries.join(","));
    let (done, took) = run("return (await tools.look({})).a;", 10_000_000, &answer);
    eprintln!("the answer of a tool: {took:?}, {} steps", done.steps);
    assert_eq!(class(&done), "fuel_exceeded");
    let rows: Vec<String> =
        (0..20_000).map(|n| format!("{{\"id\":{n},\"name\":\"n{n}\"}}")).collect();
    let answer = format!("[{}]", rows.join(","));
    let (done, _) = run("return (await tools.look({})).length;", 10_000_000, &answer);
    assert_eq!(done.end, ProgramEnd::Return { value: "20000".into() });
    assert!(done.steps < 10_000, "{}", done.steps);
}

#[test]
fn keys_of_ordinary_programs_cost_little() {
    for work in [
        "const o = {}; for (let n = 0; n < 50000; n++) o['user-' + n] = n;",
        "const o = {}; for (let n = 0; n < 50000; n++) o[10000000 + n * 7] = n;",
        "const o = {}; for (let n = 0; n < 50000; n++) o['w' + n % 3000] = (o['w' + n % 3000] || 0) + 1;",
        "const m = new Map(); for (let n = 0; n < 50000; n++) m.set('user-' + n, n);",
        "const m = new Map(); for (let n = 0; n < 20000; n++) m.set(n, n);",
        "const a = []; for (let n = 0; n < 100000; n++) a[n] = n;",
    ] {
        let (done, took) = run(&format!("{work}\n;0"), 10_000_000, "");
        eprintln!("{work}: {took:?}, {} steps", done.steps);
        assert_eq!(class(&done), "none", "{work}");
        assert!(done.steps < 2_500_000, "{work}: {} steps", done.steps);
    }
}

/// Keys that were found with the engine's own functions, and a program that uses each of a list `all`. See
/// `colliding/README.md`.
const FOUND: [(&str, &str, &str); 4] = [
    (
        "texts of an object",
        include_str!("colliding/texts.txt"),
        "const o = {}; for (const k of all) o[k] = 1;",
    ),
    (
        "texts of a map",
        include_str!("colliding/texts.txt"),
        "const m = new Map(); for (const k of all) m.set(k, 1);",
    ),
    (
        "numbers of a map",
        include_str!("colliding/numbers.txt"),
        "const m = new Map(); for (const k of all) m.set(Number(k), 1);",
    ),
    (
        "indexes of an object",
        include_str!("colliding/indexes.txt"),
        "const o = {}; for (const k of all) o[Number(k)] = 1;",
    ),
];

#[test]
fn keys_that_collide_in_the_engine_itself_are_paid_for() {
    for (name, keys, work) in FOUND {
        let same: Vec<&str> = keys.lines().collect();
        // Others of the same form: each changed by its place.
        let other: Vec<String> = same
            .iter()
            .enumerate()
            .map(|(at, key)| match key.parse::<u32>() {
                Ok(number) => (number - at as u32 * 7).to_string(),
                Err(_) => format!("{}{at:04}", &key[..4]),
            })
            .collect();
        let list = |keys: Vec<&str>| format!("[\"{}\"]", keys.join("\",\""));
        let source = format!("const all = await tools.look({{}});\n{work}\n;0");
        let [same, other] = [list(same), list(other.iter().map(String::as_str).collect())]
            .map(|keys| run(&source, u64::MAX, &keys).0);
        assert_eq!(class(&other), "none", "{name}");
        if name.starts_with("indexes") {
            assert_eq!(class(&same), "fuel_exceeded", "{name}");
            continue;
        }
        // All pairs of the 1,500 that are counted, sixteen a step.
        let more = same.steps.saturating_sub(other.steps);
        assert!(more > 55_000, "{name}: {} and {} steps", other.steps, same.steps);
    }
}
