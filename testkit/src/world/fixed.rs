//! Facts to fill logs with: every kind, awkward texts, exact sizes. They are numbered as a log
//! numbers them and make no sense as a turn; stores do not read them.

use std::sync::Arc;

use windlass_core::{
    ArgumentPattern, CallId, CompactionStrategy, ContextPart, ContextWindow, Delivery, Draft, Edit,
    EffectClass, Fact, FailureKind, FilesRestored, HookFailurePolicy, HookOrder, HookPoint,
    HookSpec, Image, ImageMedia, InputAccepted, InputBlocked, InputEdited, InputId, InputMoved,
    InputQueued, InputWithdrawn, InterruptRequested, InterruptSource, LimitKind, Limits, Lineage,
    Mode, OfferedTools, OutputSchema, Permissions, PermissionsNarrowed, Price, ProgramLimits,
    ProgramMode, ProgramTransport, Reason, RecordedFact, RequestOptions, ResultForm, Rule,
    RuleVerdict, Scope, Seq, SessionId, SessionOpened, SessionRenamed, SessionResumed,
    SessionRewound, Settings, SettingsChanged, StopTiming, Temperature, Timestamp, ToolChoice,
    ToolEffect, ToolSpec, TurnId, TurnOpened, TurnOutcome, TurnSettled, TurnUsage, WebSearch,
};

use crate::world::facts::{call_with, compaction_with, goal_with, hook_with, sample_with};

/// Texts that break what is careless: empty, quoted, of control characters, of line ends, not
/// normalised, beyond the basic plane, or looking like the log itself.
pub const NASTY_TEXTS: &[&str] = &[
    "",
    "plain",
    "\"quoted\" \\back\\slashed\\ 'single' `tick` $(sub) %s {}",
    "\0nul\0in\0the\0middle\0",
    "\u{1}\u{2}\u{7}\u{8}\u{b}\u{c}\u{e}\u{1b}[31m\u{1f}\u{7f}\u{80}\u{9f}",
    "line\nline\r\nline\rtab\tend\n\n",
    "\u{2028}\u{2029}\u{85}\u{a0}\u{feff}\u{200b}\u{202e}reversed",
    "ä ß 漢字 e\u{301} é 👩‍👩‍👧 🦀 \u{fffd}\u{ffff}\u{10ffff}",
    "\n{\"v\":1,\"session\":\"other\",\"seq\":1,\"turn\":null,\"ts\":0,\"kind\":\"None\"}\n",
    "   leading and trailing blanks \t ",
];

/// A form of results with every field.
pub(crate) const RESULT_FORM: ResultForm =
    ResultForm { max_bytes: u64::MAX, at_once: u64::MAX, readable: true };

/// A log with every kind of fact and every awkward text, numbered from 1.
#[must_use]
pub fn sample_facts(session: &SessionId) -> Vec<Arc<RecordedFact>> {
    let long = "0123456789abcdef \"\n\0漢🦀".repeat(3_000);
    let texts = NASTY_TEXTS.iter().copied().chain([long.as_str()]);
    let facts = texts.flat_map(facts_with);
    let moments = [0, 1, 1_700_000_000_000, u64::MAX].into_iter().cycle();
    let turns = [None, Some(TurnId(4)), Some(TurnId(u64::MAX))].into_iter().cycle();
    let drafts = facts.zip(moments).zip(turns);
    let numbered = drafts.zip(1..).map(|(((fact, ts), turn), seq)| {
        let ts = Timestamp(ts);
        Arc::new(Draft { turn, ts, cause: None, fact }.number(session, Seq(seq)))
    });
    numbered.collect()
}

/// `count` small facts that follow position `after`, each with a text of its own.
#[must_use]
pub fn numbered_facts(session: &SessionId, after: Seq, count: u64) -> Vec<Arc<RecordedFact>> {
    saying(session, after, count, "fact")
}

/// Facts that follow position `after`, as a release of a newer minor version writes them: with
/// fields that this engine does not know.
///
/// # Panics
/// If this engine does not read what a newer minor version adds.
#[must_use]
pub fn newer_facts(session: &SessionId, after: Seq) -> Vec<Arc<RecordedFact>> {
    let added = [r#""new":1.0e2,"#, r#""new":{"a":[null,"\u0041"]},"#, r#""new":"","newer":{},"#];
    let known = numbered_facts(session, after, added.len() as u64);
    let facts = known.iter().zip(added).map(|(known, added)| newer(known, added));
    facts.map(Arc::new).collect()
}

/// The fact as a newer minor version writes it, with these fields first in its body.
#[expect(clippy::panic, reason = "a case fails by panicking")]
fn newer(known: &RecordedFact, added: &str) -> RecordedFact {
    let minor = known.format.at.minor.saturating_add(7);
    let text = windlass_ports::codec::encode(known).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let text = text.replacen(r#","session""#, &format!(r#","minor":{minor},"session""#), 1);
    let text = text.replacen(r#""body":{"#, &format!(r#""body":{{{added}"#), 1);
    let read = windlass_ports::codec::decode(text.as_bytes());
    read.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// As [`numbered_facts`], with other texts for other words.
pub(crate) fn saying(
    session: &SessionId,
    after: Seq,
    count: u64,
    words: &str,
) -> Vec<Arc<RecordedFact>> {
    let numbers = (1..=count).map(|n| after.plus(n));
    numbers
        .map(|seq| Arc::new(queued(session, seq, format!("{words} {seq} of {session}"))))
        .collect()
}

/// The fact that follows position `after`, with a text form of `bytes` bytes. Its text hardly
/// compresses, so that stores keep about as many bytes.
///
/// `None` when no fact is that small.
#[must_use]
pub fn fact_of_size(session: &SessionId, after: Seq, bytes: usize) -> Option<Arc<RecordedFact>> {
    let seq = after.next();
    let empty = windlass_ports::codec::encode(&queued(session, seq, String::new())).ok()?;
    let filling = bytes.checked_sub(empty.len())?;
    Some(Arc::new(queued(session, seq, letters(seq.0, filling))))
}

/// Text of `count` letters and digits that look random, the same ones for the same seed. It hardly
/// compresses.
#[must_use]
pub fn letters(seed: u64, count: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        LETTERS.iter().cycle().nth((state >> 58) as usize).map_or('x', |byte| char::from(*byte))
    };
    core::iter::repeat_with(next).take(count).collect()
}

pub(crate) fn queued(session: &SessionId, seq: Seq, text: String) -> RecordedFact {
    let fact = Fact::InputQueued(InputQueued {
        scope: Scope::local("someone").into(),
        text: text.into(),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        command_key: None,
        result_of: None,
        command: None,
    });
    let draft = Draft { turn: None, ts: Timestamp(1_700_000_000_000), cause: None, fact };
    draft.number(session, seq)
}

/// One fact of each kind, with `text` wherever it takes a text.
fn facts_with(text: &str) -> Vec<Fact> {
    let mut facts = vec![
        Fact::SessionOpened(SessionOpened {
            owner: principal(text).into(),
            workspace: Some(text.into()),
            settings: Arc::new(settings(text)),
            lineage: Lineage::Root,
        }),
        Fact::SessionResumed(SessionResumed {}),
        Fact::SettingsChanged(SettingsChanged {
            by: principal(text).into(),
            settings: Arc::new(settings(text)),
            key: Some(text.into()),
        }),
        Fact::PermissionsNarrowed(PermissionsNarrowed {
            mode: Some(Mode::Plan),
            permissions: Some(Permissions::Ask),
            rules: vec![rule(text)],
            withdrawn: vec![rule(text)],
            hooks: settings(text).hooks,
            effects: vec![ToolEffect { tool: text.into(), effect: EffectClass::Effectful }],
            again: true,
            hold: true,
            matched: Vec::new(),
        }),
        Fact::SessionRenamed(SessionRenamed {
            by: principal(text).into(),
            title: Some(text.into()),
            key: Some(text.into()),
        }),
        Fact::SessionRewound(SessionRewound {
            by: principal(text).into(),
            to: Seq(3),
            visible: windlass_core::VisiblePart::EMPTY,
            notice: Some(text.into()),
            key: Some(text.into()),
        }),
        Fact::FilesRestored(FilesRestored {
            by: principal(text).into(),
            of: TurnId(3),
            paths: vec![text.into()],
            more: 1,
            notice: text.into(),
            key: Some(text.into()),
        }),
        Fact::InputQueued(InputQueued {
            scope: principal(text).into(),
            text: text.into(),
            delivery: Delivery::Steer,
            context: vec![ContextPart { from: text.into(), text: text.into() }],
            images: vec![Image { media: ImageMedia::Png, sha256: text.into(), bytes: 3 }],
            key: Some(text.into()),
            dry_run: true,
            command_key: Some(text.into()),
            result_of: Some(CallId(u64::MAX)),
            command: None,
        }),
        Fact::TurnOpened(TurnOpened {
            reason: Reason::Input { input: InputId(3) },
            scope: Scope::system(text).into(),
            settings: Seq(1),
            limits: Limits::default(),
            dry_run: false,
            key: Some(text.into()),
        }),
        Fact::InputAccepted(InputAccepted { input: InputId(3), call: None }),
        Fact::InputBlocked(InputBlocked { input: InputId(3), reason: text.into() }),
        Fact::InputEdited(InputEdited {
            by: principal(text).into(),
            input: InputId(3),
            text: text.into(),
            key: Some(text.into()),
        }),
        Fact::InputMoved(InputMoved {
            by: principal(text).into(),
            input: InputId(3),
            before: Some(InputId(4)),
            key: Some(text.into()),
        }),
        Fact::InputWithdrawn(InputWithdrawn {
            by: principal(text).into(),
            input: InputId(3),
            key: Some(text.into()),
        }),
    ];
    facts.extend(goal_with(text));
    facts.extend(hook_with(text));
    facts.extend(compaction_with(text));
    facts.extend(sample_with(text));
    facts.extend(call_with(text));
    facts.push(Fact::InterruptRequested(InterruptRequested {
        by: InterruptSource::Person,
        scope: principal(text).into(),
        reason: text.into(),
        when: StopTiming::AfterStep,
        key: Some(text.into()),
    }));
    facts.extend(outcomes_with(text).into_iter().map(|outcome| {
        Fact::TurnSettled(TurnSettled {
            outcome,
            spent: TurnUsage::default(),
            waiting: vec![InputId(u64::MAX)],
            detached: vec![CallId(u64::MAX)],
            notice: None,
        })
    }));
    facts
}

pub(crate) fn edit(text: &str) -> Edit {
    Edit {
        text: text.into(),
        fault: Some(text.into()),
        rules: vec![u32::MAX],
        sha256: None,
        possible_rules: Vec::new(),
        outside_sandbox: false,
    }
}

fn rule(text: &str) -> Rule {
    Rule {
        verdict: RuleVerdict::Ask,
        tool: text.into(),
        argument: Some(ArgumentPattern { name: text.into(), pattern: text.into() }),
    }
}

fn outcomes_with(text: &str) -> [TurnOutcome; 5] {
    [
        TurnOutcome::Completed,
        TurnOutcome::Interrupted { by: InterruptSource::Shutdown, reason: text.into() },
        TurnOutcome::Blocked { reason: text.into() },
        TurnOutcome::Exhausted { limit: LimitKind::WallClock },
        TurnOutcome::Failed { failure: FailureKind::Server, message: text.into() },
    ]
}

pub(crate) fn principal(text: &str) -> Scope {
    Scope::Principal {
        tenant: text.into(),
        principal: text.into(),
        claims: [(text.into(), text.into()), ("role".into(), text.into())].into(),
    }
}

pub(crate) fn settings(text: &str) -> Settings {
    Settings::new(text, text).with(|it| {
        it.instructions = text.into();
        it.mode = Mode::Plan;
        it.permissions = Permissions::ReadOnly;
        it.rules = vec![rule(text)];
        it.hooks = vec![HookSpec::new(text, HookPoint::BeforeTool, u64::MAX).with(|it| {
            it.only = Some(vec![text.into()]);
            it.order = HookOrder::Parallel;
            it.on_failure = HookFailurePolicy::Open;
        })];
        it.redaction = Some(text.into());
        it.window = ContextWindow { tokens: u64::MAX, strategy: CompactionStrategy::Slide };
        it.price = Some(Price {
            input_micros: u64::MAX,
            cached_input_micros: 0,
            cache_write_micros: Some(2),
            output_micros: 1,
        });
        it.tools = vec![ToolSpec::new(text, EffectClass::Effectful).with(|it| {
            it.description = text.into();
            it.parameters = text.into();
            it.timeout_ms = Some(1);
            it.reconciles = true;
        })];
        it.limits = Limits::default();
        it.max_output_tokens = Some(u64::MAX);
        it.effort = Some(text.into());
        it.temperature = Temperature::from_thousandths(700);
        it.base_url = Some(text.into());
        it.options = RequestOptions::default().with(|it| {
            it.output_schema = Some(OutputSchema {
                name: text.into(),
                schema: text.into(),
                strict: true,
                max_re_asks: u32::MAX,
            });
            it.tool_choice = ToolChoice::Tool(text.into());
            it.parallel_calls = Some(false);
            it.reasoning_summary = Some(text.into());
            it.program = Some(program(text));
            it.web_search = Some(WebSearch {
                max_searches: Some(u32::MAX),
                allowed_domains: vec![text.into()],
                blocked_domains: vec![text.into()],
            });
            it.offered = OfferedTools::Allowed;
        });
    })
}

fn program(text: &str) -> ProgramMode {
    ProgramMode {
        runtime: text.into(),
        transport: ProgramTransport::Text,
        limits: ProgramLimits::default(),
        data: Some(text.into()),
        corrections: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_ports::codec;

    use super::*;

    #[test]
    fn samples_have_every_kind_and_are_numbered_on() {
        let session = SessionId::new("s").unwrap();
        let facts = sample_facts(&session);
        let kinds: BTreeSet<_> = facts.iter().map(|fact| fact.fact.kind()).collect();
        let missing = Fact::KINDS.iter().filter(|kind| !kinds.contains(*kind));
        assert_eq!(missing.collect::<Vec<_>>(), [&""; 0]);
        for (fact, seq) in facts.iter().zip(1..) {
            assert_eq!(fact.seq, Seq(seq));
            let text = codec::encode(fact).unwrap();
            assert_eq!(codec::decode(&text).unwrap(), **fact);
        }
    }

    #[test]
    fn a_fact_has_the_size_that_was_asked_for() {
        let session = SessionId::new("s").unwrap();
        assert!(fact_of_size(&session, Seq(9), 20).is_none());
        for bytes in [300, 301, 70_000] {
            let fact = fact_of_size(&session, Seq(9), bytes).unwrap();
            assert_eq!(codec::encode(&fact).unwrap().len(), bytes);
            assert_eq!(fact.seq, Seq(10));
        }
    }
}
