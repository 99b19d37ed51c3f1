"""Training an EAGLE-3 head: chains of drafts after every place of the target's own text.

Unlike the paper's, the loss also holds the target's final states to the head's, as the first EAGLE did: little text is read here.
"""

import json
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.engine.drafters.eagle import Eagle3Head
from explorer.training.common.checkpoint import resume, write_checkpoint
from explorer.training.common.progress import LogLine, Progress
from explorer.training.common.schedule import warm_cosine
from explorer.training.distill.chains import ChainBatch, ChainStep, TappedText, collate, unroll
from explorer.training.distill.evaluate import Figures, rounds_of
from explorer.training.distill.token_loop import START, read_tokens

KL_SHARE = 0.7  # of the loss; the rest is cross-entropy with the target's choice
REGRESSION = 1.0  # weight of the distance to the target's state
SMALL = 0.1  # share of the rate for all but the layer's matrices: the linear start is good, and easily lost


@dataclass(frozen=True)
class HeadRecipe:
    """What decides the trained weights, with the data."""

    tokens: int = 1_000_000  # read in all, prompts included
    chain: int = 4  # tokens a start is followed for
    alone: float = 0.35  # share of the tokens read before starts are followed beyond the first token
    noise: float = 0.1  # on the states read, in units of their own spread
    batch: int = 1024
    rate: float = 1e-3
    seed: int = 1
    start: str = ""  # a written head to go on from, by the sha256 of its weights


class HeadObjective:
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

    def __call__(self, step: ChainStep, batch: ChainBatch) -> tuple[Tensor, Tensor]:
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


def descend(head: Eagle3Head, optimizers: list[torch.optim.Optimizer], loss: Tensor, rate: float) -> None:
    """One step down the gradient of a loss, every group of parameters with its share of the rate."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for p in head.parameters() if p.requires_grad], 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        optimizer.step()


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
    texts: list[TappedText],
    held_out: list[TappedText],
    folder: Path,
    recipe: HeadRecipe,
    save_every: int = 100,
) -> Generator[Progress | LogLine, None, dict]:
    """Train `head` in place until the recipe's tokens are read, from `folder`'s checkpoint if there is one; returns counters.

    Yields as token_loop.read_tokens. Raises UserError where the checkpoint is of another recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    embedding, output = (table.weight.detach().float() for table in (target.model.embed_tokens, target.lm_head))
    objective = HeadObjective(head, output, torch.cat([t.sequence.top_ids[:, 0] for t in texts]).long())
    optimizers = optimizers_of(head)
    at = {"recipe": json.dumps(asdict(recipe)), "answers": len(texts), **START}
    checkpoint = folder / "checkpoint.pt"
    if saved := resume(checkpoint, at, ("recipe", "answers")):
        at = saved["at"]
        head.load_state_dict(saved["head"])
        for optimizer, state in zip(optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)

    def step(group: list[TappedText], done: float) -> float:
        batch = collate(group)
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + at["step"])
        batch.tapped = blurred(batch.tapped, recipe.noise, generator)
        losses: list[Tensor] = []

        def right(step: ChainStep) -> Tensor:
            loss, mask = objective(step, batch)
            losses.append(loss)
            return mask

        with torch.autocast("cpu", torch.bfloat16):
            unroll(head, embedding, batch, 1 if done < recipe.alone else recipe.chain, right)
        # Every draft that is reached counts the same, however far down its chain it is.
        loss = sum(part.sum() for part in losses) / len(losses[0])
        descend(head, optimizers, loss, warm_cosine(done, recipe.rate, 0.03, 0.02))
        return loss.item()

    def figures() -> dict:
        held = evaluate(head, target, held_out, 8)
        acceptance = [round(share, 3) for share in held.acceptance]
        return {"agreement": round(held.agreement, 4), "kept": round(held.mean_kept, 3), "acceptance": acceptance}

    def save() -> None:
        states = {"head": head.state_dict(), "optimizers": [optimizer.state_dict() for optimizer in optimizers]}
        write_checkpoint(checkpoint, {"at": at, **states})

    yield from read_tokens(texts, recipe, at, step, figures, save, folder, save_every)
    labels = sum(len(t.sequence.top_ids) for t in texts)
    return {"answers": len(texts), "answer_tokens": labels, "read": at["tokens"], "steps": at["step"]}


def evaluate(head: Eagle3Head, target, texts: list[TappedText], length: int) -> Figures:
    """Agreement over all answer tokens, and rounds of `length` drafted tokens over the greedy answers."""
    found = depths(head, target, texts, length)
    tokens = sum(map(len, found))
    agreement = sum(depth > 0 for of_text in found for depth in of_text) / tokens
    greedy = [of_text for of_text, text in zip(found, texts, strict=True) if text.sequence.is_greedy]
    return Figures(tokens, agreement, *rounds_of(greedy, length))


@torch.inference_mode()
def depths(head: Eagle3Head, target, texts: list[TappedText], length: int) -> list[list[int]]:
    """For every answer token of every text: how many drafts from there on are right before the first wrong one."""
    embedding = target.model.embed_tokens.weight.float()
    found = []
    for text in texts:
        batch = collate([text])
        depth = torch.zeros(batch.rows.numel(), dtype=torch.long)

        def right(step: ChainStep, batch: ChainBatch = batch, depth: Tensor = depth) -> Tensor:
            drafted = head.vocabulary[head.lm_head(head.norm(step.states)).argmax(-1)]
            mask = drafted == batch.top_ids[step.rows, 0]
            depth[step.places[mask]] += 1
            return mask

        unroll(head, embedding, batch, length, right)
        found.append(depth[batch.rows.flatten() >= 0].tolist())
    return found
