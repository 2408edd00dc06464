//! Scenes: what many transcripts share, on one line. Nothing is left out: unfolded, a transcript has
//! each fact and each effect again, and `check` compares all of them.
//!
//! A step that ends with ` => ` and a scene stands for the scene's lines; a fact that ends with
//! ` => runs` is followed by the effect that it starts.

/// Scenes by name, the longer before their own beginnings.
///
/// `{words}` are those of the step, `{output}` and `{value}` what is left without the first and the
/// second of them; `{n}` is the first position after the step, and `{m}` one that the scene names.
const SCENES: &str = r#"
== first turn, sample@{n+3}
{n-1} SessionOpened
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
{n+2} InputAccepted input {n}
{n+3} SampleStarted sample 1 attempt 1 because opened by input {n}
run sample@{n+3}
== first dry turn, sample@{n+3}
{n-1} SessionOpened
> send dry hello
{n} InputQueued "hello", dry run
{n+1} TurnOpened because opened by input {n}, dry run
{n+2} InputAccepted input {n}
{n+3} SampleStarted sample 1 attempt 1 because opened by input {n}
run sample@{n+3}
== first turn, people are asked, sample@{n+4}
{n-1} SessionOpened
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
{n+2} ContextInjected posture: "A person is asked before a tool changes something, and may say no."
{n+3} InputAccepted input {n}
{n+4} SampleStarted sample 1 attempt 1 because opened by input {n}
run sample@{n+4}
== first turn, prompt hook 0@{n+2}
{n-1} SessionOpened
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
{n+2} HooksAsked prompt_submitted input {n}: hook 0
run hook 0@{n+2}
== first turn, input {n} accepted at {n+2}
{n-1} SessionOpened
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
{n+2} InputAccepted input {n}
== first turn, of input {n}
{n-1} SessionOpened
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
== turn, sample@{n+3}
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
{n+2} InputAccepted input {n}
{n+3} SampleStarted sample 1 attempt 1 because opened by input {n}
run sample@{n+3}
== turn of input {n}
> send {words}
{n} InputQueued "{words}"
{n+1} TurnOpened because opened by input {n}
== input {n}
> send {words}
{n} InputQueued "{words}"
== input {n}, yield sample@{m}
> steer {words}
{n} InputQueued "{words}", steer
yield sample@{m}
== input {n}
> steer {words}
{n} InputQueued "{words}", steer
== item {n}
> text {words}
{n} ItemAdded text "{words}"
== item {n}
> reasoning {words}
{n} ItemAdded reasoning "{words}"
== read-only call {n}@{n+2}
> call {words}
{n} ItemAdded call {words}
{n+1} CallDecided call {n} allow: the tool is read-only
{n+2} CallStarted call {n} attempt 1
run call {n}@{n+2}
== permitted call {n}@{n+2}
> call {words}
{n} ItemAdded call {words}
{n+1} CallDecided call {n} allow: the permissions allow it
{n+2} CallStarted call {n} attempt 1
run call {n}@{n+2}
== approval of call {n}@{n+2} within a week
> call {words}
{n} ItemAdded call {words}
{n+1} CallDecided call {n} ask: the permissions ask first
{n+2} ApprovalAsked call {n}, within 604800000 ms
run approval of call {n}@{n+2}
== tool hook 0@{n+1} for call {n}
> call {words}
{n} ItemAdded call {words}
{n+1} HooksAsked before_tool call {n}: hook 0
run hook 0@{n+1}
== read-only call {n} decided
> call {words}
{n} ItemAdded call {words}
{n+1} CallDecided call {n} allow: the tool is read-only
== permitted call {n} decided
> call {words}
{n} ItemAdded call {words}
{n+1} CallDecided call {n} allow: the permissions allow it
== call {n}
> call {words}
{n} ItemAdded call {words}
== completed at {n+1}, turn of waiting {m}, sample@{n+4}
> end stop
{n} SampleEnded stop
{n+1} TurnSettled completed, waiting: {m}
{n+2} TurnOpened because opened by input {m}
{n+3} InputAccepted input {m}
{n+4} SampleStarted sample 1 attempt 1 because opened by input {m}
run sample@{n+4}
== shape told at {n+1}, of {m}, sample 2@{n+2}
> end stop fault=odd
{n} SampleEnded stop, fault: odd
{n+1} ContextInjected shape of the answer of {m}: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
{n+2} SampleStarted sample 2 attempt 1 because retry return {m}
run sample@{n+2}
== sample ended at {n}
> end stop fault=odd
{n} SampleEnded stop, fault: odd
== sample cut at {n} for good, about {m} tokens, interrupted at {n+1}
> fail cancelled never
{n} SampleCut cancelled, about {m} tokens, no further attempt
{n+1} TurnSettled interrupted by person
== sample cut at {n} for good, about {m} tokens
> fail cancelled never
{n} SampleCut cancelled, about {m} tokens, no further attempt
== sample cut at {n} for good, interrupted at {n+1}
> fail cancelled never
{n} SampleCut cancelled, no further attempt
{n+1} TurnSettled interrupted by person
== sample cut at {n} for good
> fail cancelled never
{n} SampleCut cancelled, no further attempt
== completed at {n+1}
> end stop
{n} SampleEnded stop
{n+1} TurnSettled completed
== call {m}@{n+1}
> end stop
{n} SampleEnded stop
{n+1} CallStarted call {m} attempt 1
run call {m}@{n+1}
== sample ended at {n}, hook 0@{n+1} sees the answer of {m}
> end stop
{n} SampleEnded stop
{n+1} HooksAsked after_answer {m}: hook 0
run hook 0@{n+1}
== sample ended at {n}, turn completed at {n+1}, leaves {m}
> end stop
{n} SampleEnded stop
{n+1} TurnSettled completed, waiting: {m}
== sample ended at {n}
> end stop
{n} SampleEnded stop
== call {m} observed at {n}, sample 2@{n+1}
> done {words}
{n} CallObserved call {m} done: {output}
{n+1} SampleStarted sample 2 attempt 1 because tool results
run sample@{n+1}
== call {m} observed at {n}
> done {words}
{n} CallObserved call {m} done: {output}
== call {m} observed at {n}
> failed {words}
{n} CallObserved call {m} failed: {output}
== passed at {n}, input {m} accepted, sample@{n+2}
> hook 0 pass
{n} HookDecided h0 pass
{n+1} InputAccepted input {m}
{n+2} SampleStarted sample 1 attempt 1 because opened by input {m}
run sample@{n+2}
== passed at {n}
> hook 0 pass
{n} HookDecided h0 pass
== request {n}, wind sample@{m}
> interrupt person
{n} InterruptRequested by person: enough
wind sample@{m}
== request {n}
> interrupt person
{n} InterruptRequested by person: enough
== request {n}
> interrupt person after
{n} InterruptRequested by person, after the step: enough
== log ends at {n}, reconcile call {m}@{n+1}
> crash
the log ends at {n}
{n+1} ReconcileStarted call {m} attempt 1
run reconcile call {m}@{n+1}
== log ends at {n}, about {m} tokens, sample 1 again@{n+2}
> crash
the log ends at {n}
{n+1} SampleCut restart, about {m} tokens, next attempt in 0 ms
{n+2} SampleStarted sample 1 attempt 2 because retry
run sample@{n+2}
== log ends at {n}, sample 1 again@{n+2}
> crash
the log ends at {n}
{n+1} SampleCut restart, next attempt in 0 ms
{n+2} SampleStarted sample 1 attempt 2 because retry
run sample@{n+2}
== log ends at {n}
> crash
the log ends at {n}
== sample 1 again@{n}
> wait {words}
{n} SampleStarted sample 1 attempt 2 because retry
run sample@{n}
== first goal {n}
{n-1} SessionOpened
> goal turns={m} make the tests pass
{n} GoalSet "make the tests pass", {m} turns
== program {m} returned at {n}, turn completed at {n+2}
> program {words}
{n} ProgramRun program {m} {output}
{n+1} CallObserved call {m} done: The program returned:
|<data>
|{value}
|</data>
{n+2} TurnSettled completed
== program {m} returned at {n}
> program {words}
{n} ProgramRun program {m} {output}
{n+1} CallObserved call {m} done: The program returned:
|<data>
|{value}
|</data>
== sample@{n+1}
{n-1} TurnOpened because opened by input {m}
{n} InputAccepted input {m}
{n+1} SampleStarted sample 1 attempt 1 because opened by input {m}
run sample@{n+1}
== accepted at {n}
{n-1} TurnOpened because opened by input {m}
{n} InputAccepted input {m}
== sample@{n}
{n-1} InputAccepted input {m}
{n} SampleStarted sample 1 attempt 1 because opened by input {m}
run sample@{n}
== sample 2@{n}
{n-1} InputAccepted input {m}
{n} SampleStarted sample 2 attempt 1 because pending input {m}
run sample@{n}
"#;

/// Puts scenes in the place of their lines.
pub(super) fn fold(told: &str) -> String {
    let (lines, scenes) = (told.lines().collect::<Vec<&str>>(), scenes());
    let (mut rest, mut folded) = (lines.as_slice(), String::new());
    while let [line, after @ ..] = rest {
        let scene = scenes.iter().find_map(|scene| scene.fold(rest));
        let (line, after) = match (scene, after) {
            (Some(scene), _) => scene,
            (None, [run, after @ ..]) if run_of(line).as_deref() == Some(run) => {
                (format!("{line} => runs"), after)
            }
            (None, _) => ((*line).to_owned(), after),
        };
        folded.extend([&line, "\n"]);
        rest = after;
    }
    folded
}

/// Puts the lines of scenes in their place.
pub(super) fn unfold(folded: &str) -> String {
    let (scenes, mut told) = (scenes(), Vec::new());
    for line in folded.lines() {
        let Some((step, name)) = line.split_once(" => ") else {
            told.push(line.to_owned());
            continue;
        };
        if name == "runs" {
            told.extend([Some(step.to_owned()), run_of(step)].into_iter().flatten());
        } else {
            told.extend(
                scenes.iter().find_map(|scene| scene.unfold(step, name)).unwrap_or_default(),
            );
        }
    }
    told.iter().map(|line| format!("{line}\n")).collect()
}

struct Scene {
    name: &'static str,
    lines: Vec<&'static str>,
    /// Which of the lines has the name behind it.
    step: usize,
}

fn scenes() -> Vec<Scene> {
    let scenes = SCENES.split("== ").skip(1).map(|scene| {
        let mut lines = scene.lines();
        let name = lines.next().unwrap_or_default();
        let lines: Vec<&str> = lines.collect();
        let step = lines.iter().position(|line| line.starts_with('>'));
        let step = step.unwrap_or_default();
        Scene { name, lines, step }
    });
    scenes.collect()
}

impl Scene {
    fn fold<'a, 'b>(&self, told: &'b [&'a str]) -> Option<(String, &'b [&'a str])> {
        let (shown, after) = told.split_at_checked(self.lines.len())?;
        // Most scenes are ruled out by what stays the same in their lines.
        let of_kinds = |(line, shown): (&&str, &&str)| {
            let kind = line.split_whitespace().nth(1);
            line.contains(['|', '@']) || kind == shown.split_whitespace().nth(1)
        };
        if !self.lines.iter().zip(shown).all(of_kinds) {
            return None;
        }
        let step = shown.get(self.step)?;
        let n = numbers(shown.get(self.step + 1)?).next()?;
        let m = (0..n + 8).find(|m| {
            let lines = self.filled(step, n, *m);
            lines.eq(shown.iter().copied())
        })?;
        Some((format!("{step} => {}", filled(self.name, step, n, m)), after))
    }

    fn unfold(&self, step: &str, name: &str) -> Option<Vec<String>> {
        let said = |n, m| filled(self.name, step, n, m) == name;
        let fits = |n, m| self.filled(step, n, m).nth(self.step).as_deref() == Some(step);
        let first = numbers(name).flat_map(|number| number.saturating_sub(4).max(1)..=number);
        let second = || numbers(name).chain(numbers(step));
        let mut both = first.flat_map(|n| second().map(move |m| (n, m)));
        let (n, m) = both.find(|(n, m)| said(*n, *m) && fits(*n, *m))?;
        Some(self.filled(step, n, m).collect())
    }

    fn filled(&self, step: &str, n: u64, m: u64) -> impl Iterator<Item = String> {
        self.lines.iter().map(move |line| laid_out(&filled(line, step, n, m)))
    }
}

fn filled(template: &str, step: &str, n: u64, m: u64) -> String {
    let step = step.trim_start_matches("> ");
    let words = step.split_once(' ').map_or("", |(_, words)| words);
    let mut text = template.replace("{n}", &n.to_string());
    text = text.replace("{n-1}", &n.saturating_sub(1).to_string());
    for more in 1..=4 {
        text = text.replace(&format!("{{n+{more}}}"), &(n + more).to_string());
    }
    let output = words.split_once(' ').map_or("", |(_, output)| output);
    let text = text.replace("{m}", &m.to_string());
    let value = output.split_once(' ').map_or("", |(_, value)| value);
    let text = text.replace("{value}", value).replace("{output}", output);
    text.replace("{words}", words)
}

/// A line as transcripts have it: facts after their positions, effects below facts.
fn laid_out(line: &str) -> String {
    match line.split_once(' ') {
        _ if line.starts_with('|') => line.trim_start_matches('|').to_owned(),
        Some((">", _)) => line.to_owned(),
        Some((seq, fact)) if seq.parse::<u64>().is_ok() => format!("{seq:>4} {fact}"),
        Some(_) | None => format!("     {line}"),
    }
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok())
}

/// The line of the one effect that a fact starts.
fn run_of(fact: &str) -> Option<String> {
    let words: Vec<&str> = fact.split_whitespace().collect();
    let (seq, of) = (words.first()?, words.get(3));
    let effect = match *words.get(1)? {
        "SampleStarted" => String::from("sample"),
        "CompactionStarted" => String::from("compact"),
        "CallStarted" => format!("call {}", of?),
        "ReconcileStarted" => format!("reconcile call {}", of?),
        "ApprovalAsked" => format!("approval of call {}", of?.trim_end_matches(',')),
        "HooksAsked" => {
            let (_, hook) = fact.split_once(": hook ")?;
            format!("hook {}", hook.split(',').next()?)
        }
        _ => return None,
    };
    Some(format!("     run {effect}@{seq}"))
}
