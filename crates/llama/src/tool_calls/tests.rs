use super::*;
use crate::request::ToolChoice;

fn offer(choice: ToolChoice) -> ToolUse {
    let tool = |name: &str| {
        let parameters = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/n" } },
                                 "$defs": { "n": { "type": "integer" } } });
        json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
    };
    ToolUse { tools: vec![tool("add"), tool("halve")], choice, single: false }
}

/// However the answer is cut, the same text and calls come out.
#[track_caller]
fn check(style: CallStyle, answer: &str, text: &str, calls: &[(&str, &str)]) {
    for size in 1..=answer.len() {
        let mut scanner = CallScanner::new(style, &offer(ToolChoice::Auto));
        let mut told = String::new();
        for piece in answer.as_bytes().chunks(size) {
            told += &scanner.push(std::str::from_utf8(piece).unwrap());
        }
        let (rest, found) = scanner.finish();
        let found: Vec<_> =
            found.iter().map(|it| (it.name.as_str(), it.arguments.as_str())).collect();
        assert_eq!(((told + &rest).as_str(), found.as_slice()), (text, calls), "cut at {size}");
    }
}

#[test]
fn calls_are_found_in_every_style() {
    let hermes = "I add.<tool_call>\n{\"name\": \"add\", \"arguments\": {\"x\": 1}}\n</tool_call>\n\
                  <tool_call>{\"name\": \"halve\"}</tool_call>";
    check(HERMES, hermes, "I add.", &[("add", "{\"x\":1}"), ("halve", "{}")]);
    let mistral = "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"x\": 1}}]";
    check(MISTRAL, mistral, "", &[("add", "{\"x\":1}")]);
    let llama = " {\"name\": \"add\", \"parameters\": {\"x\": 1}}";
    check(LLAMA, llama, "", &[("add", "{\"x\":1}")]);
    let two = "<|python_tag|>{\"name\": \"add\", \"parameters\": {\"x\": 1}}; \
               {\"name\": \"halve\", \"parameters\": {}}";
    check(LLAMA, two, "", &[("add", "{\"x\":1}"), ("halve", "{}")]);
    let behind = "First.\n<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>\nThen \
                  more.<tool_call>{\"name\": \"halve\", \"arguments\": {}}</tool_call> Done.";
    let said = "First.\nThen more.\nDone.";
    check(HERMES, behind, said, &[("add", "{}"), ("halve", "{}")]);
}

#[test]
fn what_is_no_call_stays_text() {
    for text in
        ["plain < text", "a <tool_cal", "<tool_call>\nno json", "{\"x\": 1}", "{ never", "<|python"]
    {
        check(HERMES, text, text, &[]);
        check(LLAMA, text, text, &[]);
    }
    let unknown = "{\"name\": \"Ada\", \"parameters\": {}}";
    check(LLAMA, unknown, unknown, &[]);
}

#[test]
fn a_forced_call_is_one_of_the_allowed_tools() {
    let named = GENERIC.schema_of_call(&offer(ToolChoice::Named("halve".into()))).unwrap();
    assert_eq!(named["properties"]["name"]["const"], "halve");
    assert_eq!(named["althing-definitions"]["d0x"]["type"], "integer");
    let any = LLAMA.schema_of_call(&offer(ToolChoice::Required)).unwrap();
    assert_eq!(any["anyOf"].as_array().unwrap().len(), 2);
    assert_eq!(any["anyOf"][0]["required"], json!(["name", "parameters"]));
    let wrapped = HERMES.wrap_grammar("root ::= \"{}\"", "call");
    assert_eq!(wrapped, "call ::= \"<tool_call>\\n\" root \"\\n</tool_call>\"\nroot ::= \"{}\"");
}

#[test]
fn every_tool_has_its_own_definitions() {
    let mut tools = offer(ToolChoice::Required);
    tools.tools[1]["function"]["parameters"]["$defs"]["n"] = json!({ "type": "string" });
    let schema = GENERIC.schema_of_call(&tools).unwrap();
    let types = ["d0x", "d1x"].map(|name| schema["althing-definitions"][name]["type"].clone());
    assert_eq!(types, ["integer", "string"]);
}
