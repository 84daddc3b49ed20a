"""The official Python SDKs as clients of `althing serve`: argv is the base URL, without `/v1`, and
the token; `chats` behind them says that the OpenAI server behind has only chats. Every check that
holds prints a line; the first that does not ends it."""

import asyncio
import base64
import sys

import anthropic
import openai

URL, TOKEN, *ONLY = sys.argv[1:]
SAID = "Hello there."
# The first is passed on as it is, the second translated, and the other way round for Anthropic.
MODELS = ["openai:fake-large", "anthropic:fake-large"]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def to_openai(token=TOKEN, kind=openai.OpenAI):
    return kind(base_url=f"{URL}/v1", api_key=token, max_retries=0)


def to_anthropic(token=TOKEN, kind=anthropic.Anthropic):
    return kind(base_url=URL, api_key=token, max_retries=0)


def chat(client, model):
    ask = [{"role": "user", "content": "Hi"}]
    whole = client.chat.completions.create(model=model, messages=ask)
    assert whole.choices[0].message.content == SAID, whole
    assert whole.choices[0].finish_reason == "stop", whole
    assert whole.usage.total_tokens > 0, whole
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model=model, messages=ask, stream=True, stream_options=options
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == SAID, chunks
    assert chunks[-1].usage.completion_tokens > 0, chunks[-1]
    print(f"openai chat {model}")


def chat_tools(client, model):
    tool = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
    ask = [{"role": "user", "content": "Weather?"}]
    first = client.chat.completions.create(model=model, messages=ask, tools=[tool])
    message = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls", first
    call = message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("weather", '{"city":"sample"}'), call
    with client.chat.completions.stream(model=model, messages=ask, tools=[tool]) as stream:
        streamed = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert streamed.function.arguments == call.function.arguments, streamed
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    second = client.chat.completions.create(
        model=model, messages=[*ask, message, result], tools=[tool]
    )
    assert second.choices[0].message.content == SAID, second
    print(f"openai tools {model}")


def responses(client, model):
    whole = client.responses.create(model=model, input="Hi", instructions="Be brief.")
    assert (whole.output_text, whole.status) == (SAID, "completed"), whole
    with client.responses.stream(model=model, input="Hi") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_text == SAID and final.usage.total_tokens > 0, final
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    tool = {"type": "function", "name": "weather", "parameters": CITY, "strict": False}
    ask = [{"role": "user", "content": "Weather?"}]
    with client.responses.stream(model=model, input=ask, tools=[tool]) as stream:
        first = stream.get_final_response()
    call = next(item for item in first.output if item.type == "function_call")
    assert (call.name, call.arguments) == ("weather", '{"city":"sample"}'), call
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    said = [item.model_dump(exclude_none=True) for item in first.output]
    second = client.responses.create(model=model, input=[*ask, *said, result], tools=[tool])
    assert second.output_text == SAID, second
    print(f"openai responses {model}")


def completions(client, model):
    whole = client.completions.create(model=model, prompt="Hi", max_tokens=9)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (SAID, "stop"), whole
    assert whole.usage.total_tokens > 0, whole
    options = {"include_usage": True}
    chunks = list(
        client.completions.create(model=model, prompt="Hi", stream=True, stream_options=options)
    )
    assert "".join(c.choices[0].text for c in chunks if c.choices) == SAID, chunks
    assert chunks[-1].usage.completion_tokens > 0, chunks[-1]
    bare = list(client.completions.create(model=model, prompt="Hi", stream=True))
    assert all(c.choices and c.usage is None for c in bare), bare
    print(f"openai completions {model}")


def pictures(client, other):
    pixel = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    url = {"url": f"data:image/png;base64,{pixel}"}
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": url}]
    raw = client.chat.completions.with_raw_response.create(
        model=MODELS[1], messages=[{"role": "user", "content": parts}], seed=7, top_p=0.5
    )
    assert raw.parse().choices[0].message.content == SAID, raw
    assert raw.headers["x-althing-ignored"] == "seed", raw.headers
    asked = [
        {"type": "input_text", "text": "What?"},
        {"type": "input_image", "image_url": url["url"], "detail": "auto"},
    ]
    whole = client.responses.create(model=MODELS[1], input=[{"role": "user", "content": asked}])
    assert whole.output_text == SAID, whole
    source = {"type": "base64", "media_type": "image/png", "data": pixel}
    blocks = [{"type": "image", "source": source}, {"type": "text", "text": "What?"}]
    whole = other.messages.create(
        model=MODELS[0], max_tokens=9, messages=[{"role": "user", "content": blocks}]
    )
    assert whole.content[0].text == SAID, whole
    print("pictures")


def messages(client, model):
    ask = [{"role": "user", "content": "Hi"}]
    rest = {"model": model, "max_tokens": 100, "system": [{"type": "text", "text": "Be brief."}]}
    whole = client.messages.create(messages=ask, **rest)
    assert (whole.content[0].text, whole.stop_reason) == (SAID, "end_turn"), whole
    assert whole.usage.output_tokens > 0, whole
    with client.messages.stream(messages=ask, **rest) as stream:
        assert "".join(stream.text_stream) == SAID
        final = stream.get_final_message()
    assert final.usage.input_tokens > 0 and final.usage.output_tokens > 0, final
    tool = {"name": "weather", "input_schema": CITY}
    with client.messages.stream(messages=ask, tools=[tool], **rest) as stream:
        first = stream.get_final_message()
    call = next(block for block in first.content if block.type == "tool_use")
    assert (first.stop_reason, call.input) == ("tool_use", {"city": "sample"}), first
    said = {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in first.content]}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    second = client.messages.create(
        messages=[*ask, said, {"role": "user", "content": [result]}], tools=[tool], **rest
    )
    assert second.content[0].text == SAID, second
    print(f"anthropic messages {model}")


def models(client, other):
    ids = [model.id for model in client.models.list()]
    assert {"openai:fake-large", "althing/standard"} <= set(ids), ids
    assert client.models.retrieve("althing/standard").id == "althing/standard"
    assert [model.id for model in other.models.list()] == ids
    print("models")


def refused(error, call):
    try:
        call()
    except error as raised:
        assert raised.response.headers["content-type"] == "application/json", raised
        return raised
    raise AssertionError(f"no {error}")


def errors():
    ask = [{"role": "user", "content": "Hi"}]
    heard = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    listen = [{"role": "user", "content": [heard]}]

    def openai_says(model, messages=ask, token=TOKEN, stream=False):
        client = to_openai(token)
        return lambda: client.chat.completions.create(
            model=model, messages=messages, stream=stream
        )

    for stream in [False, True]:
        for model in ["openai:err-429", "anthropic:err-429"]:
            refused(openai.RateLimitError, openai_says(model, stream=stream))
        refused(openai.NotFoundError, openai_says("nobody:nothing", stream=stream))
        refused(openai.AuthenticationError, openai_says(MODELS[0], token="x", stream=stream))
        bad = refused(openai.BadRequestError, openai_says(MODELS[1], listen, stream=stream))
        assert bad.param == "messages[0].content[0].type", bad.body

    def anthropic_says(model, messages=ask, token=TOKEN):
        client = to_anthropic(token)
        return lambda: client.messages.create(model=model, messages=messages, max_tokens=9)

    for model in ["openai:err-429", "anthropic:err-429"]:
        refused(anthropic.RateLimitError, anthropic_says(model))
    refused(anthropic.NotFoundError, anthropic_says("nobody:nothing"))
    refused(anthropic.AuthenticationError, anthropic_says(MODELS[0], token="x"))
    refused(anthropic.BadRequestError, anthropic_says(MODELS[0], messages=[]))
    print("errors")


async def at_once(count):
    to_one, to_other = to_openai(kind=openai.AsyncOpenAI), to_anthropic(kind=anthropic.AsyncAnthropic)
    ask = [{"role": "user", "content": "Hi"}]

    async def one(at):
        model = MODELS[at % 2]
        stream = await to_one.chat.completions.create(model=model, messages=ask, stream=True)
        return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

    async def other(at):
        async with to_other.messages.stream(
            model=MODELS[at % 2], messages=ask, max_tokens=100
        ) as stream:
            return await stream.get_final_text()

    said = await asyncio.gather(*(kind(at) for at in range(count) for kind in (one, other)))
    assert said == [SAID] * 2 * count, said
    print(f"{2 * count} at once")


def discussion(client):
    ask = [{"role": "user", "content": "Is rain wet?"}]
    stream = client.chat.completions.create(model="althing/standard", messages=ask, stream=True)
    text = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
    assert text, "a synthesis"
    print("discussion")


def main():
    one, other = to_openai(), to_anthropic()
    if ONLY == ["chats"]:
        responses(one, MODELS[0])
        completions(one, MODELS[0])
        return
    for model in MODELS:
        chat(one, model)
        chat_tools(one, model)
        completions(one, model)
        messages(other, model)
    pictures(one, other)
    # The path is OpenAI's own, so a model of another is what is translated.
    responses(one, MODELS[1])
    models(one, other)
    errors()
    asyncio.run(at_once(25))
    discussion(one)


main()
