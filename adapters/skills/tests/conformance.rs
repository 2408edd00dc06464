//! The tool passes the suite of its port, and gives out no more than the skills.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::{CallId, ObservationStatus, SessionId};
use windlass_ports::{ToolCall, ToolContext, ToolExecutor};
use windlass_skills::{ACTIVATE_SKILL_TOOL, Catalogue, SkillTools, find};
use windlass_testkit::tools::suite::ToolFixture;

struct Skills {
    dir: tempfile::TempDir,
}

impl Skills {
    fn new() -> Self {
        let made = Self { dir: tempfile::TempDir::new().unwrap() };
        made.write(
            "skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Reads PDF.\n---\nUse it.\n",
        );
        made.write("skills/pdf/references/forms.md", "forms");
        made.write("skills/pdf/.hidden", "hidden");
        made.write("secret", "secret");
        made
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn tools(&self) -> SkillTools {
        let path = self.path();
        SkillTools::new(move || {
            let found = find(&path.join("skills"), Some(&path));
            Ok(Catalogue::new(found.files, &BTreeSet::new()))
        })
    }

    async fn call(&self, arguments: &str) -> (ObservationStatus, String) {
        let tools = self.tools();
        let call = ToolCall { name: ACTIVATE_SKILL_TOOL.into(), arguments: arguments.into() };
        let context = ToolContext::new(SessionId::new("s").unwrap(), CallId(7));
        let seen = tools.run(call, context).await.unwrap();
        (seen.status, seen.output)
    }
}

struct Fixture(Skills);

impl ToolFixture for Fixture {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(self.0.tools())
    }

    fn calls(&self) -> Vec<ToolCall> {
        let call = |arguments: &str| ToolCall {
            name: ACTIVATE_SKILL_TOOL.into(),
            arguments: arguments.into(),
        };
        vec![call(r#"{"name":"pdf"}"#), call(r#"{"name":"pdf","file":"references/forms.md"}"#)]
    }
}

windlass_testkit::tool_suite!(Fixture(Skills::new()));

#[tokio::test]
async fn a_skill_is_returned_with_its_files_and_each_file() {
    let skills = Skills::new();
    let (status, text) = skills.call(r#"{"name":"pdf"}"#).await;
    assert_eq!(status, ObservationStatus::Done);
    let folder = skills.path().join("skills/pdf");
    let files =
        "Files of the skill (activate_skill with `file` returns one):\n- references/forms.md\n";
    assert_eq!(text, format!("Skill pdf in {}:\n\nUse it.\n\n{files}", folder.display()));
    let (status, text) = skills.call(r#"{"name":"pdf","file":"references/forms.md"}"#).await;
    assert_eq!((status, text.as_str()), (ObservationStatus::Done, "forms"));
    let (status, text) = skills.call(r#"{"name":"doc"}"#).await;
    assert_eq!(status, ObservationStatus::Failed);
    assert_eq!(text, "there is no skill `doc`; there are: pdf");
    fs::remove_dir_all(skills.path().join("skills")).unwrap();
    let (_, text) = skills.call(r#"{"name":"pdf"}"#).await;
    assert_eq!(text, "there is no skill `pdf`; there are none");
}

#[tokio::test]
async fn nothing_outside_of_the_skill_is_read() {
    let skills = Skills::new();
    symlink(skills.path().join("secret"), skills.path().join("skills/pdf/link")).unwrap();
    for file in ["../../secret", "/etc/passwd", "link", "references/../../../secret"] {
        let (status, text) = skills.call(&format!(r#"{{"name":"pdf","file":"{file}"}}"#)).await;
        assert_eq!(status, ObservationStatus::Failed, "{file}: {text}");
    }
}

/// Whoever may write to the project may exchange the folder after the skill was found.
#[tokio::test]
async fn a_folder_that_became_a_link_is_not_followed() {
    let skills = Skills::new();
    let root = skills.path().join("skills");
    let files = find(&root, Some(&root)).files;
    let tools = SkillTools::new(move || Ok(Catalogue::new(files.clone(), &BTreeSet::new())));
    skills.write("elsewhere/references/forms.md", "secret");
    fs::rename(root.join("pdf"), root.join("moved")).unwrap();
    symlink(skills.path().join("elsewhere"), root.join("pdf")).unwrap();
    let arguments = r#"{"name":"pdf","file":"references/forms.md"}"#.into();
    let call = ToolCall { name: ACTIVATE_SKILL_TOOL.into(), arguments };
    let context = ToolContext::new(SessionId::new("s").unwrap(), CallId(7));
    let seen = tools.run(call, context).await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Failed, "{}", seen.output);
    assert!(seen.output.ends_with("it leads through a link or a file"), "{}", seen.output);
}

#[test]
fn broken_ones_are_named_and_the_others_are_found() {
    let skills = Skills::new();
    skills.write("skills/deep/er/one/SKILL.md", "---\nname: one\ndescription: d\n---\n");
    skills.write("skills/pdf/inner/SKILL.md", "---\nname: inner\ndescription: d\n---\n");
    skills.write("skills/none/SKILL.md", "no front matter");
    skills.write("skills/long/SKILL.md", &"x".repeat(70_000));
    skills.write("skills/a/b/c/d/e/SKILL.md", "---\nname: e\ndescription: d\n---\n");
    let pipe = skills.path().join("skills/pipe");
    fs::create_dir(&pipe).unwrap();
    let made = std::process::Command::new("mkfifo").arg(pipe.join("SKILL.md")).status();
    assert!(made.unwrap().success());
    skills.write("outside/SKILL.md", "---\nname: outside\ndescription: d\n---\n");
    let root = skills.path().join("skills");
    symlink(skills.path().join("outside"), root.join("outside")).unwrap();
    // A loop of links ends.
    symlink(&root, root.join("loop")).unwrap();
    let found = find(&root, Some(&root));
    let names = |paths: Vec<&Path>| -> BTreeSet<String> {
        let from = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
        paths.into_iter().map(from).collect()
    };
    let left_out = names(found.problems.iter().map(|one| one.path.as_path()).collect());
    let expected = ["long/SKILL.md", "outside/SKILL.md", "pipe/SKILL.md"];
    for path in expected {
        assert!(left_out.contains(path), "{path}: {left_out:?}");
    }
    let made = Catalogue::new(found.files, &BTreeSet::new());
    assert_eq!(made.skills.keys().collect::<Vec<_>>(), ["one", "pdf"]);
    assert_eq!(made.problems.len(), 1, "{:?}", made.problems);
    assert!(made.problems[0].reason.starts_with("it has no front matter"));
    assert!(find(&root.join("absent"), None).files.is_empty());
}
