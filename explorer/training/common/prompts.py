"""Prompts to collect with: many kinds of instruction, filled from small word lists, and a filter for excluded ones."""

import itertools
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from explorer.prompts import read_prompts

WORDS = {
    "thing": "a kite|a lantern|a wooden boat|an umbrella|a violin|a paper map|a copper kettle|a bicycle bell|a wool scarf|a telescope|"
    "a clay pot|a rope bridge|a sewing machine|a chess board|a garden gate|a mirror|a candle|a backpack|a compass|a fishing net",
    "hero": "a shy librarian|two sisters|an old gardener|a young pilot|a tired nurse|a fox|a lighthouse keeper|a robot|a baker's daughter|"
    "a travelling musician|a stray dog|a retired teacher|a clumsy wizard|a farmer|a small dragon|a postman|an elephant|a clockmaker",
    "goal": "learns to forgive a friend|finds a hidden door|loses a letter|builds a bridge|saves a village from a flood|learns to swim|"
    "meets a stranger on the road|wins a race by accident|returns after twenty years|hears music in the forest|plants a strange seed|"
    "keeps a promise|is afraid of the dark|discovers a map under the floor|has to choose between two friends",
    "place": "a mountain village|a desert town|a quiet harbour|a big city|an island|a castle|a spaceship|a school|a snowy forest|a farm",
    "tone": "funny|sad|mysterious|gentle|exciting|hopeful|short|dramatic",
    "topic": "photosynthesis|gravity|how a bicycle stays upright|inflation|how bread rises|volcanoes|the water cycle|how magnets work|"
    "electricity|how birds fly|the human heart|recycling|how the internet works|earthquakes|why leaves change colour|democracy|bees|"
    "how a refrigerator works|the moon's phases|tides|digestion|how glass is made|rainbows|taxes|memory|sleep|how batteries work|"
    "machine learning|fermentation|evolution|sound|friction|how soap cleans|black holes|the printing press|"
    "why ice floats|how trees drink water|computer memory|compound interest|vitamins|how a camera works|fossils|coral reefs|insurance",
    "reader": "a child|a beginner|a busy adult|a curious teenager|your grandmother|a student|someone new to the subject",
    "pair": "a virus and a bacterium|a city and a town|a frog and a toad|speed and acceleration|a novel and a short story|copper and iron|"
    "tea and coffee|a list and a tuple in Python|jam and jelly|RAM and a hard disk|a lake and a pond|butter and margarine|"
    "a solid and a liquid|an alligator and a crocodile|mass and weight|a loan and a gift|fog and smoke|revenue and profit",
    "why": "is the sky blue|do we yawn|do cats purr|does bread go stale|is the sea salty|do we dream|do onions make us cry|does metal rust|"
    "do leaves fall in autumn|do stars twinkle|is exercise healthy|do people learn languages|does hot air rise|do we have time zones|"
    "do bubbles look round|do dogs wag their tails|does popcorn pop|is iron heavy|do eyes need light|do shadows get longer",
    "list": "healthy breakfasts|gifts for a friend|ways to save water|animals that live in cold places|tips for a job interview|"
    "books for young readers|vegetables and their colours|European capitals|musical instruments|sports played with a ball|"
    "ways to save money|tools in a workshop|jobs in a hospital|names for a cat|things to pack for camping|kinds of cheese|trees|"
    "famous inventors|rivers|farm animals|ways to learn a language|kitchen safety rules|games for a party|questions to ask a mentor|"
    "hobbies for winter|spices|insects|good habits|reasons to read|ways to stay calm|fruits|emotions|parts of a car|shapes",
    "task": "adds two numbers|reverses a list|counts the vowels in a string|finds the largest number in a list|checks whether a number is even|"
    "computes a factorial|returns the first n squares|merges two dictionaries|removes duplicates from a list|converts Celsius to Fahrenheit|"
    "reads a file line by line|sorts a list of words by length|sums the digits of a number|finds the longest word|prints a multiplication table|"
    "checks whether a year is a leap year|counts words in a text|flattens a nested list|computes the Fibonacci numbers|swaps two variables|"
    "generates a random password|finds common items of two lists|capitalises each word|checks whether a number is prime|splits a list in two",
    "language": "Python|Python|Python|JavaScript|Java|C",
    "class": "BankAccount with deposit and withdraw|Rectangle with area and perimeter|Counter with increment and reset|Book with title and author|"
    "Queue with add and remove|Temperature with conversions|Student with a list of grades|Timer with start and stop|Point with distance_to",
    "table": "employees(id, name, salary, department)|books(id, title, author, year)|students(id, name, grade)|products(id, name, price, stock)|"
    "flights(id, origin, destination, price)|songs(id, title, artist, seconds)|pets(id, name, species, age)",
    "query": "lists all rows sorted by name|counts the rows|shows the ten newest rows|finds the average of the last column|deletes duplicates",
    "message": "I can't come to work today.|Send me the report now.|Your car blocks my gate.|The food was cold and the waiter was rude.|"
    "You forgot my birthday.|I want my money back.|Stop leaving dirty dishes in the sink.|We need an answer by Friday.|I don't like your idea.|"
    "The package never arrived.|Give me your notes.|You are late again.|Clean the office before you leave.|The room is too hot.|"
    "Fix the printer today.|I don't understand your lesson.|Don't call me after ten.|My order is wrong.",
    "style": "more politely|in simpler words|as a formal letter|in a friendly tone|as a question|in one sentence|more clearly|in the past tense|"
    "in the future tense|with more detail|as a short poem|for a child",
    "sentence": "The children were playing in the garden when the rain began.|A committee approved the new budget after a long debate.|"
    "She quickly closed the window because of the wind.|The engine failed twice, yet the crew remained calm.|He bought three red apples at the market.|"
    "The museum opens at nine and closes at five.|Many people think that honesty is the best policy.|The train to the coast leaves from the second platform.|"
    "My brother works in a factory that makes chairs.|The old bridge was replaced by a new one last year.|Our teacher gave us a difficult test.|"
    "The company utilises numerous methodologies to facilitate growth.|Heavy snow closed the mountain road for two days.|We are looking for a house with a large kitchen.",
    "foreign": "French|Spanish|German|Italian",
    "notes": "dinner, Saturday 7 pm, our house, bring dessert|class cancelled, Monday, teacher ill, homework online|new shoes, size 42, wrong colour, exchange|"
    "holiday photos ready, 30 pictures, link below|piano lesson, Wednesday, 4 pm, bring music book|garden party, June 12, bring chairs|"
    "lost cat, grey, answers to Milo, reward|team lunch, Friday, new restaurant, vegetarian choice",
    "name": "Anna|Tom|Maria|Ben|Sara|Omar|Lena|Paul|Nina|Jack|Priya|Hugo",
    "fruit": "oranges|pencils|stamps|cards|marbles|plums|buttons|shells|coins|tickets|lemons|bricks",
    "animal": "owl|tiger|dolphin|spider|penguin|camel|bat|wolf|turtle|octopus|eagle|squirrel",
    "trade": "pottery|fishing|glass|wool|salt|paper|shipbuilding|copper|silk|timber",
    "town": "Marlow Bay|Norrheim|Castel Verde|Pinewood|Dunmore|Lakeside|Harrowgate|Santa Rosa|Kelmar|Westbrook",
    "building": "lighthouse|library|theatre|mill|railway bridge|school|hospital|harbour|museum|clock tower",
    "event": "a storm destroyed the roof|the river flooded it|a fire damaged the north wall|it was closed by the council|the owner died|war broke out",
    "revival": "a group of students restored it|a local family bought it|the town voted to rebuild it|an artist turned it into a gallery|"
    "engineers strengthened it with steel",
    "word": "river|stone|cloud|green|window|bread|seven|paper|winter|garden|blue|horse|spoon|yellow|forest|music|table|silver|night|apple|"
    "salt|north|mouse|lamp|rain|cotton|bridge|copper|violet|summer|ship|feather|ginger|hill|basket|lemon|rabbit|coat|square|brick",
    "code_name": "total|result|items|x|value|data|temp|numbers|price|size",
    "format": "as a numbered list|one per line|as bullet points, each with a short reason|in one line separated by commas",
}
CHOICES = {key: words.split("|") for key, words in WORDS.items()}

PASSAGES = [
    "Visitors to {town} often ask for the {building}. It is {n2} metres high and has {n1} doors, but only one is ever open. In {year2} "
    "{event}. {name}, who guides {n3} people every month, says that {revival} soon afterwards.",
    "{name} lives in {town} and works with {trade}. Every {day} {name} walks {n1} kilometres to the {building} and meets {n2} friends "
    "there. Last year {event}, so they met at home instead.",
    "In {year2} scientists near {town} began to study the {animal}. They counted {n3} animals in the first year and only {n2} in the "
    "next. The team believes that noise from the {building} is the cause, and a new law is planned for {year3}.",
    "A new shop for {trade} opened in {town} last {day}. The owner, {name}, said that {n3} customers came on the first day. Prices start "
    "at {n1} dollars. The shop stands next to the old {building} and is open until {n2} in the evening.",
]
SNIPPETS = [
    "def total_price({code_name}, tax):\n    subtotal = 0\n    for item in {code_name}:\n        subtotal += item\n    return subtotal * (1 + tax)",
    'def greet(name):\n    message = "Hello, " + name\n    print(message)\n    return {n1}',
    "def largest({code_name}):\n    best = {code_name}[0]\n    for item in {code_name}:\n        if item > best:\n            best = item\n    return best",
    'for i in range({n2}):\n    if i % {n1} == 0:\n        print(i, "{word}")\n    else:\n        print(i)',
    'def area(width, height):\n    {code_name} = width * height\n    if {code_name} < 0:\n        raise ValueError("negative")\n    return {code_name}',
]
TEMPLATES = {
    "story": [
        "Write a {tone} story about {hero} who {goal}.", "Tell me a story about {hero} and {thing} in {place}.",
        "Write the first paragraph of a {tone} novel set in {place}.", "Describe {place} where {hero} {goal}.",
        "Write a dialogue between {hero} and {hero} about {thing}.", "Write a {tone} poem about {thing}.",
        "Continue this story: One morning {name} found {thing} in {place}.", "Tell a fable about an {animal} that {goal}.",
    ],
    "explain": [
        "Explain {topic} to {reader}.", "What is {topic}? Answer in one paragraph.", "Why {why}?", "How do {pair} differ?",
        "Explain in simple words why {why}.", "Compare {pair} in three sentences.", "Give me a short introduction to {topic}.",
        "What should {reader} know about {topic}?", "Teach me about {topic} step by step.", "What would happen without {topic}?",
    ],
    "arithmetic": [
        "{name} has {n3} {fruit} and gives away {n1}. Then {name} buys {n2} more. How many are left? Show the steps.",
        "What is {n3} + {n2} * {n1}? Explain each step.", "A ticket costs {n1} dollars. How much do {n2} tickets cost?",
        "A train travels {n3} km in {n1} hours. What is its speed?", "{name} reads {n2} pages a day. How many pages in {n1} weeks?",
        "{name} shares {n3} {fruit} equally among {n1} friends. How many does each get and how many remain?",
        "Solve for x: {n1}x + {n2} = {n3}.", "What is {n2} percent of {n3}?",
        "A garden is {n2} metres long and {n1} metres wide. Find its area and its perimeter, step by step.",
        "{name} earns {n2} dollars per hour and works {n1} hours a day for 5 days. How much is that? Explain how you got it.",
        "There are {n2} shelves with {n1} {fruit} each. {n1} are sold. How many remain? Show the steps.",
    ],
    "code": [
        "Write a {language} function that {task}.", "Write a {language} function that {task}, with an example call.",
        "Write a Python class {class}.", "Write a SQL query on {table} that {query}.", "How do I write code that {task} in {language}?",
        "Write a {language} program that {task} and explain it.", "Explain this code:\n```python\n{snippet}\n```",
        "Write a test for this function:\n```python\n{snippet}\n```", "Add comments to this code:\n```python\n{snippet}\n```",
    ],
    "list": [
        "Suggest {small} {list}, {format}.", "List {small} {list} {format}.", "Name {small} {list}.", "List {small} {list}, each with one fact.",
        "What are the most important {list}?", "Make a table of {small} {list}.", "List the steps to make {thing}.",
    ],
    "rewrite": [
        "Rewrite this {style}: {message}", "Rewrite the sentence {style}: {sentence}", "Put this {style}: {sentence}",
        "Make this text shorter: {passage}", "Make a polite message of these notes: {notes}.", "Write an e-mail from these notes: {notes}.",
        "Translate into {foreign}: {sentence}", "Translate this message into {foreign}: {message}", "Improve this text: {message} {message}",
        "Write a reply to this message: {message}",
    ],
    "passage": [
        "Summarise this text in {small} sentences.\n\n{passage}", "{passage}\n\nWhat happened in {year2}?",
        "Read the text and answer: what is the main point?\n\n{passage}", "{passage}\n\nList the years and numbers mentioned in the text.",
        "Give the key points of the text.\n\n{passage}", "Write a headline and a summary for this text:\n{passage}",
        "Who or what is this text about? One sentence is enough.\n\n{passage}", "Text: {passage}\nQuestion: When was it?\nAnswer:",
    ],
    "edit": [
        "Give back this text unchanged: {passage}", "Repeat this text, but replace \"{name}\" by \"{name}\": {passage}",
        "In this code, call {code_name} {word} instead:\n```python\n{snippet}\n```",
        "Give back this code unchanged:\n```python\n{snippet}\n```", "Write this text in capital letters: {sentence}",
        "Double every number in this list:\n- {word} {n1}\n- {word} {n2}\n- {word} {n1}\n- {word} {n2}",
        "Fix the typos in this sentence: {misspelled}", "Write this without mistakes: {misspelled}",
        "Sort this list and give it back:\n{word}\n{word}\n{word}\n{word}\n{word}",
        "Change the past tense to the present and give back the text: {passage}",
    ],
    "repetition": [
        "Repeat these words {small} times: {word}, {word}, {word}.", "Write the sentence \"{sentence}\" {small} times.",
        "Copy this list exactly:\n{word}\n{word} {word}\n{word}\n{word} {word}\n{word}", "Count from {n1} to {n2}, one number per line.",
        "Repeat after me: {sentence} {sentence}", "List the multiples of {n1} up to {n3}.", "Write the word \"{word}\" {n1} times.",
        "Repeat this list with numbers in front:\n- {word}\n- {word}\n- {word}\n- {word}",
    ],
}  # fmt: skip
WRAPPERS = [
    "Give back this text unchanged:\n",
    "Copy this:\n",
    "Repeat this twice:\n",
    "Summarise this:\n",
    "Put this in other words:\n",
]


def seed_prompts(rng: random.Random) -> Iterator[str]:
    """Distinct instructions without end, each kind equally often in turn."""
    seen = set()
    for kind in itertools.cycle(TEMPLATES):
        prompt = _fill(rng.choice(TEMPLATES[kind]), rng)
        if prompt not in seen:
            seen.add(prompt)
            yield prompt


def wrapped(text: str, rng: random.Random) -> str:
    """An instruction about `text`, most often to copy it."""
    return rng.choice(WRAPPERS) + text


def _fill(template: str, rng: random.Random) -> str:
    """The template with every {slot} replaced; a number or year drawn once is the same wherever it is repeated."""
    years = sorted(rng.sample(range(1790, 2024), 3))
    fixed = {
        "n1": rng.randint(2, 12),
        "n2": rng.randint(11, 60),
        "n3": rng.randint(60, 400),
        "small": rng.choice(["two", "three", "four", "five"]),
    }
    fixed |= {
        "year1": years[0],
        "year2": years[1],
        "year3": years[2],
        "day": rng.choice(["Monday", "Tuesday", "Friday", "Sunday"]),
    }
    nested = {"passage": PASSAGES, "snippet": SNIPPETS}

    def value(match: re.Match) -> str:
        slot = match[1]
        if slot in fixed:
            return str(fixed[slot])
        if slot in nested:
            fixed.update({key: rng.choice(CHOICES[key]) for key in ("code_name", "town", "name")})
            return re.sub(r"\{(\w+)\}", value, rng.choice(nested[slot]))
        if slot == "misspelled":
            return _misspell(rng.choice(CHOICES["sentence"]), rng)
        return rng.choice(CHOICES[slot])

    return re.sub(r"\{(\w+)\}", value, template)


def _misspell(sentence: str, rng: random.Random) -> str:
    """Two letters swapped or one dropped in every long word."""
    words = sentence.split()
    for i, word in enumerate(words):
        if len(word) > 4:
            at = rng.randrange(1, len(word) - 2)
            words[i] = word[:at] + (word[at + 1] + word[at] if rng.random() < 0.5 else word[at]) + word[at + 2 :]
    return " ".join(words)


class Exclusion:
    """Recognises prompts too close to those of files of prompts."""

    def __init__(self, paths: Iterable[Path], size: int = 4, limit: float = 0.2):
        self.size, self.limit = size, limit
        self.prompts = [_ngrams(item.prompt, size) for path in paths for item in read_prompts(path)]

    def __contains__(self, prompt: str) -> bool:
        """Whether more than `limit` of the word n-grams of either prompt also stand in the other."""
        grams = _ngrams(prompt, self.size)
        return any(len(grams & other) > self.limit * min(len(grams), len(other)) for other in self.prompts)


def _ngrams(text: str, size: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}
