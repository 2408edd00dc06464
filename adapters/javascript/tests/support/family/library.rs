//! Programs that mean harm.

/// Programs that keep the engine's own functions busy, or hold on to what ends them.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    (
        "catches everything",
        "for (;;) { try { for (;;) {} } catch (e) {} finally { continue; } }",
    ),
    (
        "catches all depths",
        "const f = () => { try { f(); } finally { f(); } };\nf();",
    ),
    (
        "catches memory",
        "let a = []; for (;;) { try { a.push('x'.repeat(1e6) + a.length); } catch (e) { a = [a.length]; } }",
    ),
    (
        "jobs for ever",
        "const f = async () => { for (;;) await null; };\nawait f();",
    ),
    (
        "promises for ever",
        "const f = () => Promise.resolve().then(f);\nawait f();",
    ),
    (
        "more and more promises",
        "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f); };\nf(); await new Promise(() => {});",
    ),
    ("waits for nothing", "await new Promise(() => {});"),
    ("doubling text", "let s = 'x'; for (;;) s += s;"),
    ("one long text", "return 'x'.repeat(2 ** 30).length;"),
    (
        "long needle",
        "const a = 'a'.repeat(4e6), b = 'a'.repeat(2e6) + 'b'; return a.includes(b);",
    ),
    (
        "long needle backwards",
        "const a = 'a'.repeat(4e6), b = 'b' + 'a'.repeat(2e6); return a.lastIndexOf(b);",
    ),
    (
        "split by a long text",
        "const a = 'a'.repeat(4e6), b = 'a'.repeat(2e6) + 'b'; return a.split(b).length;",
    ),
    (
        "replace all of a long text",
        "const a = 'a'.repeat(4e6), b = 'a'.repeat(2e6) + 'b'; return a.replaceAll(b, 'c').length;",
    ),
    (
        "boxed long needle",
        "const a = Object('a'.repeat(4e6)), b = Object('a'.repeat(2e6) + 'b'); return String.prototype.includes.call(a, b);",
    ),
    (
        "wide needle",
        "const a = '\u{e4}\u{20ac}'.repeat(2e6), b = '\u{e4}\u{20ac}'.repeat(1e6) + 'b'; return a.indexOf(b);",
    ),
    (
        "length of a liar",
        "return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    ),
    (
        "every of a liar",
        "return Array.prototype.every.call({ length: 2 ** 53 - 1 }, () => true);",
    ),
    (
        "join of a liar",
        "return Array.prototype.join.call({ length: 2 ** 32 }, '').length;",
    ),
    (
        "reverse of a liar",
        "return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });",
    ),
    (
        "splice of a liar",
        "return Array.prototype.splice.call({ length: 2 ** 53 - 1 }, 0, 1);",
    ),
    (
        "unshift of a liar",
        "return Array.prototype.unshift.call({ length: 2 ** 53 - 2 }, 1);",
    ),
    (
        "fill of a liar",
        "return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1);",
    ),
    (
        "copy within a liar",
        "return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1);",
    ),
    (
        "concat of a liar",
        "const l = { length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }; return [].concat(l).length;",
    ),
    (
        "flat of a liar",
        "return Array.prototype.flat.call({ length: 2 ** 53 - 1 }).length;",
    ),
    (
        "find last of a liar",
        "return Array.prototype.findLastIndex.call({ length: 2 ** 53 - 1 }, Boolean);",
    ),
    (
        "with of a liar",
        "return Array.prototype.with.call({ length: 2 ** 32 - 1 }, 0, 1).length;",
    ),
    (
        "apply of a liar",
        "return Math.max.apply(null, { length: 2 ** 32 });",
    ),
    (
        "from a liar",
        "return Array.from({ length: 2 ** 32 }).length;",
    ),
    (
        "sparse",
        "const a = []; a.length = 2 ** 32 - 1; return a.indexOf(1);",
    ),
    (
        "sparse sort",
        "const a = []; a.length = 2 ** 32 - 1; a.sort(); return a.length;",
    ),
    (
        "sparse reduce",
        "const a = []; a.length = 2 ** 32 - 1; return a.reduce((x, y) => x, 0);",
    ),
    (
        "sparse for each",
        "const a = []; a.length = 2 ** 32 - 1; a.forEach(() => {}); return 1;",
    ),
    (
        "sparse map",
        "const a = []; a.length = 2 ** 32 - 1; return a.map(x => x).length;",
    ),
    (
        "sparse filter",
        "const a = []; a.length = 2 ** 32 - 1; return a.filter(x => x).length;",
    ),
    (
        "sparse some",
        "const a = []; a.length = 2 ** 32 - 1; return a.some(Boolean);",
    ),
    (
        "sparse to sorted",
        "const a = []; a.length = 2 ** 32 - 1; return a.toSorted().length;",
    ),
    (
        "a list within itself",
        "const a = []; for (let n = 0; n < 40; n++) { const b = a.slice(); a.length = 0; a.push(b, b); } return a.flat(Infinity).length;",
    ),
    (
        "a list within itself as text",
        "let a = []; for (let n = 0; n < 40; n++) a = [a, a]; return String(a).length;",
    ),
    (
        "a list within itself as JSON",
        "let a = []; for (let n = 0; n < 40; n++) a = [a, a]; return JSON.stringify(a).length;",
    ),
    ("a cycle as JSON", "const a = {}; a.a = a; return a;"),
    ("a cycle kept", "memory.a = memory;"),
    (
        "a deep chain kept",
        "let x = {}; for (let n = 0; n < 100000; n++) x = { x }; memory.x = x;",
    ),
    (
        "natives call natives",
        "const a = Array(1000).fill(Array(100000).fill(1)); return a.map(String).length;",
    ),
    (
        "keys of much",
        "const o = {}; for (let n = 0; n < 50000; n++) o['k' + n] = n; for (;;) Object.keys(o);",
    ),
    (
        "spread of much",
        "const a = Array(500000).fill(1); for (;;) [...a];",
    ),
    (
        "copies of much",
        "const o = {}; for (let n = 0; n < 20000; n++) o['k' + n] = n; for (;;) ({ ...o });",
    ),
    (
        "sort of much",
        "const a = Array.from({ length: 300000 }, (_, n) => (n * 7919) % 300007); for (;;) a.slice().sort();",
    ),
    (
        "compares long texts",
        "const a = 'x'.repeat(6e6), b = 'x'.repeat(6e6); for (;;) a === b;",
    ),
    (
        "joins long texts",
        "const a = 'x'.repeat(3e6); let b; for (;;) { b = a + 'y'; b = b[0]; }",
    ),
    (
        "nested quantifiers",
        "return /^(?:(?:a*)*)*$/.test('a'.repeat(60) + 'b');",
    ),
    (
        "alternatives",
        "return /^(a|a)*$/.test('a'.repeat(60) + 'b');",
    ),
    (
        "back references",
        "return /^(a*)*\\1$/.test('a'.repeat(60) + 'b');",
    ),
    (
        "look behind",
        "return /(?<=(a+)+)b/.test('a'.repeat(100) + 'c');",
    ),
    (
        "huge counts",
        "return new RegExp('(?:a{1000}){1000}').test('a'.repeat(1e6));",
    ),
    (
        "huge counts within",
        "return new RegExp('((a{0,1000}){0,1000}){0,1000}b').test('a'.repeat(1e4));",
    ),
    (
        "a pattern over much",
        "return /(.*)*x/.exec('a'.repeat(1e6));",
    ),
    (
        "matches of all",
        "return 'a'.repeat(3e6).match(/a/g).length;",
    ),
    (
        "replaces all by a pattern",
        "return 'a'.repeat(1e6).replace(/a/g, 'b'.repeat(1000)).length;",
    ),
    (
        "replaces by what stands before",
        "return 'a'.repeat(20000).replace(/a/g, '$`').length;",
    ),
    (
        "a getter for ever",
        "const o = { get a() { for (;;) {} } }; return o;",
    ),
    ("to JSON for ever", "return { toJSON() { for (;;) {} } };"),
    ("then for ever", "return { then(f) { for (;;) {} } };"),
    (
        "iterator for ever",
        "return [...{ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }];",
    ),
    (
        "native iterator for ever",
        "const it = [1].values().constructor ?? Iterator; return Iterator.from({ next: Array.prototype.at.bind([{ value: 1 }], 0) }).drop(2 ** 40).next();",
    ),
    (
        "set of an iterator for ever",
        "return new Set({ [Symbol.iterator]: () => ({ next: Object.bind({ value: 1 }) }) }).size;",
    ),
    (
        "throws a thrower",
        "throw { get message() { throw { get message() { for (;;) {} } }; } };",
    ),
    ("throws nothing", "throw null;"),
    (
        "spoils the library",
        "Array.prototype.push = null; Object.prototype.toString = null; JSON.stringify = null; Promise.prototype.then = null; return await tools.look({});",
    ),
    (
        "spoils setters",
        "Object.defineProperty(Object.prototype, '0', { set() { for (;;) {} } }); return await tools.look({});",
    ),
    (
        "constructor of functions",
        "return (() => {}).constructor('return 1')();",
    ),
    (
        "constructor of async functions",
        "return (async () => {}).constructor;",
    ),
    (
        "this",
        "return (function () { return this; })() ?? 'nothing';",
    ),
    (
        "names of all there is",
        "return Object.getOwnPropertyNames(Object.getPrototypeOf(Object)).join();",
    ),
    (
        "calls and does not wait",
        "tools.look({}); tools.pay({}); return 1;",
    ),
    (
        "calls tools by any name",
        "return await tools['no' + '_such']({});",
    ),
    ("no object to a tool", "return await tools.look([1]);"),
    (
        "a cycle to a tool",
        "const a = {}; a.a = a; return await tools.look(a);",
    ),
    (
        "half a letter to a tool",
        "return await tools.look({ a: '\\ud800' });",
    ),
    (
        "half a letter printed",
        "print('\\ud800'); return '\\ud800';",
    ),
    (
        "bind chains",
        "let f = () => 1; for (let n = 0; n < 100000; n++) f = f.bind(null); return f();",
    ),
    (
        "text of a long list",
        "const a = Array(2e5).fill('xxxxxxxxxx'); for (;;) a.join();",
    ),
    (
        "decodes for ever",
        "const a = '%41'.repeat(1e6); for (;;) decodeURIComponent(a);",
    ),
    (
        "parses for ever",
        "const a = JSON.stringify(Array(3e5).fill(1)); for (;;) JSON.parse(a);",
    ),
    (
        "normalizes for ever",
        "const a = '\u{e4}'.repeat(1e6); for (;;) a.normalize('NFD');",
    ),
    ("collects for ever", "for (;;) { const a = {}; a.a = a; }"),
    (
        "groups for ever",
        "const a = Array(1e5).fill(1); for (;;) Object.groupBy(a, Boolean);",
    ),
    (
        "assigns for ever",
        "const a = Object.fromEntries(Array.from({ length: 2e4 }, (_, n) => ['k' + n, n])); for (;;) Object.assign({}, a);",
    ),
];
