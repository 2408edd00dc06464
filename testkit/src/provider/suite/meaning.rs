//! Cases about what a request means: all that the settings and the conversation say reaches the
//! model, in the protocol's own words.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass_core::{
    CallId, CallOutcome, FailureKind, Image, ImageMedia, Observation, ObservationStatus,
    OutputSchema, PromptItem, ReportedCall, ReportedCalls, Seq, SessionId, StoredOutput,
    ToolChoice, program_report_text,
};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobReader, BlobStore, BlobWriter, NoBlobStore, SampleRequest,
};

use super::ProviderFixture;
use super::asking::{call, framed, result, said, user, with_tools};
use super::talk::{Talk, classed, request, settings};
use crate::http::{ModelRequest, OfferedTool, Reply, RequestPart, Script};
use crate::store::{Checked, Violation, ensure, run};

/// The first bytes of a PNG file, and the same in base64.
const PICTURE: (&[u8], &str) = (b"\x89PNG\r\n\x1a\n", "iVBORw0KGgo=");
/// Their name: the SHA-256.
const PICTURE_NAME: &str = "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6";

fn talk(fixture: &dyn ProviderFixture) -> Result<Talk, Violation> {
    Talk::new(fixture, Script::respond(|_| Reply::say("Hello.")))
}

/// The instructions are a part of the request of their own, and are not among the user's words.
///
/// # Errors
/// A violation when they are missing, or others are sent.
pub fn the_instructions_are_sent(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let talk = talk(fixture)?;
        for instructions in ["Be brief.", "Zwei\nZeilen: \"é\" \u{1f9ca}"] {
            let settings = settings().with(|it| it.instructions = instructions.into());
            let sent = talk.sent(request(settings, &[user("hi")])?, "instructions").await?;
            ensure!(
                sent.system.as_deref() == Some(instructions),
                "the instructions {instructions:?} were sent as {:?}",
                sent.system
            );
            ensure!(
                sent.parts == [RequestPart::User("hi".into())],
                "beside instructions, {:?} was sent for the word of a user",
                sent.parts
            );
        }
        let settings = settings().with(|it| it.instructions = String::new());
        let sent = talk.sent(request(settings, &[user("hi")])?, "no instructions").await?;
        let none = sent.system.as_deref().unwrap_or_default().is_empty();
        ensure!(none, "no instructions were given, and {:?} was sent", sent.system);
        Ok(())
    })
}

/// Each tool is offered with its name, its description and the schema of its arguments.
///
/// # Errors
/// A violation when one of them is missing or another.
pub fn each_tool_is_sent_whole(fixture: &dyn ProviderFixture) -> Checked {
    let path = json!({ "type": "string", "description": "Where it \"is\"." });
    let tools = [
        OfferedTool {
            name: "read_file".into(),
            description: "Reads a file.\nNot a folder.".into(),
            parameters: json!({ "type": "object", "properties": { "path": path }, "required": ["path"] }),
        },
        OfferedTool {
            name: "list_dir".into(),
            description: "Lists a folder.".into(),
            parameters: json!({ "type": "object", "properties": { "deep": { "type": "boolean" } } }),
        },
    ];
    let spec = |tool: &OfferedTool| {
        crate::tool_spec(&tool.name, &tool.description, &tool.parameters.to_string())
    };
    run(async {
        let talk = talk(fixture)?;
        if !talk.provider.capabilities().tools {
            return Ok(());
        }
        let settings = settings().with(|it| it.tools = tools.iter().map(spec).collect());
        let sent = talk.sent(request(settings, &[user("hi")])?, "tools").await?;
        ensure!(sent.tools == tools, "the tools {tools:?} were sent as {:?}", sent.tools);
        Ok(())
    })
}

/// The choice of tools is sent; where the protocol cannot say it, the request is refused before it is
/// sent.
///
/// # Errors
/// A violation when another choice reaches the model.
pub fn the_choice_of_tools_is_sent(fixture: &dyn ProviderFixture) -> Checked {
    let able = fixture.protocol().capabilities().tool_choice;
    let choices =
        [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Tool("f".into())];
    run(async {
        for choice in choices {
            let talk = talk(fixture)?;
            if !talk.provider.capabilities().tools {
                return Ok(());
            }
            let asked = request(with_tools(), &[user("hi")])?;
            let asked = SampleRequest { choice: choice.clone(), ..asked };
            let what = format!("the choice {choice:?}");
            if able || choice.is_auto() {
                let sent = talk.sent(asked, &what).await?.choice;
                ensure!(sent == choice, "{what} was sent as {sent:?}");
                continue;
            }
            let error = talk.ask_for(asked).await?.error(&what)?;
            classed(&error, &[FailureKind::Unsupported], false, &what)?;
            talk.was_asked(0, &what)?;
        }
        Ok(())
    })
}

/// Each effort is sent, and no two of them alike.
///
/// # Errors
/// A violation when one is missing, or an effort is sent that nobody asked for.
pub fn each_effort_is_sent(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let talk = talk(fixture)?;
        if !talk.provider.capabilities().effort {
            return Ok(());
        }
        let mut sent = Vec::new();
        for effort in [None, Some("low"), Some("medium"), Some("high")] {
            let settings = settings().with(|it| it.effort = effort.map(String::from));
            let one = talk.sent(request(settings, &[user("hi")])?, "an effort").await?.effort;
            ensure!(one.is_some() == effort.is_some(), "the effort {effort:?} was sent as {one:?}");
            ensure!(!sent.contains(&one), "the effort {effort:?} was sent as another: {one:?}");
            sent.push(one);
        }
        Ok(())
    })
}

/// An image of the user, and one of a result, goes out as such where the model is declared to take
/// images; elsewhere words say that there was one.
///
/// # Errors
/// A violation when an image is missing, or declared for a protocol that has no place for it.
pub fn images_are_sent_as_declared(fixture: &dyn ProviderFixture) -> Checked {
    let (bytes, base64) = PICTURE;
    let image =
        Image { media: ImageMedia::Png, sha256: PICTURE_NAME.into(), bytes: bytes.len() as u64 };
    run(async {
        let talk = talk(fixture)?;
        let declared = talk.provider.model(&talk.model).images;
        let able = fixture.protocol().capabilities().images;
        ensure!(able || !declared, "images are declared, and the protocol has no place for them");
        let asked = request(
            settings(),
            &[PromptItem::Image { image: Arc::new(image.clone()) }, user("hi")],
        )?;
        let blobs = BlobReader::new(Arc::new(OnePicture), asked.session.clone());
        let sent = talk.sent(SampleRequest { blobs, ..asked }, "an image").await?;
        let picture = RequestPart::Image { media: "image/png".into(), base64: base64.into() };
        let shown = sent.parts.contains(&picture);
        ensure!(shown || !declared, "images are declared, and {:?} was sent for one", sent.parts);
        ensure!(
            shown || sent.parts.len() > 1,
            "an image that could not be sent is not named in words: {:?}",
            sent.parts
        );
        let first = of_result(&image);
        let second = result("c2", ObservationStatus::Done, "the second result", None);
        let calls = [call(1, "c1", "f", "{}"), call(1, "c2", "f", "{}")];
        let asked = request(settings(), &[&[user("hi")], &calls[..], &[first, second]].concat())?;
        let blobs = BlobReader::new(Arc::new(OnePicture), asked.session.clone());
        let sent = talk.sent(SampleRequest { blobs, ..asked }, "the image of a result").await?;
        let shown = sent.parts.contains(&picture);
        let named = format!("{:?}", sent.parts).contains("image");
        ensure!(
            (shown || !declared) && named,
            "for the image of a result {:?} was sent",
            sent.parts
        );
        Ok(())
    })
}

/// A result with an image.
fn of_result(image: &Image) -> PromptItem {
    let images = vec![image.clone()];
    let observation =
        Observation { images, ..Observation::new(ObservationStatus::Done, "the first result") };
    PromptItem::Result { id: "c1".into(), observation: Arc::new(observation), edited: None }
}

/// A store that holds the picture of the suite.
struct OnePicture;

#[async_trait]
impl BlobStore for OnePicture {
    fn capabilities(&self) -> BlobCapabilities {
        NoBlobStore.capabilities()
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        NoBlobStore.begin(session).await
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        self.verify(session, sha256).await?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(PICTURE.0.iter().skip(from).take(limit).copied().collect())
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        if sha256 != PICTURE_NAME {
            return Err(BlobError::not_found(session, sha256));
        }
        Ok(StoredOutput { sha256: sha256.into(), bytes: PICTURE.0.len() as u64 })
    }

    async fn erase(&self, _session: &SessionId) -> Result<(), BlobError> {
        Ok(())
    }
}

/// The schema of the answer is sent where the model is declared to keep to one.
///
/// # Errors
/// A violation when it is missing or another, or declared for a protocol that has no place for it.
pub fn the_schema_of_the_answer_is_sent_as_declared(fixture: &dyn ProviderFixture) -> Checked {
    let schema = json!({
        "type": "object",
        "properties": { "depth": { "type": "integer" } },
        "required": ["depth"],
        "additionalProperties": false,
    });
    let shape = OutputSchema {
        name: "suite".into(),
        schema: schema.to_string(),
        strict: true,
        max_re_asks: 1,
    };
    run(async {
        let talk = talk(fixture)?;
        let declared = talk.provider.model(&talk.model).structured_output;
        let able = fixture.protocol().capabilities().answer_schemas;
        ensure!(able || !declared, "schemas are declared, and the protocol has no place for them");
        let mut asking = settings();
        asking.options.output_schema = Some(shape);
        let sent = talk.sent(request(asking, &[user("hi")])?, "a schema").await?.answer_schema;
        let as_given = sent.as_ref() == Some(&schema);
        ensure!(
            as_given || (sent.is_none() && !declared),
            "the schema {schema} of an answer is declared ({declared}) and was sent as {sent:?}"
        );
        let sent = talk.sent(request(settings(), &[user("hi")])?, "no schema").await?;
        let none: Option<Value> = sent.answer_schema;
        ensure!(none.is_none(), "no schema was given, and {none:?} was sent");
        Ok(())
    })
}

/// A result of a call that failed says so, in a protocol that has a word for it.
///
/// # Errors
/// A violation when it does not, or another result does.
pub fn failed_results_say_so(fixture: &dyn ProviderFixture) -> Checked {
    use ObservationStatus as Status;
    let able = fixture.protocol().capabilities().failed_results;
    let items = [
        user("six"),
        call(2, "a", "f", "{}"),
        call(2, "b", "f", "{}"),
        call(2, "c", "f", "{}"),
        result("a", Status::Done, "one", None),
        result("b", Status::Failed, "two", None),
        result("c", Status::Denied, "three", None),
        call(7, "d", "f", "{}"),
        call(7, "e", "f", "{}"),
        call(7, "g", "f", "{}"),
        result("d", Status::Aborted, "four", None),
        result("e", Status::Unknown, "five", None),
        result("g", Status::NotStarted, "six", None),
    ];
    run(async {
        let talk = talk(fixture)?;
        let sent = talk.sent(request(with_tools(), &items)?, "failed results").await?;
        let failed = |part: &RequestPart| match part {
            RequestPart::Result { failed, .. } => Some(*failed),
            RequestPart::User(_)
            | RequestPart::Image { .. }
            | RequestPart::Context(_)
            | RequestPart::Text(_)
            | RequestPart::Opaque(_)
            | RequestPart::Call { .. } => None,
        };
        let said: Vec<bool> = sent.parts.iter().filter_map(failed).collect();
        ensure!(
            said == [false, able, able, able, able, able],
            "one result is done, the others failed, and they say of failing {said:?}"
        );
        Ok(())
    })
}

/// A conversation goes out in its order: each word, call and result once, each of its own kind.
///
/// # Errors
/// A violation when something is missing, added, or in another place.
pub fn a_conversation_keeps_its_order(fixture: &dyn ProviderFixture) -> Checked {
    let able = fixture.protocol().capabilities().call_ids;
    run(async {
        let sent = conversation(&talk(fixture)?).await?;
        let given = parts(able);
        ensure!(sent.parts == given, "the conversation {given:?} was sent as {:?}", sent.parts);
        Ok(())
    })
}

/// Nothing of a conversation is left out or shortened: context, reports, refusals, white space, texts of
/// many characters.
///
/// # Errors
/// A violation when something is missing or another.
pub fn all_that_was_said_is_sent(fixture: &dyn ProviderFixture) -> Checked {
    let able = fixture.protocol().capabilities().call_ids;
    let id = if able { "a" } else { "" };
    let (words, output) = ("  two\n lines \n", "line \u{e9}\n".repeat(8_000));
    let report = ReportedCalls {
        calls: vec![ReportedCall { call: "f {}".into(), outcome: CallOutcome::Done }],
        more: 0,
    };
    let of_program = Observation::new(ObservationStatus::Failed, "the program ended");
    let items = [
        PromptItem::Context { text: framed("the workspace is empty") },
        user(words),
        call(2, "a", "f", "{}"),
        result("a", ObservationStatus::Done, &output, None),
        PromptItem::CallReport { calls: Arc::new(report.clone()) },
        PromptItem::Refusal { sample: Seq(5), text: "No.".into() },
        user(&output),
        said(9, "Yes."),
        PromptItem::ProgramReport { call: CallId(9), observation: Arc::new(of_program.clone()) },
        user("go on"),
    ];
    let called = RequestPart::Call { id: id.into(), name: "f".into(), arguments: "{}".into() };
    let given = [
        RequestPart::Context(framed("the workspace is empty").to_string()),
        RequestPart::User(words.into()),
        called,
        RequestPart::Result { id: id.into(), output: output.clone(), failed: false },
        RequestPart::Context(report.text()),
        RequestPart::Text("No.".into()),
        RequestPart::User(output.clone()),
        RequestPart::Text("Yes.".into()),
        RequestPart::Context(program_report_text(&of_program)),
        RequestPart::User("go on".into()),
    ];
    run(async {
        let sent =
            talk(fixture)?.sent(request(with_tools(), &items)?, "a long conversation").await?;
        for (at, (given, sent)) in given.iter().zip(&sent.parts).enumerate() {
            let shown =
                |part: &RequestPart| format!("{part:?}").chars().take(120).collect::<String>();
            ensure!(given == sent, "part {at}, {}, was sent as {}", shown(given), shown(sent));
        }
        let (sent, given) = (sent.parts.len(), given.len());
        ensure!(sent == given, "a conversation of {given} parts was sent as {sent}");
        Ok(())
    })
}

/// The model meets its calls again under the names of the tools that it called.
///
/// # Errors
/// A violation when a call has another name.
pub fn calls_keep_their_names(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let sent = conversation(&talk(fixture)?).await?;
        let name = |part: &RequestPart| match part {
            RequestPart::Call { name, .. } => Some(name.clone()),
            RequestPart::User(_)
            | RequestPart::Image { .. }
            | RequestPart::Context(_)
            | RequestPart::Text(_)
            | RequestPart::Opaque(_)
            | RequestPart::Result { .. } => None,
        };
        let names: Vec<String> = sent.parts.iter().filter_map(name).collect();
        let given = ["read_file", "f", "read_file"];
        ensure!(names == given, "the calls of {given:?} were sent as {names:?}");
        Ok(())
    })
}

async fn conversation(talk: &Talk) -> Result<ModelRequest, Violation> {
    use ObservationStatus as Status;
    let items = [
        user("one"),
        said(2, "Let me look."),
        call(2, "a", "read_file", "{\"path\":\"a\"}"),
        call(2, "b", "f", "{\"n\":1}"),
        result("a", Status::Done, "of a", None),
        result("b", Status::Done, "of b", None),
        said(9, "Found."),
        user("two"),
        call(12, "c", "read_file", "{\"path\":\"c\"}"),
        result("c", Status::Done, "of c", None),
    ];
    talk.sent(request(with_tools(), &items)?, "a conversation").await
}

/// The parts of [`conversation`].
fn parts(able: bool) -> Vec<RequestPart> {
    let id = |id: &str| if able { id.to_owned() } else { String::new() };
    let called = |of: &str, name: &str, arguments: &str| RequestPart::Call {
        id: id(of),
        name: name.into(),
        arguments: arguments.into(),
    };
    let resulted =
        |of: &str| RequestPart::Result { id: id(of), output: format!("of {of}"), failed: false };
    vec![
        RequestPart::User("one".into()),
        RequestPart::Text("Let me look.".into()),
        called("a", "read_file", "{\"path\":\"a\"}"),
        called("b", "f", "{\"n\":1}"),
        resulted("a"),
        resulted("b"),
        RequestPart::Text("Found.".into()),
        RequestPart::User("two".into()),
        called("c", "read_file", "{\"path\":\"c\"}"),
        resulted("c"),
    ]
}
