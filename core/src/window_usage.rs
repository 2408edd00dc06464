//! Usage of the model's window: what fills it, by source.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::budget::AddedContent;
use crate::context::{self, IMAGE_BYTES, PRESENTER};
use crate::history::{ConversationUnitKind, History};
use crate::render::PromptItem;
use crate::session::Session;

/// Content of the next request, by source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowUsage {
    /// Its sources, in the order of their kinds and names. None is empty.
    pub sources: Vec<WindowSource>,
    /// Estimate of all tokens, see [`Session::context_tokens`].
    pub tokens: u64,
    /// The provider's count of the latest request; `None` before the first, or after a compaction.
    pub measured: Option<u64>,
}

/// One source of a request's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSource {
    /// Kind of the source.
    pub kind: WindowSourceKind,
    /// Name of the tool or the context.
    pub name: Option<String>,
    /// Number of items.
    pub items: u64,
    /// Estimated tokens, of the whole text.
    pub tokens: u64,
}

/// Kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSourceKind {
    /// Instructions of the settings.
    Instructions,
    /// Definition of the named tool.
    Tool,
    /// Named context beside the conversation: a project's instructions, a hook's.
    Context,
    /// Text that a compaction put in place of what it dropped.
    Summary,
    /// Texts of the user.
    User,
    /// Texts of the model.
    Model,
    /// Reasoning of the model.
    Reasoning,
    /// Calls of the named tool.
    Call,
    /// Results of the named tool.
    Result,
    /// Images, also in results.
    Image,
}

/// Sums of the sources.
#[derive(Default)]
struct Sources(BTreeMap<(WindowSourceKind, Option<String>), AddedContent>);

impl Sources {
    fn add(&mut self, kind: WindowSourceKind, name: Option<&str>, bytes: u64, items: u64) {
        let source = self.0.entry((kind, name.map(str::to_owned))).or_default();
        source.bytes = source.bytes.saturating_add(bytes);
        source.items = source.items.saturating_add(items);
    }
}

/// Measures the content of the next request by source. Reads all of the conversation.
#[must_use]
pub fn window_usage(session: &Session, history: &History) -> WindowUsage {
    let mut sources = Sources::default();
    add_settings(&mut sources, session);
    add_conversation(&mut sources, history);
    let sources = sources.0.into_iter().map(|((kind, name), content)| WindowSource {
        kind,
        name,
        items: content.items,
        tokens: content.tokens(),
    });
    WindowUsage {
        sources: sources.filter(|source| source.tokens > 0).collect(),
        tokens: session.context_tokens(),
        measured: session.measured.map(|measured| measured.tokens).filter(|tokens| *tokens > 0),
    }
}

fn add_settings(sources: &mut Sources, session: &Session) {
    let settings = session.turn().map_or(&session.settings, |turn| &turn.settings);
    let settings = settings.for_request(&session.found_tools);
    let instructions = settings.instructions.len() as u64;
    sources.add(WindowSourceKind::Instructions, None, instructions, 0);
    for tool in &settings.tools {
        sources.add(WindowSourceKind::Tool, Some(&tool.name), tool.prompt_bytes(), 0);
    }
}

fn add_conversation(sources: &mut Sources, history: &History) {
    let mut calls = BTreeMap::new();
    let mut units = history.units().iter().peekable();
    let mut unit = None;
    for (index, item) in history.items().iter().enumerate() {
        while let Some(next) = units.next_if(|next| next.first <= index) {
            unit = Some(&next.kind);
        }
        let images = item.images().len() as u64;
        if images > 0 {
            let bytes = images.saturating_mul(IMAGE_BYTES);
            sources.add(WindowSourceKind::Image, None, bytes, images);
        }
        let bytes = context::prompt_item(item).bytes;
        let text = bytes.saturating_sub(images.saturating_mul(IMAGE_BYTES));
        let (kind, name) = match item {
            PromptItem::Image { .. } => continue,
            PromptItem::User { .. } => (WindowSourceKind::User, None),
            PromptItem::Context { .. } => of_context(unit),
            PromptItem::Text { .. } | PromptItem::Refusal { .. } => (WindowSourceKind::Model, None),
            PromptItem::Reasoning { .. } => (WindowSourceKind::Reasoning, None),
            PromptItem::Call { id, call, .. } => {
                calls.insert(id.clone(), call.name.as_str());
                (WindowSourceKind::Call, Some(call.name.as_str()))
            }
            PromptItem::Result { id, .. } => (WindowSourceKind::Result, calls.get(id).copied()),
            PromptItem::CallReport { .. } | PromptItem::ProgramReport { .. } => {
                (WindowSourceKind::Result, Some(context::PROGRAM))
            }
        };
        sources.add(kind, name, text, 1);
    }
}

fn of_context(unit: Option<&ConversationUnitKind>) -> (WindowSourceKind, Option<&str>) {
    match unit {
        Some(ConversationUnitKind::Summary) => (WindowSourceKind::Summary, None),
        Some(ConversationUnitKind::Context { name, .. }) => {
            let name = name.as_deref();
            (
                WindowSourceKind::Context,
                name.map(|name| name.strip_prefix(PRESENTER).unwrap_or(name)),
            )
        }
        Some(ConversationUnitKind::Request | ConversationUnitKind::Sample) | None => {
            (WindowSourceKind::Context, None)
        }
    }
}
