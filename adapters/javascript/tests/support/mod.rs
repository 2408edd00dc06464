//! JavaScript as the suite's fixture, with programs that mean harm.

mod family;

use std::sync::Arc;

use windlass_javascript::JavaScript;
use windlass_ports::ProgramRuntime;
use windlass_testkit::programs::suite::{ProgramFixture, Sample};

/// The language.
pub(crate) struct Script;

impl ProgramFixture for Script {
    fn runtime(&self) -> Arc<dyn ProgramRuntime> {
        Arc::new(JavaScript)
    }

    fn write(&self, sample: &Sample<'_>) -> Option<String> {
        Some(match *sample {
            Sample::Value(value) => format!("({value});"),
            Sample::Return(value) => format!("return {value};"),
            Sample::Fail(value) => format!("fail({value});"),
            Sample::Broken => "memory.n = 1;\nconst nothing = null;\nreturn nothing.n;".to_owned(),
            Sample::Call(tool, arguments) => format!("return await tools.{tool}({arguments});"),
            Sample::NeverCalled(tool) => {
                format!("if (false) {{ await tools.{tool}({{}}); }}\nreturn 1;")
            }
            Sample::Both([(one, first), (other, second)]) => format!(
                "return await Promise.all([tools.{one}({first}), tools.{other}({second})]);"
            ),
            Sample::Loop(tool, count) => format!(
                "const all = [];\nfor (let n = 0; n < {count}; n++) all.push(await tools.{tool}({{ n }}));\n\
                 return all;"
            ),
            Sample::Mapped(tool, count) => format!(
                "const each = async (list, f) => {{\n  const all = [];\n  for (const n of list) \
                 all.push(await f(n));\n  return all;\n}};\nreturn await each([...Array({count}).keys()], \
                 n => tools.{tool}({{ n }}));"
            ),
            Sample::Parallel(tool, count) => format!(
                "return await Promise.all([...Array({count}).keys()].map(n => tools.{tool}({{ n }})));"
            ),
            Sample::Recovered(tool, arguments) => format!(
                "try {{ return await tools.{tool}({arguments}); }} catch (e) {{\n  if (e.name !== \
                 'ToolError') throw e;\n  return 'recovered';\n}}"
            ),
            Sample::Now => "return Date.now();".to_owned(),
            Sample::Random => "return Math.random();".to_owned(),
            Sample::Unheeded(tool) => format!("tools.{tool}({{}});\nreturn 1;"),
            Sample::Rounds(rounds) => {
                format!("let n = 0;\nouter: while (n < {rounds}) {{ n++; continue outer; }}\nn")
            }
            Sample::UnknownName => "if (false) { nothing; }\nreturn 1;".to_owned(),
            Sample::Data(name) => format!("return data.{name};"),
            Sample::Keep(name, value) => format!("memory.{name} = {value};\n1;"),
            Sample::Kept(name) => format!("return memory.{name};"),
            Sample::KeepAndFail(name, value) => format!("memory.{name} = {value};\nfail('no');"),
            Sample::Remove(name) => format!("delete memory.{name};\n1;"),
            Sample::KeepMuch(letters) => format!("memory.much = 'x'.repeat({letters});\n1;"),
            Sample::Print(lines) => {
                lines.iter().map(|line| format!("print('{line}');\n")).collect()
            }
            Sample::PrintMuch(lines) => {
                format!("for (let n = 0; n < {lines}; n++) print('0123456789');")
            }
            Sample::ReturnMuch(letters) => format!("return 'x'.repeat({letters});"),
            Sample::Endless => "for (;;) {}".to_owned(),
            Sample::CallThenEndless(tool) => {
                format!("await tools.{tool}({{}});\nwhile (true) {{}}")
            }
            Sample::MemoryBomb => {
                "const all = [];\nfor (;;) all.push(new Array(100).fill(7));".to_owned()
            }
            Sample::Recursion => "const f = n => 1 + f(n + 1);\nreturn f(0);".to_owned(),
            Sample::NestedSource(depth) => {
                format!("return {}{};", "[".repeat(depth), "]".repeat(depth))
            }
            Sample::NestedValue => {
                "let x = 0;\nfor (let n = 0; n < 1000000; n++) x = [x];\nreturn x;".to_owned()
            }
            Sample::Catastrophic => "return /^(a+)+$/.test('a'.repeat(60) + 'b');".to_owned(),
            Sample::EndlessCalls(tool) => {
                format!("for (;;) {{ try {{ await tools.{tool}({{}}); }} catch (e) {{}} }}")
            }
            Sample::MillionCalls(tool) => format!(
                "return await Promise.all([...Array(1000000).keys()].map(n => tools.{tool}({{ n }})));"
            ),
        })
    }

    fn whole_memory(&self, name: &str, value: &str) -> Option<String> {
        Some(format!("{{\"javascript\":{{\"{name}\":{value}}}}}"))
    }

    fn answer(&self, source: &str) -> String {
        format!("I will do it so:\n\n```javascript\n{source}\n```\n\nThat is all.")
    }

    fn malformed(&self) -> Vec<String> {
        [
            "return [1",
            "let",
            "const x = ;",
            "}",
            "})(); (function () {",
            "}; }); for (;;) {} (function () { return async function () {",
            "let a; let a;",
            "import x from 'y';",
            "export const x = 1;",
            "await import('fs');",
            "with (data) { x }",
            "let tools = {};",
            "memory = {};",
            "x = 5;",
            "10n ** 1000000n",
            "'a\u{0}b'",
            "return 'x <!-- y';",
            "return eval('1');",
            "return Function('return 1')();",
            "return performance.now();",
            "return globalThis;",
            "return __windlass;",
            "let \\u005f_windlass_n = -1e9;",
            "function* g() {} g.prototype = {};",
            "setTimeout(() => {}, 1);",
            "return new Proxy({}, {});",
            "const { no_such } = tools;",
            "return await tools['no_such']({});",
            "return await tools?.no_such({});",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn hostile(&self) -> Vec<(&'static str, String)> {
        family::family()
    }
}
