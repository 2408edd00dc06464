//! Steps: the same for the same program, more for more work, and no way on behind the end of a budget.

#![allow(clippy::panic, reason = "a test ends where something is wrong")]

use std::thread;

use windlass_core::{ProgramEnd, ProgramLimits};
use windlass_javascript::JavaScript;
use windlass_ports::{ProgramEnvironment, ProgramResult, ProgramRuntime, ProgramStep};

fn run(source: &str, limits: ProgramLimits) -> ProgramResult {
    let world = ProgramEnvironment { limits, ..ProgramEnvironment::default() };
    let started = JavaScript.prepare(source, &world).and_then(|prepared| prepared.start());
    let mut running = started.unwrap_or_else(|fault| panic!("{source}: {fault}"));
    match running.resume(Vec::new()) {
        ProgramStep::Done(done) => *done,
        ProgramStep::Calls(calls) => panic!("{source}: {calls:?}"),
    }
}

fn class(done: &ProgramResult) -> &str {
    match &done.end {
        ProgramEnd::Fault(fault) => &fault.class,
        ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => "none",
    }
}

#[test]
fn the_same_program_ends_at_the_same_step() {
    for source in [
        "for (;;) {}",
        "const f = () => { try { f(); } finally { f(); } }; f();",
        "const a = []; for (;;) a.push('x' + a.length);",
        "const a = Array.from({ length: 5000 }, (_, n) => (n * 7919) % 5003); for (;;) a.slice().sort((x, y) => x - y);",
        "for (;;) /^(a|a)*$/.test('a'.repeat(25) + 'b');",
        "const m = new Map(); for (let n = 0; ; n++) m.set({ n }, n);",
        "const f = async n => { await null; return f(n + 1); }; await f(0);",
        "function* g() { for (let n = 0; ; n++) yield n; } for (const x of g()) ({ x });",
        "const f = n => [1, 2].map(() => f(n + 1)); f(0);",
        "for (;;) try { throw new Error('x'); } catch (e) { e.stack; }",
        "const a = 'ab'.repeat(1e5); for (;;) JSON.parse(JSON.stringify({ a }));",
    ] {
        let limits =
            ProgramLimits { steps: 300_000, memory_bytes: 8 << 20, ..ProgramLimits::default() };
        let one = run(source, limits);
        assert_ne!(class(&one), "none", "{source}");
        let other = thread::spawn(move || run(source, limits)).join().unwrap();
        assert_eq!(one, other, "{source}");
    }
}

#[test]
fn the_library_is_paid_for_by_size() {
    let begins = "const t = 'ab'.repeat(50000), n = '1'.repeat(100000), l = Array(20000).fill(7), \
                  o = Object.fromEntries(l.map((_, n) => ['k' + n, n])), m = new Map(Object.entries(o)), \
                  s = new Set(m.keys()), k = t + t, d = [t];\n";
    let free = ProgramLimits { steps: u64::MAX, ..ProgramLimits::default() };
    let before = run(begins, free).steps;
    for (work, least) in [
        ("t.indexOf('c')", 1_000),
        ("t.split('b')", 1_000),
        ("t.replaceAll('c', '')", 1_000),
        ("t.toUpperCase()", 1_000),
        ("t.normalize()", 10_000),
        ("'x'.repeat(100000)", 1_000),
        ("'x'.padStart(100000)", 1_000),
        ("t === k.slice(1)", 1_000),
        ("t + 'x'", 1_000),
        ("`${t}x`", 1_000),
        ("switch (k) { case t + t: 1 }", 1_000),
        ("({})[t]", 1_000),
        ("t in {}", 1_000),
        ("({ [t]: 1 })", 1_000),
        ("m.get(t)", 1_000),
        ("Object.hasOwn({}, t)", 1_000),
        ("n - 1", 1_000),
        ("+n", 1_000),
        ("n < 5", 1_000),
        ("isNaN(n)", 1_000),
        ("Number(n)", 1_000),
        ("Math.max(n)", 1_000),
        ("d * 2", 1_000),
        ("({})[d]", 1_000),
        ("/c/.test(t)", 1_000),
        ("t.match(/c/)", 1_000),
        ("new RegExp(t)", 1_000),
        ("l.indexOf(8)", 1_000),
        ("l.join()", 1_000),
        ("l.slice()", 1_000),
        ("l.slice().sort()", 10_000),
        ("l.concat(l)", 2_000),
        ("l.flat()", 10_000),
        ("l.fill(8)", 1_000),
        ("l.splice(0, 1)", 10_000),
        ("l.includes(8)", 1_000),
        ("Array(100).fill(k).includes(t)", 100_000),
        ("[...l]", 1_000),
        ("({ ...o })", 10_000),
        ("const { k1, ...p } = o;", 10_000),
        ("for (const k in o) break;", 10_000),
        ("Object.keys(o)", 10_000),
        ("Object.assign({}, o)", 10_000),
        ("Array.from(l)", 10_000),
        ("new Set(l)", 10_000),
        ("s.union(s)", 10_000),
        ("JSON.parse('[' + l + ']')", 1_000),
        ("JSON.stringify(l)", 10_000),
        ("Math.max.apply(null, l)", 1_000),
        ("Reflect.apply(Math.max, null, l)", 1_000),
        ("String.fromCharCode(...l)", 1_000),
        ("encodeURIComponent(t)", 1_000),
        ("parseInt(n)", 1_000),
        ("String.raw({ raw: l })", 1_000),
        ("new Error(t)", 1_000),
    ] {
        let done = run(&format!("{begins}{work}\n;0"), free);
        let (class, took) = (class(&done), done.steps - before);
        assert!(class == "none" || work == "new RegExp(t)", "{work}: {:?}", done.end);
        assert!(took >= least, "{work} took {took} steps, of at least {least}");
    }
}

#[test]
fn straight_code_is_paid_for_by_its_length() {
    let source =
        |pieces: usize| format!("for (let n = 0; n < 1000; n++) {{ {} }}", "n.a;".repeat(pieces));
    let [short, long] =
        [1, 10_000].map(|pieces| run(&source(pieces), ProgramLimits::default()).steps);
    assert!(long > 500 * short, "{short} and {long}");
}

#[test]
fn nothing_goes_on_behind_the_end() {
    let deep = "const f = () => f();";
    for (source, meant) in [
        ("try { for (;;) {} } catch { return 1; }", "fuel_exceeded"),
        ("try { for (;;) {} } finally { return 1; }", "fuel_exceeded"),
        ("a: for (;;) { try { for (;;) {} } finally { continue a; } }", "fuel_exceeded"),
        (
            "const h = async () => { for (;;) {} }; await h().catch(() => 1); return 1;",
            "fuel_exceeded",
        ),
        ("try { 'x'.repeat(1.4e8); } catch { return 1; }", "memory_exceeded"),
        ("try { 'x'.repeat(1.4e8); } finally { return 1; }", "memory_exceeded"),
        (
            "const h = async () => 'x'.repeat(1.4e8); await h().catch(() => 1); return 1;",
            "memory_exceeded",
        ),
        (
            "await Promise.allSettled([(async () => 'x'.repeat(1.4e8))()]); return 1;",
            "memory_exceeded",
        ),
        (
            "const all = []; try { for (;;) all.push([1, 2, 3]); } catch ({ message }) { return message; }",
            "memory_exceeded",
        ),
        ("try { f(); } catch { return 1; }", "depth_exceeded"),
        ("try { f(); } catch (e) { return e.message; }", "depth_exceeded"),
        ("try { f(); } finally { return 1; }", "depth_exceeded"),
        ("const g = () => { try { f(); } finally { g(); } }; g();", "depth_exceeded"),
    ] {
        let done = run(&format!("{deep}\n{source}"), ProgramLimits::default());
        assert_eq!(class(&done), meant, "{source}: {:?}", done.end);
        assert!(done.prints.is_empty(), "{source}");
    }
}

#[test]
fn each_loop_is_bounded_by_itself() {
    let limits = ProgramLimits { loop_rounds: 10, ..ProgramLimits::default() };
    for (source, meant) in [
        ("for (let n = 0; n < 10; n++) for (let m = 0; m < 10; m++) ;", "none"),
        ("let n = 0; a: for (;;) { for (;;) { if (++n > 9) break a; continue a; } }", "none"),
        ("let n = 0; do n++; while (n < 10)", "none"),
        ("let n = 0; do n++; while (n < 11)", "loop_limit_exceeded"),
        ("for (const x of Array(11).fill(1)) ;", "loop_limit_exceeded"),
        ("for (const x of Array(10).fill(1)) ;", "none"),
        ("for (const k in Array(11).fill(1)) ;", "loop_limit_exceeded"),
        ("for await (const x of Array(11).fill(1)) ;", "loop_limit_exceeded"),
        ("let n = 0; a: b: while (n < 11) { n++; continue b; }", "loop_limit_exceeded"),
        ("let n = 0; if (n) ; else while (n < 11) n++;", "loop_limit_exceeded"),
        ("try { for (;;) ; } catch { 1; } finally { 2; }", "loop_limit_exceeded"),
        ("Array(100).fill(1).map(n => n + 1)", "none"),
    ] {
        let done = run(source, limits);
        assert_eq!(class(&done), meant, "{source}: {:?}", done.end);
    }
}
