//! What ends a program, and what is said of it.

use windlass_core::ProgramEnd;

use crate::{fault, run, value};

#[test]
fn faults_say_what_and_where() {
    for (source, class, line, column, words) in [
        ("const a = null;\nreturn a.b;", "type_error", 2, 8, "cannot read property 'b' of null"),
        ("return [\n  1,\n", "parse_error", 2, 0, ""),
        ("let x = 1;\nlet x = 2;", "parse_error", 2, 0, ""),
        ("return 1;\nnothing();", "unbound_var", 2, 1, "there is no name nothing"),
        ("return 1;\n  x = 5;", "unbound_var", 2, 3, "there is no name x"),
        (
            "await tools.look({});\nawait tools.nope({});",
            "unknown_tool",
            2,
            13,
            "there is no tool nope",
        ),
        ("const { nope } = tools;", "unknown_tool", 1, 9, "there is no tool nope"),
        ("return 10n;", "parse_error", 1, 8, "big integers"),
        ("memory = {};", "parse_error", 1, 1, "memory cannot be replaced"),
        ("throw new Error('bad ' + 1);", "runtime_error", 1, 0, "bad 1"),
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
        ("console.table([1]);", "unbound_var", 1, 9, "console has no table"),
        ("Promise.reject(new Error('so'))", "runtime_error", 0, 0, "so"),
        ("new Promise(() => {})", "runtime_error", 0, 0, "nothing settles"),
        ("const m = new Map();\nm.set('m', m);\nm", "depth_exceeded", 0, 0, "nested deeper"),
        (
            "(() => { const e = new Error(); Object.defineProperty(e, 'message', { get() { throw new Error('trap'); } }); return [e]; })()",
            "runtime_error",
            0,
            0,
            "trap",
        ),
        ("await tools['a-b']({});", "tool_error", 0, 0, "a-b failed: no"),
        ("await tools['n' + 1]({});", "unknown_tool", 1, 0, "n1"),
        ("await tools.look(7);", "invalid_tool_args", 1, 0, "one object"),
        ("JSON.parse('{');", "runtime_error", 0, 0, "SyntaxError"),
        ("await new Promise(() => {});", "runtime_error", 0, 0, "nothing settles"),
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
    assert_eq!((calls, done.end), (2, ProgramEnd::Return { value: "1".into() }));
}

#[test]
fn what_fails_and_is_not_looked_at_is_a_fault() {
    for (source, class, words) in [
        ("tools['a-b']({}); return 1;", "tool_error", "nothing awaited it: a-b failed: no"),
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
        ("Promise.reject(7); await new Promise(() => {});", "runtime_error", "7 was thrown"),
        ("[1, 2].forEach(async n => { await tools['a-b']({ n }); });", "tool_error", "no"),
    ] {
        let fault = fault(source);
        assert_eq!(fault.class, class, "{source}: {fault}");
        assert!(fault.message.contains(words), "{source}: {fault}");
        assert!(fault.hint.is_some_and(|hint| hint.contains("Await every call")), "{source}");
    }
    for source in [
        "const p = tools['a-b']({}); await tools.look({}); try { await p; } catch {} return 1;",
        "tools['a-b']({}).catch(() => {}); return 1;",
        "await Promise.allSettled([tools['a-b']({}), tools['a-b']({})]); return 1;",
        "await Promise.race([tools.look({}), tools['a-b']({})]); return 1;",
        "const p = Promise.reject(1); await tools.look({}); await p.catch(() => {}); return 1;",
    ] {
        let (_, done) = run(source);
        assert_eq!(done.end, ProgramEnd::Return { value: "1".into() }, "{source}");
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
        ("throw undefined;", "undefined was thrown, which is no error"),
        ("throw 7;", "7 was thrown, which is no error"),
        ("throw Symbol('x');", "a symbol was thrown, which is no error"),
        ("throw { a: [1] };", "{\"a\":[1]} was thrown, which is no error"),
        ("throw [1];", "[1] was thrown, which is no error"),
        ("throw { toJSON() { throw 1; } };", "an object was thrown, which is no error"),
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
fn a_promise_that_is_used_as_the_answer_lacks_an_await() {
    let call = "await is missing before tools.look(...)";
    for (source, line, column, message) in [
        ("const x = tools.look({ a: 1 });\nprint(x);", Some(1), Some(17), call),
        ("const x = tools.look({ a: 1 });\nreturn x.a;", Some(1), Some(17), call),
        ("const { a } = tools.look({ a: 1 });\na", Some(1), Some(21), call),
        ("1;\nreturn [tools.look({}), tools.look({})];", Some(2), Some(15), call),
        ("return { a: tools.look({}) };", Some(1), Some(19), call),
        ("for (const x of tools.look({})) print(x);", Some(1), Some(23), call),
        ("return `${tools.look({})}`;", Some(1), Some(17), call),
        ("return tools.look({}) + 1;", Some(1), Some(14), call),
        ("return tools.look({}).map(x => x);", Some(1), Some(14), call),
        ("return JSON.stringify(tools.look({}));", Some(1), Some(29), call),
        ("return Object.keys(tools.look({}));", Some(1), Some(26), call),
        ("return { ...tools.look({}) };", Some(1), Some(19), call),
        ("return await tools.look({ a: tools.look({}) });", Some(1), Some(36), call),
        ("memory.a = tools.look({});\n1", Some(1), Some(18), call),
        (
            "tools['a-b']({}).length",
            Some(1),
            Some(1),
            "await is missing before tools[\"a-b\"](...)",
        ),
        (
            "const f = async () => 1;\nprint(f());",
            Some(2),
            Some(7),
            "await is missing before a promise that is shown or passed on",
        ),
    ] {
        let told = fault(source);
        let place = (told.line, told.column);
        let meant = ("type_error", message, line);
        assert_eq!((&*told.class, &*told.message, told.line), meant, "{source}");
        assert_eq!(place, (line, column), "{source}");
        assert!(told.hint.is_some_and(|hint| hint.contains("await")), "{source}");
    }
    for (source, meant) in [
        ("const x = tools.look({ a: 1 }); (await x).a", "1"),
        ("tools.look({ a: 1 }).then(x => x.a).catch(() => 2).finally(() => 3)", "1"),
        (
            "const x = tools.look({}); [x instanceof Promise, typeof x, String(Object(x) === x)]",
            "[true,\"object\",\"true\"]",
        ),
        ("const all = [1, 2].map(a => tools.look({ a })); (await Promise.all(all)).length", "2"),
        (
            "const all = {}; for (const a of [1, 2]) all[a] = tools.look({ a }); (await all[2]).a",
            "2",
        ),
    ] {
        assert_eq!(value(source), meant, "{source}");
    }
}
