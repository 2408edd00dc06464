//! Settings with another provider and model, made once for as long as a session keeps its own.

use std::sync::Arc;

use windlass_core::{Prompt, Settings};
use windlass_ports::sync::Mutex;

/// Most settings that are remembered.
const MOST: usize = 64;

/// The settings of sessions, as one provider of several is to see them.
#[derive(Debug, Default)]
pub(crate) struct SettingsOverride(Mutex<Vec<(Arc<Settings>, Arc<Settings>)>>);

impl SettingsOverride {
    /// The prompt with this provider's name and, where one is given, this model. The same settings
    /// give the same settings, by pointer, so that an adapter knows them again at once.
    pub(crate) fn prompt(&self, prompt: &Prompt, provider: &str, model: Option<&str>) -> Prompt {
        let settings = &prompt.settings;
        let model = model.unwrap_or(&settings.model);
        if settings.provider == provider && settings.model == model {
            return prompt.clone();
        }
        let mut known = self.0.lock();
        let same = |(from, to): &&(Arc<Settings>, Arc<Settings>)| {
            Arc::ptr_eq(from, settings) && to.provider == provider && to.model == model
        };
        let found = known.iter().find(same).map(|(_, to)| to.clone());
        let to = found.unwrap_or_else(|| {
            let to = Arc::new(Settings::clone(settings).with(|it| {
                it.provider = provider.to_owned();
                it.model = model.to_owned();
            }));
            if known.len() >= MOST {
                known.remove(0);
            }
            known.push((settings.clone(), to.clone()));
            to
        });
        Prompt { settings: to, items: prompt.items.clone() }
    }
}
