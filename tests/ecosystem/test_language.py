"""A language model behind a real server is proven: a tiny one of random weights."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CELLS = [f"{column}{row}" for row in "123" for column in "abc"]


def save_model(folder):
    """A model that answers with cells, whichever its random weights like, and its tokenizer."""
    torch.manual_seed(0)
    words = {"<pad>": 0, "<eos>": 1, **{cell: 2 + i for i, cell in enumerate(CELLS)}}
    for letter in map(chr, [10, *range(32, 127)]):
        words[letter] = len(words)
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[a-c][1-3]|[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    fast.chat_template = "{% for one in messages %}{{ one['content'] }}{% endfor %}"
    fast.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=512, pad_token_id=0, eos_token_id=1,
        bos_token_id=1, initializer_range=0.5,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    others = {number for word, number in words.items() if word not in CELLS}
    model.generation_config.suppress_tokens = sorted(others)
    model.save_pretrained(folder)


@pytest.fixture
def server(tmp_path):
    """`transformers serve` with the model: its address."""
    save_model(tmp_path / "tiny")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).parent / "transformers"
    command = [program, "serve", tmp_path / "tiny", "--port", str(port), "--device", "cpu"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/health", timeout=5)
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.5)
        yield f"http://localhost:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def failing(server):
    """A server before it that fails every tenth time: its address, and what it was asked."""
    asked = []
    number = count(1)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.pass_on(None)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(this := next(number))
            if this % 10 == 0:
                self.send_error(500)
            else:
                self.pass_on(body)

        def pass_on(self, body):
            kind = {"Content-Type": "application/json"}
            request = urllib.request.Request(server + self.path, body, kind)
            answer = urllib.request.urlopen(request).read()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    proxy = ThreadingHTTPServer(("localhost", 0), Handler)
    Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://localhost:{proxy.server_port}/v1", asked
    proxy.shutdown()


def test_a_model_is_proven_through_failures_and_asked_nothing_the_second_time(
    failing, run_example, tmp_path, monkeypatch
):
    address, asked = failing
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    printed, rates = run_example("language_model.py", 1)
    assert "Proven: can be beaten as X" in printed
    assert rates.keys() == {"X", "O"}
    (file,) = tmp_path.glob("answers-*.jsonl")
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    illegal = 0
    for one in kept:
        legal = re.search("Legal cells: (.*)[.]", one["prompt"])[1].split()
        assert one["answer"] in CELLS
        illegal += one["answer"] not in legal
    assert illegal > 0
    assert f"{len(kept)} answers: {illegal} name a cell that is not legal, 0 name none" in printed
    assert len(asked) == len(kept) + len(asked) // 10
    before = len(asked)
    assert run_example("language_model.py", 1)[0] == printed
    assert len(asked) == before
