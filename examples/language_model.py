"""Proves how a language model plays, behind any server of OpenAI's protocol.

    pip install tictactoe-env "openai>=2"
    export OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_API_KEY=any
    python language_model.py 16 MODEL

The number is the most tokens of an answer; without MODEL it is the first one of the server. Each
position that the model can meet is asked once, at temperature 0. Its answers are kept in a file:
after an error of the network, run the program again, and it goes on.
"""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

from openai import OpenAI

from tictactoe_env import Rules, evaluate
from tictactoe_env.text import TextPolicy

TOKENS = int(sys.argv[1]) if len(sys.argv) > 1 else 16
AT_ONCE = 8  # requests

client = OpenAI(max_retries=5)  # it waits longer before each try
model = sys.argv[2] if len(sys.argv) > 2 else client.models.list().data[0].id


def answer(prompt: str) -> str:
    """The answer of the model to one prompt."""
    reply = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": prompt}],
        max_tokens=TOKENS,
        temperature=0,
    )
    return reply.choices[0].message.content or ""


def ask(prompts: list[str]) -> list[str]:
    """The answers to some prompts, asked side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(answer, prompts)]


def tell(side: str, plies: int, positions: int) -> None:
    """Show how far the proof is."""
    print(f"as {side}: {plies} plies, {len(policy.answers)} answers", file=sys.stderr)


file = "answers-" + re.sub(r"\W+", "-", model) + ".jsonl"  # of one model, and one number of tokens
policy = TextPolicy(ask, Rules(), file=file, batch=AT_ONCE)
print(evaluate(policy, progress=tell))
print(
    f"{len(policy.answers)} answers: {policy.illegal} name a cell that is not legal, "
    f"{policy.unreadable} name none"
)
