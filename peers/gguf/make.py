"""Makes a tiny GGUF model that says one line, whatever it is asked.

    python make.py FILE [--line TEXT] [--name NAME] [--loop] [--pooling KIND] [--cut BYTES]

The blocks of the model are zero, so what enters the output matrix is the embedding of the last
token, normalised. The output matrix is a table of successors: each token of the line makes the next
one certain, and the last one makes the end certain (with --loop: the first one, without end).
"""

import argparse
import os
import re

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, INNER = 2, 64, 4, 128
CONTEXT = 32768
# How much more likely a successor is than any other token: e to this, at temperature 1.
CERTAIN = 80.0
LINE = "Hello from a tiny local model \u2014 it always says this one line."
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
UNKNOWN, BEGIN, END = 0, 1, 2
Kind = gguf.TokenType


def pieces(line):
    """The line as tokens: words with the space before them; what is not ASCII, byte by byte."""
    found = []
    for piece in re.findall(r"[^\x00-\x7f]| ?[\x21-\x7e]+| ", line):
        if piece.isascii():
            found.append(piece.replace(" ", "\u2581"))
        else:
            found += [f"<0x{byte:02X}>" for byte in piece.encode()]
    return found


def vocabulary(line):
    """Text, score and kind of every token."""
    tokens = [("<unk>", 0.0, Kind.UNKNOWN), ("<s>", 0.0, Kind.CONTROL), ("</s>", 0.0, Kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", 0.0, Kind.BYTE) for byte in range(256)]
    tokens += [("<|im_start|>", 0.0, Kind.CONTROL), ("<|im_end|>", 0.0, Kind.CONTROL)]
    tokens += [("\u2581", -1.0, Kind.NORMAL)]
    tokens += [(chr(code), -1.0, Kind.NORMAL) for code in range(0x21, 0x7F)]
    known = {text for text, _, _ in tokens}
    tokens += [(word, -2.0, Kind.NORMAL) for word in line if word not in known]
    return tokens


def chain(line, ids, loop):
    """Pairs of a token and its successor. A prompt ends in a new line: there the answer begins."""
    said = [ids[piece] for piece in line]
    first = ids["<0x0A>"]
    if len(set(said)) != len(said) or first in said:
        raise SystemExit("--line: each of its words may be there once: " + repr(line))
    if len(said) >= WIDTH:
        raise SystemExit(f"--line: at most {WIDTH - 1} pieces, not {len(said)}")
    return list(zip([first] + said, said + [said[0] if loop else END]))


def tensors(size, successors):
    """Every tensor by name, in the order in which they lie in the file."""
    random = np.random.default_rng(7)
    embedding = random.standard_normal((size, WIDTH)).astype(np.float32)
    output = np.zeros((size, WIDTH), dtype=np.float32)
    # Directions at right angles, so that a token speaks for its successor alone.
    directions, _ = np.linalg.qr(random.standard_normal((WIDTH, WIDTH)))
    for (token, successor), direction in zip(successors, directions):
        # The norm makes every embedding as long as the square root of its width.
        embedding[token] = direction
        output[successor] += direction * (CERTAIN / np.sqrt(WIDTH))
    yield "token_embd.weight", embedding
    for layer in range(LAYERS):
        shapes = {
            "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH),
            "attn_v": (WIDTH, WIDTH), "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,),
            "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
        }
        for name, shape in shapes.items():
            yield f"blk.{layer}.{name}.weight", np.zeros(shape, dtype=np.float32)
    yield "output_norm.weight", np.ones(WIDTH, dtype=np.float32)
    yield "output.weight", output


def write(path, name, line, loop, pooling):
    line = pieces(line)
    tokens = vocabulary(line)
    ids = {text: at for at, (text, _, _) in enumerate(tokens)}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    if pooling:
        writer.add_pooling_type(gguf.PoolingType[pooling.upper()])
    for tensor, values in tensors(len(tokens), chain(line, ids, loop)):
        writer.add_tensor(tensor, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    arguments = argparse.ArgumentParser(description="Makes a tiny GGUF model that says one line.")
    arguments.add_argument("file")
    arguments.add_argument("--line", default=LINE)
    arguments.add_argument("--name", default="tiny")
    arguments.add_argument("--loop", action="store_true", help="say the line again and again")
    arguments.add_argument("--pooling", choices=["mean", "cls", "last"], help="for embeddings")
    arguments.add_argument("--cut", type=int, default=0, help="bytes to lose at the end")
    given = arguments.parse_args()
    write(given.file, given.name, given.line, given.loop, given.pooling)
    if given.cut:
        os.truncate(given.file, os.path.getsize(given.file) - given.cut)


if __name__ == "__main__":
    main()
