//! Models: what a sample says, from a text to an answer without an end.

use std::sync::Arc;

use windlass_core::{
    CallItem, Demand, FailureKind, Item, PROGRAM_TOOL, ProgramEnd, ProgramEvent, ProgramFault,
    ReasoningItem, RetainedChange, Retry, SampleEvent, SampleFailure, StopReason, Usage,
};
use windlass_ports::arguments_sha256;

use super::answers::{Answering, CAP, Temper, Work};
use super::happening::Happening;
use crate::world::{AGENT, TOOLS, WorldTool, ended, rules_met};

impl<'a> Answering<'a> {
    pub(super) fn failed(&mut self, kind: FailureKind, message: &str) -> SampleEvent {
        self.covered.failed(kind);
        let retry = match self.dice.below(4) {
            0 => Retry::Never,
            1 => Retry::AfterMs(self.dice.between(0, 5_000)),
            _ => Retry::Soon,
        };
        let partial = match self.dice.chance(300) {
            true => String::from("half an ans"),
            false => String::new(),
        };
        SampleEvent::Failed {
            failure: SampleFailure::new(kind, retry, message),
            partial,
            usage: self.usage(),
            asked: None,
        }
    }

    fn usage(&mut self) -> Option<Usage> {
        self.dice.chance(400).then(|| Usage {
            input: Some(self.dice.between(0, 1_500)),
            output: Some(self.dice.between(0, 500)),
            ..Usage::default()
        })
    }

    pub(super) fn sample(&mut self, demand: Demand, work: &mut Work) -> SampleEvent {
        match demand {
            Demand::Cancel if self.dice.chance(800) => {
                return self.failed(FailureKind::Cancelled, "stopped as asked");
            }
            Demand::Yield if work.ids.is_empty() && self.dice.chance(600) => {
                return self.failed(FailureKind::Steered, "the user spoke");
            }
            Demand::Run | Demand::Yield | Demand::Cancel => {}
        }
        work.said += 1;
        match work.temper {
            Temper::Endless if work.said > CAP => {
                self.covered.note(Happening::Endless);
                return self.failed(FailureKind::TooLarge, "the answer has no end");
            }
            Temper::Endless => {
                return SampleEvent::Item(match self.dice.chance(100) {
                    true => self.call(work),
                    false => Item::text("and on it goes"),
                });
            }
            Temper::Fails(kind) if self.dice.chance(500) => {
                return self.failed(kind, "the provider said so");
            }
            Temper::Fair | Temper::Fails(_) | Temper::Silent => {}
        }
        let end = if work.said > CAP / 2 { 1_000 } else { 300 };
        if self.dice.chance(end) {
            return self.end();
        }
        let text = |text: &str| Item::text(text);
        SampleEvent::Item(match self.dice.below(20) {
            0 => Item::Refusal { text: "I would rather not".into() },
            1 => Item::Reasoning(Arc::new(ReasoningItem {
                text: String::from("let me think"),
                ..ReasoningItem::default()
            })),
            2 => text(&"x".repeat(self.dice.below(900))),
            3..8 => text("something"),
            _ => self.call(work),
        })
    }

    fn end(&mut self) -> SampleEvent {
        let stop = match self.dice.below(16) {
            0 => StopReason::Length,
            1 => StopReason::ContentFilter,
            2 => StopReason::Unfinished,
            3 => StopReason::Other(String::from("paused")),
            _ => StopReason::Stop,
        };
        SampleEvent::Ended {
            stop,
            usage: self.usage(),
            response_id: None,
            request: None,
            fault: self.dice.chance(200).then(|| String::from("odd")),
        }
    }

    fn call(&mut self, work: &mut Work) -> Item {
        let session = self.driver.session();
        let settings = session.turn().map_or(&session.settings, |turn| &turn.settings);
        let programs = settings.options.program.is_some();
        if programs && self.dice.chance(800) {
            return self.program();
        }
        let unknown = self.dice.chance(50);
        let (name, arguments) = match unknown {
            true => ("absent", None),
            false => self.tool(),
        };
        let id = self.dice.pick(&["", "c1", "c2", "c3"]).copied();
        let id = id.unwrap_or_default().to_owned();
        let broken = self.dice.chance(60);
        if unknown {
            self.covered.note(Happening::UnknownTool);
        }
        if broken {
            self.covered.note(Happening::BrokenArguments);
        }
        if !id.is_empty() && work.ids.contains(&id) {
            self.covered.note(Happening::CallIdTwice);
        }
        work.ids.push(id.clone());
        let arguments = match (broken, arguments) {
            (true, _) => "{\"a\":",
            (false, Some(own)) => own,
            (false, None) => self.arguments(),
        };
        Item::Call(Arc::new(CallItem {
            provider_id: id,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            fault: broken.then(|| String::from("the arguments are not a JSON object")),
            rules: self.rules(name, arguments),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: Some(arguments_sha256(arguments)),
            opaque: None,
            inline: false,
        }))
    }

    /// A program, called for or spoken.
    fn program(&mut self) -> Item {
        let spoken = self.dice.chance(300);
        Item::Call(Arc::new(CallItem {
            provider_id: String::new(),
            name: PROGRAM_TOOL.to_owned(),
            arguments: String::from(r#"{"source":"x"}"#),
            fault: self.dice.chance(60).then(|| String::from("it is no program")),
            rules: Vec::new(),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: None,
            opaque: None,
            inline: spoken,
        }))
    }

    /// What a program says: calls, or its end.
    pub(super) fn programmed(&mut self) -> ProgramEvent {
        if self.dice.chance(600) {
            self.covered.note(Happening::ProgramCalls);
            let count = 1 + self.dice.below(3);
            let calls = (0..count).map(|_| self.made()).collect();
            return ProgramEvent::Calls(calls);
        }
        self.covered.note(Happening::ProgramEnds);
        let value = "1".into();
        let end = match self.dice.below(6) {
            0 => ProgramEnd::Fault(ProgramFault::new("simulated", "it went wrong")),
            1 => ProgramEnd::Fail { value },
            2 | 3 => ProgramEnd::Return { value },
            _ => ProgramEnd::Value { value },
        };
        let fault = self.dice.chance(200).then(|| String::from("odd"));
        let retained = match self.dice.chance(500) {
            true => vec![RetainedChange::set("m", "1")],
            false => Vec::new(),
        };
        ended(end, fault, None, retained)
    }

    /// One of the tools; where one is an agent, that one more often. A tool of the plan has arguments
    /// of its own.
    fn tool(&mut self) -> (&'a str, Option<&'a str>) {
        if !self.tools.is_empty() && self.dice.chance(500) {
            let weight = |tool: &WorldTool| usize::try_from(tool.weight).unwrap_or(usize::MAX);
            let weighted: Vec<_> = self.tools.iter().map(|tool| (weight(tool), tool)).collect();
            if let Some(tool) = self.dice.weigh(&weighted) {
                return (tool.name(), self.dice.pick(&tool.arguments).map(String::as_str));
            }
        }
        let session = self.driver.session();
        let settings = session.turn().map_or(&session.settings, |turn| &turn.settings);
        if settings.tools.iter().any(|tool| tool.agent.is_some()) && self.dice.chance(300) {
            return (AGENT, None);
        }
        let tools: Vec<&str> = TOOLS.iter().map(|(name, _, _)| *name).collect();
        (self.dice.pick(&tools).copied().unwrap_or_default(), None)
    }

    fn made(&mut self) -> CallItem {
        let (name, arguments) = match self.dice.chance(50) {
            true => ("absent", None),
            false => self.tool(),
        };
        let arguments = arguments.unwrap_or_else(|| self.arguments());
        CallItem {
            provider_id: String::new(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            fault: None,
            rules: self.rules(name, arguments),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: Some(arguments_sha256(arguments)),
            opaque: None,
            inline: false,
        }
    }

    pub(super) fn arguments(&mut self) -> &'static str {
        let all = ["{}", r#"{"a":1}"#, r#"{"a":"2"}"#];
        self.dice.pick(&all).copied().unwrap_or("{}")
    }

    pub(super) fn rules(&self, tool: &str, arguments: &str) -> Vec<u32> {
        let turn = self.driver.session().turn();
        turn.map_or_else(Vec::new, |turn| rules_met(&turn.settings.rules, tool, arguments))
    }
}
