"""All text of the page in one place, in the order a visitor meets it. The run view gets its part, VIEW, as JSON.

Placeholders in braces are filled by the code that shows a text; values are always set as text, never as markup.
"""

from __future__ import annotations

from typing import Any

TITLE = "Speculative decoding explorer"
LEAD = "A fast draft model guesses several tokens ahead; the target model checks them all in one pass."
LEAD_MARKS = (
    "Colour and mark show what became of each guess: agreed, refused, or, with FLy, kept though the target would have said "
    "something else, because it was unsure and the draft went on well."
)
NEWCOMER = "New here? Take the lesson"

PROMPT_LABEL = "Prompt"
PROMPT_PLACEHOLDER = "Ask for something, or pick an example below."
EXAMPLES_LABEL = "Examples"
RECORDINGS_LABEL = "Recorded runs"
OWN_RUN = "Your own run"
OWN_FILE = "From your file"
RUN = "Run"
STOP = "Stop"
DOWNLOAD = "Download trace (JSON)"
THEME_TOGGLE = "Light / dark"

CHARTS_LABEL = "Charts to zoom and export"
CHARTS = {
    "seconds": "Seconds of each round, measured; the prefill is not shown",
    "entropies": "Every disagreement by both entropies",
    "round": "round",
    "normalized": "normalized entropy",
    "top3": "top-3 entropy, nats",
    "place": "round {round}, position {position}",
    "lengths": "Draft length of each round",
    "tokens": "drafted tokens",
    "kept": "kept",
    "not_kept": "not kept",
    "calibration": "PACER's predictions of this run: predicted against kept; the larger a disc, the more tokens",
    "scored": "scored tokens",
    "holds": "where predictions hold",
    "predicted": "predicted acceptance",
    "kept_share": "share kept",
    "bin": "{low:.1f} to {high:.1f}: {count} tokens",
}

SETTINGS = "Settings"
GROUPS = {"verifying": "Verifying", "drafting": "Drafting", "writing": "Output"}
ADVANCED = "Advanced"
PAIR_LABEL = "Model pair"
PAIR_INFO = (
    "Or type TARGET,DRAFT: two models on this machine with one vocabulary. With two: TARGET,DRAFT,cross-tokenizer."
)
PRESET_LABEL = "Preset of FLy"
PRESET_CUSTOM = "Custom"
BASELINE_LABEL = "Compare with plain greedy"
BASELINE_INFO = "Also lets the target write alone, for its own text and speed. Takes as long again, or longer."
RULE_LABELS = {
    "autoregressive": "Target alone",
    "exact": "Exact match",
    "fly": "FLy (loose, deferred)",
    "typical": "Typical (Medusa)",
    "topk": "Top k",
    "margin": "Margin (MARS)",
    "kl": "KL limit",
    "judge": "Judge head (outcome-labelled)",
}
DRAFTER_LABELS = {
    "model": "Draft model",
    "lookup": "Prompt lookup",
    "model+lookup": "Model + lookup",
    "model+phrases": "Model + phrases",
    "features": "EAGLE-3 head",
}
LENGTH_LABELS = {
    "fixed": "Fixed length",
    "pacer": "PACER",
    "confidence": "Confidence",
    "entropy": "SVIP entropy",
    "heuristic": "Heuristic",
    "adaedl": "AdaEDL",
    "survival": "Survival",
}
ENTROPY_LABELS = {"normalized": "Normalized", "top3": "Top 3"}
STATISTIC_LABELS = {"mean": "Mean", "min": "Smallest", "product": "Product"}
SCHEDULE_LABELS = {"serial": "In turn", "pearl": "Overlapped (PEARL)"}
SIGNED = {"theta": "Theta θ", "growth": "Growth ρ"}  # labels with letters that a terminal may lack
UNITS = {"tokens": "tokens", "nats": "nats"}  # of knobs, behind their labels

PAIR_FETCHED = "fetched on first use"
PAIR_MISSING = "not on this machine"

WARM_WAITING = "Models load at the first run."
# Behind the name of a pair.
WARM_LOADING = "loading into memory. You can press Run already."
WARM_READY = "in memory."
WARM_FAILED = "could not be loaded ahead"

IMPORT_REFUSED = "{name} is no record of a run: {reason}"
IMPORT_TITLE = "Nothing was opened"
UNEXPECTED = "The run failed: {error}. The page goes on working; the server's log has the details."
OUT_OF_MEMORY = (
    "Out of memory: lower the budget or the draft length, or choose a smaller pair. The page goes on working."
)
DISK_FULL = "The server's disk is full, so nothing could be saved. The page goes on working."
ERROR_TITLE = "Nothing was run"
FAILED_TITLE = "The run failed"

API_DESCRIPTION = (
    "Decode one prompt; returns its text, the figures of the run, and the whole trace (schema version 1). "
    "prompt: what to answer. pair: name of a known pair. baseline: also decode plainly, with the target alone, and compare."
)

API_JUDGE = (
    "Judge one draft of K tokens, without a model. match: whether each drafted token is the target's own choice [K booleans]. "
    "entropy: the target's at each position, in the unit of theta [K numbers]. rule: fly or exact (the others read more than that: "
    "python -m explorer judge). theta: least entropy to defer "
    "(0 to 1.2). window: following tokens that must match (0 to 32). includes_mismatch: the window counts the mismatch itself. "
    "protected: positions with a stop id, never loosened [K booleans]; null for none. K is at most 64. Returns verdicts [K], kept, "
    "cut (the first refused position from 0, or null) and last (correction or bonus)."
)

# What sentences and tables call the knobs, and their values.
KNOB_WORDS = {
    "rule": "rule",
    "entropy": "measure",
    "theta": "θ",
    "window": "W",
    "window_includes_mismatch": "window includes the mismatch",
    "typical_epsilon": "epsilon",
    "typical_delta": "delta",
    "top_k": "k",
    "margin": "margin",
    "kl_limit": "KL limit",
    "kl_confidence": "KL confidence",
    "judge_threshold": "judge threshold",
    "judge_run": "judged in a row",
    "drafter": "drafter",
    "length": "length policy",
    "draft_length": "draft length K",
    "phrases": "phrases",
    "phrase_length": "phrase length",
    "phrase_window": "phrases made at once",
    "tree": "tree nodes",
    "tree_width": "tree width",
    "schedule": "schedule",
    "max_new_tokens": "budget",
    "temperature": "temperature",
    "seed": "seed",
    "raw_prompt": "raw prompt",
    "block_size": "block size",
    "threshold": "threshold",
    "growth": "growth",
    "statistic": "statistic",
    "least_draft": "least draft",
}
VALUE_WORDS = {
    "fly": "FLy",
    "typical": "typical",
    "topk": "top k",
    "margin": "margin",
    "kl": "KL limit",
    "judge": "judge head",
    "exact": "exact",
    "autoregressive": "target alone",
    "normalized": "normalized",
    "top3": "top 3",
    "true": "yes",
    "false": "no",
}
# What the run view says. Keys are stable: the JavaScript asks for them by name.
VIEW: dict[str, Any] = {
    "kinds": {
        "exact": {"name": "exact", "mark": "E", "means": "draft and target agree"},
        "deferred": {"name": "deferred", "mark": "D", "means": "target disagrees but is unsure, and the draft goes on well: kept"},
        "relaxed": {"name": "relaxed", "mark": "L", "means": "target disagrees, but the token lies within the limit of the rule: kept"},
        "correction": {"name": "correction", "mark": "C", "means": "draft token refused, the target's own instead"},
        "bonus": {"name": "bonus", "mark": "B", "means": "whole draft kept, the target adds one"},
    },
    # Kinds that are no part of the text: refused, or thrown away behind a cut.
    "others": {
        "rejected:gate": {"name": "refused: target sure", "short": "target sure", "mark": "G"},
        "rejected:window": {"name": "refused: second mismatch in the window", "short": "second mismatch", "mark": "W"},
        "rejected:edge": {"name": "refused: window does not fit", "short": "window too long", "mark": "F"},
        "rejected:limit": {"name": "refused: beyond the limit", "short": "beyond the limit", "mark": "T"},
        "rejected:stop": {"name": "refused: stop token", "short": "stop token", "mark": "S"},
        "rejected": {"name": "refused: mismatch", "short": "mismatch", "mark": "R"},
        "discarded": {"name": "discarded behind the cut", "short": "discarded", "mark": "·"},
    },
    "alone": {"name": "target", "means": "written by the target alone"},
    "locale": "en-GB",
    "origin": {"recorded": "Recorded run", "imported": "Imported run", "live": "Live run", "crossed": "Two tokenizers", "dtypes": "target {target}, draft {draft}"},
    "legend": "What the marks mean",
    "own_figures": "Figures of the run itself; those of the what-if stand beside its settings.",
    "agreed": "Draft and target agreed everywhere: nothing to defer in this run. A longer text, or the example A short story, shows more",
    "show_refused": "Show refused drafts",
    "strip": "Generated text, token by token",
    "empty": "The text appears here as it is written, round by round.",
    "idle": "Ready.",
    "status": "Round {rounds}, {tokens} tokens",
    "pinned": "pinned",
    "unpin": "Unpin",
    "phases": {
        "preparing": "Preparing",
        "loading": "Loading the models",
        "running": "Running",
        "baseline": "Now plain greedy, for comparison",
        "done": "Done",
        "stopped": "Stopped",
        "failed": "Failed",
    },
    "ends": {
        "stop_id": "the model ended its text",
        "stop_string": "stop text reached",
        "budget": "budget of {budget} tokens spent",
        "user": "stopped by you; the record is partial",
    },
    "card": {
        "title": "Token details",
        "empty": "Point at a token, or move to it with the arrow keys, to see why it is there.",
        "where": "round {round}, position {position} of {size}",
        "where_own": "round {round}, the target's own",
        "bytes": "part of a character, bytes {hex}",
        "stop": "stop token: ends the text",
        "draft_gave": "draft gave it",
        "target_gave": "target gave it",
        "sources": {"lookup": "drafted by looking it up in the text so far", "drafted phrase": "from a phrase of the pool, confirmed by the draft model", "phrase pool": "from a phrase of the pool, tried behind the draft", "features": "drafted by an EAGLE-3 head from the target's own states"},
        "refused": "Refused draft token",
        "alternatives": "What the target considered",
        "roles": {"both": "both", "kept": "draft's, kept", "choice": "target's own", "refused": "draft's, refused", "draft": "draft's"},
        "rejudged": "Under the moved settings. In the run itself: {kind}",
        "entropy": "How unsure the target is",
        "normalized": "normalized entropy",
        "top3": "top-3 entropy, nats",
        "theta": "θ {theta}",
        "theta_never": "θ {theta}: never reached",
        "unused": "not used in this run",
        "undecided": "nothing to decide here",
        "would_defer": "at or above θ",
        "would_refuse": "below θ",
    },
    "reasons": {
        "exact": "Draft and target agree on this token.",
        "exact_sampled": "The target's draw accepts the drafted token.",
        "deferred": "The target would have written {choice}, but it is unsure here (entropy {h}, θ\u00a0{theta}) and the next {n} drafted tokens all match. The draft's token stays.",
        "deferred_alone": "The target would have written {choice}, but it is unsure here (entropy {h}, θ\u00a0{theta}). The draft's token stays.",
        "rejected:gate": "The draft said {draft}. The target counts as sure here (entropy {h}, below θ\u00a0{theta}), so its own token stands.",
        "rejected:window": "The draft said {draft}. The target is unsure here (entropy {h}, θ\u00a0{theta}), but another mismatch follows {m} further on, inside the look-ahead window of {w}. The target's own token stands.",
        "rejected:edge": "The draft said {draft}. The target is unsure here (entropy {h}, θ\u00a0{theta}) and nothing spoke against it, but the window of {w} does not fit in the rest of the draft. The target's own token stands.",
        # Of rules other than FLy, by rule.
        "relaxed": {
            "typical": "The target would have written {choice}, but it gives the draft's token {prob}, more than the {floor} that the rule asks for here. The draft's token stays.",
            "topk": "The target would have written {choice}, but the draft's token is number {rank} of its choices, within the first {top_k}. The draft's token stays.",
            "margin": "The target would have written {choice}, but the draft's token is its second choice, {gap} nats behind, at most {margin}. The draft's token stays.",
            "kl": "The target would have written {choice}, but draft and target think nearly alike here: {divergence} nats apart, less than {kl_limit}, and the target's first choice has {top_prob}, at most {kl_confidence}. The draft's token stays.",
            "judge": "The target would have written {choice}, but the judge head, which sees the target's state behind the draft's token, finds that it does not matter: {harmless}, at least {judge_threshold}. The draft's token stays.",
        },
        "rejected:limit": {
            "typical": "The draft said {draft}. The target gives it {prob}, not more than the {floor} that the rule asks for here, so its own token stands.",
            "topk": "The draft said {draft}, number {rank} of the target's choices and not within the first {top_k}. The target's own token stands.",
            "margin": "The draft said {draft}, number {rank} of the target's choices and {gap} nats behind the first. The rule keeps only the second, at most {margin} nats behind: the target's own token stands.",
            "kl": "The draft said {draft}. Draft and target are {divergence} nats apart here (the rule asks for less than {kl_limit}), and the target's first choice has {top_prob} (at most {kl_confidence}): the target's own token stands.",
            "judge": "The draft said {draft}. The judge head gives it {harmless} (the rule asks for at least {judge_threshold}, and keeps at most {judge_run} in a row): the target's own token stands.",
        },
        "rejected:stop": "The draft said {draft}. The end of the text is at stake here, and that is never loosened: the target's own token stands.",
        "rejected": "The draft said {draft}. Under the exact rule every mismatch is refused: the target's own token stands.",
        "discarded": "The draft was cut at position {cut}. What stands behind the cut builds on the refused token, so it is thrown away unjudged.",
        "bonus": "The whole draft of {k} was kept, and the same target pass gives one token more.",
        "bonus_ahead": "No drafted token was left standing, so the target's pass gave only its own next token, while the draft went on ahead.",
        "bonus_no_room": "There was no room left to draft: the target adds the last token.",
        "alone": "No draft: the target writes every token itself.",
    },
    "summary": {
        "title": "Summary",
        "partial": "partial: the run was stopped",
        "tau": "tokens per target pass (τ)",
        "tau_note": "{tokens} committed tokens / {passes} target passes, the target's own token counted",
        "kept": "drafted tokens kept per round",
        "kept_note": "{kept} kept in {passes} rounds, the target's own token not counted",
        "speed": "tokens per second, measured",
        "speed_note": "{device}; prefill and display not counted",
        "overlapped": "tokens per second, modelled",
        "overlapped_note": "if draft and target ran at once: the longer of the two in each round, a device of this speed for each, messages free",
        "phrases": "kept tokens from the phrase pool",
        "phrases_note": "{phrases} phrases tried behind drafts",
        "nodes": "of the verified tree tokens kept",
        "nodes_note": "{kept} kept of {nodes} verified in {passes} passes; the others are thrown away",
        "speedup": "times plain greedy, measured",
        "speedup_note": "plain greedy {speed} tokens/s, same engine and prompt",
        "drafted": "What became of {drafted} drafted tokens",
        "counts": {
            "exact": "exact",
            "deferred": "deferred",
            "relaxed": "relaxed",
            "rejected:gate": "refused: target sure",
            "rejected:window": "refused: second mismatch in the window",
            "rejected:edge": "refused: window does not fit",
            "rejected:limit": "refused: beyond the limit",
            "rejected:stop": "refused: stop token",
            "rejected": "refused: mismatch",
            "discarded": "discarded behind a cut",
        },
        "time": "Where {seconds} s went, measured",
        "time_forwards": "{share} inside the models' forward passes",
        "times": {"prefill": "prefill", "draft": "drafting", "preverify": "pre-verifying", "verify": "verifying", "other": "other"},
        "acceptance": {
            "title": "Acceptance by position in the draft",
            "note": "Solid: rounds that kept it. Pale: rounds that reached it, because all before it was kept. Above: kept of reached, in %. {rounds} rounds in all.",
            "of_trees": "A drafted tree counts where one of its tokens at that depth was kept.",
            "numbers": "As numbers",
            "position": "Position",
            "kept": "Kept",
            "reached": "Reached",
            "of_reached": "Of reached",
            "of_all": "Of all rounds",
        },
        "lengths": {
            "title": "Tokens per round",
            "note": "How many rounds committed so many tokens, the target's own counted. The longest draft had {size} tokens, in round {round}.",
            "numbers": "As numbers",
            "tokens": "Tokens",
            "rounds": "Rounds",
        },
        "fidelity": "Against the target's own greedy text",
        "divergence": "First divergence at token {index}: the target alone goes on with {theirs}, this run with {ours}.",
        "no_divergence": "No divergence in {tokens} tokens.",
        "logprob": "Mean target log-probability per token {ours} nats, the target's own text {theirs}.",
    },
    "scrubber": {
        "title": "Rounds of the run",
        "range": "Round",
        "place": "Round {round} of {rounds}",
        "play": "Play",
        "pause": "Pause",
        "back": "Previous round",
        "forth": "Next round",
        "seek": "Next",
        "seeks": {"disagreement": "disagreement", "deferred": "kept mismatch", "refused": "refused"},
        "keys": "Keys, with a token in focus: arrows move, Enter pins, Escape lets go; [ and ] step rounds, P plays, N finds the next disagreement, D kept mismatch, R refused, with Shift the one before.",
    },
    "lanes": {
        "title": "One round, position by position",
        "heading": "Round {round} of {rounds}",
        "outcome": "drafted {size}, kept {kept}, one more token from the target",
        "outcome_alone": "no draft, one token from the target",
        "columns": "Positions of the round",
        "own": "own",
        "rows": {"position": "Position", "draft": "Draft says", "target": "Target says", "verdict": "Verdict", "entropy": "Target's doubt", "window": "Look-ahead", "blocks": "Draft goes on"},
        "agrees": "the same",
        "sources": {"lookup": "looked up", "drafted phrase": "drafted phrase", "phrase pool": "phrase pool", "features": "by the head"},
        "was": "in the run: {kind}",
        "theta": "θ {theta}",
        "windows": {
            "held": "all match: held",
            "none": "no window to hold",
            "broken": "broken, {m} on",
            "edge": "needs {w}, {left} left",
            "shut": "below θ",
            "stop": "stop token",
        },
        "policies": {"pacer": "PACER", "adaedl": "AdaEDL", "survival": "Survival"},
        # What a policy compares with its threshold, in a block and in a sentence.
        "scores": {"mean": "mean", "min": "smallest", "product": "product", "adaedl": "bound", "survival": "survival"},
        "scored": {"mean": "a block's mean score", "min": "a block's smallest score", "product": "a block's product of scores", "adaedl": "a token's least acceptance, by its entropy,", "survival": "the predicted chance that all of it is kept,"},
        "blocks": {"passed": "{score} {mean}, threshold {threshold}: go on", "stopped": "{score} {mean}, threshold {threshold}: stop", "unscored": "not scored"},
        "sentence": {
            "alone": "No draft: the target wrote {token} itself.",
            "kept": "{kept} of {size} drafted tokens kept.",
            "deferred": "At {position} the target would say {target} instead of {draft}, but its entropy {h} is at or above θ\u00a0{theta} and the next {n} match: deferred and kept.",
            "rejected:gate": "At {position} the draft says {draft}, the target {target} with entropy {h}, below θ\u00a0{theta}: refused, the target is sure.",
            "rejected:window": "At {position} the draft says {draft}, the target {target} with entropy {h}, but another mismatch follows {m} further on, inside the window of {w}: refused.",
            "rejected:edge": "At {position} the draft says {draft}, the target {target} with entropy {h}, but its window needs {w} drafted tokens behind it and has {left}: refused.",
            "relaxed": "At {position} the target would say {target} instead of {draft}, but that lies within the limit of the rule: relaxed and kept.",
            "rejected:limit": "At {position} the draft says {draft}, the target {target}: beyond the limit of the rule, refused.",
            "rejected:stop": "At {position} the draft says {draft}, the target {target}: a stop token is never loosened, refused.",
            "rejected": "At {position} the draft says {draft}, the target {target}: refused.",
            "bonus": "All kept, so the target adds {token}.",
            "stopped": "{policy} ended the draft after {size}: {score} {mean} is below its threshold {threshold}. Rightly so, the draft was cut at {cut} already.",
            "stopped_early": "{policy} ended the draft after {size}: {score} {mean} is below its threshold {threshold}. All of it was kept, so more might have been.",
            "phrases": "Behind the draft {count} phrases of the pool were tried in the same pass, the one that agreed furthest is taken:",
            "phrase": "{text} {agreed} of {size} agree",
            "tree": "The draft is the path through a tree of {nodes} tokens that agrees furthest; the {beside} beside it were verified in the same pass and are thrown away.",
            "ahead_stands": "Meanwhile the draft went on with {text}; its first token is the target's own, so it stands.",
            "ahead_falls": "Meanwhile the draft went on with {text}; that does not follow, so it is thrown away.",
        },
    },
    # The drafted tree of a round.
    "tree": {
        "title": "The drafted tree",
        "counts": "tokens {nodes}, levels {depth}, all verified in one pass; kept {kept}",
        "root": "text so far",
        "own": "target's own",
        "key": "Left to right: depth; the first row is what the round committed. The wider a line, the likelier the head finds the token behind its parent; the deeper the shade, the likelier the whole path. Bold with a letter: the path that became the draft.",
        "keys": "Arrow keys walk the tree, Enter shows a token of the path above.",
        "node": "{token}, level {level}: the head gives it {chance}, {along} along the path. The target then says {choice}.",
        "fates": {"kept": "On the path and kept.", "refused": "On the path and refused.", "discarded": "On the path, behind the cut.", "beside": "Beside the path: verified and thrown away."},
        "own_node": "{token}: the target's own token, committed behind what was kept.",
    },
    "gauges": {
        "title": "Where the target doubts",
        "lead": "Each mark is a disagreement between draft and target, {count} in this run, placed by the target's entropy there.",
        "drag": "Drag θ to see what would change.",
        "handle": "Theta on the {measure}",
        "value": "θ {theta}: {sure} below, {unsure} at or above",
        "sure": "below θ: the target is sure, refused",
        "unsure": "at or above θ: kept if the window holds",
        "use": "Judge by this measure",
        "not_used": "not used by the settings in force",
        "outcomes": {
            "deferred": "deferred, kept",
            "relaxed": "relaxed, kept",
            "rejected:gate": "target sure",
            "rejected:window": "second mismatch in the window",
            "rejected:edge": "window does not fit",
            "rejected:limit": "beyond the limit",
            "rejected:stop": "stop token",
            "rejected": "refused, exact rule",
            "discarded": "behind a cut, not judged",
        },
        "why": "Why the two measures can disagree",
        "why_text": "The top-3 sum looks only at the three likeliest tokens. Spread the probability evenly over more and more tokens and it rises, then falls: over 36 tokens it is 0.299, just below the released threshold of 0.3, so a target that has no idea at all counts as sure. The normalized entropy keeps rising.",
        "why_axis": "Both measures of a probability spread evenly over 1 to 1000 tokens",
    },
    "whatif": {
        "title": "What if",
        "moved": "{name} {now} instead of {was}",
        "knobs": KNOB_WORDS,
        "values": VALUE_WORDS,
        "same": "No round would end differently: the run would be the same.",
        "parts": "Round {round} is the first to end differently. Exact up to there; behind it the text itself would go on differently.",
        "parts_last": "Only the last round would end differently.",
        "lost": "{lost} drafted tokens lost: {refused} refused, {behind} behind them.",
        "lost_alone": "{lost} drafted tokens lost, all refused.",
        "gained": "{gained} drafted tokens gained.",
        "exact": "Rounds 1 to {to}, exact, replayed",
        "exact_one": "Round 1, exact, replayed",
        "counterfactual": "Rounds {from} to {to}, counterfactual, replayed per round",
        "tau": "τ",
        "deferred": "deferred",
        "relaxed": "relaxed",
        "refused": "refused",
        "boundary": "from here counterfactual",
        "rerun": "Re-run with these",
        "reset": "Back to the run's own",
        "other_pair": "A re-run uses the pair chosen in the settings: the recorded one is not on this machine.",
        "refusals": {
            "pearl": "PEARL's schedule goes on from exact matches alone: another rule needs a real run.",
            "alone": "A run of the target alone has no drafts to judge: this needs a real run.",
            "window": "A window that includes the mismatch needs W of at least 1.",
            "evidence": "This record does not hold what the rule reads: this needs a real run.",
            "drawn": "This rule is defined for greedy runs only, and this one was drawn.",
        },
    },
    "compare": {
        "title": "Two runs of this prompt",
        "recorded": "Recorded",
        "before": "Before",
        "after": "Now",
        "pair": "pair",
        "knobs": KNOB_WORDS,
        "tau": "tokens per target pass (τ)",
        "kept": "drafted tokens kept per round",
        "speed": "tokens per second, measured",
        "tokens": "tokens",
        "deferred": "deferred",
        "relaxed": "relaxed",
        "refused": "refused",
        "parting": "The texts part at token {index}.",
        "same": "Both wrote the same text.",
        "speeds": "Both speeds were measured here, one after the other.",
        "other_machine": "The speeds were measured at different places or times: compare the other figures.",
    },
    "share": {
        "title": "Share and keep",
        "page_title": TITLE,
        "copy": "Copy link",
        "link": "Link to copy",
        "copied": "Link copied: it holds the run's name, the round and the thresholds.",
        "copied_settings": "Link copied: it holds the settings only, no prompt and no text. Share this run as a file.",
        "copy_by_hand": "This browser does not let the page copy. Here is the link:",
        "save": "Save as",
        "trace": "Whole record",
        "rounds": "Table of rounds",
        "page": "Page without a server",
        "parts": {"lanes": "Picture of this round", "rounds": "Picture of all rounds", "entropies": "Picture of the entropies", "summary": "Picture of the summary"},
        "replayed": "what-if, replayed per round",
        "saved": "Saved {name}.",
        "open": "Open a record",
        "opening": "Opening {name}",
        "imported": "This run is from your file. It is not kept on the server.",
        "too_large": "{name} has {size} MB; a record may have {limit} MB at most.",
        "not_text": "{name} is no record of a run: it is not UTF-8 text.",
        "refused": {
            "busy": "A run is going on. Wait for its end, or stop it.",
            "length": "This link is too long, so it was not followed.",
            "v": "This link is from another version of the page, so it was not followed.",
            "run": "This link names a recorded run that is not here, so it was not followed.",
            "pair": "This link names a model pair that is not here, so it was not followed.",
            "round": "This link names a place that this run does not have.",
            "position": "This link names a place that this run does not have.",
            "conflict": "This link asks for settings that cannot go together, so it was not followed: {reason}.",
            "knob": "This link has an impossible value for {name}, so it was not followed.",
            "step": "This link names a step that the lesson does not have.",
        },
    },
    # On a page without a server, in place of the settings.
    "thresholds": {
        "title": "Thresholds",
        "rule": "Rule",
        "entropy": "Measure",
        "theta": "Theta θ",
        "window": "Window W",
        "window_includes_mismatch": "W includes the mismatch",
        "never": "never",
    },
    "rounds": {
        "title": "All rounds as a table",
        "caption": "One row per target pass",
        "round": "Round",
        "drafted": "Drafted",
        "kept": "Kept",
        "verdicts": "Verdicts",
        "entropy": "Entropy at the cut",
        "text": "Committed text",
        "seconds": "Seconds",
        "show": "Show round {round} in the text",
        "letters": "E exact, D deferred, L relaxed, refused: G target sure, W second mismatch in the window, F window does not fit, T beyond the limit, S stop token, R mismatch; · discarded",
    },
}  # fmt: skip

# The Tune tab. Its labels first, then what its view says.
TUNE = "Tune"
EXPLORE = "Explore"
COMPARE = "Compare"
TUNE_LEAD = (
    "Sweep theta and W over several prompts, see what loosening wins and what it costs, and take the fastest point within a limit. "
    "Greedy decoding is deterministic, so every distinct round is computed once, whatever the number of points."
)
TUNE_LOAN = (
    "On this Space a sweep is lent a GPU for one minute, out of your daily quota, and keeps the prompts that are through by then. "
    "Longer sweeps, and training PACER's layer, need a machine of your own: python -m explorer sweep, python -m explorer pacer."
)
TUNE_PROMPTS = "Prompts"
TUNE_SOURCES = {
    "checkable": "Shipped, with answers that can be checked",
    "examples": "The example prompts",
    "own": "My own",
}
TUNE_COUNT = "How many"
TUNE_OWN = "My prompts"
TUNE_OWN_INFO = "One a line; with blank lines between them, one a paragraph. Or JSON lines: prompt, and where you know it, answer; GSM8K's form too."
TUNE_FILE = "Open a file of prompts"
TUNE_THETAS = "Thetas"
TUNE_WINDOWS = "Windows W"
TUNE_LENGTHS = "Draft lengths K"
TUNE_LIST_INFO = "Numbers, separated by commas."
TUNE_BUDGET = "Tokens per prompt, at most"
TUNE_RUN = "Sweep"
TUNE_CANCEL = "Cancel"
TUNE_LIMIT = "Fidelity limit"
TUNE_NATS = "Nats per token below plain greedy, at most"
TUNE_NATS_INFO = "Mean log-probability that the target gives to the text."
TUNE_LOST = "Right answers lost, at most"
TUNE_MORE = "More of the drafting"
TUNE_CSV = "Table (CSV)"
TUNE_JSON = "Whole sweep (JSON)"
PACES = {
    "here": "the last runs on this machine",
    "recorded": "a run recorded on {device}; this machine may differ",
}
TUNE_EXPECTED = {
    "plan": "{prompts} prompts of at most {tokens} tokens, {points} points.",
    "about": "Expect {minutes}: modelled from {source}.",
    "minute": "about a minute",
    "minutes": "about {minutes} minutes",
    "unknown": "How long that takes is not known before the first prompt is through.",
}
TUNE_MEASURING = "{rounds} rounds"

TUNE_VIEW: dict[str, Any] = {
    "locale": "en-GB",
    "empty": "A sweep decodes every prompt under every point. Maps of speed and fidelity grow here prompt by prompt; what is through stays when you cancel.",
    "waiting": "The maps appear when the first prompt is through.",
    "idle": "Ready.",
    "progress": "Prompts through",
    "phases": {
        "preparing": "Waiting for its turn",
        "loading": "Loading the models",
        "running": "Sweeping",
        "measuring": "Running this point for real",
        "measured": "Measured",
        "stopped": "Stopped",
        "failed": "Failed",
    },
    "passes": "Prompt {prompt} of {all}, {passes} target passes so far",
    "left": "Prompt {prompt} of {all}, {passes} target passes so far, about {left} left",
    "seconds": "{count} s",
    "minutes": "{count} min",
    "through": "{done} of {all} prompts through",
    "ends": {"done": "Done: {done} prompts", "stopped": "Stopped: {done} of {all} prompts are through, and kept"},
    "measure": {"normalized": "normalized entropy", "top3": "top-3 entropy, nats"},
    "budget": "at most {tokens} tokens",
    "dtypes": "target {target}, draft {draft}",
    "maps": "Theta and W",
    "maps_lead": "Theta across, W down. Text, log-probabilities and answers are measured; speeds are modelled from the rounds of this sweep, prefill apart.",
    "lengths": "Draft length of the maps",
    "length": "K = {length}",
    "figures": {
        "tau": "Tokens per target pass (τ)",
        "tokens_per_second_modelled": "Tokens/s, modelled",
        "times_plain_modelled": "Speed, times plain greedy, modelled",
        "loosened_share": "Share of loosened tokens",
        "nats_per_token": "Mean log-probability against greedy's own, nats per token",
        "same_ids": "Same text",
        "right": "Right answers",
        "lost": "Lost",
    },
    "map": {
        "label": "{figure}: theta across, W down. Arrow keys move, and the page shows that point.",
        "range": "{low} to {high}",
        "same": "the same everywhere",
        "cell": "theta {theta}, W {window}",
        "nothing": "nothing yet",
        "chosen": "recommended",
        "outside": "outside the limit",
    },
    "key": "A corner marks the recommended point, a frame the one shown below, hatching what lies outside the limit.",
    "key_partial": "Over {done} of {all} prompts. A corner marks the recommended point, a frame the one shown below, hatching what lies outside the limit.",
    "point": {
        "recommended": "Recommended",
        "other": "This point",
        "limit": "at most {nats} nats per token below greedy, {lost} right answers lost",
        "plain": "Plain greedy",
        "exact": "Exact match, K {length}",
        "fly": "θ {theta}, W {window}, K {length}",
        "tau": "Tokens per target pass",
        "speed": "Speed, modelled",
        "speed_value": "{speed} tokens/s, {times} times plain greedy",
        "measured": "Speed, measured",
        "measured_value": "{speed} tokens/s, {times} times plain greedy measured in turn with it ({off} % against modelled); the sweep's text on {same} of {prompts} prompts",
        "nats": "Log-probability",
        "nats_value": "{nats} nats per token against greedy's own",
        "loosened": "Loosened tokens",
        "same": "Same text as greedy",
        "of": "{count} of {all} prompts",
        "parts": "First divergence",
        "parts_value": "token {index}, median where texts differ",
        "right": "Right answers",
        "right_value": "{right} of {checkable}; {lost} lost, {gained} gained",
        "outside": "Outside the limit.",
        "measure": "Measure this point",
        "use": "Use it in Explore",
        "back": "Back to the recommended",
    },
    "trade": {
        "title": "Speed against fidelity",
        "limit": "limit −{nats}",
        "note": "Up: faster than plain greedy, modelled. Right: closer to the target's own text, nats per token, measured. Discs are theta and W, hollow outside the limit; square exact match, triangle prompt lookup, diamond plain greedy.",
    },
    "loosened": {
        "title": "Tokens it loosens: {count}",
        "lead": "FLy kept these against the target's own choice. Judge by eye: harmless, doubtful or wrong?",
        "none": "None: every token is the target's own choice.",
        "why": "prompt {prompt}: the target would say {own} ({chance}); kept with {kept}, entropy {entropy}",
        "more": "{count} more are in the JSON file.",
    },
    "texts": {
        "title": "Its texts",
        "right": "right",
        "wrong": "wrong, as plain greedy is",
        "lost": "right answer lost",
        "same": "no divergence",
        "parts": "leaves greedy's text at token {index}",
        "loosened": "{count} loosened",
        "own": "The target alone:",
    },
    "cost": {
        "title": "What a round costs, measured",
        "lead": "Mean milliseconds by the number of drafted tokens. Every modelled speed here is made of these.",
        "verify": "target pass",
        "draft": "drafting",
        "other": "other",
        "numbers": "As numbers",
        "drafted": "Drafted",
        "total": "Together",
        "samples": "Rounds",
        "shared": "{points} points took {passes} target passes together; separate runs would make {separate}. Cost {ratio} of separate runs, modelled.",
    },
    "table": {
        "title": "All points as a table",
        "point": "Point",
        "note": "Note",
        "chosen": "recommended",
        "outside": "outside the limit",
    },
}  # fmt: skip

# The Compare tab.
COMPARE_LEAD = (
    "One prompt under two settings and by the target alone, round by round in turn on the same engine. "
    "See where each text leaves the target's own, and whether FLy or a near-tie is to blame."
)
COMPARE_RUN = "Compare"
COMPARE_ADOPT = "Take Explore's settings"
COMPARE_MORE = "More settings"
COMPARE_EXPECTED = {
    "plan": "Three runs of at most {tokens} tokens each.",
    "about": "Expect {time} if the texts fill their budget: modelled from {source}.",
    "seconds": "about {seconds} seconds",
    "minutes": "about {minutes} minutes",
    "unknown": "How long they take is not known before the first comparison.",
}

COMPARE_VIEW: dict[str, Any] = {
    "empty": "Three texts appear here as they are written: the target's own, A and B. Each is timed once, in turn, so that a busy machine slows them alike.",
    "idle": "Ready.",
    "phases": {
        "preparing": "Waiting for its turn",
        "loading": "Loading the models",
        "warming": "Warming up, not measured",
        "running": "Running, round by round in turn",
        "done": "Done",
        "stopped": "Stopped",
        "failed": "Failed",
    },
    "own": "Target alone",
    "dtypes": "target {target}, draft {draft}",
    "text": "Text of: {side}",
    "parted": "parts from the target's own here",
    "left": "{side} parts here",
    "partings": {
        "title": "Where the texts part",
        "none": "{side} has not left {other} in {tokens} tokens.",
        "leaves": "{side} leaves {other} at token {index}: {theirs} there, {ours} here.",
        "target": "the target's own text",
        "apart": "{side} and {other} part at token {index}: {theirs} in {other}, {ours} in {side}.",
        "together": "{side} and {other} have not parted.",
        "fly": "FLy's doing: a draft token that the target would not have chosen was kept.",
        "fly_tie": "FLy kept the draft's token, but the target's two likeliest were nearly level: a numeric flip could have done the same.",
        "relaxed": "The loose rule's doing: a draft token that the target would not have chosen lay within its limit.",
        "numeric": "A near-tie: the token is the target's own choice, rounded differently in a pass over several rows. Not FLy's doing.",
        "other": "The token is the target's own choice in this pass, and not a near-tie: FLy did not keep it, and rounding of this size is not expected.",
        "gap": "The target's two likeliest are {gap} nats apart; a near-tie is less than {limit}.",
        "tie": "near-tie",
    },
    "figures": {
        "title": "Figures side by side",
        "name": "Figure",
        "tau": "Tokens per target pass (τ)",
        "kept": "Drafted tokens kept per round",
        "speed": "Tokens per second, measured",
        "speedup": "Times the target alone, measured",
        "tokens": "Tokens",
        "passes": "Target passes",
        "logprob": "Mean target log-probability, nats per token",
        "end": "Ended because",
    },
    "times": "Where the time went, measured",
    "same_settings": "A and B have the same settings.",
    "knobs": KNOB_WORDS,
    "values": VALUE_WORDS,
}  # fmt: skip

# The Learn tab; what the lesson says is in texts_learn.py.
LEARN = "Learn"
LEARN_LEAD = (
    "A short walk through recorded runs, from one token at a time to a threshold of your own. "
    "All you see is the page's own view, and each question is answered by moving something in it."
)
LEARN_NONE = "The lesson's recorded runs are not in this installation."
