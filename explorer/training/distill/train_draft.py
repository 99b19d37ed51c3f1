"""Training the draft: a few decoder layers between the target's own embeddings and head."""

import json
from collections.abc import Generator
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from explorer.training.common.checkpoint import resume, write_checkpoint
from explorer.training.common.collection import shard_number
from explorer.training.common.progress import LogLine, Progress
from explorer.training.common.schedule import warm_cosine
from explorer.training.distill.data import AnswerBatch, StoredAnswer, collate, read_shard
from explorer.training.distill.evaluate import agreement, matches
from explorer.training.distill.token_loop import START, read_tokens

HEAD_ROWS = 8192  # the loss ranks the tokens the target used most; the full table is two thirds of a step's work
KL_SHARE = 0.7  # of the second stage's loss; the rest is cross-entropy with the target's choice
STATE_WEIGHT = 0.1  # of the regression, kept on in the second stage


@dataclass(frozen=True)
class DraftRecipe:
    """What decides the trained weights, with the data."""

    layers: tuple[int, ...] = (0, 29)  # the target's layers the draft starts from, in order
    tokens: int = 4_000_000  # read in all, prompts included
    regression: float = 0.0  # share of them spent on the first stage
    batch: int = 512
    rate: float = 1.5e-3
    seed: int = 1
    start: str = ""  # a written draft to go on from instead, by the sha256 of its weights


def build_draft(target, layers: tuple[int, ...]):
    """A float32 model of the target's class made of the named layers; only these and the final norm are trainable."""
    config = deepcopy(target.config)
    config.num_hidden_layers = len(layers)
    draft = type(target)(config).float()
    draft.model.embed_tokens.load_state_dict(target.model.embed_tokens.state_dict())
    draft.lm_head.load_state_dict(target.lm_head.state_dict())
    draft.model.norm.load_state_dict(target.model.norm.state_dict())
    for new, old in enumerate(layers):
        draft.model.layers[new].load_state_dict(target.model.layers[old].state_dict())
    for table in (draft.model.embed_tokens, draft.lm_head):
        table.requires_grad_(False)
    return draft


def trained_state(draft) -> dict[str, torch.Tensor]:
    """What the draft does not share with the target, named as in its own state dict."""
    shared = ("model.embed_tokens.", "lm_head.")
    return {name: tensor for name, tensor in draft.state_dict().items() if not name.startswith(shared)}


class DraftObjective:
    """Both stages' losses, against a head cut to the tokens the target chose or considered most in the given labels."""

    def __init__(self, draft, top_ids: torch.Tensor):
        head = draft.lm_head.weight.detach()
        counts = torch.bincount(top_ids.flatten(), minlength=len(head)).float()
        self.kept = counts.argsort(descending=True, stable=True)[:HEAD_ROWS]  # [head rows]: vocabulary ids
        self.head = head[self.kept]
        self.row = torch.full((len(head),), -1).index_put((self.kept,), torch.arange(len(self.kept)))
        share = torch.bincount(top_ids[:, 0], minlength=len(head)).float() / len(top_ids)
        centred = (head - share @ head) * share.sqrt()[:, None]
        values, vectors = torch.linalg.eigh(centred.T @ centred)
        # a state error counts by the change of logits it causes, and a little in every direction
        self.root = vectors * (values.clamp(min=0) + values.mean()).sqrt()

    def regression(self, states: torch.Tensor, batch: AnswerBatch) -> torch.Tensor:
        return F.smooth_l1_loss(states.float() @ self.root, batch.states.float() @ self.root)

    def distribution(self, states: torch.Tensor, batch: AnswerBatch) -> torch.Tensor:
        logprobs = F.linear(states, self.head).float().log_softmax(-1)  # [labels, head rows]
        rows = self.row[batch.top_ids]
        scores = logprobs.gather(1, rows.clamp(min=0)).masked_fill(rows < 0, 0.0)  # [labels, TOP]
        kl = (batch.top_logprobs.exp() * (batch.top_logprobs - scores)).masked_fill(rows < 0, 0.0).sum(1)
        return KL_SHARE * kl.mean() - (1 - KL_SHARE) * scores[:, 0].mean()


def label_states(draft, batch: AnswerBatch) -> torch.Tensor:
    """The draft's final states in the places that predict an answer token: [labels, model width]."""
    return draft.model(input_ids=batch.ids, use_cache=False).last_hidden_state.flatten(0, 1)[batch.rows]


def rate_at(done: float, recipe: DraftRecipe) -> float:
    """Learning rate after the share `done` of the tokens."""
    return warm_cosine(done, recipe.rate, 0.02, 0.05)


def train(
    draft, paths: list[Path], held_out: list[StoredAnswer], folder: Path, recipe: DraftRecipe, save_every: int = 400
) -> Generator[Progress | LogLine, None, dict]:
    """Train `draft` in place until the recipe's tokens are read, from `folder`'s checkpoint if there is one; returns counters.

    Yields as token_loop.read_tokens. Raises UserError where the checkpoint is of another recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(recipe.seed)
    draft.train()
    sequences = [sequence for path in paths for sequence in read_shard(path)]
    objective = DraftObjective(draft, torch.cat([s.top_ids for s in sequences]).long())
    parameters = [p for p in draft.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=0.0, betas=(0.9, 0.95), weight_decay=0.01, fused=True)
    at = {"recipe": json.dumps(asdict(recipe)), "shards": [p.name for p in paths], **START}
    checkpoint, stage = folder / "checkpoint.pt", 1
    if saved := resume(checkpoint, at, ("recipe", "shards")):
        at = saved["at"]
        draft.load_state_dict(saved["draft"], strict=False)
        optimizer.load_state_dict(saved["optimizer"])

    def step(group: list[StoredAnswer], done: float) -> float:
        nonlocal stage
        batch, stage = collate(group), 1 if done < recipe.regression else 2
        with torch.autocast("cpu", torch.bfloat16):
            states = label_states(draft, batch)
            regression = objective.regression(states, batch)
            loss = regression if stage == 1 else objective.distribution(states, batch) + STATE_WEIGHT * regression
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for parameter_group in optimizer.param_groups:
            parameter_group["lr"] = rate_at(done, recipe)
        optimizer.step()
        return loss.item()

    def figures() -> dict:
        return {"stage": stage, "agreement": round(agreement(matches(draft, held_out)), 4)}

    def save() -> None:
        write_checkpoint(checkpoint, {"at": at, "draft": trained_state(draft), "optimizer": optimizer.state_dict()})

    yield from read_tokens(sequences, recipe, at, step, figures, save, folder, save_every)
    draft.eval()
    return {
        "shards": [shard_number(path) for path in paths],
        "answers": len(sequences),
        "answer_tokens": sum(len(sequence.top_ids) for sequence in sequences),
        "read": at["tokens"],
        "steps": at["step"],
    }
