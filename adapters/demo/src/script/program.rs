//! The same plans where the model is to write programs: one program does all of one, and returns the
//! answer.

use serde_json::{Value, json};

use super::plan::{Plan, Repeat};
use super::summary::quoted;
use super::{ModelAction, abilities, not_offered};
use crate::answer::MODEL;
use crate::request::{Language, ParsedRequest, ProgramRequest};

/// The tool that takes a program.
const RUN: &str = "run_program";
/// The longest program that is written, in bytes.
const MOST: usize = 48 << 10;

/// Decides what comes next: a program, or, once one has come back, an honest word.
pub(super) fn next(asked: &ParsedRequest, writes: ProgramRequest) -> ModelAction {
    if let Some(told) = asked.returned(RUN) {
        let told = quoted(told);
        return ModelAction::Answer(format!("My program did not return. I was told: {told} {ME}"));
    }
    if asked.messages > 0 {
        return ModelAction::Answer(format!("My program did not return. {ME}"));
    }
    let plan = Plan::of(&asked.prompt);
    if let Some(tool) = tools(&plan).into_iter().find(|tool| !asked.offers(tool)) {
        return ModelAction::Answer(not_offered(asked, tool));
    }
    let source = match writes.language {
        Language::PtcLisp => ptclisp(&plan),
        Language::JavaScript => javascript(&plan),
    };
    match (source, plan) {
        (Some(source), _) if source.len() > MOST => {
            ModelAction::Answer(format!("This would be too long a program. {ME}"))
        }
        (Some(source), _) if writes.inline => ModelAction::Answer(format!(
            "I do this with one program.\n\n```{}\n{source}\n```\n",
            writes.language.fence()
        )),
        (Some(source), _) => ModelAction::Call {
            tool: RUN.into(),
            arguments: vec![json!({ "source": source }).to_string()],
        },
        (None, Plan::Slowly { text }) => ModelAction::AnswerSlowly(format!("{text} {ME}")),
        (None, Plan::Unclear { why }) => ModelAction::Answer(format!("{why} {}", abilities(asked))),
        (
            None,
            Plan::Greet
            | Plan::Folder
            | Plan::Read { .. }
            | Plan::Search { .. }
            | Plan::Shell { .. }
            | Plan::Write { .. }
            | Plan::Direct(_)
            | Plan::Repeat(_),
        ) => ModelAction::Answer(format!("Hello! {}", abilities(asked))),
    }
}

/// Last line of every answer.
const ME: &str = "(I am demo-script, a script and not a model.)";

/// The tools that a plan is done with.
fn tools(plan: &Plan) -> Vec<&str> {
    match plan {
        Plan::Folder => vec!["list_dir", "read_file"],
        Plan::Read { .. } => vec!["read_file"],
        Plan::Search { .. } => vec!["grep"],
        Plan::Shell { .. } => vec!["shell"],
        Plan::Write { .. } => vec!["write_file", "read_file"],
        Plan::Repeat(repeat) => vec![&repeat.tool],
        Plan::Direct(_) | Plan::Slowly { .. } | Plan::Unclear { .. } | Plan::Greet => Vec::new(),
    }
}

/// Returns the opening words of an answer that reports the result of a call.
fn result_intro(tool: &str, about: &str) -> String {
    format!("I am {MODEL}, a script and not a model. My program called {tool} on {about}: ")
}

fn ptclisp(plan: &Plan) -> Option<String> {
    let one = |tool: &str, about: &str, arguments: Value| {
        let begins = json!(result_intro(tool, about));
        let arguments = lisp(&arguments);
        format!("(return (str {begins} (tool/{tool} {arguments})))")
    };
    Some(match plan {
        Plan::Folder => FOLDER_LISP.to_owned(),
        Plan::Read { path } => one("read_file", path, json!({ "path": path })),
        Plan::Search { pattern } => one("grep", pattern, json!({ "pattern": pattern })),
        Plan::Shell { command } => one("shell", command, json!({ "command": command })),
        Plan::Write { path, content } => format!(
            "(let [written (tool/write_file {})\n      text (tool/read_file {})]\n  \
             (return (str {} written \" Reading it back gave: \" text)))",
            lisp(&json!({ "path": path, "content": content })),
            lisp(&json!({ "path": path })),
            json!(result_intro("write_file", path)),
        ),
        Plan::Repeat(repeat) => {
            let map = if repeat.together { "pmap" } else { "mapv" };
            let all: Vec<String> = arguments(repeat).iter().map(lisp).collect();
            format!(
                "(let [outputs ({map} (fn [with] (tool/{} with))\n                    [{}])]\n  \
                 (return (str {} (join \" \" (map (comp trim str) outputs)))))",
                repeat.tool,
                all.join("\n                     "),
                json!(times(repeat)),
            )
        }
        Plan::Direct(_) | Plan::Slowly { .. } | Plan::Unclear { .. } | Plan::Greet => return None,
    })
}

fn javascript(plan: &Plan) -> Option<String> {
    let one = |tool: &str, about: &str, arguments: Value| {
        let begins = json!(result_intro(tool, about));
        format!("return {begins} + text(await tools.{tool}({arguments}));\n{TEXT}")
    };
    Some(match plan {
        Plan::Folder => format!("{FOLDER_JS}{TEXT}"),
        Plan::Read { path } => one("read_file", path, json!({ "path": path })),
        Plan::Search { pattern } => one("grep", pattern, json!({ "pattern": pattern })),
        Plan::Shell { command } => one("shell", command, json!({ "command": command })),
        Plan::Write { path, content } => format!(
            "const written = await tools.write_file({});\nconst back = await tools.read_file({});\n\
             return {} + text(written) + \" Reading it back gave: \" + text(back);\n{TEXT}",
            json!({ "path": path, "content": content }),
            json!({ "path": path }),
            json!(result_intro("write_file", path)),
        ),
        Plan::Repeat(repeat) => {
            let all = Value::from(arguments(repeat));
            let tool = json!(repeat.tool);
            let calls = match repeat.together {
                true => format!("await Promise.all(all.map((one) => tools[{tool}](one)))"),
                false => "[]".to_owned(),
            };
            let each = match repeat.together {
                true => String::new(),
                false => {
                    format!("for (const one of all) outputs.push(await tools[{tool}](one));\n")
                }
            };
            format!(
                "const all = {all};\nconst outputs = {calls};\n{each}\
                 return {} + outputs.map((one) => text(one).trim()).join(\" \");\n{TEXT}",
                json!(times(repeat)),
            )
        }
        Plan::Direct(_) | Plan::Slowly { .. } | Plan::Unclear { .. } | Plan::Greet => return None,
    })
}

fn times(repeat: &Repeat) -> String {
    let Repeat { times, tool, .. } = repeat;
    format!("I am {MODEL}, a script and not a model. My program called {tool} {times} times: ")
}

fn arguments(repeat: &Repeat) -> Vec<Value> {
    let read = |step| serde_json::from_str(&repeat.arguments_of(step));
    (1..=repeat.times).map(|step| read(step).unwrap_or_default()).collect()
}

/// JSON as PTC-Lisp writes it: without commas and colons.
fn lisp(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(lisp).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{} {}", json!(key), lisp(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(" "))
        }
    }
}

/// Lists the folder and reads what tells most of it: three files at most.
const FOLDER_LISP: &str = r##"(let [listed (tool/list_dir {:path "."})
      found (map #(re-find #"^(.+) \(.*\)$" %) (split-lines listed))
      names (map #(nth % 1) (filter some? found))
      readable (filter #(re-find #"\.(md|txt|toml|json|rs|py|js)$" %) names)
      first-line (fn [name]
                   (let [lines (split-lines (tool/read_file {:path name}))]
                     (str name " has " (count lines) " lines and begins with: " (first lines))))
      read (mapv first-line (take 3 readable))]
  (println "read" (count read) "of" (count names) "files")
  (return (str "I am demo-script, a script and not a model. My program saw " (count names)
               " files here: " (join ", " names) ". " (join " " read))))"##;

/// The same program in JavaScript.
const FOLDER_JS: &str = r##"const listed = text(await tools.list_dir({ path: "." }));
const names = [];
for (const line of listed.split("\n")) {
  const found = /^(.+) \(.*\)$/.exec(line);
  if (found) names.push(found[1]);
}
const read = [];
for (const name of names.filter((one) => /\.(md|txt|toml|json|rs|py|js)$/.test(one)).slice(0, 3)) {
  const lines = text(await tools.read_file({ path: name })).split("\n");
  read.push(name + " has " + lines.length + " lines and begins with: " + lines[0]);
}
print("read", read.length, "of", names.length, "files");
return "I am demo-script, a script and not a model. My program saw " + names.length +
  " files here: " + names.join(", ") + ". " + read.join(" ");
"##;

/// Function that turns the result of a tool into text: JSON arrives as data.
const TEXT: &str = "function text(given) {\n  \
                    return typeof given === \"string\" ? given : JSON.stringify(given);\n}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_lisp() {
        let value = json!({"a": [1, true, null, "x\n\"y\""], "b-c": {}});
        assert_eq!(lisp(&value), r#"{"a" [1 true nil "x\n\"y\""] "b-c" {}}"#);
    }
}
