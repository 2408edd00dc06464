//! The scripted runtime passes the suite.

use std::sync::Arc;

use windlass_ports::ProgramRuntime;

use super::ScriptedRuntime;
use super::suite::{ProgramFixture, Sample};

/// The scripted language.
pub(super) struct Scripted;

impl ProgramFixture for Scripted {
    fn runtime(&self) -> Arc<dyn ProgramRuntime> {
        Arc::new(ScriptedRuntime)
    }

    fn write(&self, sample: &Sample<'_>) -> Option<String> {
        Some(match *sample {
            Sample::Value(value) => format!("value {value}"),
            Sample::Return(value) => format!("return {value}"),
            Sample::Fail(value) => format!("fail {value}"),
            Sample::Broken => "keep n = 1\nreturn $data.nothing".to_owned(),
            Sample::Call(tool, arguments) => format!("call {tool} {arguments}\nreturn $LAST"),
            Sample::NeverCalled(tool) => format!("loop 0\ncall {tool} {{}}\nend\nreturn 1"),
            Sample::Both([(one, first), (other, second)]) => {
                format!("both {one} {first} {other} {second}\nreturn $LAST")
            }
            Sample::Loop(tool, count) => {
                format!("loop {count}\n  call {tool} {{\"n\":\"$round\"}}\nend\nreturn $LAST")
            }
            Sample::Parallel(tool, count) => {
                format!("each {count} {tool} {{\"n\":\"$round\"}}\nreturn $LAST")
            }
            Sample::Recovered(tool, arguments) => {
                format!("try {tool} {arguments} else \"recovered\"\nreturn $LAST")
            }
            Sample::Now => "return $NOW".to_owned(),
            Sample::Random => "return $RANDOM".to_owned(),
            Sample::Unheeded(tool) => format!("call {tool} {{}}\nreturn 1"),
            Sample::Rounds(rounds) => format!("loop {rounds}\nvalue 1\nend"),
            Sample::UnknownName => "loop 0\nvalue $nothing\nend\nreturn 1".to_owned(),
            Sample::Data(name) => format!("return $data.{name}"),
            Sample::Keep(name, value) => format!("keep {name} = {value}"),
            Sample::Remove(name) => format!("drop {name}"),
            Sample::Kept(name) => format!("return $kept.{name}"),
            Sample::KeepAndFail(name, value) => format!("keep {name} = {value}\nfail \"no\""),
            Sample::KeepMuch(letters) => format!("keep much = \"{}\"", "x".repeat(letters)),
            Sample::Print(lines) => {
                lines.iter().map(|line| format!("print \"{line}\"\n")).collect()
            }
            Sample::PrintMuch(lines) => format!("loop {lines}\nprint \"0123456789\"\nend"),
            Sample::ReturnMuch(letters) => format!("return \"{}\"", "x".repeat(letters)),
            Sample::Endless => "spin".to_owned(),
            Sample::CallThenEndless(tool) => format!("call {tool} {{}}\nspin"),
            Sample::MemoryBomb => "loop 1000000000\ngrow 1000\nend".to_owned(),
            Sample::NestedSource(depth) => {
                format!("return {}{}", "[".repeat(depth), "]".repeat(depth))
            }
            Sample::NestedValue => "loop 1000000\nvalue [\"$LAST\"]\nend\nreturn $LAST".to_owned(),
            Sample::EndlessCalls(tool) => {
                format!("loop 1000000000\ntry {tool} {{}} else null\nend")
            }
            Sample::MillionCalls(tool) => format!("each 1000000 {tool} {{}}"),
            // There are no functions and no patterns.
            Sample::Mapped(..) | Sample::Recursion | Sample::Catastrophic => return None,
        })
    }

    fn whole_memory(&self, name: &str, value: &str) -> Option<String> {
        Some(format!("{{\"scripted\":{{\"{name}\":{value}}}}}"))
    }

    fn answer(&self, source: &str) -> String {
        format!("I will do it so:\n\n```scripted\n{source}\n```\n\nThat is all.")
    }

    fn malformed(&self) -> Vec<String> {
        [
            "what is this",
            "call",
            "call look",
            "call look [1]",
            "call look {} {}",
            "let x",
            "return [1",
            "return",
            "loop 3",
            "end",
            "loop many\nend",
            "both",
            "try look {}",
            "spin 3",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn hostile(&self) -> Vec<(&'static str, String)> {
        let doubles = "value \"x\"\nloop 60\nvalue [\"$LAST\",\"$LAST\"]\nend";
        let nested = "loop 2\n".repeat(600) + &"end\n".repeat(600);
        vec![("doubles", doubles.to_owned()), ("loops in loops", nested)]
    }
}

crate::program_suite!(Scripted);
