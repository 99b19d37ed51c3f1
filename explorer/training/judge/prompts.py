"""Prompts with answers that can be checked, without end: kinds of templates, filled from small word lists.

Many answers are a few words long and come at the end of a sentence, because a mismatch tells something only where the answer is
still to come. None is close to a shipped prompt: whoever draws from here drops those (common/prompts.Exclusion).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from explorer.prompts import PromptItem


def _list(words: str) -> list[str]:
    return words.split("|")


NAMES = _list(
    "Alma|Boris|Clara|Dario|Edith|Fiona|Gustav|Helga|Igor|Jonas|Kira|Lucia|Marek|Nadia|Otto|Petra|Rosa|Stefan|Tilda|Ulrich|Vera|Willem|Yusuf|Zora"
)
COLOURS = _list("red|blue|green|yellow|black|white|brown|purple|orange|grey|pink|silver")
THINGS = _list("scarf|boat|chair|lamp|coat|kite|box|cup|door|hat|drum|bag|truck|pen|shelf|clock|tent|plate|bell|ball")
ANIMALS = _list("dog|cat|horse|cow|goose|rabbit|mouse|sheep|parrot|donkey|hen|duck|turtle|pony|fox|hedgehog")
FOODS = _list("bread|cheese|honey|rice|soup|butter|milk|coffee|tea|cake|pasta|salad|jam|fish|corn|beans")
FRUITS = _list("apples|pears|plums|lemons|cherries|oranges|melons|figs|peaches|bananas|grapes|limes")
PLACES = _list(
    "kitchen|garden|station|market|harbour|museum|school|hotel|theatre|bakery|office|cellar|forest|village|stadium|park"
)
TOWNS = _list("Berlin|Lisbon|Oslo|Madrid|Cairo|Lima|Dublin|Vienna|Prague|Athens|Rome|Geneva|Boston|Toronto")
JOBS = _list("baker|teacher|farmer|doctor|painter|sailor|carpenter|pilot|nurse|gardener|tailor|driver|plumber|singer")
INSTRUMENTS = _list("piano|violin|guitar|drums|trumpet|harp|accordion|clarinet|banjo|oboe")
ADJECTIVES = _list(
    "small|old|quiet|bright|heavy|happy|tired|clever|cold|narrow|broken|gentle|strange|wooden|empty|young"
)
VERBS = _list(
    "carried|found|painted|sold|watched|washed|lost|bought|moved|opened|hid|repaired|borrowed|dropped|cleaned"
)
ADVERBS = _list(
    "slowly|yesterday|again|before lunch|after the rain|at night|in spring|near the river|without a word|this morning"
)
DAYS = _list("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday")
MONTHS = _list("January|February|March|April|May|June|July|August|September|October|November|December")
NUMBERS = _list("two|three|four|five|six|seven|eight|nine|ten|eleven|twelve")

Maker = Callable[[random.Random], PromptItem]


def checkable_prompts(rng: random.Random) -> Iterator[PromptItem]:
    """Distinct prompts, each kind in turn, passed over where it would repeat itself; depends on nothing but `rng`."""
    seen = set()
    for kind in itertools.cycle(KINDS):
        item = rng.choice(KINDS[kind])(rng)
        if item.prompt not in seen:
            seen.add(item.prompt)
            yield PromptItem(
                item.prompt, kind=kind, answer=item.answer, alternatives=item.alternatives, check=item.check
            )


def _sentence(rng: random.Random) -> str:
    form = rng.choice(
        [
            "The {adjective} {job} {verb} a {colour} {thing} {adverb}.",
            "{name} {verb} the {adjective} {thing} {adverb}.",
            "A {colour} {animal} sat beside the {adjective} {thing} in the {place}.",
            "{name} and {name2} met at the {place} in {town} on {day}.",
            "Every {day} the {job} eats {food} in the {place}.",
            "There are {number} {adjective} {animal}s behind the {place}.",
        ]
    )
    name, name2 = rng.sample(NAMES, 2)
    return form.format(
        adjective=rng.choice(ADJECTIVES), job=rng.choice(JOBS), verb=rng.choice(VERBS), colour=rng.choice(COLOURS),
        thing=rng.choice(THINGS), adverb=rng.choice(ADVERBS), name=name, name2=name2, animal=rng.choice(ANIMALS[:4]),
        place=rng.choice(PLACES), town=rng.choice(TOWNS), day=rng.choice(DAYS), food=rng.choice(FOODS),
        number=rng.choice(NUMBERS),
    )  # fmt: skip


def _words(rng: random.Random, count: int) -> list[str]:
    return rng.sample(THINGS + ANIMALS + FRUITS + FOODS + COLOURS + PLACES, count)


def _copy_sentence(rng: random.Random) -> PromptItem:
    text = _sentence(rng)
    form = rng.choice(
        [
            "Please write down this text once more, word for word:\n{}",
            "Say this again without any change: {}",
            "Type out the following line as it stands.\n\n{}",
            "Here is a line of text. Give it back to me unchanged.\n{}",
        ]
    )
    return PromptItem(form.format(text), answer=text.rstrip("."))


def _copy_words(rng: random.Random) -> PromptItem:
    words = _words(rng, rng.randint(3, 5))
    form = rng.choice(
        [
            "My shopping words are {}. Tell me all of them again, in this order, with commas.",
            "Remember this order: {}. Now list them in that order, separated by commas.",
        ]
    )
    return PromptItem(form.format(", ".join(words)), answer=", ".join(words), check="words")


def _copy_code(rng: random.Random) -> PromptItem:
    code = "".join(rng.choice("ABCDEFGHKLMNPRSTVWXZ") for _ in range(2)) + f"-{rng.randint(100, 9999)}"
    name, place = rng.choice(NAMES), rng.choice(PLACES)
    return PromptItem(f"{name} needs the code {code} for the {place}. Which code does {name} need?", answer=code)


def _counting(rng: random.Random) -> PromptItem:
    start, size = rng.randint(1, 40), rng.randint(4, 8)
    numbers = ", ".join(str(n) for n in range(start, start + size))
    return PromptItem(
        f"List the whole numbers from {start} up to {start + size - 1}, separated by commas.", answer=numbers
    )


def _calendar(rng: random.Random) -> PromptItem:
    names, what = rng.choice([(DAYS, "day of the week"), (MONTHS, "month of the year")])
    at, step = rng.randrange(len(names)), rng.choice([1, 1, -1])
    where = "right after" if step == 1 else "just before"
    return PromptItem(
        f"Name the {what} that comes {where} {names[at]}, in a full sentence.",
        answer=names[(at + step) % len(names)], check="words",
    )  # fmt: skip


def _fact_colour(rng: random.Random) -> PromptItem:
    name, (a, b), (c, d) = rng.choice(NAMES), rng.sample(COLOURS, 2), rng.sample(THINGS, 2)
    return PromptItem(
        f"{name} owns a {a} {c} and a {b} {d}. Tell me, in a full sentence, which colour the {c} has.",
        answer=a, check="words",
    )  # fmt: skip


def _fact_job(rng: random.Random) -> PromptItem:
    (a, b), (c, d) = rng.sample(NAMES, 2), rng.sample(JOBS, 2)
    if rng.random() < 0.5:
        return PromptItem(f"{a} works as a {c}, while {b} is a {d}. What is the job of {b}?", answer=d, check="words")
    return PromptItem(f"{a} works as a {c}, while {b} is a {d}. Who of the two is the {c}?", answer=a, check="words")


def _fact_place(rng: random.Random) -> PromptItem:
    name, thing, (a, b) = rng.choice(NAMES), rng.choice(THINGS), rng.sample(PLACES, 2)
    return PromptItem(
        f"First {name} looked for the {thing} in the {a}, then found it in the {b}. Say in one sentence where {name} found the {thing}.",
        answer=b, check="words",
    )  # fmt: skip


def _fact_day(rng: random.Random) -> PromptItem:
    name, instrument, town, day = rng.choice(NAMES), rng.choice(INSTRUMENTS), rng.choice(TOWNS), rng.choice(DAYS)
    question, answer = rng.choice(
        [
            (f"Which instrument does {name} play?", instrument), (f"In which town does {name} play?", town),
            (f"On what day does {name} play?", day),
        ]
    )  # fmt: skip
    return PromptItem(
        f"{name} will play the {instrument} in {town} on {day}. {question} Reply with a sentence.",
        answer=answer, check="words",
    )  # fmt: skip


def _passage(rng: random.Random) -> PromptItem:
    owner, guest = rng.sample(NAMES, 2)
    town, year, colour, place = rng.choice(TOWNS), rng.randint(1850, 2015), rng.choice(COLOURS), rng.choice(PLACES)
    animal, food, number = rng.choice(ANIMALS), rng.choice(FOODS), rng.choice(NUMBERS)
    text = rng.choice(
        [
            f"{owner} opened a {place} in {town} in {year}. Its walls are {colour}, and a {animal} sleeps at the door. On Sundays {guest} brings {food}.",
            f"In {year} a {place} was built in {town}. {owner} planned it and {guest} paid for it. Today it has {number} rooms, all of them {colour}, and a {animal} lives there.",
            f"{owner} travels to {town} by train with a {colour} suitcase and a {animal}. {guest}, who was born in {year}, waits near the {place} with {food}.",
        ]
    )  # fmt: skip
    questions = [
        ("which year does the text name", str(year)), ("what town does the text speak of", town), ("which animal is in the text", animal),
        ("which colour does the text name", colour),
    ]  # fmt: skip
    question, answer = rng.choice(questions)
    form = rng.choice(
        ["{text}\n\nAccording to this, {question}?", "Text: {text}\n\nTell me in a sentence: {question}?"]
    )
    return PromptItem(form.format(text=text, question=question), answer=answer, check="words")


def _sum(rng: random.Random) -> PromptItem:
    a, b = rng.randint(2, 9), rng.randint(1, 9)
    a, b, sign, word = (a, b, "+", "plus") if rng.random() < 0.6 else (max(a, b) + 1, min(a, b), "-", "minus")
    form = rng.choice(
        ["How much is {a} {word} {b}? Reply with a sentence.", "Work out {a} {sign} {b} and tell me the result."]
    )
    result = a + b if sign == "+" else a - b
    return PromptItem(form.format(a=a, b=b, sign=sign, word=word), answer=str(result), check="number")


def _story_sum(rng: random.Random) -> PromptItem:
    (a, b), fruit = rng.sample(NAMES, 2), rng.choice(FRUITS)
    n, m = rng.randint(4, 20), rng.randint(2, 9)
    told, result = (f"{b} brings {m} more", n + m) if rng.random() < 0.5 or m >= n else (f"{b} eats {m} of them", n - m)
    return PromptItem(
        f"{a} has a basket with {n} {fruit}. {told}. How many {fruit} are in the basket at last? Show how you got it, then "
        "say the number.",
        answer=str(result), check="number",
    )  # fmt: skip


def _bullets(rng: random.Random) -> PromptItem:
    words = _words(rng, rng.randint(3, 4))
    lists = ["\n".join(f"{mark} {word}" for word in words) for mark in "*-"]
    return PromptItem(
        f"Turn this into a list with bullets, each item on its own line: {', '.join(words)}",
        answer=lists[0], alternatives=(lists[1],),
    )  # fmt: skip


def _numbered(rng: random.Random) -> PromptItem:
    words = _words(rng, rng.randint(3, 4))
    numbered = "\n".join(f"{number}. {word}" for number, word in enumerate(words, 1))
    return PromptItem(f"Turn this into a numbered list: {', '.join(words)}", answer=numbered, check="words")


def _commas(rng: random.Random) -> PromptItem:
    words = _words(rng, rng.randint(3, 5))
    return PromptItem(f"Join these with commas, on one line: {' '.join(words)}", answer=", ".join(words), check="words")


def _json(rng: random.Random) -> PromptItem:
    key, name = rng.choice(["city", "owner", "pet", "author", "friend"]), rng.choice(NAMES + TOWNS)
    return PromptItem(f'Give me JSON with one field, {key}, that has the text "{name}".', answer=f'"{key}": "{name}"')


def _print_text(rng: random.Random) -> PromptItem:
    word = rng.choice(THINGS + ANIMALS + COLOURS)
    return PromptItem(
        f'Tell me in one sentence what this program writes on the screen.\n```python\nword = "{word}"\nprint(word)\n```',
        answer=word, check="words",
    )  # fmt: skip


def _assign(rng: random.Random) -> PromptItem:
    name, value = rng.choice(["count", "total", "width", "price", "limit", "speed"]), rng.randint(2, 99)
    return PromptItem(
        f"In Python, give the variable {name} the value {value}. One line is enough.", answer=f"{name} = {value}"
    )


KINDS: dict[str, list[Maker]] = {
    "copy": [_copy_sentence, _copy_sentence, _copy_words, _copy_code],
    "fact": [_fact_colour, _fact_job, _fact_place, _fact_day],
    "passage": [_passage],
    "sequence": [_counting, _calendar],
    "format": [_bullets, _numbered, _commas, _json],
    "arithmetic": [_sum, _story_sum],
    "code": [_print_text, _print_text, _assign],
}
