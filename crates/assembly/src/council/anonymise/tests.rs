//! Texts in, texts without a trace of who wrote them out, and back again.

use super::*;
use serde_json::json;

/// The repository and the home of this run, one of them under a name with a space.
const FOLDERS: &[&str] = &["/accounts/eve/", "/net/My Disk/shop", "/accounts/eve/a b", "/", ""];
const TASK: &str = "Fix src/main.rs so that the build passes";

fn veil() -> Veil {
    let agents = [
        "openai:gpt-5.2-codex@high",
        "Nightjar",
        "corp/zebra-9",
        "fast",
        "My Model (2)",
        "acme:big-1",
        "openai:o3",
        "google:gemini-2.5-flash",
        "claude",
        "demo:scout",
        "p1",
        "Élan",
        "ΣΟΦΟΣ",
    ];
    Veil::new(TASK, agents.map(String::from)).hiding(FOLDERS.iter().copied())
}

#[track_caller]
fn check(text: &str, want: &str) {
    let plan = json!({ "a": [text] });
    let mut veil = veil().apart_from([&plan], &[]);
    let covered = veil.cover(&plan);
    assert_eq!(covered["a"][0], want, "{text}");
    let mut back = covered;
    restore(&mut back, &veil.covered());
    if !want.contains("[secret]") {
        assert_eq!(back["a"][0], text, "it can be turned back");
    }
}

/// It stays as it is.
#[track_caller]
fn stays(text: &str) {
    check(text, text);
}

#[test]
fn makers_and_models_are_covered_whole() {
    check("OpenAI and ChatGPT agree", "[name-1] and [name-2] agree");
    check("ask gpt-5.2, then GPT-4o", "ask [name-1], then [name-2]");
    check("opus-4-5-20251101 wrote it", "[name-1] wrote it");
    check("Cl-aude or Clau\u{200b}de", "[name-1] or [name-2]");
    check(
        "Grok, DeepSeek, Qwen2.5, Llama3.2, Mistral",
        "[name-1], [name-2], [name-3], [name-4], [name-5]",
    );
    check("o3-mini is quick", "[name-1] is quick");
    check("made by Anthropic.", "made by [name-1].");
    check("made by Google", "made by [name-1]");
    check("the Gemini CLI", "the [name-1] CLI");
    check("[Claude](x) and [name-9]", "[[name-1]](x) and [name-9]");
    check("served by vLLM, DashScope", "served by [name-1], [name-2]");
}

#[test]
fn names_of_several_words_are_covered_whole() {
    for name in [
        "Claude Opus 4.5",
        "claude 3.5 sonnet",
        "Gemini 2.5 Flash",
        "Gemini 3 Pro",
        "Sonnet 4.5",
        "sonnet 4.5",
        "Opus 4",
        "Gemma 3 27B",
        "Mistral Large 2",
        "DeepSeek R1",
        "GPT 5.1 Codex Max",
        "OpenAI o4",
        "Open AI",
        "Hugging Face",
        "LM Studio",
    ] {
        check(&format!("by {name}, a model"), "by [name-1], a model");
        check(&format!("by {name}."), "by [name-1].");
    }
    check("Claude plans pro bono", "[name-1] plans pro bono");
    check("Claude (a pro)", "[name-1] (a pro)");
}

#[test]
fn words_that_only_look_like_names_survive() {
    stays("show it on google maps and by the anthropic principle");
    stays("Sign in with Google OAuth; store in Google Cloud");
    stays("the Gemini constellation, a magnum opus, a haiku, a sonnet");
    stays("command and flash are words; phase 4 is not phi");
    stays("gossip, gptx and claudette are other words");
    stays("be fast");
    stays("a sonnet 14 lines long, opus and haiku, flash 2 and command 3, turbo 4");
    stays("a mini pro plan, an open AI model, the max of 3, version 4.5, phi is 1.6");
    stays("put it together at work; a demo of a local model; P1 before p2");
    stays("google maps 3 and the Anthropic principle 2");
}

#[test]
fn configured_names_are_covered_too() {
    check("gpt-5.2-codex, openai:gpt-5.2-codex@high", "[name-2], [name-1]");
    check("Nightjar or nightjar, not nightjars", "[name-1] or [name-2], not nightjars");
    check("corp/zebra-9 is zebra-9", "[name-1] is [name-2]");
    check("says My Model (2) here", "says [name-1] here");
    check("made by Acme, as Big 1 or big-1", "made by [name-3], as [name-1] or [name-2]");
    check("made by corp or CORP's zebra_9", "made by [name-2] or [name-3]'s [name-1]");
    check("o3 is quick, O3 too; not o37", "[name-1] is quick, [name-2] too; not o37");
    check("scout said it on Google", "[name-1] said it on [name-2]");
    check("Élan, élan or ÉLAN, not élans", "[name-1], [name-2] or [name-3], not élans");
    check("İẞ: Σοφοσ says ΣΟΦΟΣ", "İẞ: [name-1] says [name-2]");
}

#[test]
fn paths_are_covered_and_routes_are_not() {
    check("edit /home/ada/x/lib.rs:10", "edit [path-1]:10");
    check("in ~/.ssh/config, $HOME/x", "in [path-1], [path-2]");
    check(r"C:\Users\ada\x.txt and \\server\share\f", "[path-1] and [path-2]");
    check("see file:///etc/passwd", "see [path-1]");
    check("touch crates/core/src/lib.rs and ./run.sh", "touch [path-1] and [path-2]");
    check("(/tmp/a) `/var/log/x`", "([path-1]) `[path-2]`");
    check("edit .github/workflows/ci.yml", "edit [path-1]");
    check("in /projects/shop/src, /media/eve/disk", "in [path-1], [path-2]");
    check(
        "/repo/x /repos/x /code/x /build/out /Volumes/x",
        "[path-1] [path-2] [path-3] [path-4] [path-5]",
    );
    check("at /net/My Disk/shop/src/a b", "at [path-1] b");
    check("cd /accounts/eve; ls /accounts/eve/bin.", "cd [path-1]; ls [path-2].");
    check("in /accounts/eve/a b/c", "in [path-1]");
    stays("call `GET /projects/shop`, POST \"/repos/x\"");
    stays("/accounts/evelyn, /net/My Disk and example.com/accounts/eve/x");
    stays(
        "GET /projects/7, POST /repos/ada/shop, /code or /build, /projects/{id}, the /media type",
    );
    stays("fix src/main.rs");
    stays("GET /users/{id} and POST /api/v1/login return 200");
    stays("https://example.com/docs/index.html and example.com/a.html");
    stays("and/or, CI/CD, client/server, 1/2, TCP/IP v1.2");
}

#[test]
fn ids_keys_prompts_and_traces_are_covered() {
    check("run 123e4567-e89b-12d3-a456-426614174000 failed", "run [id-1] failed");
    check("msg_01XFDUDYJgAACzvnptvVoYEL", "[id-1]");
    check("commit 0123456789abcdef0123456789abcdef01234567", "commit [id-1]");
    stays("session_management and run_everything_twice");
    for key in ["sk-ant-api03-abcdefghijkl", "AIzaSyA1234567890abcdefg", "ghp_abcdefghijklmnop1234"]
    {
        check(&format!("use {key}"), "use [secret]");
    }
    check("My system prompt says be kind. Go on.", "[prompt-1] Go on.");
    check("As an AI language model I plan. Then build", "[prompt-1] Then build");
    check("First:\n⏺ Read(src/x.rs)\nthen", "First:\n[trace-1]\nthen");
    check("a <tool_call>{\"name\": \"x\"}</tool_call> b", "a [trace-1] b");
    check("trace id: abc-123 here", "[trace-1] here");
}

#[test]
fn marks_that_a_plan_brings_stand_for_themselves() {
    check("[name-1] by Claude, [path-2] in /tmp/x", "[name-1] by [name-2], [path-2] in [path-1]");
    let plans = [json!("Claude at /tmp/x"), json!("fill in [name-1], [name-2] and [path-1]")];
    let mut veil = Veil::new("write [name-3]", []).apart_from(&plans, &[]);
    let covered = plans.each_ref().map(|plan| veil.cover(plan));
    assert_eq!(covered, [json!("[name-4] at [path-2]"), plans[1].clone()]);
    let (mut back, known) = (covered, veil.covered());
    back.iter_mut().for_each(|plan| restore(plan, &known));
    assert_eq!(back, plans);
}

#[test]
fn one_veil_gives_one_thing_one_mark() {
    let mut veil = veil();
    let a = veil.cover(&json!("edit /tmp/x with Claude"));
    let b = veil.cover(&json!("Claude edits /tmp/y, then /tmp/x"));
    assert_eq!(
        (a, b),
        (json!("edit [path-1] with [name-1]"), json!("[name-1] edits [path-2], then [path-1]"))
    );
}

#[test]
fn keys_of_objects_and_numbers_stay() {
    let value = json!({ "openai": 5, "list": [true, null, "claude"] });
    assert_eq!(veil().cover(&value), json!({ "openai": 5, "list": [true, null, "[name-1]"] }));
}

#[test]
fn words_of_the_task_stay() {
    #[track_caller]
    fn check(task: &str, text: &str, want: &str) {
        let agents = ["security", "performance", "openai:gpt-5.1", "claude-cli"].map(String::from);
        let plan = json!([text]);
        let mut veil = Veil::new(task, agents).apart_from([&plan], &[]);
        assert_eq!(veil.cover(&plan)[0], want, "{text}");
    }
    let task = "Review the security of our login, which uses the OpenAI SDK";
    check(task, "Security first: check the OpenAI key", "Security first: check the OpenAI key");
    check(task, "call openai.chat with an OpenAIClient", "call openai.chat with an OpenAIClient");
    check(task, "OpenAI 4 or gpt-5.1 or Claude", "OpenAI [name-2] or [name-1] or [name-3]");
    check(task, "performance matters", "[name-1] matters");
    check("Use gpt-5.1 for it", "gpt-5.1, not gpt-5.2", "gpt-5.1, not [name-1]");
    check(
        "Write a system prompt",
        "The system prompt says so. Go",
        "The system prompt says so. Go",
    );
    check(
        "Mail ada@shop.org",
        "to ada@shop.org, not eve@shop.org",
        "to ada@shop.org, not [mail-1]",
    );
}

#[test]
fn a_plain_word_that_several_plans_use_is_no_name() {
    let plans = [json!("mind security"), json!("a security review"), json!("be performant")];
    let chosen = ["security", "performant", "claude"].map(String::from);
    let mut veil = Veil::new("Add a form", chosen.clone()).apart_from(&plans, &chosen);
    let covered = plans.each_ref().map(|plan| veil.cover(plan));
    assert_eq!(covered, [plans[0].clone(), plans[1].clone(), json!("be [name-1]")]);
}

#[test]
fn disguised_names_are_covered() {
    for name in [
        "Сlаudе",
        "Ｃｌａｕｄｅ",
        "𝐂𝐥𝐚𝐮𝐝𝐞",
        "𝕮𝖑𝖆𝖚𝖉𝖊",
        "Cláude",
        "C l a u d e",
        "c-l-a-u-d-e",
        "C.l.a.u.d.e",
        "ClaudeCode",
        "Claude Code",
        "claudecode",
        "gpt\u{2011}5",
        "GPT\u{2011}5.2",
        "OpenAIGPT",
        "G P T",
        "MyClaudeAgent",
        "GeminiCLI",
        "Qwen3Coder",
        "Nemotron",
        "Hunyuan",
        "Moonshot AI",
        "Pixtral Large 2",
    ] {
        check(&format!("by {name}, a model"), "by [name-1], a model");
    }
    check("Сlаudе at 東京, then Привет", "[name-1] at 東京, then Привет");
    stays("a b c and x y z, A - B - C, e.g. i.e., claudettes, MyCloudAgent, OpenApiClient");
}

#[test]
fn traces_of_agents_are_covered() {
    for trace in [
        "<system-reminder>be kind</system-reminder>",
        "<environment_context>cwd: x</environment_context>",
        "<invoke name=\"x\">y</invoke>",
        "⎿ 12 lines",
        "• Ran cargo test",
        "✓ ReadFile(x)",
        "read_file(src)",
        "tool_call: read",
    ] {
        check(&format!("First\n{trace}\nthen"), "First\n[trace-1]\nthen");
    }
    check("<|im_start|>go", "[trace-1]go");
    check("mail ada.x@example.org now", "mail [mail-1] now");
    check("login postgres://ada:hunter2@db/x", "login postgres://[secret]@db/x");
    stays("git@github.com:shop/x and react@18.2.0");
    stays("a <system> of parts, <select> and <user>");
}
