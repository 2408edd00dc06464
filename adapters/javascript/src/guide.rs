//! Guide to the language, for the model.

use windlass_core::ToolSpec;
use windlass_ports::{GuideSyntax, ProgramGuide, TEXT_TOOLS};

/// Text before the rules of all languages.
const INTRODUCTION: &str = "\
# Programs in JavaScript

You answer with a JavaScript program: the body of an async function, in strict mode. There is no timer, \
no network, no file, no module, no `eval` and no big integer. A program with an \
undeclared name or an unknown tool is refused as a whole, before anything of it runs.

";

/// Expressions that the rules of all languages quote.
const SYNTAX: GuideSyntax<'_> = GuideSyntax {
    fence: "javascript",
    result: "`return value`",
    failure: "`fail(reason)`",
    print: "`print(x)` or `console.log(x)`",
    handler: "`try { await tools.name({}) } catch (error) { print(error.message) }`",
    retained: "`memory.name = value` keeps a JSON value. No function and no other name is kept.",
    input,
};

/// Text before the list of tools.
const LANGUAGE: &str = "
## The language

- `await tools.name({ key: value })` calls a tool with one object. The result is data where all of the tool's answer is \
JSON, else text; a tool that is marked `-> text` gives text, of which `JSON.parse(text)` makes data.
- Calls that are started together run at the same time: \
`const [a, b] = await Promise.all([tools.x({}), tools.y({})])`.
- Await every call. One that fails and that nobody awaits ends the program.
- `memory` is an object, and `memory.name` is read in later programs. `tools` and `memory` cannot be declared again.
- `data.fail` is `{ reason, message, details }` of the program before, if it failed in this turn.
- `Date` shows the time of your answer, in UTC, and stands still. `Math.random()` works; a program that is run again gets the same numbers.
- Results, arguments, prints and `memory` hold JSON values. A `Map` becomes an object or a list of pairs, a `Set` a list.
";

/// Returns the guide: the rules, the language and the tools.
pub(crate) fn guide(guide: &ProgramGuide) -> String {
    let mut text = format!("{INTRODUCTION}{}{LANGUAGE}\n## Tools\n\n", guide.rules(&SYNTAX));
    if guide.tools.is_empty() {
        text.push_str("There are no tools.\n");
        return text;
    }
    text.push_str("Each with the JSON Schema of its object:\n");
    for tool in &guide.tools {
        let ToolSpec { name, description, parameters, .. } = tool;
        let gives = if TEXT_TOOLS.contains(&name.as_str()) { " -> text" } else { "" };
        let call = member("tools", name);
        text.push_str(&format!("\n- `{call}`{gives}: {description}\n  {parameters}\n"));
    }
    text
}

/// Writes the expression of an input.
fn input(name: &str) -> String {
    format!("`{}`", member("data", name))
}

/// Writes the property of an object.
fn member(object: &str, name: &str) -> String {
    match identifier(name) {
        true => format!("{object}.{name}"),
        false => format!("{object}[{name:?}]"),
    }
}

fn identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
