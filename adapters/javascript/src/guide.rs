//! Guide to the language, for the model.

use windlass_core::ToolSpec;
use windlass_ports::TEXT_TOOLS;

const GUIDE: &str = "\
You answer with a JavaScript program, in one fence marked `javascript` where you write it as text. It is
the body of an async function:

- `await tools.name({ key: value })` calls a tool with one object. The result is data where
  all of the tool's answer is JSON, and text otherwise; a tool that is marked `-> text` gives text, of
  which `JSON.parse` makes data. A call that fails throws a `ToolError`.
- Calls that are started together run together:
  `const [a, b] = await Promise.all([tools.x({}), tools.y({})])`. Await every call: one that fails
  and that nobody awaits ends the program.
- `return value` ends your work with this result. `fail(reason)` gives up.
- A program that does not return ends with the value of its last expression: you are shown it, and go on
  with another program.
- `print(...)` or `console.log(...)` shows you something.
- What you set on `memory`, for example `memory.seen = [1, 2]`, is there in your next programs, as JSON.
  Other names do not last. `data` has the inputs. `tools` and `memory` cannot be declared anew.
- Results, memory and arguments are JSON values; of a `Map` its entries are told, of a `Set` its values.
- There is no clock, no `Date`, no randomness, no timer, no network, no file, no module, no `eval`, and
  no big integer. Every name must be declared. Steps, memory, depth, calls and prints are limited.
";

/// The guide to the language and these tools.
pub(crate) fn guide(tools: &[ToolSpec]) -> String {
    let mut guide = GUIDE.to_owned();
    if tools.is_empty() {
        guide.push_str("\nThere are no tools.\n");
        return guide;
    }
    guide.push_str("\nThe tools, each with the JSON Schema of its object:\n");
    for tool in tools {
        let ToolSpec { name, description, parameters, .. } = tool;
        let call =
            if identifier(name) { format!("tools.{name}") } else { format!("tools[\"{name}\"]") };
        let gives = if TEXT_TOOLS.contains(&name.as_str()) { " -> text" } else { "" };
        guide.push_str(&format!("\n- `{call}`{gives}: {description}\n  {parameters}\n"));
    }
    guide
}

fn identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
