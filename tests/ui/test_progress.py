"""The reader of growing text that all views share."""

from node import run_script


def test_only_what_is_new_is_read_and_another_first_line_begins_anew():
    texts = [
        None,
        "",
        '{"run": 1}\n',
        '{"run": 1}\n{"a": 1}\n',
        '{"run": 1}\n{"a": 1}\n',
        '{"run": 1}\n{"a": 1}\n{"a": 2}\n\n{"a": 3}\n',
        '{"run": 2}\n{"a": 4}\n',
    ]
    said = run_script(
        """(() => {
          let heard = [];
          const read = makeReader((head) => heard.push(["begin", head.run]), (event) => heard.push(["take", event.a]));
          return data.map((text) => { heard = []; return [read(text), heard]; });
        })()""",
        texts,
        "core/progress.js",
    )
    assert said == [
        [False, []],
        [False, []],
        [False, [["begin", 1]]],
        [True, [["take", 1]]],
        [False, []],
        [True, [["take", 2], ["take", 3]]],
        [True, [["begin", 2], ["take", 4]]],
    ]
