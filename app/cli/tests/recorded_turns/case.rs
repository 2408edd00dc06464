//! A recorded turn: what it was run with, and what that is here.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    CompactionStrategy, ContextWindow, FailureKind, Limits, OutputSchema, ProgramLimits,
    ProgramMode, ProgramTransport, RequestOptions, Retry, Settings, ToolSpec,
};
use windlass_ptclisp::Signature;
use windlass_testkit::Answer;
use windlass_testkit::provider::{Step, fail};

/// Recorded tokens are told as so many, so that what is reckoned for the words of a request, which the
/// recordings leave out, is small beside them.
const TOKENS: u64 = 1_000;

/// The selection of turns that the tests were written with: their number, and a digest of their ids.
const WRITTEN_WITH: (usize, u64) = (107, 0xe551_fe51_3036_93ce);

/// A recorded turn.
pub(crate) struct Case {
    pub(crate) release: &'static str,
    pub(crate) id: String,
    pub(crate) row: Value,
}

/// All recorded turns, or `None` where there are none. A folder that is named must be there.
pub(crate) fn all() -> Option<Vec<Case>> {
    let named = std::env::var_os("WINDLASS_PTC_LISP").map(PathBuf::from);
    let beside = || {
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ptc_lisp");
        beside.is_dir().then_some(beside)
    };
    let Some(folder) = named.or_else(beside) else {
        eprintln!(
            "SKIPPED: no recorded turns; WINDLASS_PTC_LISP names their folder, and none is at \
             shared/ptc_lisp beside the checkout"
        );
        return None;
    };
    let mut cases = Vec::new();
    for release in ["v0.13.0", "v0.7.0"] {
        let file = folder.join(format!("turns_{release}.jsonl"));
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let rows = text.lines().filter(|line| !line.trim().is_empty());
        let rows = rows.map(|line| serde_json::from_str::<Value>(line).unwrap());
        cases.extend(rows.map(|row| Case {
            release,
            id: row["id"].as_str().unwrap().to_owned(),
            row,
        }));
    }
    assert!(!cases.is_empty(), "no recorded turns");
    Some(cases)
}

/// Whether these are the turns that the tests were written with. Of any others it is not known which
/// differ, nor that each law meets a turn that could break it.
pub(crate) fn written_with(cases: &[Case]) -> bool {
    let ids = cases.iter();
    let mut ids: Vec<String> = ids.map(|case| format!("{} {}\n", case.release, case.id)).collect();
    ids.sort_unstable();
    // FNV-1a.
    let bytes = ids.iter().flat_map(|id| id.bytes());
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let found = (cases.len(), digest);
    if found != WRITTEN_WITH {
        eprintln!("these are other recorded turns than the tests were written with: {found:?}");
    }
    found == WRITTEN_WITH
}

impl Case {
    fn agent(&self, name: &str) -> &Value {
        &self.row["agent"][name]
    }

    fn number(&self, name: &str) -> Option<u32> {
        let number = self.agent(name).as_u64()?;
        Some(u32::try_from(number).unwrap())
    }

    /// Samples for work: a budget of turns is one of samples.
    pub(crate) fn work(&self) -> u32 {
        let most = self.number("max_turns").unwrap();
        self.number("turn_budget").map_or(most, |budget| budget.min(most))
    }

    /// Retries of a rejected return: there they come out of the turns that are left and then out of
    /// `retry_turns`, here out of a budget of their own, which is as large as both. Without a signature
    /// no return is rejected.
    pub(crate) fn retries(&self) -> u32 {
        match self.agent("signature") {
            Value::String(_) => self.number("retry_turns").unwrap_or(0) + self.work() - 1,
            _ => 0,
        }
    }

    pub(crate) fn has_contract(&self) -> bool {
        self.agent("signature").is_string()
    }

    /// Whether its model is to hand over programs by calls.
    pub(crate) fn calls(&self) -> bool {
        self.agent("ptc_transport") == "tool_call"
    }

    pub(crate) fn compacts(&self) -> bool {
        self.agent("compaction").is_object()
    }

    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.row["tools"].as_array().into_iter().flatten();
        tools.map(|tool| tool.as_str().unwrap()).collect()
    }

    /// With this tool, too.
    pub(crate) fn with_tool(mut self, name: &str) -> Self {
        let mut tools = self.tools();
        if !tools.contains(&name) {
            tools.push(name);
        }
        self.row["tools"] = json!(tools);
        self
    }

    /// What the model says, sample by sample.
    pub(crate) fn responses(&self) -> Vec<Step> {
        let responses = self.row["responses"].as_array().unwrap().iter();
        responses.map(|response| self.step(response)).collect()
    }

    /// Whether this is the text of one of the answers.
    pub(crate) fn says(&self, text: &Value) -> bool {
        let responses = self.row["responses"].as_array().unwrap();
        let mut texts = responses.iter().flat_map(|one| [one, &one["content"]]);
        text.is_string() && texts.any(|one| one == text)
    }

    fn step(&self, response: &Value) -> Step {
        if response.get("error").is_some() {
            return fail(FailureKind::Server, Retry::Never);
        }
        let mut answer = Answer::new();
        if let Some(text) = response.as_str().or(response["content"].as_str()) {
            answer = answer.text(text);
        }
        for call in response["tool_calls"].as_array().into_iter().flatten() {
            let (name, arguments) = (call["name"].as_str().unwrap(), &call["args"]);
            answer = match name {
                "lisp_eval" => {
                    answer.call("run_program", json!({ "source": arguments["program"] }))
                }
                other => answer.call(other, arguments.clone()),
            };
        }
        match self.row["tokens"].as_u64() {
            Some(tokens) => Step::from(answer.tokens(tokens * TOKENS, TOKENS)),
            None => Step::from(answer),
        }
    }

    /// What it is run with. What the recordings have and no setting says here: `memory_strategy`,
    /// `completion_mode`, `on_budget_exceeded`.
    pub(crate) fn settings(&self, tools: Vec<ToolSpec>) -> Settings {
        let answer = self.agent("signature").as_str().map(|signature| {
            let signature = Signature::parse(signature).unwrap();
            OutputSchema {
                name: "answer".into(),
                schema: signature.output().schema().unwrap().to_string(),
                strict: false,
                max_re_asks: self.retries(),
            }
        });
        let own = ProgramLimits::default();
        let program = ProgramMode {
            runtime: "ptclisp".into(),
            transport: match self.calls() {
                true => ProgramTransport::Call,
                false => ProgramTransport::Text,
            },
            limits: ProgramLimits {
                loop_rounds: 1_000,
                calls: self.number("max_tool_calls").unwrap_or(own.calls),
                retained_bytes: self.agent("memory_limit").as_u64().unwrap_or(own.retained_bytes),
                ..own
            },
            data: match &self.row["context"] {
                Value::Null => None,
                context => Some(Arc::from(context.to_string())),
            },
            corrections: 0,
        };
        let tokens = self.row["run"]["token_limit"].as_u64().unwrap_or(0) * TOKENS;
        windlass_testkit::settings().with(|it| {
            it.instructions = "Write programs.".into();
            it.window = match self.compacts() {
                true => ContextWindow { tokens: 250, strategy: CompactionStrategy::Slide },
                false => ContextWindow::default(),
            };
            it.tools = tools;
            it.limits = Limits::default().with(|it| {
                it.samples = self.work() + self.retries();
                it.tokens = tokens;
            });
            it.options = RequestOptions::default().with(|it| {
                it.output_schema = answer;
                it.program = Some(program);
            });
        })
    }
}
