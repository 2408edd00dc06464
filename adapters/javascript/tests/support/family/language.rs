//! Programs that mean harm by the language itself: loops of each kind, what catches and what throws, what
//! is called where nobody looks, and what a program is not to find.

/// The programs by name.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    ("for", "for (;;) {}"),
    ("for without a body", "for (;;);"),
    ("while", "while (true) ;"),
    ("do while", "do {} while (true);"),
    ("labels and continue", "a: for (;;) for (;;) continue a;"),
    (
        "for in",
        "const o = { a: 1 }; for (;;) for (const k in o) ;",
    ),
    (
        "for in of much",
        "const a = Array(500000).fill(1); for (;;) for (const k in a) break;",
    ),
    (
        "for of a generator",
        "function* g() { for (;;) yield 1; } for (const x of g()) ;",
    ),
    (
        "for await",
        "async function* g() { for (;;) yield 1; } for await (const x of g()) ;",
    ),
    (
        "a generator that delegates",
        "function* g() { yield* g(); } for (const x of g()) ;",
    ),
    (
        "generators within generators",
        "function* g(n) { yield n; yield* g(n + 1); } for (const x of g(0)) ;",
    ),
    (
        "generators that are left",
        "function* g() { try { yield 1; } finally { for (;;) yield 2; } } for (;;) for (const x of g()) break;",
    ),
    (
        "growing list",
        "const a = [1]; for (const x of a) a.push(x);",
    ),
    (
        "growing set",
        "const s = new Set([0]); for (const x of s) { s.delete(x); s.add(x + 1); }",
    ),
    (
        "for each of a growing map",
        "const m = new Map([[0, 0]]); m.forEach((v, k) => { m.delete(k); m.set(k + 1, 0); });",
    ),
    (
        "recursion in finally",
        "const f = () => { try { f(); } finally { f(); } }; f();",
    ),
    (
        "recursion in finally thrice",
        "const f = () => { try { f(); } finally { try { f(); } finally { f(); } } }; f();",
    ),
    (
        "recursion in catch",
        "const f = () => { try { f(); } catch (e) { f(); } }; f();",
    ),
    (
        "finally returns",
        "const f = () => { for (;;) { try { return f(); } finally { continue; } } }; return f();",
    ),
    (
        "finally that awaits",
        "const f = async () => { try { await f(); } finally { await f(); } }; await f();",
    ),
    (
        "catches and throws on",
        "const f = () => { try { throw new Error('x'); } catch (e) { throw new Error('y', { cause: e }); } }; for (;;) try { f(); } catch (e) {}",
    ),
    (
        "errors from far down",
        "const f = n => { if (n) return 1 + f(n - 1); for (;;) try { null.x; } catch (e) {} }; f(300);",
    ),
    (
        "long traces",
        "Error.stackTraceLimit = 1e9; const f = n => { if (n) return 1 + f(n - 1); for (;;) new Error('x').stack; }; f(300);",
    ),
    (
        "prepares traces",
        "Error.prepareStackTrace = () => { for (;;) {} }; new Error('x').stack;",
    ),
    (
        "functions with long names",
        "const f = { ['x'.repeat(1e7)]() { throw new Error('y'); } }; const g = Object.values(f)[0]; for (;;) try { g(); } catch (e) {}",
    ),
    (
        "many causes",
        "let e = new Error('x'); for (;;) e = new Error('y', { cause: e });",
    ),
    (
        "an error with a getter",
        "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { for (;;) {} } }); throw e;",
    ),
    (
        "an error with a name that throws",
        "const e = new Error('x'); Object.defineProperty(e, 'name', { get() { throw e; } }); throw e;",
    ),
    (
        "throws a chain of throwers",
        "const t = () => ({ get message() { throw t(); }, get name() { throw t(); }, toString() { throw t(); } }); throw t();",
    ),
    ("throws undefined", "throw undefined;"),
    ("throws a number", "throw 7;"),
    ("throws an object", "throw { a: 1 };"),
    ("throws a symbol", "throw Symbol('x');"),
    ("throws a function", "throw () => 1;"),
    ("throws a long text", "throw 'x'.repeat(1e7);"),
    (
        "rejects and never looks",
        "Promise.reject(new Error('x')); return 1;",
    ),
    ("rejects for ever", "for (;;) Promise.reject(1);"),
    (
        "jobs that make two",
        "const f = async () => { f(); f(); await null; f(); }; await f();",
    ),
    (
        "microtasks",
        "const f = () => queueMicrotask(f); f(); await new Promise(() => {});",
    ),
    (
        "a then that answers itself",
        "const t = { then(f) { f(t); } }; await t;",
    ),
    (
        "all of all",
        "let p = Promise.resolve(1); for (;;) p = Promise.all([p, p]);",
    ),
    (
        "awaits a long chain",
        "let p = Promise.resolve(1); for (let n = 0; n < 300000; n++) p = p.then(x => x); return await p;",
    ),
    (
        "a getter",
        "const o = { get a() { return this.a; } }; return o.a;",
    ),
    (
        "a setter",
        "const o = { set a(x) { this.a = x; } }; o.a = 1;",
    ),
    (
        "a text of its own",
        "const o = { toString() { for (;;) {} } }; return '' + o;",
    ),
    (
        "a value of its own",
        "const o = { valueOf() { return o + 1; } }; return o + 1;",
    ),
    (
        "a primitive of its own",
        "const o = { [Symbol.toPrimitive]: () => { for (;;) {} } }; return +o;",
    ),
    (
        "an instance of its own",
        "const o = { [Symbol.hasInstance]() { for (;;) {} } }; return 1 instanceof o;",
    ),
    (
        "a species of its own",
        "class A extends Array { static get [Symbol.species]() { for (;;) {} } } return new A(1, 2).map(x => x);",
    ),
    (
        "a key of its own",
        "const k = { toString() { for (;;) {} } }; return ({})[k];",
    ),
    (
        "a matcher of its own",
        "const r = { [Symbol.replace]() { for (;;) {} } }; return 'a'.replace(r, 'b');",
    ),
    (
        "a pattern's flags",
        "const r = /a/g; Object.defineProperty(r, 'flags', { get() { for (;;) {} } }); return 'a'.replace(r, '');",
    ),
    (
        "a pattern's exec",
        "const r = /a/g; r.exec = () => ({ index: 0, length: 1, 0: '' }); return 'a'.replace(r, '');",
    ),
    (
        "a length of its own",
        "return Array.from({ get length() { for (;;) {} } });",
    ),
    (
        "a comparison that throws",
        "for (;;) try { [3, 2, 1].sort(() => { throw 1; }); } catch (e) {}",
    ),
    (
        "a comparison that changes the list",
        "const a = Array.from({ length: 1000 }, (_, n) => n); a.sort((x, y) => { a.push(1); return y - x; }); return a.length;",
    ),
    (
        "a reviver that grows",
        "JSON.parse('[1,2]', function (k, v) { this[this.length] = 1; return [1, [v]]; });",
    ),
    ("lists", "const all = []; for (;;) all.push([all.length]);"),
    (
        "objects",
        "const all = {}; for (let n = 0; ; n++) all['k' + n] = { n };",
    ),
    (
        "maps",
        "const all = new Map(); for (let n = 0; ; n++) all.set(n, new Map([[n, n]]));",
    ),
    (
        "sets of texts",
        "const all = new Set(); for (let n = 0; ; n++) all.add('text ' + n);",
    ),
    (
        "closures",
        "const all = []; for (let n = 0; ; n++) all.push(() => n);",
    ),
    (
        "a chain of closures",
        "let f = () => 1; for (;;) { const g = f; f = () => g; }",
    ),
    (
        "symbols",
        "const all = []; for (let n = 0; ; n++) all.push(Symbol.for('s' + n));",
    ),
    (
        "patterns",
        "const all = []; for (let n = 0; ; n++) all.push(new RegExp('a{' + n % 100 + '}b'));",
    ),
    (
        "generators",
        "function* g() { yield 1; } const all = []; for (;;) { const x = g(); x.next(); all.push(x); }",
    ),
    (
        "promises",
        "const all = []; for (;;) all.push(new Promise(() => {}));",
    ),
    (
        "a wide list",
        "const all = []; all.length = 2 ** 31; all[2 ** 31 - 1] = 1; for (let n = 0; ; n++) all[n] = 1;",
    ),
    (
        "a list from behind",
        "const all = []; for (let n = 2 ** 26; ; n--) all[n] = n;",
    ),
    ("unshifts", "const all = []; for (;;) all.unshift(1);"),
    (
        "shifts",
        "const all = Array(1e6).fill(1); for (;;) { all.shift(); all.push(1); }",
    ),
    (
        "splices",
        "const all = Array(1e6).fill(1); for (;;) { all.splice(1, 1); all.splice(1, 0, 1); }",
    ),
    (
        "deletes",
        "const o = {}; for (let n = 0; n < 100000; n++) o['k' + n] = n; for (;;) { delete o.k5; o.k5 = 1; }",
    ),
    (
        "rest of a list",
        "const a = Array(500000).fill(1); for (;;) { const [x, ...b] = a; }",
    ),
    (
        "rest of an object",
        "const o = {}; for (let n = 0; n < 20000; n++) o['k' + n] = n; for (;;) { const { k1, ...p } = o; }",
    ),
    (
        "rest of arguments",
        "const f = (...all) => all.length, a = Array(60000).fill(1); for (;;) f.apply(null, a);",
    ),
    (
        "applies",
        "const a = Array(60000).fill(1); for (;;) Math.max.apply(null, a);",
    ),
    (
        "reflects",
        "const a = Array(60000).fill(1); for (;;) Reflect.apply(Math.max, null, a);",
    ),
    (
        "constructs",
        "const a = Array(60000).fill(1); for (;;) Reflect.construct(Array, a);",
    ),
    (
        "long keys",
        "const k = 'x'.repeat(1e7) + 'y', o = {}; for (;;) o[k];",
    ),
    (
        "long keys in",
        "const k = 'x'.repeat(1e7) + 'y', o = {}; for (;;) k in o;",
    ),
    (
        "long keys made",
        "const k = 'x'.repeat(1e7) + 'y'; for (;;) ({ [k]: 1 });",
    ),
    (
        "long keys of objects",
        "const k = ['x'.repeat(1e7) + 'y'], o = {}; for (;;) o[k];",
    ),
    (
        "long keys of maps",
        "const k = 'x'.repeat(1e7) + 'y', o = new Map(); for (;;) o.get(k);",
    ),
    (
        "long keys of own",
        "const k = 'x'.repeat(1e7) + 'y', o = {}; for (;;) Object.hasOwn(o, k);",
    ),
    ("long numbers", "const a = '1'.repeat(1e7); for (;;) a - 1;"),
    (
        "long numbers with a sign",
        "const a = '1'.repeat(1e7); for (;;) +a;",
    ),
    (
        "long numbers of lists",
        "const a = ['1'.repeat(1e7)]; for (;;) a * 2;",
    ),
    (
        "long numbers of functions",
        "const a = '1'.repeat(1e7); for (;;) Math.abs(a);",
    ),
    (
        "long numbers asked for",
        "const a = '1'.repeat(1e7); for (;;) isNaN(a);",
    ),
    (
        "switch over long texts",
        "const a = 'x'.repeat(1e7), b = 'x'.repeat(1e7); for (;;) switch (a) { case b: 1; }",
    ),
    (
        "texts in lists",
        "const a = ['x'.repeat(1e7)], b = 'x'.repeat(1e7); for (;;) a.includes(b);",
    ),
    (
        "letters of a long text",
        "const a = 'x'.repeat(1e7); for (;;) a.at(-1) + a.charAt(5) + a[7];",
    ),
    (
        "a pattern over and over",
        "const r = /x/, a = 'y'.repeat(1e7); for (;;) r.test(a);",
    ),
    (
        "a sticky pattern",
        "const r = /(?:)/gy, a = 'y'.repeat(1e7); for (;;) { r.lastIndex = 5; r.exec(a); }",
    ),
    (
        "many short patterns",
        "const r = /(?:a|a)*b/; for (;;) r.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaa');",
    ),
    (
        "many patterns of one kind",
        "const r = /(?:\\w*)*\\d/; for (;;) r.exec('abcdefghijklm');",
    ),
    (
        "patterns compiled",
        "for (let n = 0; ; n++) new RegExp('(?:' + 'a|'.repeat(1000) + n + ')');",
    ),
    (
        "patterns of classes",
        "for (let n = 0; ; n++) new RegExp('[\\\\p{L}\\\\p{N}\\\\p{S}]' + n, 'u');",
    ),
    (
        "splits by a pattern",
        "const a = 'ab'.repeat(5e5); for (;;) a.split(/b/);",
    ),
    (
        "chains of prototypes",
        "let o = {}; for (let n = 0; n < 100000; n++) o = Object.create(o); for (;;) o.x;",
    ),
    (
        "chains by functions",
        "let o = {}; function F() {} for (let n = 0; n < 100000; n++) { F.prototype = o; o = new F(); } for (;;) o.x;",
    ),
    (
        "chains by classes",
        "let A = class {}; for (let n = 0; n < 30000; n++) A = class extends A {}; for (;;) A.x;",
    ),
    (
        "chains by literals",
        "let o = {}; for (let n = 0; n < 100000; n++) o = { __proto__: o }; for (;;) o.x;",
    ),
    (
        "chains by generators",
        "function* g() {} let o = g(); for (let n = 0; n < 100000; n++) { g.prototype = o; o = g(); } for (;;) o.x;",
    ),
    (
        "chains set later",
        "let o = {}; for (let n = 0; n < 100000; n++) o = Object.setPrototypeOf({}, o); for (;;) o.x;",
    ),
    (
        "keys that collide",
        "const m = new Map(); for (let n = 0; ; n++) m.set(n * 2 ** 32, n);",
    ),
    (
        "whole numbers that collide",
        "const m = new Map(); for (let n = 1; ; n++) m.set(n * 65536, n);",
    ),
    (
        "iterator helpers",
        "function* g() { for (;;) yield 1; } return g().map(x => x).filter(x => !x).next();",
    ),
    (
        "iterators in iterators",
        "let i = [1].values(); for (let n = 0; n < 100000; n++) i = i.map(x => x); return i.next();",
    ),
    (
        "iterators that take in iterators",
        "let i = [1].values(); for (let n = 0; n < 100000; n++) i = Iterator.from(i).take(5).drop(0); return [...i];",
    ),
    (
        "sets of sets",
        "const a = new Set(Array.from({ length: 200000 }, (_, n) => n)); for (;;) a.union(a);",
    ),
    (
        "sets that are compared",
        "const a = new Set(Array.from({ length: 200000 }, (_, n) => n)); for (;;) a.isSubsetOf(a);",
    ),
    (
        "maps that are emptied",
        "const a = new Map(); for (;;) { for (let n = 0; n < 1000; n++) a.set(n, n); a.clear(); }",
    ),
    (
        "a structure that is given back",
        "for (;;) { let a = null; for (let n = 0; n < 100000; n++) a = { a }; }",
    ),
    (
        "texts from codes",
        "const a = Array(60000).fill(65); for (;;) String.fromCharCode(...a);",
    ),
    (
        "raw texts",
        "for (;;) String.raw({ raw: { length: 1e9 } });",
    ),
    (
        "numbers as text",
        "for (;;) (2 ** 1000).toString(2) + (1e300).toFixed(100) + (5e-324).toPrecision(100);",
    ),
    ("dates", "return typeof Date;"),
    ("random", "return Math.random();"),
    ("random by key", "return Math['ran' + 'dom']();"),
    ("eval", "return eval('1');"),
    ("eval by key", "return (0, this?.['eval'])('1');"),
    ("functions of texts", "return new Function('return 1')();"),
    (
        "functions of generators",
        "return (function* () {}).constructor('yield 1')().next();",
    ),
    (
        "functions of async generators",
        "return Object.getPrototypeOf(async function* () {}).constructor('yield 1');",
    ),
    ("import", "return (await import('std')).exit;"),
    ("modules", "import * as os from 'os'; return os;"),
    ("web assembly", "return WebAssembly;"),
    ("shared memory", "return new SharedArrayBuffer(8);"),
    ("waits", "return Atomics.wait(new Int32Array(8), 0, 0);"),
    ("typed lists", "return new Uint8Array(1e9);"),
    ("workers", "return new Worker('x');"),
    ("timers", "setTimeout(() => {}, 1e9);"),
    ("the global object", "return globalThis;"),
    (
        "the global object by a function",
        "return (function () { return typeof this; })();",
    ),
    ("callers", "function f() { return f.caller; } return f();"),
    (
        "arguments",
        "return (function () { return arguments.callee; })();",
    ),
    ("the counter", "return typeof __windlass_n;"),
    (
        "the counter by its letters",
        "let \\u005f_windlass_n = -1e9; for (;;) {}",
    ),
    ("the host", "return typeof tools.constructor;"),
    (
        "spoils what counts",
        "Function.prototype.call = Function.prototype.apply = () => 1; Object.defineProperty(Object.prototype, 'length', { get() { return 0; } }); Array.prototype[Symbol.iterator] = function* () {}; const a = 'x'.repeat(1e6); for (;;) a.split('');",
    ),
    (
        "spoils what answers",
        "Object.prototype.then = function (f) { for (;;) {} }; return await tools.look({});",
    ),
    (
        "spoils promises",
        "Promise.prototype.constructor = function () { for (;;) {} }; Promise.resolve = null; return await tools.look({});",
    ),
    (
        "spoils a promise's kind",
        "Object.defineProperty(Promise, Symbol.species, { get() { for (;;) {} } }); return await tools.look({}).then(x => x);",
    ),
    (
        "spoils errors",
        "Object.defineProperty(Error.prototype, 'name', { set() { for (;;) {} }, get() { for (;;) {} } }); Object.defineProperty(Error.prototype, 'message', { get() { for (;;) {} } }); return await tools.look(7);",
    ),
    (
        "spoils objects",
        "Object.prototype.get = () => 1; Object.prototype.value = 7; Object.prototype.writable = false; Object.prototype.configurable = false; memory.a = 1; print({ a: 1 }); return await tools.look({ a: { b: [1] } });",
    ),
    (
        "keeps the last of all",
        "const all = []; for (;;) all.push({}, [], () => 1, /a/, 'a' + all.length);",
    ),
];
