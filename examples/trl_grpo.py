"""Trains a small language model with TRL's GRPO, rewarded by the exact regret of its moves.

`pip install tictactoe-env "trl>=1"`. The argument is the number of steps of GRPO. The model is made
here: it reads words and marks, and answers with a word. First it learns to name random legal cells.
After 200 steps, some minutes of one core, it loses half as much as X; unbeatable it is not.
"""

import sys

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from tictactoe_env import Rules, evaluate
from tictactoe_env.text import TextPolicy, positions, regret

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
prompts = [row["prompt"] for row in positions()]
words = Tokenizer(models.WordLevel())
words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[XO]|\w+|[^\w ]"), "removed", invert=True)
words.train_from_iterator(prompts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<eos>"]))
marks = {"pad_token": "<pad>", "eos_token": "<eos>", "padding_side": "left"}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **marks)
size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
ids = {"vocab_size": len(tokenizer), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
model = LlamaForCausalLM(LlamaConfig(**size, **ids, num_attention_heads=4))


def logits(prompts):
    """The scores of the words after each prompt."""
    return model(**tokenizer(prompts, padding=True, return_tensors="pt")).logits[:, -1]


def report(when):
    """Print the exact results of the most probable answers."""
    best = TextPolicy(lambda some: tokenizer.batch_decode(logits(some).argmax(1)[:, None]), Rules())
    print(f"{when}: {evaluate(best)}\n{best.illegal} of {len(best.answers)} illegal", flush=True)


optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(300):
    some = rng.choice(prompts, 64).tolist()
    legal = [prompt.split("Legal cells: ")[1].split(".")[0].split() for prompt in some]
    targets = tokenizer([str(rng.choice(cells)) for cells in legal], return_tensors="pt").input_ids
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(logits(some), targets[:, 0]).backward()
    optimizer.step()
report("before")
batch = {"per_device_train_batch_size": 128, "num_generations": 8, "max_completion_length": 1}
settings = {"max_steps": STEPS, "learning_rate": 1e-3, "report_to": "none", "save_strategy": "no"}
options = GRPOConfig("grpo", **batch, **settings, use_cpu=True, bf16=False)
rows = Dataset.from_list(positions(which="that matter"))
GRPOTrainer(model, regret, options, rows, processing_class=tokenizer).train()
report("after")
