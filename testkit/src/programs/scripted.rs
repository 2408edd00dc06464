//! A runtime with a tiny language, for tests of the parts around programs.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_core::ProgramFault;
use windlass_ports::{
    FenceRules, GuideSyntax, PreparedProgram, ProgramEnvironment, ProgramGuide, ProgramRuntime,
    RunningProgram, fenced_blocks,
};

use super::parse::{Op, parse};
use super::run::Run;

/// The name of [`ScriptedRuntime`].
pub const SCRIPTED: &str = "scripted";

/// A runtime whose programs are lines, one step each.
///
/// | line | what it does |
/// |---|---|
/// | `call NAME JSON` | calls a tool; `$LAST` is the answer; a failed one is the fault `tool_error` |
/// | `try NAME JSON else JSON` | the same, but after a failed call `$LAST` is what stands after `else` |
/// | `both NAME JSON NAME JSON ...` | calls all of them in one step; `$LAST` is the list of the answers |
/// | `each N NAME JSON` | calls a tool N times in one step, `$round` counting from 0; `$LAST` is the list of the answers |
/// | `let NAME = JSON` | `$NAME` is this value |
/// | `value JSON` | `$LAST` is this value |
/// | `keep NAME = JSON` | `$kept.NAME` is this value, also for the programs after it |
/// | `drop NAME` | `$kept.NAME` is no more, also for the programs after it |
/// | `print JSON` | prints: a text as it is, anything else as JSON |
/// | `loop N` ... `end` | does the lines between N times, `$round` counting from 0 |
/// | `return JSON` | ends, and this is the turn's result |
/// | `fail JSON` | gives up for this reason |
/// | `spin` | goes round for ever |
/// | `grow N` | takes N bytes of memory more, which it never gives back |
///
/// Empty lines and lines that begin with `#` do nothing. A program that comes to its end ends with the
/// value `$LAST`, which is null at first. Wherever JSON stands, `$NAME` and the text `"$NAME"` within it
/// are the value of that name: a variable, `$LAST`, `$round` of the innermost loop, `$data.KEY` for an
/// input, `$data.fail` for the failure of the program before, `$kept.KEY` for what is kept, `$NOW` for the
/// time in milliseconds, `$RANDOM` for a number that follows from the seed and the steps. A text that begins
/// with `$$` is one that begins with `$`.
///
/// `prepare` refuses unknown lines, tools and names. A line is a step, and so is each round of a loop,
/// each turn of `spin` and each call of `each`; memory is what all values that were made take, though they
/// are gone, and what `grow` takes; loops are nested as deep as the limit of depth, and values 100 deep. Memory
/// between programs is the JSON text of each value that is kept. In an answer a program stands in a fence that is
/// marked `scripted`.
///
/// ```
/// use windlass_core::{ProgramEnd, RetainedChange};
/// use windlass_ports::{ProgramAnswer, ProgramRuntime, ProgramStep, ProgramEnvironment};
/// use windlass_testkit::programs::ScriptedRuntime;
///
/// let source = "call look {\"path\":\"a\"}\nkeep seen = $LAST\nreturn {\"got\":\"$seen\"}";
/// let world = ProgramEnvironment { tools: vec!["look".into()], ..ProgramEnvironment::default() };
/// let fault = ScriptedRuntime.prepare(source, &world).map(drop).unwrap_err();
/// assert_eq!(fault.class, "unbound_var"); // it is $kept.seen
///
/// let source = source.replace("$seen", "$kept.seen");
/// let mut running = ScriptedRuntime.prepare(&source, &world)?.start()?;
/// let ProgramStep::Calls(calls) = running.resume(Vec::new()) else { panic!("it calls first") };
/// assert_eq!((&*calls[0].name, &*calls[0].arguments), ("look", "{\"path\":\"a\"}"));
/// let ProgramStep::Done(done) = running.resume(vec![ProgramAnswer::Done("[1]".into())]) else {
///     panic!("it ends then")
/// };
/// assert_eq!(done.end, ProgramEnd::Return { value: "{\"got\":[1]}".into() });
/// assert_eq!(done.retained, [RetainedChange::set("seen", "[1]")]);
/// # Ok::<(), windlass_core::ProgramFault>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptedRuntime;

/// Statements that the rules of all languages quote.
const SYNTAX: GuideSyntax<'_> = GuideSyntax {
    fence: SCRIPTED,
    result: "`return JSON`",
    failure: "`fail JSON`",
    print: "`print JSON`",
    handler: "`try NAME JSON else JSON`",
    retained: "`keep NAME = JSON` keeps a value.",
    input: |name| format!("$data.{name}"),
};

impl ProgramRuntime for ScriptedRuntime {
    fn name(&self) -> &'static str {
        SCRIPTED
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        let rules = guide.rules(&SYNTAX);
        let mut text = format!(
            "One statement a line, such as `call NAME JSON` and `return $LAST`.\n\n{rules}\nTools:\n"
        );
        for tool in &guide.tools {
            text.push_str(&format!("- call {}: {}\n", tool.name, tool.description));
        }
        text
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        let mut blocks =
            fenced_blocks(answer, FenceRules::MARKDOWN).filter(|block| block.label == SCRIPTED);
        let block = blocks.next()?;
        let fault = |words: &str| Some(Err(ProgramFault::new("parse_error", words)));
        if blocks.next().is_some() {
            return fault("there are two programs; write one");
        }
        match block.closed {
            true => Some(Ok(block.content.to_owned())),
            false => fault("the fence of the program is not closed; close it"),
        }
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let (bytes, most) = (source.len() as u64, world.limits.source_bytes);
        if bytes > most {
            let words = format!("the program has {bytes} bytes, and {most} are allowed");
            return Err(ProgramFault::new("program_too_large", words));
        }
        let kept = kept_before(world).unwrap_or_default();
        Ok(Box::new(Prepared { ops: parse(source, &world.tools, &kept)?, world: world.clone() }))
    }
}

struct Prepared {
    ops: Vec<Op>,
    world: ProgramEnvironment,
}

impl PreparedProgram for Prepared {
    fn repairs(&self) -> Vec<String> {
        Vec::new()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        let kept = kept_before(&self.world)?;
        let mut data = match &self.world.data {
            None => Map::new(),
            Some(text) => object(text).ok_or_else(|| {
                ProgramFault::new("invalid_data", "the inputs are no JSON object; give one")
            })?,
        };
        let failure = self.world.failure.as_ref();
        let failure = failure.map(|failure| {
            let (reason, message) = (&failure.reason, &failure.message);
            json!({ "reason": reason, "message": message, "details": {} })
        });
        data.entry("fail").or_insert(json!(failure));
        Ok(Box::new(Run::new(self.ops, self.world, data, kept)))
    }
}

fn object(text: &Arc<str>) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// What the programs before it kept.
fn kept_before(world: &ProgramEnvironment) -> Result<Map<String, Value>, ProgramFault> {
    let foreign = || {
        let words = "the memory was not written by this runtime; begin a session without it";
        ProgramFault::new("invalid_memory", words)
    };
    let mut kept = match &world.memory.base {
        None => Map::new(),
        Some(text) => {
            let base = object(text).filter(|object| object.len() == 1);
            match base.and_then(|mut object| object.remove(SCRIPTED)) {
                Some(Value::Object(kept)) => kept,
                _ => return Err(foreign()),
            }
        }
    };
    for (name, value) in &world.memory.entries {
        match value {
            Some(text) => {
                let value = serde_json::from_str(text).map_err(|_| foreign())?;
                kept.insert(name.to_string(), value);
            }
            None => _ = kept.remove(&**name),
        }
    }
    Ok(kept)
}
