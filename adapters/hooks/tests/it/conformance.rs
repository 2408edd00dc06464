//! Hook commands and redaction keep the promises of the port.

use std::sync::Arc;

use serde_json::json;
use windlass_hooks::CommandHooks;
use windlass_ports::{HookCall, Hooks};
use windlass_testkit::hooks::suite::HooksFixture;

use super::common::{at, hook, parse, prompt};

struct Commands(Arc<CommandHooks>);

impl Commands {
    fn new() -> Self {
        let three = ["exit 0", "exec sleep 600", "head -c 9000 /dev/zero | tr '\\0' x"];
        let file = json!({
            "hooks": {"UserPromptSubmit": [{"hooks": three.map(hook)}]},
            "redact": ["s[0-9]cret"],
        });
        Self(Arc::new(parse(&file.to_string()).unwrap()))
    }

    fn question(&self, index: usize) -> HookCall {
        let spec = self.0.hooks().remove(index);
        HookCall { hook: spec.name, at: at(spec.point), subject: prompt("hello") }
    }
}

impl HooksFixture for Commands {
    fn hooks(&self) -> Arc<dyn Hooks> {
        self.0.clone()
    }

    fn questions(&self) -> Vec<HookCall> {
        vec![self.question(0)]
    }

    fn endless(&self) -> Option<HookCall> {
        Some(self.question(1))
    }

    fn talkative(&self) -> Option<HookCall> {
        Some(self.question(2))
    }

    fn secret(&self) -> Option<(String, String)> {
        Some(("the word is s3cret, s3c".into(), "s3cret".into()))
    }
}

windlass_testkit::hooks_suite!(Commands::new());
