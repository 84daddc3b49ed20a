"""The scripted voices behind the proxy. LiteLLM calls them as it would call a provider and
writes the wire format of either dialect itself, which is what the tests are about.

A voice is a function `(messages, params) -> steps`. A step is a string (text), a `Thought`, a
`Call`, a `Wait` or an exception. The same steps are played as a stream and as one whole answer.
Beside them stand the doorkeeper (which key may enter) and the gate (who must come back later).
"""

import asyncio
import json
import os
from dataclasses import dataclass

import litellm
from litellm import CustomLLM
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import ProxyException, UserAPIKeyAuth
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices, Usage

# The longest a voice keeps silent; then it goes on. A test hangs up long before.
WAIT_SECONDS = 600
# What every voice says it cost, so that a test can compare the numbers.
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
RETRY_AFTER_SECONDS = 1


@dataclass
class Thought:
    """Reasoning, shown apart from the answer."""

    text: str


@dataclass
class Call:
    """A tool call; its arguments arrive in two pieces."""

    id: str
    name: str
    arguments: dict


class Wait:
    """Silence, until the caller hangs up."""


class Cut(BaseException):
    """Ends the connection with no last word: LiteLLM turns every `Exception` into an event."""


def text_of(message):
    """The text of a message, whose content may be a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def failure(status, message):
    """A provider's failure with its status."""
    kind = litellm.ServiceUnavailableError if status == 503 else litellm.InternalServerError
    return kind(message, "voices", "voices")


def mirror(messages, params):
    """Says what arrived, as LiteLLM understood it: the proof of the request side."""
    wanted = ("tools", "tool_choice", "temperature", "max_tokens", "stop", "response_format")
    heard = {key: params[key] for key in wanted if params.get(key) is not None}
    return [json.dumps({"messages": messages, **heard}, sort_keys=True)]


def clerk(messages, params):
    """Calls a tool and, given its result, repeats that."""
    if messages[-1]["role"] == "tool":
        return ["The tool said: ", text_of(messages[-1])]
    return ["Let me look. ", Call("call_1", "look_up", {"word": "althing"})]


def clerks(messages, params):
    """Calls two tools at once and, given the results, repeats them."""
    results = [text_of(message) for message in messages if message["role"] == "tool"]
    if results:
        return ["The tools said: ", " and ".join(results)]
    return [
        Call("call_1", "look_up", {"word": "althing"}),
        Call("call_2", "look_up", {"word": "thing"}),
    ]


VOICES = {
    "speaker": lambda *_: ["The ", "mountain ", "speaks", "."],
    "mirror": mirror,
    "clerk": clerk,
    "clerks": clerks,
    "thinker": lambda *_: [Thought("Two and "), Thought("two."), "Four", "."],
    "limited": lambda *_: ["Nobody hears this."],
    "limited-once": lambda *_: ["Now there is room."],
    "overloaded": lambda *_: [failure(503, "no room here")],
    "failing": lambda *_: [failure(500, "something broke")],
    "late": lambda *_: ["", failure(503, "no room here")],
    "breaking": lambda *_: ["Half ", "an answer", failure(500, "broke in mid-sentence")],
    "cutting": lambda *_: ["Half ", "an answer", Cut()],
    "pausing": lambda *_: ["Half ", "an answer", Wait(), "too late"],
    "silent": lambda *_: [Wait(), "too late"],
}


class Voices(CustomLLM):
    """Plays the steps of the voice that the model's name says."""

    async def acompletion(self, model, messages, model_response, optional_params, **_):
        said, thought, calls = "", "", []
        for step in VOICES[model](messages, optional_params):
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, Wait):
                await asyncio.sleep(WAIT_SECONDS)
            elif isinstance(step, Thought):
                thought += step.text
            elif isinstance(step, Call):
                calls.append(call_chunk(step, len(calls), json.dumps(step.arguments)))
            else:
                said += step
        return whole(model_response, said, thought, calls)

    def astreaming(self, model, messages, optional_params, **_):
        steps = VOICES[model](messages, optional_params)
        # A provider that refuses does so with a status, before there is a stream.
        if isinstance(steps[0], Exception):
            raise steps[0]
        return self.play(steps)

    async def play(self, steps):
        calls = 0
        for step in steps:
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, Wait):
                await asyncio.sleep(WAIT_SECONDS)
            elif isinstance(step, Thought):
                yield chunk(Delta(role="assistant", reasoning_content=step.text))
            elif isinstance(step, Call):
                for piece in call_pieces(step, calls):
                    yield chunk(Delta(role="assistant", tool_calls=[piece]))
                calls += 1
            else:
                yield chunk(Delta(role="assistant", content=step))
        yield end("tool_calls" if calls else "stop")


def whole(response, said, thought, calls):
    """The answer of a request that did not ask for a stream."""
    choice = response.choices[0]
    choice.message.content = said or None
    if thought:
        choice.message.reasoning_content = thought
    if calls:
        choice.message.tool_calls = [litellm.ChatCompletionMessageToolCall(**c) for c in calls]
    choice.finish_reason = "tool_calls" if calls else "stop"
    response.usage = Usage(**USAGE)
    return response


def chunk(delta):
    """One piece of a stream."""
    return ModelResponseStream(choices=[StreamingChoices(delta=delta)])


def end(finish_reason):
    """The last piece, in LiteLLM's generic form: the only one whose usage it passes on."""
    return {"text": "", "is_finished": True, "finish_reason": finish_reason, "usage": USAGE}


def call_pieces(call, index):
    """A tool call as a provider streams it: the head, then its arguments in two pieces."""
    arguments = json.dumps(call.arguments)
    half = len(arguments) // 2
    yield call_chunk(call, index, "")
    for part in (arguments[:half], arguments[half:]):
        yield {"index": index, "type": "function", "function": {"arguments": part}}


def call_chunk(call, index, arguments):
    """The head of a tool call, or all of it."""
    function = {"name": call.name, "arguments": arguments}
    return {"index": index, "id": call.id, "type": "function", "function": function}


def refusal(message, kind, status, headers=None):
    """The proxy's own no, as against a provider's: of all its exceptions only this one keeps its
    status and headers in both dialects, streamed or not."""
    return ProxyException(message, kind, None, status, headers)


class Gate(CustomLogger):
    """Refuses for now, with the time to wait, where LiteLLM's own limiters do. A voice cannot:
    LiteLLM drops a provider's `retry-after` in the Anthropic dialect and in streams."""

    def __init__(self):
        super().__init__()
        self.turned_away = set()

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        if data["model"] == "limited" or self.is_first(data):
            wait = {"retry-after": str(RETRY_AFTER_SECONDS)}
            raise refusal("too many at once", "rate_limit_error", 429, wait)
        return data

    def is_first(self, data):
        """Whether `limited-once` hears this text for the first, third, fifth time."""
        if data["model"] != "limited-once":
            return False
        self.turned_away ^= {text_of(data["messages"][-1])}
        return text_of(data["messages"][-1]) in self.turned_away


async def doorkeeper(request, api_key):
    """LiteLLM without a database answers 400 to a wrong key; this makes it the 401 it should be."""
    if api_key != os.environ["LITELLM_MASTER_KEY"]:
        raise refusal("wrong key", "auth_error", 401)
    return UserAPIKeyAuth(api_key=api_key)


voices = Voices()
gate = Gate()
