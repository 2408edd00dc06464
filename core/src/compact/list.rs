//! Plain list of dropped parts: what the user said, what was changed and run, what was answered.
//!
//! It stands in place of the parts when no model summarizes them. The log contains its text.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::LIST_BYTES;
use super::apply::{UnitSpan, unit_spans};
use super::arguments::string_member;
use super::summary::{count, framed_bytes, shorten, words};
use crate::append_list::AppendList;
use crate::call::{Observation, ObservationStatus};
use crate::compaction::CutPoint;
use crate::history::{ConversationUnitKind, History};
use crate::id::TurnId;
use crate::item::CallItem;
use crate::render::PromptItem;
use crate::settings::{EffectClass, Settings};

/// Most requests, commands, tools and files that a list names, of each.
const MAX_NAMED: usize = 12;

/// Most bytes of a command, or of a tool's name, in a list.
const QUOTED_BYTES: usize = 120;

/// Most bytes of what the user or the model said, in a list.
const SAID_BYTES: usize = 300;

/// Fewest bytes of a line that is worth its title.
const MIN_PART: usize = 40;

/// Arguments that name a file, in the words of common tools.
const PATHS: [&str; 3] = ["path", "file_path", "file"];
/// Arguments that are a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// Returns a plain list of the parts that a cut drops. `turn` is the open turn.
#[must_use]
pub fn fallback_summary(
    history: &History,
    settings: &Settings,
    turn: TurnId,
    cut: &CutPoint,
) -> String {
    dropped_list(history, settings, Some(turn), cut, LIST_BYTES)
}

/// Content of the dropped parts.
#[derive(Default)]
struct DroppedParts<'a> {
    turns: BTreeSet<Option<TurnId>>,
    answers: usize,
    requests: Vec<String>,
    /// Texts of answers.
    said: Vec<String>,
    calls: BTreeMap<String, usize>,
    /// Files that calls wrote or may have written.
    files: BTreeMap<String, usize>,
    /// Commands and other calls that may have changed something, with their ends.
    ran: Vec<String>,
    /// Text that replaced parts in an earlier compaction.
    before: Option<&'a str>,
}

/// Returns a plain list of the dropped parts, of at most `most` bytes with its frame. Returns an
/// empty text if none fits.
pub(super) fn dropped_list(
    history: &History,
    settings: &Settings,
    turn: Option<TurnId>,
    cut: &CutPoint,
    most: u64,
) -> String {
    let room = most.saturating_sub(framed_bytes(""));
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let parts = dropped_parts(history, settings, turn, cut);
    let mut text = format!(
        "Left out here to make room: {} of {}.",
        count(parts.answers, "answer"),
        count(parts.turns.len(), "turn"),
    );
    let most = room.saturating_sub(text.len()) / 4 * 3;
    section(&mut text, "Requests among it, shortened, the latest last:", &parts.requests, most);
    names(&mut text, "Files changed", &parts.files, "other file");
    let most = room.saturating_sub(text.len()) / 4 * 3;
    section(&mut text, "Commands and changes, the latest last:", &parts.ran, most);
    names(&mut text, "Tools called", &parts.calls, "other tool");
    let before = parts.before.map_or(0, str::len).min(room / 4);
    let free = room.saturating_sub(text.len()).saturating_sub(before);
    section(&mut text, "The assistant said, shortened, the latest last:", &parts.said, free);
    if let Some(before) = parts.before {
        text.push_str("\nBefore that:\n");
        text.push_str(before);
    }
    shorten(&mut text, room);
    text
}

/// Appends a title with the latest lines that fit into `room` bytes.
fn section(text: &mut String, title: &str, lines: &[String], room: usize) {
    const BEFORE: &str = " before these";
    let room = room.saturating_sub(title.len()).saturating_sub(1);
    let mut shown = fitting(lines, room);
    if shown < lines.len() {
        let digits = 8;
        shown = fitting(lines, room.saturating_sub(BEFORE.len()).saturating_sub(digits));
    }
    if shown == 0 {
        // A part of the latest is better than nothing.
        let mut latest = lines.last().cloned().unwrap_or_default();
        shorten(&mut latest, room.saturating_sub(3));
        if latest.len() > MIN_PART {
            text.push_str(&format!("\n{title}\n- {latest}"));
        }
        return;
    }
    text.push('\n');
    text.push_str(title);
    let before = lines.len().saturating_sub(shown);
    if before > 0 {
        text.push_str(&format!("\n- {before}{BEFORE}"));
    }
    for line in lines.iter().skip(before) {
        text.push_str("\n- ");
        text.push_str(line);
    }
}

/// Returns the number of the latest lines that fit.
fn fitting(lines: &[String], mut room: usize) -> usize {
    let fits = |line: &&String| {
        let bytes = line.len().saturating_add(3);
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    };
    lines.iter().rev().take(MAX_NAMED).take_while(fits).count()
}

/// Appends names with their numbers on one line.
fn names(text: &mut String, title: &str, names: &BTreeMap<String, usize>, other: &str) {
    let named = names.iter().take(MAX_NAMED);
    let mut named: Vec<String> = named.map(|(name, n)| format!("{name} ({n})")).collect();
    let others = names.len().saturating_sub(MAX_NAMED);
    if others > 0 {
        named.push(count(others, other));
    }
    if !named.is_empty() {
        text.push_str(&format!("\n{title}: {}.", named.join(", ")));
    }
}

fn dropped_parts<'a>(
    history: &'a History,
    settings: &Settings,
    turn: Option<TurnId>,
    cut: &CutPoint,
) -> DroppedParts<'a> {
    let items = history.items();
    let mut parts = DroppedParts::default();
    for stretch in unit_spans(history.units(), items, turn) {
        if !stretch.is_dropped(cut) {
            continue;
        }
        match &stretch.unit.kind {
            ConversationUnitKind::Request => {
                let words = stretch.items(items).next().map_or("", words);
                parts.requests.push(format!("\"{}\"", quote(words, SAID_BYTES)));
            }
            ConversationUnitKind::Context { .. } => continue,
            ConversationUnitKind::Sample => parts.answer(&stretch, items, settings),
            ConversationUnitKind::Summary => {
                parts.before = stretch.items(items).next().map(words);
                continue;
            }
        }
        parts.turns.insert(stretch.unit.turn);
    }
    parts
}

impl DroppedParts<'_> {
    fn answer(
        &mut self,
        stretch: &UnitSpan<'_>,
        items: &AppendList<PromptItem>,
        settings: &Settings,
    ) {
        self.answers = self.answers.saturating_add(1);
        let mut calls: BTreeMap<&Arc<str>, &CallItem> = BTreeMap::new();
        for item in stretch.items(items) {
            match item {
                PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => {
                    let said = quote(text, SAID_BYTES);
                    self.said.extend((!said.is_empty()).then(|| format!("\"{said}\"")));
                }
                PromptItem::Call { id, call, .. } => {
                    add(&mut self.calls, quote(&call.name, QUOTED_BYTES));
                    calls.insert(id, call);
                }
                PromptItem::Result { id, observation, edited } => {
                    let call = calls.get(id).filter(|call| changes(settings, &call.name));
                    if let Some(call) = call {
                        let arguments = edited.as_deref().unwrap_or(&call.arguments);
                        self.change(call, arguments, observation);
                    }
                }
                PromptItem::User { .. }
                | PromptItem::Image { .. }
                | PromptItem::Context { .. }
                | PromptItem::Reasoning { .. }
                | PromptItem::CallReport { .. }
                | PromptItem::ProgramReport { .. } => {}
            }
        }
    }

    /// Adds a call that may have changed something.
    fn change(&mut self, call: &CallItem, arguments: &str, observation: &Observation) {
        let Some(end) = end(observation) else {
            return;
        };
        let done = observation.status == ObservationStatus::Done;
        if let Some(path) = string_member(arguments, &PATHS).filter(|_| done) {
            return add(&mut self.files, quote(&path, QUOTED_BYTES));
        }
        let line = match string_member(arguments, &COMMANDS) {
            Some(command) => quote(&command, QUOTED_BYTES),
            None => quote(&format!("{} {arguments}", call.name), QUOTED_BYTES),
        };
        self.ran.push(format!("{line}: {end}"));
    }
}

fn add(names: &mut BTreeMap<String, usize>, name: String) {
    let n = names.entry(name).or_default();
    *n = n.saturating_add(1);
}

fn changes(settings: &Settings, tool: &str) -> bool {
    settings.tool(tool).is_some_and(|tool| tool.effect != EffectClass::ReadOnly)
}

/// Returns the end of a call in a few words: its exit code if it has one. `None` if it did not run.
fn end(observation: &Observation) -> Option<Cow<'static, str>> {
    let status = match observation.status {
        ObservationStatus::Done => "done",
        ObservationStatus::Failed => "failed",
        ObservationStatus::Aborted => "stopped",
        ObservationStatus::Unknown => "nobody knows whether it took effect",
        ObservationStatus::Denied | ObservationStatus::NotStarted => return None,
    };
    let code = observation.exit_code.map(|code| Cow::Owned(format!("exit code {code}")));
    Some(code.unwrap_or(Cow::Borrowed(status)))
}

/// Returns a short form of a text on one line. It opens no frame, so a frame around it adds
/// nothing.
pub(super) fn quote(text: &str, most: usize) -> String {
    let start = text.get(..text.floor_char_boundary(most.saturating_mul(4)));
    let words = start.unwrap_or_default().split_whitespace();
    let mut line = words.collect::<Vec<_>>().join(" ").replace('<', "(").replace('>', ")");
    line.retain(|c| !c.is_control());
    shorten(&mut line, most);
    line
}
