"""Training an EAGLE-3 head: chains of drafts after every place of the target's own text.

Unlike the paper's, the loss also holds the target's final states to the head's, as the first EAGLE did: little text is read here.
"""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.engine.drafters.eagle import Eagle3Head
from explorer.training.common.checkpoint import resume, write_checkpoint
from explorer.training.distill.data import epoch
from explorer.training.distill.evaluate import Figures, rounds_of
from explorer.training.distill.unroll import Batch, Step, Text, collate, unroll

KL_SHARE = 0.7  # of the loss; the rest is cross-entropy with the target's choice
REGRESSION = 1.0  # weight of the distance to the target's state
SMALL = 0.1  # share of the rate for all but the layer's matrices: the linear start is good, and easily lost


@dataclass(frozen=True)
class FeatureRecipe:
    """What decides the trained weights, with the data."""

    tokens: int = 1_000_000  # read in all, prompts included
    chain: int = 4  # tokens a start is followed for
    alone: float = 0.35  # share of the tokens read before starts are followed beyond the first token
    noise: float = 0.1  # on the states read, in units of their own spread
    batch: int = 1024
    rate: float = 1e-3
    seed: int = 1
    start: str = ""  # a written head to go on from, by the sha256 of its weights


class Objective:
    """The loss of one step and which of its drafts were right, against the target's output rows of the head's vocabulary."""

    def __init__(self, head: Eagle3Head, output: Tensor, top_ids: Tensor):
        self.head, self.vocabulary = head, head.vocabulary
        rows = output[self.vocabulary]  # [rows, d]
        self.row = torch.full((len(output),), -1).index_put((self.vocabulary,), torch.arange(len(rows)))
        share = torch.bincount(top_ids, minlength=len(output)).float()[self.vocabulary]
        share = share / share.sum()
        centred = (rows - share @ rows) * share.sqrt()[:, None]
        values, vectors = torch.linalg.eigh(centred.T @ centred)
        # A state error counts by the change of logits it causes, and a little in every direction.
        self.root = vectors * (values.clamp(min=0) + values.mean()).sqrt()

    def __call__(self, step: Step, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss of each label [labels], and whether the likeliest token was the target's choice."""
        states = self.head.norm(step.states)
        logprobs = self.head.lm_head(states).float().log_softmax(-1)  # [labels, head rows]
        top_ids = batch.top_ids[step.rows]
        rows = self.row[top_ids]
        scores = logprobs.gather(1, rows.clamp(min=0)).masked_fill(rows < 0, 0.0)  # [labels, TOP]
        wanted = batch.top_logprobs[step.rows]
        kl = (wanted.exp() * (wanted - scores)).masked_fill(rows < 0, 0.0).sum(1)
        loss = KL_SHARE * kl - (1 - KL_SHARE) * scores[:, 0]
        gap = (states - batch.label_states[step.rows]) @ self.root
        loss = loss + REGRESSION * F.smooth_l1_loss(gap, torch.zeros_like(gap), reduction="none").mean(1)
        return loss, logprobs.detach().argmax(-1) == rows[:, 0]


def optimizers_of(head: Eagle3Head) -> list[torch.optim.Optimizer]:
    """Muon for the layer's matrices (it learns more from each token than AdamW here), AdamW for the rest; rates set later."""
    matrices = [p for p in head.midlayer.parameters() if p.ndim == 2]
    trained = [p for p in head.parameters() if p.requires_grad]
    rest = [p for p in trained if all(p is not matrix for matrix in matrices)]
    return [
        torch.optim.Muon([{"params": matrices, "scale": 1.0}], weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW([{"params": rest, "scale": SMALL}], betas=(0.9, 0.95), weight_decay=0.02),
    ]


def rate_at(done: float, rate: float) -> float:
    """Learning rate after the share `done` of the tokens: linear warm-up, then a cosine to a fiftieth."""
    warm = 0.03
    if done < warm:
        return rate * done / warm
    return rate * (0.02 + 0.98 * (1 + math.cos(math.pi * (done - warm) / (1 - warm))) / 2)


def blurred(states: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    """States [B, n, d] plus a share of the difference of two others: noise that spreads as the states themselves do.

    They lie in few directions; equal noise in all of them drowns what the small ones say.
    """
    flat = states.flatten(0, 1)
    real = flat.any(dim=1).nonzero()[:, 0]
    one, other = real[torch.randint(len(real), (2, len(flat)), generator=generator)]
    return states + noise * (flat[one] - flat[other]).view_as(states)


def train(
    head: Eagle3Head,
    target,
    texts: list[Text],
    held_out: list[Text],
    folder: Path,
    recipe: FeatureRecipe,
    save_every=100,
) -> dict:
    """Train `head` in place until the recipe's tokens are read, from `folder`'s checkpoint if there is one; returns counters.

    Progress is printed and appended to `folder`/log.jsonl. Raises UserError when the checkpoint is of another recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    embedding, output = (table.weight.detach().float() for table in (target.model.embed_tokens, target.lm_head))
    objective = Objective(head, output, torch.cat([t.sequence.top_ids[:, 0] for t in texts]).long())
    optimizers = optimizers_of(head)
    at = {"recipe": json.dumps(asdict(recipe)), "answers": len(texts), "epoch": 0, "group": 0, "steps": 0, "read": 0}
    checkpoint = folder / "checkpoint.pt"
    saved = resume(checkpoint, at, ("recipe", "answers"))
    if saved:
        at = saved["at"]
        head.load_state_dict(saved["head"])
        for optimizer, state in zip(optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)

    def save() -> None:
        write_checkpoint(
            checkpoint, {"at": at, "head": head.state_dict(), "optimizers": [o.state_dict() for o in optimizers]}
        )

    begin, seen, total = time.perf_counter(), 0, 0.0
    while at["read"] < recipe.tokens:
        groups = epoch(texts, recipe.batch, recipe.seed + at["epoch"])
        while at["group"] < len(groups) and at["read"] < recipe.tokens:
            batch = collate(groups[at["group"]])
            generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + at["steps"])
            batch.tapped = blurred(batch.tapped, recipe.noise, generator)
            done = at["read"] / recipe.tokens
            losses: list[Tensor] = []

            def right(step: Step, batch: Batch = batch, losses: list[Tensor] = losses) -> Tensor:
                loss, mask = objective(step, batch)
                losses.append(loss)
                return mask

            with torch.autocast("cpu", torch.bfloat16):
                unroll(head, embedding, batch, 1 if done < recipe.alone else recipe.chain, right)
            # Every draft that is reached counts the same, however far down its chain it is.
            loss = sum(part.sum() for part in losses) / len(losses[0])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([p for p in head.parameters() if p.requires_grad], 1.0)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate_at(done, recipe.rate) * group["scale"]
                optimizer.step()
            tokens = sum(len(t.ids) for t in groups[at["group"]])
            at |= {"group": at["group"] + 1, "steps": at["steps"] + 1, "read": at["read"] + tokens}
            seen, total = seen + tokens, total + loss.item()
            if at["steps"] % save_every == 0:
                figures = evaluate(head, target, held_out, 8)
                line = {
                    "steps": at["steps"],
                    "read": at["read"],
                    "epoch": at["epoch"],
                    "loss": round(total / save_every, 4),
                }
                line |= {"agreement": round(figures.agreement, 4), "kept": round(figures.mean_kept, 3)}
                line |= {"acceptance": [round(share, 3) for share in figures.acceptance]}
                line |= {"tokens_per_second": round(seen / (time.perf_counter() - begin))}
                print(json.dumps(line), flush=True)
                with (folder / "log.jsonl").open("a") as log:
                    log.write(json.dumps(line) + "\n")
                total = 0.0
                save()
        if at["group"] == len(groups):
            at |= {"epoch": at["epoch"] + 1, "group": 0}
    save()
    labels = sum(len(t.sequence.top_ids) for t in texts)
    return {"answers": len(texts), "answer_tokens": labels, "read": at["read"], "steps": at["steps"]}


def evaluate(head: Eagle3Head, target, texts: list[Text], length: int) -> Figures:
    """Agreement over all answer tokens, and rounds of `length` drafted tokens over the greedy answers."""
    found = depths(head, target, texts, length)
    tokens = sum(map(len, found))
    agreement = sum(depth > 0 for one in found for depth in one) / tokens
    greedy = [one for one, text in zip(found, texts, strict=True) if text.sequence.is_greedy]
    return Figures(tokens, agreement, *rounds_of(greedy, length))


@torch.inference_mode()
def depths(head: Eagle3Head, target, texts: list[Text], length: int) -> list[list[int]]:
    """For every answer token of every text: how many drafts from there on are right before the first wrong one."""
    embedding = target.model.embed_tokens.weight.float()
    found = []
    for text in texts:
        batch = collate([text])
        depth = torch.zeros(batch.rows.numel(), dtype=torch.long)

        def right(step: Step, batch: Batch = batch, depth: Tensor = depth) -> Tensor:
            drafted = head.vocabulary[head.lm_head(head.norm(step.states)).argmax(-1)]
            mask = drafted == batch.top_ids[step.rows, 0]
            depth[step.places[mask]] += 1
            return mask

        unroll(head, embedding, batch, length, right)
        found.append(depth[batch.rows.flatten() >= 0].tolist())
    return found
