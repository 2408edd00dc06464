//! What programs come to: the language as it is, though it is run with counters in it, and its faults.

#![allow(clippy::panic, reason = "a test ends where something is wrong")]

use windlass_core::{ProgramEnd, ProgramFault};
use windlass_javascript::JavaScript;
use windlass_ports::{ProgramAnswer, ProgramDone, ProgramRuntime, ProgramStep, ProgramWorld};

fn world() -> ProgramWorld {
    ProgramWorld {
        tools: vec!["look".into(), "a-b".into()],
        ..ProgramWorld::default()
    }
}

/// Runs a program whose calls fail when they are of `a-b`, and are answered with their arguments else.
fn run(source: &str) -> (usize, ProgramDone) {
    let started = JavaScript
        .prepare(source, &world())
        .and_then(|prepared| prepared.start());
    let mut running = match started {
        Ok(running) => running,
        Err(fault) => panic!("{source}: {fault}"),
    };
    let (mut answers, mut calls) = (Vec::new(), 0);
    loop {
        match running.go_on(std::mem::take(&mut answers)) {
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
fn programs_come_to_what_they_mean() {
    for (source, meant) in [
        ("1 + 1", "2"),
        (
            "async function main() { return (await tools.look({ a: 1 })).a; }\nmain();",
            "1",
        ),
        ("(async () => 'b')();", "\"b\""),
        ("tools.look({ a: 2 });", "{\"a\":2}"),
        ("tools.look({ a: 2 }).then(told => told.a)", "2"),
        ("({ then(settle) { settle(3); } })", "3"),
        (
            "new Map([['a', 1], ['b', new Map()]])",
            "{\"a\":1,\"b\":{}}",
        ),
        (
            "new Map([[1, 'a'], ['1', 'b']])",
            "[[1,\"a\"],[\"1\",\"b\"]]",
        ),
        (
            "({ a: new Set([1, 2]), b: [new TypeError('no')] })",
            "{\"a\":[1,2],\"b\":[\"TypeError: no\"]}",
        ),
        (
            "class M extends Map { get size() { return 7; } }\nnew M([['a', 1]])",
            "{\"a\":1}",
        ),
        ("Object.create(Map.prototype)", "{}"),
        (
            "JSON.stringify({ a: new Set([1]), b: new Map() })",
            "\"{\\\"a\\\":{},\\\"b\\\":{}}\"",
        ),
        ("const data = await tools.look({ n: 4 });\ndata.n", "4"),
        (
            "let fail = 0, print = 1;\nconst { console } = { console: 2 };\n[fail, print, console]",
            "[0,1,2]",
        ),
        (
            "String(function named() { return 1; })",
            "\"function named() { [code] }\"",
        ),
        (
            "try { await tools['a-b']({}); } catch (e) { e.tool + ' ' + e.message }",
            "null",
        ),
        ("let s = ''\nfor (const c of 'abc') s += c\ns", "\"abc\""),
        ("let n = 0\nwhile (n < 10) n++\nn", "10"),
        ("let n = 0; do n += 2; while (n < 9); n", "10"),
        (
            "let n = 0; for (let i = 0; i < 3; i++) for (const k in { a: 1, b: 2 }) n++; n",
            "6",
        ),
        ("const f = x => y => x + y; f(1)(2)", "3"),
        (
            "const f = x => ({ ...x, b: 2 }); f({ a: 1 })",
            "{\"a\":1,\"b\":2}",
        ),
        (
            "function* g() { for (let i = 0; i < 3; i++) yield i; }\n[...g()]",
            "[0,1,2]",
        ),
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
        (
            "const t = (s, ...v) => s.raw.join('|') + v.join(); t`a${1}b${2}c`",
            "\"a|b|c1,2\"",
        ),
        ("`${1 + 1}-${`${'x' + 'y'}`}`", "\"2-xy\""),
        ("String.raw`\\n${1}`", "\"\\\\n1\""),
        (
            "const { a, ...rest } = { a: 1, b: 2, c: 3 }; [a, rest]",
            "[1,{\"b\":2,\"c\":3}]",
        ),
        (
            "const [x = 1 + 1, ...more] = [undefined, 3, 4]; [x, more]",
            "[2,[3,4]]",
        ),
        (
            "let a = 'x'; a += 'y' + 'z'; a === 'xyz' && a < 'y'",
            "true",
        ),
        (
            "const m = new Map([['a', 1]]); m.set('b', 2); [...m.entries()]",
            "[[\"a\",1],[\"b\",2]]",
        ),
        (
            "[3, 1, 2].sort((a, b) => a - b).map(x => x * 2).filter(x => x > 2)",
            "[4,6]",
        ),
        (
            "[1, [2, [3, [4]]]].flat(2).concat([5], 6)",
            "[1,2,3,[4],5,6]",
        ),
        ("'a-b-c'.split('-').reverse().join('+')", "\"c+b+a\""),
        ("'a1b22'.replace(/\\d+/g, d => `<${d}>`)", "\"a<1>b<22>\""),
        ("'x'.replaceAll('x', '$&$&').padStart(4, '.')", "\"..xx\""),
        (
            "[...'2024-01-02'.matchAll(/\\d+/g)].map(m => m[0])",
            "[\"2024\",\"01\",\"02\"]",
        ),
        (
            "Object.entries({ a: 1 }).map(([k, v]) => k + v)",
            "[\"a1\"]",
        ),
        ("Array.from({ length: 3 }, (_, i) => i)", "[0,1,2]"),
        (
            "Array.prototype.slice.call({ length: 2, 0: 'a', 1: 'b' })",
            "[\"a\",\"b\"]",
        ),
        (
            "JSON.stringify({ a: [1, 'x', null, undefined], b: undefined, c: { toJSON() { return 7; } } })",
            "\"{\\\"a\\\":[1,\\\"x\\\",null,null],\\\"c\\\":7}\"",
        ),
        (
            "JSON.stringify({ a: 1, b: 2 }, ['a'], 1)",
            "\"{\\n \\\"a\\\": 1\\n}\"",
        ),
        ("JSON.parse('[1,{\"a\":2}]')[1].a", "2"),
        (
            "[NaN, Infinity, -0, () => 1, undefined]",
            "[null,null,0,null,null]",
        ),
        ("undefined", "null"),
        ("if (true) 1; else 2", "null"),
        ("'use strict'", "\"use strict\""),
        ("// nothing", "null"),
        ("", "null"),
        ("1 // a remark", "1"),
        (
            "try { null.x } catch { 'caught' } finally { }\n'after'",
            "\"after\"",
        ),
        ("(() => { try { return [1].at(0); } finally { } })()", "1"),
        ("const later = async x => x + 1; await later(1)", "2"),
        (
            "let n = 0; for await (const x of [Promise.resolve(1), 2]) n += x; n",
            "3",
        ),
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
        (
            "typeof Math.random + typeof Symbol.iterator",
            "\"undefinedsymbol\"",
        ),
        ("switch (1 + 1) { case 2: 'two'; }\n'end'", "\"end\""),
        ("var x = 1\nvar y = 2\n;[x, y] = [y, x]\nx", "2"),
        ("let i = 1\n++i\ni", "2"),
        ("const f = (a, b = a + a) => a + b; f('x')", "\"xxx\""),
        (
            "const o = { f() { return this.v + 1; }, v: 1 }; o?.f?.()",
            "2",
        ),
        ("[...'ab'].length", "2"),
    ] {
        let (_, done) = run(source);
        let value = match &done.end {
            ProgramEnd::Value { value } => value,
            end @ (ProgramEnd::Return { .. } | ProgramEnd::Fault(_) | ProgramEnd::Fail { .. }) => {
                panic!("{source}: {end:?}")
            }
        };
        assert_eq!(&**value, meant, "{source}");
    }
}

#[test]
fn faults_say_what_and_where() {
    for (source, class, line, column, words) in [
        (
            "const a = null;\nreturn a.b;",
            "type_error",
            2,
            8,
            "cannot read property 'b' of null",
        ),
        ("return [\n  1,\n", "parse_error", 2, 0, ""),
        ("let x = 1;\nlet x = 2;", "parse_error", 2, 0, ""),
        (
            "return 1;\nnothing();",
            "unbound_var",
            2,
            1,
            "there is no name nothing",
        ),
        (
            "return 1;\n  x = 5;",
            "unbound_var",
            2,
            3,
            "there is no name x",
        ),
        (
            "await tools.look({});\nawait tools.nope({});",
            "unknown_tool",
            2,
            13,
            "there is no tool nope",
        ),
        (
            "const { nope } = tools;",
            "unknown_tool",
            1,
            9,
            "there is no tool nope",
        ),
        (
            "return Date.now();",
            "unbound_var",
            1,
            8,
            "there is no name Date",
        ),
        ("return 10n;", "parse_error", 1, 8, "big integers"),
        (
            "memory = {};",
            "parse_error",
            1,
            1,
            "memory cannot be replaced",
        ),
        (
            "throw new Error('bad ' + 1);",
            "runtime_error",
            1,
            0,
            "bad 1",
        ),
        ("throw 'a text';", "runtime_error", 0, 0, "a text"),
        (
            "class Mine extends Error { name = 'Mine'; }\nthrow new Mine('so');",
            "runtime_error",
            0,
            0,
            "Mine: so",
        ),
        ("x;\nlet x = 1;", "unbound_var", 1, 0, "x"),
        ("const memory = {};", "parse_error", 1, 7, "memory is there"),
        ("const tools = {};", "parse_error", 1, 7, "tools is there"),
        (
            "console.table([1]);",
            "unbound_var",
            1,
            9,
            "console has no table",
        ),
        ("Math.random();", "unbound_var", 1, 6, "Math.random"),
        (
            "Promise.reject(new Error('so'))",
            "runtime_error",
            0,
            0,
            "so",
        ),
        (
            "new Promise(() => {})",
            "runtime_error",
            0,
            0,
            "nothing settles",
        ),
        (
            "const m = new Map();\nm.set('m', m);\nm",
            "depth_exceeded",
            0,
            0,
            "nested deeper",
        ),
        (
            "(() => { const e = new Error(); Object.defineProperty(e, 'message', { get() { throw new Error('trap'); } }); return [e]; })()",
            "runtime_error",
            0,
            0,
            "trap",
        ),
        (
            "await tools['a-b']({});",
            "tool_error",
            0,
            0,
            "a-b failed: no",
        ),
        ("await tools['n' + 1]({});", "unknown_tool", 1, 0, "n1"),
        (
            "await tools.look(7);",
            "invalid_tool_args",
            1,
            0,
            "one object",
        ),
        ("JSON.parse('{');", "runtime_error", 0, 0, "SyntaxError"),
        (
            "await new Promise(() => {});",
            "runtime_error",
            0,
            0,
            "nothing settles",
        ),
    ] {
        let fault = fault(source);
        assert_eq!(fault.class, class, "{source}: {fault}");
        assert!(fault.message.contains(words), "{source}: {fault}");
        assert!(fault.hint.is_some(), "{source}: {fault}");
        if line > 0 {
            assert_eq!(fault.line, Some(line), "{source}: {fault}");
        }
        if column > 0 {
            assert_eq!(fault.column, Some(column), "{source}: {fault}");
        }
    }
}

#[test]
fn giving_up_cannot_be_caught_and_calls_are_made() {
    let (calls, done) =
        run("try { fail({ why: 1 }); } catch (e) {}\nawait tools.look({});\nreturn 1;");
    let value = "{\"why\":1}".into();
    assert_eq!((calls, done.end), (0, ProgramEnd::Fail { value }));
    let (calls, done) = run("tools.look({});\ntools.look({});\nreturn 1;");
    assert_eq!(
        (calls, done.end),
        (2, ProgramEnd::Return { value: "1".into() })
    );
}

#[test]
fn what_fails_and_is_not_looked_at_is_a_fault() {
    for (source, class, words) in [
        (
            "tools['a-b']({}); return 1;",
            "tool_error",
            "nothing awaited it: a-b failed: no",
        ),
        (
            "const p = tools['a-b']({}); await tools.look({}); return 1;",
            "tool_error",
            "nothing awaited it: a-b failed: no",
        ),
        (
            "const f = async () => { null.x; }; f(); return 1;",
            "type_error",
            "cannot read property 'x' of null",
        ),
        (
            "Promise.reject(7); await new Promise(() => {});",
            "runtime_error",
            "7 was thrown",
        ),
        (
            "[1, 2].forEach(async n => { await tools['a-b']({ n }); });",
            "tool_error",
            "no",
        ),
    ] {
        let fault = fault(source);
        assert_eq!(fault.class, class, "{source}: {fault}");
        assert!(fault.message.contains(words), "{source}: {fault}");
        assert!(
            fault
                .hint
                .is_some_and(|hint| hint.contains("Await every call")),
            "{source}"
        );
    }
    for source in [
        "const p = tools['a-b']({}); await tools.look({}); try { await p; } catch {} return 1;",
        "tools['a-b']({}).catch(() => {}); return 1;",
        "await Promise.allSettled([tools['a-b']({}), tools['a-b']({})]); return 1;",
        "await Promise.race([tools.look({}), tools['a-b']({})]); return 1;",
        "const p = Promise.reject(1); await tools.look({}); await p.catch(() => {}); return 1;",
    ] {
        let (_, done) = run(source);
        assert_eq!(
            done.end,
            ProgramEnd::Return { value: "1".into() },
            "{source}"
        );
    }
}

#[test]
fn iterators_stand_on_few_others() {
    let chain = |count: u32| {
        format!(
            "let i = [1].values(); for (let n = 0; n < {count}; n++) i = i.map(x => x + 1); [...i]"
        )
    };
    let (_, done) = run(&chain(20));
    let value = "[21]".into();
    assert_eq!(done.end, ProgramEnd::Value { value });
    assert_eq!(fault(&chain(100_000)).class, "runtime_error");
}

#[test]
fn what_is_thrown_and_is_no_error_is_told() {
    for (source, words) in [
        ("throw null;", "null was thrown, which is no error"),
        (
            "throw undefined;",
            "undefined was thrown, which is no error",
        ),
        ("throw 7;", "7 was thrown, which is no error"),
        (
            "throw Symbol('x');",
            "a symbol was thrown, which is no error",
        ),
        (
            "throw { a: [1] };",
            "{\"a\":[1]} was thrown, which is no error",
        ),
        ("throw [1];", "[1] was thrown, which is no error"),
        (
            "throw { toJSON() { throw 1; } };",
            "an object was thrown, which is no error",
        ),
        ("throw new Error();", "Error was thrown without a message"),
        ("throw 'words';", "words"),
        ("throw { message: 'words' };", "words"),
    ] {
        let fault = fault(source);
        assert_eq!(fault.class, "runtime_error", "{source}: {fault}");
        assert_eq!(fault.message, words, "{source}");
    }
}

#[test]
fn prints_are_texts_and_json() {
    let (_, done) = run(
        "print('a', 1, { b: [2] }, null, undefined);\nconsole.log(new Error('x'));\nprint('c\\nd');",
    );
    assert_eq!(
        done.prints,
        ["a 1 {\"b\":[2]} null undefined", "Error: x", "c", "d"]
    );
    let (_, done) = run("print(new Map([['a', new Set([1])]]), () => 1, function f() {});");
    assert_eq!(done.prints, ["{\"a\":[1]} [function] [function f]"]);
}
