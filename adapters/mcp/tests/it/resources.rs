//! Resources of servers, as a model lists and reads them, and prompts.

use serde_json::{Value, json};
use windlass_core::{EffectClass, Observation, ObservationStatus};
use windlass_mcp::{LIST_RESOURCES_TOOL, McpTools, READ_RESOURCE_TOOL, ServerState};
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolExecutor as _};

use super::bench::{Bench, context, eventually, kill, state};

async fn call_within(
    tools: &McpTools,
    name: &str,
    arguments: Value,
    context: ToolContext,
) -> Observation {
    let call = ToolCall { name: name.to_owned(), arguments: arguments.to_string() };
    tools.run(call, context).await.unwrap()
}

async fn call(tools: &McpTools, name: &str, arguments: Value) -> Observation {
    call_within(tools, name, arguments, context(&CancelSource::new())).await
}

async fn list(tools: &McpTools, arguments: Value) -> String {
    call(tools, LIST_RESOURCES_TOOL, arguments).await.output
}

async fn read(tools: &McpTools, uri: &str) -> Observation {
    call(tools, READ_RESOURCE_TOOL, json!({"server": "s", "uri": uri})).await
}

/// Returns the cursor that a list ends with.
fn cursor(listed: &str) -> Option<&str> {
    listed.rsplit_once("cursor \"")?.1.strip_suffix("\"]")
}

#[tokio::test]
async fn tools_for_resources_are_offered_where_a_server_has_resources() {
    let resource_tools = |tools: &McpTools| {
        let own = [LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL];
        let mut specs = tools.tools();
        specs.retain(|spec| own.contains(&spec.name.as_str()));
        assert!(specs.iter().all(|spec| spec.effect == EffectClass::ReadOnly));
        specs.len()
    };
    let bench = Bench::plain("plain");
    assert_eq!(resource_tools(&bench.start().await), 0);
    let mut bench = Bench::plain("shares");
    let tools = bench.start().await;
    assert_eq!((resource_tools(&tools), tools.asked_resources().len()), (2, 0));
    bench.server.trusted = false;
    let tools = bench.start().await;
    assert_eq!((resource_tools(&tools), tools.asked_resources().len()), (2, 1));
}

#[tokio::test]
async fn each_resource_and_template_is_listed_once_over_bounded_answers() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    let first = list(&tools, json!({})).await;
    assert!(
        first.starts_with(
            "Resources of the MCP server s:\n- note://0  note 0, text/plain, 7 bytes\n"
        )
    );
    let (mut all, mut answers) = (first.clone(), 1);
    let mut next = cursor(&first).map(str::to_owned);
    while let Some(at) = next {
        let more = list(&tools, json!({"server": "s", "cursor": at})).await;
        next = cursor(&more).map(str::to_owned);
        all.push_str(&format!("\n{more}"));
        answers += 1;
    }
    let uris: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let expected: Vec<String> = (0..300).map(|number| format!("note://{number}  ")).collect();
    assert!(uris.iter().zip(&expected).all(|(line, uri)| line.starts_with(uri.as_str())));
    assert_eq!((uris.len(), answers), (301, 4));
    assert_eq!(uris[300], "note://dated/{day}  dated: Notes of a day.");
}

#[tokio::test]
async fn a_resource_is_read_as_text_and_what_is_none_is_described() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    assert_eq!(read(&tools, "note://1").await.output, "text of note://1");
    let two = "[resource note://two/a]\nfirst\n[resource note://two/b]\nsecond";
    assert_eq!(read(&tools, "note://two").await.output, two);
    let picture = "[resource note://picture]\n[file, image/png, 4 bytes: not shown]";
    assert_eq!(read(&tools, "note://picture").await.output, picture);
    let long = read(&tools, "note://long").await;
    assert_eq!((long.status, long.output_bytes), (ObservationStatus::Done, 100_000));
    assert!(long.output.len() < 33 * 1024 && long.omitted_bytes > 60_000);
    assert_eq!(tools.read_resource("s", "note://2").await.unwrap(), "text of note://2");
}

#[tokio::test]
async fn what_cannot_be_listed_or_read_is_a_failure_that_says_why() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    let failed = |observed: Observation| {
        assert_eq!(observed.status, ObservationStatus::Failed);
        observed.output
    };
    let missing = failed(read(&tools, "note://missing").await);
    assert_eq!(missing, "the MCP server s answered: no resource note://missing (-32002)");
    let other = call(&tools, READ_RESOURCE_TOOL, json!({"server": "t", "uri": "note://1"})).await;
    assert_eq!(failed(other), "no MCP server \"t\" with resources is there: s");
    for arguments in [json!({"cursor": "r0:"}), json!({"server": "s", "cursor": "?"}), json!([])] {
        failed(call(&tools, LIST_RESOURCES_TOOL, arguments).await);
    }
    let cancelled = CancelSource::new();
    cancelled.cancel();
    let arguments = json!({"server": "s", "uri": "note://1"});
    let ended = call_within(&tools, READ_RESOURCE_TOOL, arguments, context(&cancelled)).await;
    assert_eq!(ended.status, ObservationStatus::Aborted);
    let error = tools.read_resource("s", "note://missing").await.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read the resource note://missing: the MCP server s answered")
    );
}

#[tokio::test]
async fn a_server_that_died_is_asked_again_once_it_is_there() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    let before = bench.lines("starts").len();
    kill(&bench.folder());
    eventually("its end", || {
        state(&tools) != ServerState::Ready || bench.lines("starts").len() > before
    })
    .await;
    assert_eq!(read(&tools, "note://1").await.output, "text of note://1");
}

#[tokio::test]
async fn prompts_are_listed_and_their_messages_are_one_text() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    let listed = tools.prompts(None).await.remove(0).1.unwrap();
    let names: Vec<&str> = listed.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["mcp__s__review", "mcp__s__talk"]);
    assert!(listed[0].arguments[0].required && !listed[0].arguments[1].required);
    let review = tools.get_prompt("mcp__s__review", "change='a b'", &mut |_| false).await.unwrap();
    assert_eq!(review.text, "Review a b.");
    let talk = "[user]\nHello.\n\n[assistant]\nWhat is it about?\n\n[user]\n[resource note://1]\n\
                text of the note\n\n[user]\n";
    let shown = tools.get_prompt("mcp__s__talk", "", &mut |_| false).await.unwrap();
    assert_eq!(shown.text, format!("{talk}[image, image/png, 3 bytes: not shown]"));
    let taken = tools.get_prompt("mcp__s__talk", "", &mut |_| true).await.unwrap();
    assert_eq!((taken.text, taken.images), (format!("{talk}[image 1]"), vec![vec![0; 3]]));
}

#[tokio::test]
async fn a_prompt_that_cannot_be_used_says_why() {
    let bench = Bench::plain("shares");
    let tools = bench.start().await;
    for (name, arguments, why) in [
        ("mcp__t__review", "", "no MCP server with prompts has that name"),
        ("mcp__s__other", "", "the MCP server s has only: mcp__s__review, mcp__s__talk"),
        ("mcp__s__review", "tone=kind", "its argument change is missing (The change.)"),
    ] {
        let error = tools.get_prompt(name, arguments, &mut |_| false).await.unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("cannot use the prompt /{name}: {why}")), "{error}");
    }
}
