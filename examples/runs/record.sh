#!/bin/sh
# Records the runs that the page opens on. Needs a quiet machine: every file holds measured times.
#   examples/runs/record.sh TARGET,DRAFT      the larger pair: Qwen2.5-Coder 1.5B and 0.5B Instruct, hub ids or folders
set -eu
here=$(dirname "$0")
larger=$1

record() {
    name=$1
    shift
    python -m explorer run --quiet --baseline --out "$here/$name.json" "$@" >/dev/null
}

story="Tell a short story about a lighthouse keeper who finds a message in a bottle."
sky="Explain in simple words why the sky is blue."
code="Write a Python function that counts the vowels in a word, with a short docstring."
packing="List ten things to pack for a weekend in the mountains."
train="A train leaves at 9:40 and arrives at 12:15. How long is the journey? Work it out step by step."
letter="Write a friendly email asking a neighbour to water my plants while I am away."
months="Write the months of the year, one per line, with the number of days in each."
rename='Give back this function with the parameter word renamed to text, and nothing else changed:
```python
def count_vowels(word):
    vowels = "aeiou"
    count = 0
    for letter in word.lower():
        if letter in vowels:
            count += 1
    return count
```'

record 01-story --max-new-tokens 96 --pair "$larger" --prompt "$story"
record 02-code --max-new-tokens 96 --pair "$larger" --prompt "$code"
record 03-list --max-new-tokens 96 --pair "$larger" --prompt "$packing"
record 04-maths-released --preset released --draft-length 15 --max-new-tokens 96 --pair "$larger" --prompt "$train"
record 05-edit-lookup --drafter model+lookup --draft-length 12 --max-new-tokens 96 --pair "$larger" --prompt "$rename"
record 06-explain-exact --rule exact --max-new-tokens 96 --pair "$larger" --prompt "$sky"
record 07-story-small --prompt "$story"
record 08-letter-small --prompt "$letter"
record 09-explain-weak-draft --pair smollm2-135m-distilled --max-new-tokens 96 --prompt "$sky"
record 10-repeat-pacer --rule exact --length pacer --max-new-tokens 96 --pair "$larger" --prompt "$months"
record 11-story-pacer --length pacer --max-new-tokens 96 --pair "$larger" --prompt "$story"
# Plain greedy itself: nothing stands beside it.
python -m explorer run --quiet --rule autoregressive --max-new-tokens 96 --out "$here/12-story-alone.json" --prompt "$story" >/dev/null
record 13-list-tree --rule exact --drafter features --tree 8 --draft-length 5 --max-new-tokens 96 --prompt "$packing"
