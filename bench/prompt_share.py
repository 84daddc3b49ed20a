"""Computes how much of a discussion's prompts a cache of prompt beginnings can save. Pure functions.

A prompt is a list of (role, content) pairs. All sizes are characters of the contents.
"""

# Shorter lines occur twice by accident, so they count as shown before only inside a common beginning.
LINE_CHARS_MIN = 16
CHARS_PER_TOKEN = 4
# Prices per token, as multiples of the price of an input token that is not cached.
CACHED_PRICE = 0.1
CACHE_WRITE_PRICE = 1.25
OUTPUT_PRICE = 4.0


def count_characters(prompt):
    """Returns the characters of all contents."""
    return sum(len(content) for _, content in prompt)


def count_common_beginning(prompt, earlier):
    """Returns how many characters `prompt` has in common with `earlier` from the first one on.

    A message belongs to the beginning only when all messages before it are equal in role and content.
    """
    common = 0
    for (role, content), (earlier_role, earlier_content) in zip(prompt, earlier):
        if role != earlier_role:
            break
        same = count_common_characters(content, earlier_content)
        common += same
        if same < len(content) or same < len(earlier_content):
            break
    return common


def count_common_characters(text, other):
    """Returns the length of the longest common beginning of two texts."""
    shorter = min(len(text), len(other))
    if text[:shorter] == other[:shorter]:
        return shorter
    return next(at for at in range(shorter) if text[at] != other[at])


def count_cacheable(prompts):
    """Returns for each prompt its longest common beginning with any prompt before it."""
    return [
        max((count_common_beginning(prompt, earlier) for earlier in prompts[:at]), default=0)
        for at, prompt in enumerate(prompts)
    ]


def count_shown_before(prompts):
    """Returns for each prompt how many of its characters stood in prompts before it, in any order.

    This bounds `count_cacheable` from above: the common beginning counts, and behind it every whole line
    (with its line end) of at least LINE_CHARS_MIN characters that an earlier prompt contains.
    """
    shown = []
    for at, (prompt, beginning) in enumerate(zip(prompts, count_cacheable(prompts))):
        earlier = [content for before in prompts[:at] for _, content in before]
        start = total = 0
        for _, content in prompt:
            for line in content.splitlines(keepends=True):
                bare = line.strip()
                is_known = len(bare) >= LINE_CHARS_MIN and any(bare in text for text in earlier)
                total += len(line) if is_known else min(max(beginning - start, 0), len(line))
                start += len(line)
        shown.append(total)
    return shown


class Totals:
    """Adds up the calls of one or more discussions of one program."""

    def __init__(self):
        self.calls = self.input = self.cacheable = self.bound = self.output = 0

    def add_discussion(self, calls):
        """Adds the calls of one discussion: objects with `model`, `prompt` and `answer`, in time order.

        A cache knows only what the same model was asked earlier in the same discussion.
        """
        for model in sorted({call.model for call in calls}):
            prompts = [call.prompt for call in calls if call.model == model]
            self.input += sum(map(count_characters, prompts))
            self.cacheable += sum(count_cacheable(prompts))
            self.bound += sum(count_shown_before(prompts))
        self.calls += len(calls)
        self.output += sum(len(call.answer) for call in calls)

    def input_tokens(self):
        return self.input / CHARS_PER_TOKEN

    def cacheable_share(self):
        return divide(self.cacheable, self.input)

    def bound_share(self):
        return divide(self.bound, self.input)

    def input_cost(self):
        """Returns the price of all input where what is cacheable costs a tenth."""
        cached = self.cacheable * CACHED_PRICE
        return (cached + self.input - self.cacheable) / CHARS_PER_TOKEN

    def whole_cost(self):
        """Returns the price of input and output where new input also pays for being written to the cache."""
        new = (self.input - self.cacheable) * CACHE_WRITE_PRICE
        return (self.cacheable * CACHED_PRICE + new + self.output * OUTPUT_PRICE) / CHARS_PER_TOKEN


def divide(part, whole):
    """Returns the ratio, and 0 where there is nothing to divide by."""
    return part / whole if whole else 0.0


def check_computations():
    """Checks the functions above on prompts small enough to count by hand."""
    from types import SimpleNamespace

    def equal(got, want):
        if got != want:
            raise SystemExit(f"selftest: got {got}, want {want}")

    known = "a line that is long enough\n"
    first = [("system", "Rules."), ("user", known + "x")]
    longer = [("system", "Rules."), ("user", known + "y and more")]
    moved = [("system", "Other rules."), ("user", "new\n" + known)]
    answered = first + [("assistant", "yes"), ("user", "go on")]
    as_system = [("system", "Rules."), ("system", known + "x")]

    equal(count_characters(first), 6 + 27 + 1)
    equal(count_common_characters("abc", "abd"), 2)
    equal(count_common_characters("", "abd"), 0)
    equal(count_common_beginning(longer, first), 6 + 27)
    equal(count_common_beginning(answered, first), 6 + 28)
    equal(count_common_beginning(first, answered), 6 + 28)
    equal(count_common_beginning(as_system, first), 6)
    equal(count_cacheable([first, longer, moved, answered]), [0, 33, 0, 34])
    # Of `moved` the known line counts, "new" and "Other rules." do not; of `longer` the beginning.
    equal(count_shown_before([first, longer, moved]), [0, 33, 27])
    equal(count_shown_before([first, first]), [0, 34])

    totals = Totals()
    call = lambda model, prompt: SimpleNamespace(model=model, prompt=prompt, answer="yes!")
    totals.add_discussion([call("a", first), call("b", longer), call("a", longer)])
    # "b" has not seen what "a" has.
    equal((totals.calls, totals.input, totals.cacheable, totals.output), (3, 34 + 43 + 43, 33, 12))
    equal(round(totals.input_cost(), 3), round((3.3 + 87) / 4, 3))
    equal(round(totals.whole_cost(), 3), round((3.3 + 87 * 1.25 + 48) / 4, 3))
    equal(divide(1, 0), 0.0)
    print("selftest: the computations hold")
