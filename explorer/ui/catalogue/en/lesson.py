"""The Learn tab and the lesson, in English; steps by their names in explorer/ui/web/learn/lesson_steps.js.

Figures and tokens are never written down here: the panel fills them in from the run on show. A text's paragraphs are its lines.
"""

from __future__ import annotations

from typing import Any

LABELS = {
    "tab": "Learn",
    "lead": "A short walk through recorded runs, from one token at a time to a threshold of your own. All you see is the page's own view, and each question is answered by moving something in it.",
    "none": "The lesson's recorded runs are not in this installation.",
}

LESSON: dict[str, Any] = {
    "title": "Lesson",
    "steps": "Steps of the lesson",
    "count": "Step {step} of {steps}",
    "dot": "Step {step}: {title}",
    "dot_done": "Step {step}: {title}, answered",
    "back": "Back",
    "forth": "Next: {title}",
    "leave": "Explore on your own",
    "begin": "Begin",
    "question": "Try it.",
    "of": "(round {number} of {all})",
    "answer": "Answer: position {position}",
    "answer_all": "Answer: all kept",
    "next_round": "Next round",
    "right": "Right.",
    "not_yet": "Not yet.",
    "guards": {
        "busy": "A run is going on. The lesson begins when it has ended, or when you stop it.",
        "own": "The run on show is only in this page: the lesson opens recorded runs in its place. Save it first (Explore, Save as) if you need it.",
        "free": "The lesson opens recorded runs.",
    },
    "step": {
        "slow": {
            "title": "Why decoding is slow",
            "text": "A language model writes one token at a time, a word or a piece of one, and for each it reads all of its weights once.\nHere one model writes alone. Every bar under the text is one pass through the whole model: {pass_ms} ms on average, measured on {device}.",
            "question": "Step through a few passes with › or by dragging over the bars. How many tokens does each one add?",
            "notes": {
                "more": "Look at {left} more.",
                "right": "One each: {passes} passes for {tokens} tokens. To be faster, a pass has to yield more than one.",
            },
        },
        "verify": {
            "title": "Draft, then verify",
            "text": "Now two models work together (larger ones than in the step before). The faster one, the draft model, guesses the next {k} tokens. The better one, the target, checks all of them in one pass, and that takes about as long as a pass for a single token: {pass_ms} ms here, {alone_ms} ms alone, both measured.\nUp to the first disagreement the draft is kept. There the target's own token stands (C), and the rest is thrown away. If the whole draft is kept, the same pass adds one token more (B).",
            "question": "Every bar is one such round, and its pale part was thrown away. Find a round whose whole draft was kept.",
            "notes": {
                "cut": "Round {round}: {kept} of {size} kept. Look for a bar without a pale part, and select it.",
                "right": "Round {round}: all {size} kept and one more, {committed} tokens for one pass. And the text is the target's own, token by token: the exact rule changes nothing.",
            },
        },
        "synonym": {
            "title": "A rejected synonym",
            "text": "The draft wrote {draft} here, the target would have written {target}. Either will do, but the exact rule knows only same or different: {draft} was refused, and {behind} more drafted tokens with it.\nFLy is a looser rule. It may keep a token that the target would not have chosen, if two conditions hold.",
            "question": "Set the rule to FLy. What becomes of {draft}?",
            "notes": {
                "exact": "The rule is still exact match: {draft} stays refused.",
                "other": "That is another rule. Choose FLy.",
                "refused": "Under these settings it is refused.",
                "right": "Kept: a deferred token (D), and the tokens behind it with it. The next steps show the two conditions it met.",
            },
        },
        "doubt": {
            "title": "Entropy is doubt",
            "text": "First condition: the target must be in doubt. Its entropy says how much: 0 where one token is certain, 1 where all are equally likely. Every mark in the plot below is one disagreement, placed by it.\nHere the target gives {target} {r}. Its entropy is {h}, below the threshold of this run, θ\u00a0=\u00a0{own_theta}: it counts as sure, and {draft} was refused at the gate.",
            "question": "Move θ until {draft} passes the gate: with the slider, or by dragging the line in the plot.",
            "notes": {
                "sure": "θ is {theta}, and the entropy {h} lies below it.",
                "right": "At θ\u00a0{theta} an entropy of {h} counts as doubt. Behind the first round that changes, everything is marked as counterfactual: the text itself would have gone on differently.",
            },
        },
        "holds": {
            "title": "A window that holds",
            "text": "Second condition: the draft must go on well. A mismatch that passes the gate is deferred until the next W drafted tokens, its window, are known: each must be what the target says there.\nHere the draft wrote {draft}, the target would have written {target}. All of the window matched, so {draft} was kept.",
            "question": "Find the largest W that still keeps {draft}.",
            "notes": {
                "more": "Kept at W\u00a0=\u00a0{w}. A larger one may hold, too.",
                "edge": "W\u00a0=\u00a0{w} asks for more drafted tokens than the {left} that follow.",
                "broken": "At W\u00a0=\u00a0{w} a second mismatch lies in the window.",
                "right": "W\u00a0=\u00a0{w}: all {left} drafted tokens behind it match, and there are no more.",
            },
        },
        "breaks": {
            "title": "A window that breaks",
            "text": "The draft wrote {draft}, the target would have written {target}, and it is in doubt here as well (entropy {h}). But {m} tokens on, the draft disagrees again. It has gone another way, so {draft} was refused. How unsure the target is about the second one does not matter.",
            "question": "Move W until {draft} is kept after all.",
            "notes": {
                "broken": "W\u00a0=\u00a0{w} still reaches the second mismatch, {m} further on.",
                "right": "W\u00a0=\u00a0{w} does not look that far. But look what it lets through: a small window keeps the beginnings of drafts that have gone astray.",
            },
        },
        "edge": {
            "title": "The edge of the draft",
            "text": "{draft} instead of {target} would do little harm, and nothing behind it speaks against it. But its window needs {w} more drafted tokens, and only {left} is left. What cannot be checked is not kept: refused at the edge.",
            "question": "The draft has {k} tokens and W\u00a0is\u00a0{w}. Select the last position below at which a mismatch could still be kept.",
            "notes": {
                "elsewhere": "That is another round. Come back with ‹ or ›.",
                "beyond": "Position {position} would need tokens up to {needed}, and the draft ends at {k}.",
                "earlier": "Position {position} could be kept, but a later one could, too.",
                "right": "{position} + {w} = {k}. The last {w} positions of every draft are judged as strictly as under the exact rule, so a wide window needs a long draft.",
            },
        },
        "longer": {
            "title": "Why not draft ever more",
            "text": "This run drafts {k} tokens a round. Where both models agree, one pass yields up to {best}. Where they part early, the rest was drafted for nothing: the pale part of a bar.",
            "question": "Find the round that wasted the most.",
            "notes": {
                "less": "Round {round} threw {wasted} drafted tokens away. There is a worse one.",
                "right": "Round {round}: {size} drafted, {kept} kept. Drafting took {drafting} of this run's time, measured. A draft should end where it is about to fail: that takes a stop rule.",
            },
        },
        "pacer": {
            "title": "PACER ends a draft in time",
            "text": "PACER drafts in blocks of {block}. After each, a small trained layer predicts how likely its tokens are to be kept, from the draft model's own hidden states: the target has not seen them yet.\nIf the mean of a block is below the threshold t\u00a0=\u00a0{first}, the draft ends and goes to the target. Every block that passes multiplies t by ρ (here {growth}; one leaves t as it is). So a draft grows to {k} tokens where the text repeats itself, as in this round, and stays short where it does not.",
            "question": "Find the round in which a block stopped the draft.",
            "notes": {
                "passed": "Round {round}: no block says stop. This draft ended at its largest length, or with the text.",
                "right": "Round {round}: {mean} was below {threshold}, so the draft ended after {size} tokens, and the target kept {kept}. A prediction can be wrong both ways: in another round of this run {worst} drafted tokens were thrown away. PACER decides how far to draft, never what is kept.",
            },
        },
        "tune": {
            "title": "Tune by eye",
            "text": "Not every kept token is harmless. Here FLy kept {draft} where the target wanted {target} ({r}): now the bottle is full of water, and two sentences on a message is found in it. Before that, {other_draft} for {other_target} was only another way to say it.",
            "question": "Find a θ that refuses {draft} and still keeps {other_draft}.",
            "notes": {
                "both": "Both are kept: θ\u00a0{theta} is too low.",
                "neither": "Both are refused: θ\u00a0{theta} is too high.",
                "swapped": "The wrong one is kept.",
                "right": "θ\u00a0{theta} lies between the two entropies, {h} and {other_h}. The bar below counts what else it costs. The Tune tab does this over many prompts, and measures how far the text strays.",
            },
        },
        "lost": {
            "title": "What is lost",
            "text": "FLy is lossy: its text may leave the one that the target alone would have written. How far shows in the mean log-probability that the target gives to each text, the nearer to zero the likelier: {ours} nats per token for this text, {theirs} for its own.\nThe end of the summary says at which token the texts part.",
            "question": "Select that token in the text. You will be told the number of the one you select.",
            "notes": {
                "before": "That is token {index}. Up to there both texts are the same.",
                "behind": "That is token {index}. The texts have parted before.",
                "right": "Token {index}, a deferred one: from here on it is another text. Whether a good one, no figure says for sure; answers that can be checked tell more, and so do you.",
            },
        },
        "predict": {
            "title": "Now you",
            "text": "A round is kept up to its first refused mismatch. Refused is a mismatch where the target's entropy is below θ, where another mismatch follows within W, or where W does not fit in the draft.\nHere is a round without its verdicts: θ\u00a0=\u00a0{theta}, W\u00a0=\u00a0{w}.",
            "question": "Select the first drafted token that is not kept, or “{own}” if all are.",
            "notes": {
                "elsewhere": "That is another round. Come back with ‹ or ›.",
                "exact": "At {position} draft and target agree: kept.",
                "deferred": "{position} is a mismatch, but a kept one: doubt enough, and a window that holds.",
                "late": "{position} is behind the cut: an earlier mismatch does not pass.",
                "all": "Every mismatch is deferred and its window holds, so all of the draft is kept.",
                "rejected:gate": "The mismatch at {position} is below θ.",
                "rejected:window": "Another mismatch follows the one at {position} inside its window.",
                "rejected:edge": "The mismatch at {position} has doubt enough and nothing against it, but its window does not fit.",
            },
        },
    },
}  # fmt: skip
