//! What programs come to: the language as it is, though it is run with counters in it, and its faults.

#![allow(clippy::panic, reason = "a test ends where something is wrong")]

mod dates;
mod faults;

use windlass_core::{ProgramEnd, ProgramFault};
use windlass_javascript::JavaScript;
use windlass_ports::{
    ProgramAnswer, ProgramEnvironment, ProgramResult, ProgramRuntime, ProgramStep,
};

fn world() -> ProgramEnvironment {
    ProgramEnvironment {
        tools: vec!["look".into(), "a-b".into()],
        now_ms: 1_795_672_800_250,
        seed: 7,
        ..ProgramEnvironment::default()
    }
}

/// Runs a program whose calls fail when they are of `a-b`, and are answered with their arguments else.
fn run(source: &str) -> (usize, ProgramResult) {
    let started = JavaScript.prepare(source, &world()).and_then(|prepared| prepared.start());
    let mut running = match started {
        Ok(running) => running,
        Err(fault) => panic!("{source}: {fault}"),
    };
    let (mut answers, mut calls) = (Vec::new(), 0);
    loop {
        match running.resume(std::mem::take(&mut answers)) {
            ProgramStep::Done(done) => return (calls, *done),
            ProgramStep::Calls(made) => {
                calls += made.len();
                answers.extend(made.iter().map(|call| match &*call.name {
                    "look" => ProgramAnswer::Done(call.arguments.as_str().into()),
                    _ => ProgramAnswer::Failed("no".into()),
                }));
            }
        }
    }
}

fn fault(source: &str) -> ProgramFault {
    if let Err(fault) = JavaScript.prepare(source, &world()) {
        return fault;
    }
    match run(source).1.end {
        ProgramEnd::Fault(fault) => fault,
        end @ (ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. }) => {
            panic!("{source}: {end:?}")
        }
    }
}

#[test]
fn a_program_whose_last_statement_has_no_value_has_none() {
    for source in
        ["let x = 1;", "function f() {}", "print(1)", "memory.x = undefined", "for (;;) { break; }"]
    {
        assert_eq!(run(source).1.end, ProgramEnd::Value { value: "null".into() }, "{source}");
    }
    assert_eq!(run("return null").1.end, ProgramEnd::Return { value: "null".into() });
}

#[test]
fn programs_come_to_what_they_mean() {
    for (source, meant) in [
        ("1 + 1", "2"),
        ("async function main() { return (await tools.look({ a: 1 })).a; }\nmain();", "1"),
        ("(async () => 'b')();", "\"b\""),
        ("tools.look({ a: 2 });", "{\"a\":2}"),
        ("tools.look({ a: 2 }).then(told => told.a)", "2"),
        ("({ then(settle) { settle(3); } })", "3"),
        ("new Map([['a', 1], ['b', new Map()]])", "{\"a\":1,\"b\":{}}"),
        ("new Map([[1, 'a'], ['1', 'b']])", "[[1,\"a\"],[\"1\",\"b\"]]"),
        (
            "({ a: new Set([1, 2]), b: [new TypeError('no')] })",
            "{\"a\":[1,2],\"b\":[\"TypeError: no\"]}",
        ),
        ("class M extends Map { get size() { return 7; } }\nnew M([['a', 1]])", "{\"a\":1}"),
        ("Object.create(Map.prototype)", "{}"),
        ("JSON.stringify({ a: new Set([1]), b: new Map() })", "\"{\\\"a\\\":{},\\\"b\\\":{}}\""),
        ("const data = await tools.look({ n: 4 });\ndata.n", "4"),
        (
            "let fail = 0, print = 1;\nconst { console } = { console: 2 };\n[fail, print, console]",
            "[0,1,2]",
        ),
        ("String(function named() { return 1; })", "\"function named() { [code] }\""),
        ("try { await tools['a-b']({}); } catch (e) { e.tool + ' ' + e.message }", "null"),
        ("let s = ''\nfor (const c of 'abc') s += c\ns", "\"abc\""),
        ("let n = 0\nwhile (n < 10) n++\nn", "10"),
        ("let n = 0; do n += 2; while (n < 9); n", "10"),
        ("let n = 0; for (let i = 0; i < 3; i++) for (const k in { a: 1, b: 2 }) n++; n", "6"),
        ("const f = x => y => x + y; f(1)(2)", "3"),
        ("const f = x => ({ ...x, b: 2 }); f({ a: 1 })", "{\"a\":1,\"b\":2}"),
        ("function* g() { for (let i = 0; i < 3; i++) yield i; }\n[...g()]", "[0,1,2]"),
        (
            "class A { #x = 1; get x() { return this.#x + 1; } static s = 2 + 3; }\n[new A().x, A.s]",
            "[2,5]",
        ),
        (
            "class A { constructor(m) { this.m = m; } }\nclass B extends A { constructor() { super('b' + 1); } }\nnew B().m",
            "\"b1\"",
        ),
        (
            "a: for (let i = 0; ; i++) { for (;;) { if (i === 3) break a; continue a; } }\n'done'",
            "\"done\"",
        ),
        ("const t = (s, ...v) => s.raw.join('|') + v.join(); t`a${1}b${2}c`", "\"a|b|c1,2\""),
        ("`${1 + 1}-${`${'x' + 'y'}`}`", "\"2-xy\""),
        ("String.raw`\\n${1}`", "\"\\\\n1\""),
        ("const { a, ...rest } = { a: 1, b: 2, c: 3 }; [a, rest]", "[1,{\"b\":2,\"c\":3}]"),
        ("const [x = 1 + 1, ...more] = [undefined, 3, 4]; [x, more]", "[2,[3,4]]"),
        ("let a = 'x'; a += 'y' + 'z'; a === 'xyz' && a < 'y'", "true"),
        ("const m = new Map([['a', 1]]); m.set('b', 2); [...m.entries()]", "[[\"a\",1],[\"b\",2]]"),
        ("[3, 1, 2].sort((a, b) => a - b).map(x => x * 2).filter(x => x > 2)", "[4,6]"),
        ("[1, [2, [3, [4]]]].flat(2).concat([5], 6)", "[1,2,3,[4],5,6]"),
        ("'a-b-c'.split('-').reverse().join('+')", "\"c+b+a\""),
        ("'a1b22'.replace(/\\d+/g, d => `<${d}>`)", "\"a<1>b<22>\""),
        ("'x'.replaceAll('x', '$&$&').padStart(4, '.')", "\"..xx\""),
        ("[...'2024-01-02'.matchAll(/\\d+/g)].map(m => m[0])", "[\"2024\",\"01\",\"02\"]"),
        ("Object.entries({ a: 1 }).map(([k, v]) => k + v)", "[\"a1\"]"),
        ("Array.from({ length: 3 }, (_, i) => i)", "[0,1,2]"),
        ("Array.prototype.slice.call({ length: 2, 0: 'a', 1: 'b' })", "[\"a\",\"b\"]"),
        (
            "JSON.stringify({ a: [1, 'x', null, undefined], b: undefined, c: { toJSON() { return 7; } } })",
            "\"{\\\"a\\\":[1,\\\"x\\\",null,null],\\\"c\\\":7}\"",
        ),
        ("JSON.stringify({ a: 1, b: 2 }, ['a'], 1)", "\"{\\n \\\"a\\\": 1\\n}\""),
        ("JSON.parse('[1,{\"a\":2}]')[1].a", "2"),
        ("[NaN, Infinity, -0, () => 1, undefined]", "[null,null,0,null,null]"),
        ("undefined", "null"),
        ("if (true) 1; else 2", "null"),
        ("'use strict'", "\"use strict\""),
        ("// nothing", "null"),
        ("", "null"),
        ("1 // a remark", "1"),
        ("try { null.x } catch { 'caught' } finally { }\n'after'", "\"after\""),
        ("(() => { try { return [1].at(0); } finally { } })()", "1"),
        ("const later = async x => x + 1; await later(1)", "2"),
        ("let n = 0; for await (const x of [Promise.resolve(1), 2]) n += x; n", "3"),
        ("await Promise.race([new Promise(() => {}), 5])", "5"),
        (
            "(await Promise.allSettled([tools['a-b']({}), tools.look({ x: 1 })])).map(r => r.status)",
            "[\"rejected\",\"fulfilled\"]",
        ),
        ("const { look } = tools; (await look({ x: 1 })).x", "1"),
        (
            "const all = []; for (const x of [1, 2]) all.push((await tools.look({ x })).x); all",
            "[1,2]",
        ),
        ("(await tools.look())", "{}"),
        ("typeof Math.random + typeof Symbol.iterator", "\"functionsymbol\""),
        ("switch (1 + 1) { case 2: 'two'; }\n'end'", "\"end\""),
        ("var x = 1\nvar y = 2\n;[x, y] = [y, x]\nx", "2"),
        ("let i = 1\n++i\ni", "2"),
        ("const f = (a, b = a + a) => a + b; f('x')", "\"xxx\""),
        ("const o = { f() { return this.v + 1; }, v: 1 }; o?.f?.()", "2"),
        ("[...'ab'].length", "2"),
    ] {
        assert_eq!(value(source), meant, "{source}");
    }
}

/// The value with which a program ends, as JSON text.
fn value(source: &str) -> String {
    match run(source).1.end {
        ProgramEnd::Value { value } => value.to_string(),
        end @ (ProgramEnd::Return { .. } | ProgramEnd::Fault(_) | ProgramEnd::Fail { .. }) => {
            panic!("{source}: {end:?}")
        }
    }
}

#[test]
fn prints_are_texts_and_json() {
    let (_, done) = run(
        "print('a', 1, { b: [2] }, null, undefined);\nconsole.log(new Error('x'));\nprint('c\\nd');",
    );
    assert_eq!(done.prints, ["a 1 {\"b\":[2]} null undefined", "Error: x", "c", "d"]);
    let (_, done) = run("print(new Map([['a', new Set([1])]]), () => 1, function f() {});");
    assert_eq!(done.prints, ["{\"a\":[1]} [function] [function f]"]);
}

#[test]
fn a_key_of_memory_that_is_set_last_is_no_result_of_a_program_that_must_return() {
    let last = |source: &str| {
        let world = ProgramEnvironment { must_return: true, ..world() };
        let running = JavaScript.prepare(source, &world).and_then(|prepared| prepared.start());
        let mut running = running.unwrap();
        match running.resume(Vec::new()) {
            ProgramStep::Done(result) => result.end,
            ProgramStep::Calls(calls) => panic!("{source}: {calls:?}"),
        }
    };
    let value = |text: &str| ProgramEnd::Value { value: text.into() };
    for source in ["memory.x = 1", "(memory.x = { a: 1 });", "memory.x = {}; memory.x['a'] = 2"] {
        assert_eq!(last(source), value("null"), "{source}");
    }
    assert_eq!(last("memory.x = 1; memory.x"), value("1"));
    assert_eq!(last("let x; x = 2"), value("2"));
    assert_eq!(last("return memory.x = 3"), ProgramEnd::Return { value: "3".into() });
    assert_eq!(run("memory.x = 1").1.end, value("1"));
}
