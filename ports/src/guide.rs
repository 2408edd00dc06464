//! Guide for models that write programs: the part that all languages have, in one wording.

mod shape;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_core::{Limits, ProgramLimits, ProgramTransport, ReportLimits, Settings, ToolSpec};

use shape::{schema_shape, value_shape};

/// Most bytes of a schema that is shown whole.
const MAX_SCHEMA_BYTES: usize = 8 << 10;
/// Most bytes of the list of inputs.
const MAX_INPUT_BYTES: usize = 4 << 10;

/// Content of the guide for a model that writes programs.
///
/// A runtime writes the guide: its language, the text of [`ProgramGuide::rules`], and the tools as
/// its functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramGuide {
    /// Tools, as functions of the programs.
    pub tools: Vec<ToolSpec>,
    /// Inputs of programs, as JSON text of an object, if there are any.
    pub data: Option<Arc<str>>,
    /// JSON Schema of the returned value, as JSON text, if there is one.
    pub schema: Option<String>,
    /// Transport of programs.
    pub transport: ProgramTransport,
    /// Most programs of a turn; the last one cannot call tools.
    pub programs: u32,
    /// Most further programs that correct a result, or a last program without one.
    pub re_asks: u32,
    /// Limits of one program.
    pub limits: ProgramLimits,
    /// Limits of the report on a program.
    pub report: ReportLimits,
}

/// Expressions of a language, as the guide quotes them.
#[derive(Debug, Clone, Copy)]
pub struct GuideSyntax<'a> {
    /// Info string of the fence around a program.
    pub fence: &'a str,
    /// Returns a result.
    pub result: &'a str,
    /// Reports failure.
    pub failure: &'a str,
    /// Prints.
    pub print: &'a str,
    /// Catches the failure of a tool.
    pub handler: &'a str,
    /// Keeps a value for later programs.
    pub retained: &'a str,
    /// Writes the expression of an input.
    pub input: fn(&str) -> String,
}

impl Default for ProgramGuide {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            data: None,
            schema: None,
            transport: ProgramTransport::default(),
            programs: Limits::default().samples,
            re_asks: 0,
            limits: ProgramLimits::default(),
            report: ReportLimits::default(),
        }
    }
}

impl ProgramGuide {
    /// Returns the content for these settings; `None` if their model writes no programs.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Self> {
        let program = settings.options.program.as_ref()?;
        let schema = settings.options.output_schema.as_ref();
        Some(Self {
            tools: settings.offered_tools().cloned().collect(),
            data: program.data.clone(),
            schema: schema.map(|schema| schema.schema.clone()),
            transport: program.transport,
            programs: settings.work_samples(&settings.limits),
            re_asks: settings.max_re_asks(&settings.limits),
            limits: program.limits,
            report: ReportLimits::of(settings),
        })
    }

    /// Returns the rules that hold in all languages: how programs are written and end, the form of
    /// the result, the inputs, the limits, failures of tools, and what is kept. Equal content gives
    /// equal text.
    #[must_use]
    pub fn rules(&self, syntax: &GuideSyntax<'_>) -> String {
        let mut text = self.number(syntax);
        text.push_str(&ends(syntax));
        text.push_str(&self.result(syntax));
        text.push_str(&self.inputs(syntax));
        text.push_str(&self.shown(syntax));
        text.push_str(&self.failures(syntax));
        text.push_str(&self.kept(syntax));
        text
    }

    fn number(&self, syntax: &GuideSyntax<'_>) -> String {
        let how = match self.transport {
            ProgramTransport::Call => "as the source of a call of run_program".to_owned(),
            ProgramTransport::Text => {
                format!("in the text of the answer, in one block of code marked {}", syntax.fence)
            }
        };
        let most = match self.programs {
            1 => {
                "For each message of the user you have one program. It cannot call tools and must \
                  return the result."
                    .to_owned()
            }
            most => format!(
                "For each message of the user you have at most {most} programs. The last one cannot \
                 call tools and must return the result; you are told before you write it."
            ),
        };
        let corrections = match (self.re_asks, &self.schema) {
            (0, _) => String::new(),
            (most, None) => {
                format!(" If it has no result, you can correct it, at most {most} times.")
            }
            (most, Some(_)) => format!(
                " If it has no result, or a result does not match, you can correct it, at most {most} \
                 times."
            ),
        };
        format!(
            "## Programs\n\nYou use the tools by programs alone. Write one program in each answer, \
             {how}. {most}{corrections}\n"
        )
    }

    fn result(&self, syntax: &GuideSyntax<'_>) -> String {
        let returns = syntax.result;
        let Some(schema) = &self.schema else {
            return format!(
                "\n## The result\n\nWhat is returned is what the user reads, and all that the user \
                 reads: {returns} with a text that answers the user.\n"
            );
        };
        let mut text = format!(
            "\n## The result\n\nWhat is returned is what the user reads, and all that the user \
             reads. The value of {returns} must be: {}\nA ? marks what may be missing.",
            schema_shape(schema)
        );
        match schema.len() <= MAX_SCHEMA_BYTES {
            true => _ = write!(text, " It must match this JSON Schema:\n{}\n", schema.trim()),
            false => {
                _ = writeln!(
                    text,
                    " It must match a JSON Schema of {} bytes, which is too long to be shown.",
                    schema.len()
                );
            }
        }
        text
    }

    fn inputs(&self, syntax: &GuideSyntax<'_>) -> String {
        let inputs = self.data.as_deref().map(serde_json::from_str::<Map<String, Value>>);
        let Some(Ok(inputs)) = inputs else {
            return "\n## Inputs\n\nThere are no inputs.\n".to_owned();
        };
        let mut text = "\n## Inputs\n\n".to_owned();
        // In a fixed order, whatever order objects are kept in.
        let mut names: Vec<&String> = inputs.keys().collect();
        names.sort_unstable();
        let mut left = names.len();
        for name in names {
            let shape = inputs.get(name).map(value_shape).unwrap_or_default();
            let line = format!("- {}: {shape}\n", (syntax.input)(name));
            if text.len().saturating_add(line.len()) > MAX_INPUT_BYTES {
                _ = writeln!(text, "- and {left} more");
                break;
            }
            text.push_str(&line);
            left = left.saturating_sub(1);
        }
        text
    }

    fn shown(&self, syntax: &GuideSyntax<'_>) -> String {
        let size = |shown: usize| bytes(u64::try_from(shown).unwrap_or(u64::MAX));
        format!(
            "\n## What you are shown\n\n{} shows you x. The middle is cut out of prints that have more \
             than {} in all, and out of a value of more than {}. A program that prints more than {}, \
             or ends with a value of more than {} as JSON, fails.\n",
            syntax.print,
            size(self.report.prints),
            size(self.report.value),
            bytes(self.limits.print_bytes),
            bytes(self.limits.value_bytes),
        )
    }

    fn failures(&self, syntax: &GuideSyntax<'_>) -> String {
        if self.tools.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n## Tools that fail\n\nA call that fails ends the program with a fault, unless the \
             program catches it: {}.",
            syntax.handler
        );
        if self.tools.iter().any(|tool| tool.name == "shell") {
            text.push_str(
                " A command of shell that exits with another code than 0 has not failed: its output \
                 begins with the line [exit code N].",
            );
        }
        text.push('\n');
        text
    }

    fn kept(&self, syntax: &GuideSyntax<'_>) -> String {
        format!(
            "\n## What is kept\n\n{} What is kept is there in later programs, also after the next message of \
             the user, if the program ends with a value or returns. At most {} are kept in all. \
             After each program you are told what is kept, and how many programs are left.\n",
            syntax.retained,
            bytes(self.limits.retained_bytes),
        )
    }
}

fn ends(syntax: &GuideSyntax<'_>) -> String {
    let GuideSyntax { result, failure, .. } = syntax;
    format!(
        "\n## How a program ends\n\n\
         - {result}: the work is done, and this is its result.\n\
         - {failure}: the work cannot be done, for this reason.\n\
         - With the value of its last expression: you are shown the value and what was printed, and \
         write the next program.\n\
         - With a fault: you are told where and why. Nothing that the program defined is kept, but the \
         calls that it made have happened.\n"
    )
}

/// Returns a size in the largest unit that divides it.
fn bytes(count: u64) -> String {
    match count {
        0 => "0 bytes".to_owned(),
        _ if count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ if count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        _ => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNTAX: GuideSyntax<'_> = GuideSyntax {
        fence: "lang",
        result: "`return x`",
        failure: "`fail x`",
        print: "`print x`",
        handler: "`try`",
        retained: "`keep x`.",
        input: |name| format!("$data.{name}"),
    };

    #[test]
    fn it_states_the_contract_and_the_inputs() {
        let guide = ProgramGuide {
            data: Some(r#"{"rows":[{"id":1,"tags":[]}],"max":3,"who":{"name":"a"}}"#.into()),
            schema: Some(
                r#"{"type":"object","required":["total"],"properties":{"total":{"type":"number"},
                   "notes":{"type":"array","items":{"type":"string"}}}}"#
                    .into(),
            ),
            programs: 4,
            re_asks: 2,
            ..ProgramGuide::default()
        };
        let text = guide.rules(&SYNTAX);
        for there in [
            "at most 4 programs. The last one cannot call tools",
            "What is returned is what the user reads",
            "must be: object {total: number, notes?: list of text}",
            "\"required\":[\"total\"]",
            "at most 2 times",
            "- $data.max: number\n- $data.rows: list of 1 object {id: number, tags: empty list}\n\
             - $data.who: object {name: text}\n",
            "more than 8 KiB in all",
            "a value of more than 16 KiB",
        ] {
            assert!(text.contains(there), "{there}: {text}");
        }
        assert_eq!(text, guide.clone().rules(&SYNTAX));
    }

    #[test]
    fn it_is_bounded() {
        let data: Map<String, Value> =
            (0..5_000).map(|n| (format!("input{n}"), Value::from(n))).collect();
        let guide = ProgramGuide {
            data: Some(Value::Object(data).to_string().into()),
            schema: Some(format!("{{\"enum\":[\"{}\"]}}", "x".repeat(100_000))),
            ..ProgramGuide::default()
        };
        let text = guide.rules(&SYNTAX);
        assert!(text.len() < 8_000, "{}", text.len());
        assert!(text.contains("more\n") && text.contains("too long to be shown"), "{text}");
    }

    #[test]
    fn one_program_alone_is_the_last_one() {
        let text = ProgramGuide { programs: 1, ..ProgramGuide::default() }.rules(&SYNTAX);
        assert!(text.contains("you have one program. It cannot call tools"), "{text}");
        assert!(
            text.contains("There are no inputs.") && !text.contains("Tools that fail"),
            "{text}"
        );
    }
}
