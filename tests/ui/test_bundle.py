"""The linker of ES modules: what it takes, what it refuses, and that what it makes is what the language says."""

import json

import pytest
from node import given, run_node

from explorer.ui.bundle import BundleError, bundle, graph
from explorer.ui.scripts import VIEW, WEB, linked, source

MODULES = sorted(str(path.relative_to(WEB)) for path in WEB.rglob("*.js"))


def linked_of(**modules):
    """The bundle of modules by name, the first one the entry."""
    texts = {f"{name}.js": text for name, text in modules.items()}
    return bundle(next(iter(texts)), texts.__getitem__)


def test_private_names_of_modules_do_not_meet():
    code = linked_of(
        a='import { two } from "./b.js";\n\nconst own = 1;\nexport const three = own + two;\n',
        b="const own = 2;\nexport const two = own;\n",
    )
    assert run_node(f"process.stdout.write(JSON.stringify({code}));", None) == {"three": 3}


def test_modules_come_after_what_they_import_in_the_order_of_imports():
    texts = {
        "a.js": 'import { b } from "./x/b.js";\nimport { c } from "./c.js";\n',
        "x/b.js": 'import { c } from "../c.js";\nexport const b = c;\n',
        "c.js": "export const c = 1;\n",
    }
    assert [module.path for module in graph("a.js", texts.__getitem__)] == ["c.js", "x/b.js", "a.js"]


def test_an_import_may_take_several_lines():
    modules = graph(
        "a.js",
        {
            "a.js": 'import {\n  b,\n  c,\n} from "./b.js";\n',
            "b.js": "export const b = 1;\nexport function c() {}\n",
        }.get,
    )
    assert modules[-1].imports == (("b.js", ("b", "c")),)
    assert modules[0].exports == ("b", "c")


@pytest.mark.parametrize(
    "text",
    [
        'import b from "./b.js";',
        'import * as b from "./b.js";',
        'import { b as c } from "./b.js";',
        'import { b } from "b";',
        'import "./b.js";',
        "import { b } from './b.js';",
        '  import { b } from "./b.js";',
        'const b = await import("./b.js");',
        "const here = import.meta.url;",
        "export default 1;",
        "export let b = 1;",
        "export class B {}",
        "export { b };",
        'export { b } from "./b.js";',
        'export * from "./b.js";',
        "export const { b } = c;",
        "export function* b() {}",
        "export const b = 1;\nexport const b = 2;",
    ],
)
def test_what_is_outside_the_subset_is_an_error(text):
    with pytest.raises(BundleError, match=r"^a\.js "):
        linked_of(a=text + "\n", b="export const b = 1;\n")


def test_a_circle_is_an_error_that_names_it():
    with pytest.raises(BundleError, match=r"a circle of imports: b\.js -> c\.js -> b\.js"):
        linked_of(
            a='import { b } from "./b.js";\n',
            b='import { c } from "./c.js";\nexport const b = 1;\n',
            c='import { b } from "./b.js";\nexport const c = 1;\n',
        )


def test_a_name_that_is_not_exported_is_an_error():
    with pytest.raises(BundleError, match=r"a\.js imports what b\.js does not export: c"):
        linked_of(a='import { b, c } from "./b.js";\n', b="export const b = 1;\nconst c = 2;\n")


def test_every_module_exports_the_same_natively_and_linked():
    """Under node, where there is no page: no module touches one before it is called."""
    code = {path: linked(path, given()) for path in MODULES}
    program = f"""
      const code = {json.dumps(code)}, found = {{}};
      const kinds = (exports) => Object.entries(exports).map(([name, value]) => [name, typeof value]).sort();
      for (const path of Object.keys(code)) found[path] = [kinds(await import("./" + path)), kinds(new Function("return " + code[path])())];
      process.stdout.write(JSON.stringify(found));
    """
    found = run_node(program, None)
    assert list(found) == MODULES
    for path, (native, ours) in found.items():
        assert native == ours, path
        assert native, f"{path} exports nothing"


def test_the_rule_says_the_same_natively_and_linked(golden):
    cases = [case["input"] for case in golden]
    program = f"""
      import {{ readFileSync }} from "node:fs";
      import * as native from "./twins/verdicts.js";
      const data = JSON.parse(readFileSync(0, "utf8")), linked = {linked("twins/verdicts.js", given())};
      process.stdout.write(JSON.stringify([native, linked].map((rules) => data.map(({{ match, entropy, protected: stops, includes_mismatch, ...settings }}) =>
        rules.judgeEvidence({{ match, entropy, protected: stops }}, {{ ...settings, window_includes_mismatch: includes_mismatch ?? false }})))));
    """
    native, ours = run_node(program, cases)
    # A judged draft on the wire calls the accepted tokens "kept".
    expected = [
        {"accepted" if name == "kept" else name: value for name, value in case["expected"].items()} for case in golden
    ]
    assert native == ours == expected


def test_every_module_of_the_folder_is_used_by_a_view():
    views = [VIEW, "compare/compare.js", "tune/tune.js"]
    used = {module.path for view in views for module in graph(view, lambda path: given().get(path) or source(path))}
    assert {path for path in used if not path.startswith("given/")} == set(MODULES)
