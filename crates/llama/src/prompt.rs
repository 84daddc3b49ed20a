//! From a request to the text that the model reads, and to the form that its answer must have.

use crate::refusal::Refusal;
use crate::request::{ChatRequest, OutputForm};
use crate::template::{ChatTemplate, Conversation};
use crate::tool_calls::{CallStyle, GENERIC, instruct};
use serde_json::{Value, json};

/// What the model is given, and what is expected of it.
#[derive(Debug)]
pub struct Prompt {
    pub text: String,
    pub form: AnswerForm,
    /// How calls are found in the answer; none: none are looked for.
    pub calls: Option<CallStyle>,
}

/// What holds the answer to a form.
#[derive(Debug, PartialEq)]
pub enum AnswerForm {
    Free,
    Schema(Value),
    /// A call of a tool, as its schema and the way calls are written say.
    Call(Value, CallStyle),
    Grammar(String),
}

/// Builds the prompt; refuses what this template cannot do.
pub fn build(template: &ChatTemplate, request: &ChatRequest) -> Result<Prompt, Refusal> {
    let mut conversation =
        Conversation { messages: request.messages.clone(), ..Conversation::default() };
    conversation.settings = read_settings(template, request).map_err(Refusal::invalid)?;
    let (form, calls) = choose_form(template, request, &mut conversation)?;
    if !template.has_tools() {
        conversation.messages = conversation.messages.iter().map(plain_message).collect();
    }
    let text = template.render(&conversation);
    let text = text.map_err(|why| {
        Refusal::invalid(format!("messages: the model's template refuses them: {why}"))
    })?;
    Ok(Prompt { text, form, calls })
}

/// Settings that the template does not know would be passed over: they are refused.
fn read_settings(
    template: &ChatTemplate,
    request: &ChatRequest,
) -> Result<serde_json::Map<String, Value>, String> {
    let mut settings = request.settings.clone();
    if let Some(name) = settings.keys().find(|name| !template.mentions(name)) {
        return Err(format!("chat_template_kwargs: the model's template has no setting {name:?}"));
    }
    if let Some(effort) = &request.reasoning_effort {
        if !template.mentions("reasoning_effort") {
            return Err("reasoning_effort: the model's template has no such setting".into());
        }
        settings.insert("reasoning_effort".into(), effort.as_str().into());
    }
    Ok(settings)
}

fn choose_form(
    template: &ChatTemplate,
    request: &ChatRequest,
    conversation: &mut Conversation,
) -> Result<(AnswerForm, Option<CallStyle>), Refusal> {
    let tools = &request.tools;
    if !tools.is_offered() {
        let form = match &request.output {
            OutputForm::Text => AnswerForm::Free,
            OutputForm::Json(schema) => AnswerForm::Schema(schema.clone()),
            OutputForm::Grammar(grammar) => AnswerForm::Grammar(grammar.clone()),
        };
        return Ok((form, None));
    }
    let style = CallStyle::detect(template);
    if template.has_tools() {
        conversation.tools = Some(tools.tools.clone());
    }
    match (tools.is_forced(), style) {
        (false, Some(style)) => Ok((AnswerForm::Free, Some(style))),
        (false, None) => {
            let why = match template.has_tools() {
                false => "this model's template has no tools",
                true => "this runner does not know how this model writes calls",
            };
            Err(Refusal::invalid(format!(
                "tools: {why}; force a call with tool_choice, or use another model"
            )))
        }
        (true, style) => {
            let style = style.unwrap_or(GENERIC);
            if style == GENERIC {
                add_instruction(&mut conversation.messages, &instruct(tools));
            }
            let schema = style.schema_of_call(tools).map_err(Refusal::invalid)?;
            Ok((AnswerForm::Call(schema, style), Some(style)))
        }
    }
}

/// Adds an instruction to the system message, or as one.
fn add_instruction(messages: &mut Vec<Value>, instruction: &str) {
    match messages.first_mut().filter(|first| first["role"] == "system") {
        Some(system) => {
            let text = system["content"].as_str().unwrap_or_default();
            system["content"] = format!("{text}\n\n{instruction}").into();
        }
        None => messages.insert(0, json!({ "role": "system", "content": instruction })),
    }
}

/// A template without tools knows neither calls nor their results: they become texts.
fn plain_message(message: &Value) -> Value {
    let content = message["content"].as_str().unwrap_or_default();
    match message["role"].as_str() {
        Some("tool") => json!({ "role": "user", "content": format!("Result: {content}") }),
        Some("assistant") => {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls: String = calls.map(|call| call["function"].to_string()).collect();
            json!({ "role": "assistant", "content": format!("{content}{calls}") })
        }
        _ => message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{CHATML, Markers};

    const HERMES: &str = "{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}\
        {% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

    fn prompt(template: &str, fields: Value) -> Result<Prompt, Refusal> {
        let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let request = ChatRequest::read(body.to_string().as_bytes()).unwrap();
        build(&ChatTemplate::parse(template, Markers::default()).unwrap(), &request)
    }

    fn tools(choice: &str) -> Value {
        let tool = json!({ "type": "function", "function": { "name": "add" } });
        json!({ "tools": [tool], "tool_choice": choice })
    }

    #[test]
    fn tools_need_a_template_or_force() {
        let refused = prompt(CHATML, tools("auto")).unwrap_err();
        assert!(refused.message.starts_with("tools: this model's template has no tools"));
        let forced = prompt(CHATML, tools("required")).unwrap();
        assert!(matches!(forced.form, AnswerForm::Call(_, GENERIC)));
        assert!(forced.text.contains("system\nCall one of the functions below"), "{forced:?}");
        let native = prompt(HERMES, tools("auto")).unwrap();
        assert!(native.calls.is_some() && native.text.contains("add"), "{native:?}");
        let never = prompt(CHATML, tools("none")).unwrap();
        assert_eq!((never.form, never.calls), (AnswerForm::Free, None));
    }

    #[test]
    fn settings_that_a_template_does_not_have_are_refused() {
        for (field, value) in
            [("chat_template_kwargs", json!({ "x": 1 })), ("reasoning_effort", json!("low"))]
        {
            let refused = prompt(CHATML, json!({ field: value })).unwrap_err();
            assert!(refused.message.starts_with(field), "{refused:?}");
        }
        let thinking = "{% if reasoning_effort == 'low' %}short{% endif %}";
        assert_eq!(prompt(thinking, json!({ "reasoning_effort": "low" })).unwrap().text, "short");
    }

    #[test]
    fn results_of_calls_are_texts_where_the_template_has_no_tools() {
        let call = json!({ "id": "1", "function": { "name": "add", "arguments": "{}" } });
        let messages = json!([
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "1", "content": "3" },
        ]);
        let text = prompt(CHATML, json!({ "messages": messages })).unwrap().text;
        assert!(
            text.contains("assistant\n{\"name\":\"add\",\"arguments\":{}}<|im_end|>"),
            "{text}"
        );
        assert!(text.contains("user\nResult: 3<|im_end|>"), "{text}");
    }
}
