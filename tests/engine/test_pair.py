"""Pairs: what is refused and why, how prompts are made, how folders of weights become a pair."""

import dataclasses
import json

import pytest
import torch

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.load_pair import load_folders, load_pair
from explorer.engine.models import loading
from explorer.engine.models.loading import Placement, placement
from explorer.engine.models.model import LanguageModel, UnsupportedModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import USUAL_FORM, UnknownPair, default_pair, find_pair, known_pairs
from explorer.engine.models.weights import WeightsError
from explorer.engine.pair import Pair, PairMismatch, check_same_vocabulary
from explorer.errors import UserError
from explorer.prompts import PromptError

# Models that cannot be run honestly -----------------------------------------------------------------------------------


def recurrent_models():
    import transformers as hf

    common = {"vocab_size": 267, "hidden_size": 32, "num_hidden_layers": 2, "eos_token_id": None, "pad_token_id": None}
    attention = {"intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    yield "mamba", lambda: hf.MambaForCausalLM(hf.MambaConfig(**common, state_size=4))
    yield (
        "lfm2",
        lambda: hf.Lfm2ForCausalLM(hf.Lfm2Config(**common, **attention, layer_types=["conv", "full_attention"])),
    )


@pytest.mark.parametrize("build", [pytest.param(build, id=name) for name, build in recurrent_models()])
def test_a_state_that_cannot_be_rolled_back_is_refused(build, make_model, tokenizer):
    """Rejected tokens would stay in the state and silently change the text (transformers#30312)."""
    with pytest.raises(UnsupportedModel, match="cannot be rolled back"):
        LanguageModel(build(), 267)
    with pytest.raises(UnsupportedModel):
        Pair.of("p", make_model("llama", 0), build(), tokenizer)


def cacheless_models():
    import transformers as hf

    yield (
        "openai-gpt",
        lambda: hf.OpenAIGPTLMHeadModel(hf.OpenAIGPTConfig(vocab_size=267, n_embd=32, n_layer=2, n_head=4)),
    )
    yield "xlm", lambda: hf.XLMWithLMHeadModel(hf.XLMConfig(vocab_size=267, emb_dim=32, n_layers=2, n_heads=4))


@pytest.mark.parametrize(("name", "build"), list(cacheless_models()))
def test_a_model_without_a_cache_is_refused(name, build):
    """It read the newest tokens alone, as if they were the whole text: 2 of 2 texts were not the model's own."""
    with pytest.raises(UnsupportedModel, match=f"{name} keeps no cache"):
        LanguageModel(build(), 267)


@pytest.mark.parametrize("packed", [False, True])
def test_fewer_rows_than_tokens_is_refused(packed, make_model, tokenizer):
    with pytest.raises(UnsupportedModel, match="200 output rows, its tokenizer 267 tokens"):
        Pair.of(
            "p",
            make_model("llama", 0, vocab_size=200, pad_token_id=0, eos_token_id=1),
            make_model("llama", 0),
            tokenizer,
            target_form="float32" if packed else None,
        )


# Vocabularies --------------------------------------------------------------------------------------------------------


def other_tokenizer(extra: str):
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({"a": 0, "b": 1, extra: 2}, []))
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def test_another_vocabulary_is_refused_with_both_sizes(tokenizer):
    """A mismatch ran silently at 0 % (llama.cpp PR#3812); the message must name both sizes and what differs."""
    with pytest.raises(PairMismatch) as error:
        check_same_vocabulary(tokenizer, other_tokenizer("c"))
    assert "267 and 3 tokens" in str(error.value)
    with pytest.raises(PairMismatch, match="3 and 3 tokens.*'[cd]'"):
        check_same_vocabulary(other_tokenizer("c"), other_tokenizer("d"))
    check_same_vocabulary(other_tokenizer("c"), other_tokenizer("c"))


def test_padding_of_the_tables_is_no_difference(make_model, tokenizer):
    """Qwen2.5: 151,936 rows in the small sizes, 152,064 from 7B up, one tokenizer."""
    pair = Pair.of("p", make_model("qwen2", 0), make_model("qwen2", 1, vocab_size=304), tokenizer)
    config = DecodeConfig(rule="exact", max_new_tokens=8, temperature=1.0)
    assert sum(len(round_.emitted) for round_ in decode(pair, [1, 2, 3], config)) <= 8


def test_the_context_is_the_shorter_of_both(make_model, tokenizer):
    """A draft with a shorter context than the target would read positions it has never seen."""
    pair = Pair.of("p", make_model("llama", 0), make_model("llama", 1, max_position_embeddings=64), tokenizer)
    with pytest.raises(PromptError, match="the draft's context of 64"):
        next(decode(pair, [1] * 60, DecodeConfig(max_new_tokens=5)))
    with pytest.raises(PromptError, match="the target's context of 256"):
        next(decode(pair, [1] * 255, DecodeConfig(max_new_tokens=5, rule="autoregressive")))


@pytest.mark.parametrize("settings", [{"rule": "autoregressive"}, {"rule": "exact", "drafter": "lookup"}])
def test_a_draft_that_does_not_work_limits_nothing(settings, make_model, tokenizer):
    pair = Pair.of("p", make_model("llama", 0), make_model("llama", 1, max_position_embeddings=64), tokenizer)
    rounds = list(decode(pair, [1] * 60, DecodeConfig(max_new_tokens=5, **settings)))
    assert sum(len(round_.emitted) for round_ in rounds) == 5


# Prompts -------------------------------------------------------------------------------------------------------------


def test_the_chat_template_is_applied_once(pair, tokenizer):
    """A second beginning-of-text or a template applied to one model only (ATOM#609, transformers PR#46124)."""
    prompt = pair.encode("Hi é")
    assert prompt.text == "<|im_start|>user\nHi é<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(prompt.ids) == prompt.text
    assert [(m.role, m.content) for m in prompt.messages] == [("user", "Hi é")]
    raw = pair.encode("Hi é", raw=True)
    assert (raw.text, raw.messages, tokenizer.decode(raw.ids)) == ("Hi é", None, "Hi é")


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_empty_prompt_is_refused(pair, text):
    for raw in (True, False):
        with pytest.raises(PromptError, match="the prompt is empty"):
            pair.encode(text, raw)


def test_a_prompt_that_is_not_unicode_is_refused(pair):
    """Bytes that are not UTF-8 on the command line arrive as lone surrogates."""
    with pytest.raises(PromptError):
        pair.encode("a\udc80")


def test_the_provenance_says_what_runs(pair, make_pair):
    provenance = pair.provenance()
    assert provenance.pair == "tiny-llama"
    assert provenance.dtype == {"target": "float32", "draft": "float32"}
    assert "packed" in make_pair("packed-llama").provenance().dtype["draft"]
    assert set(provenance.versions) == {"torch", "transformers"}
    assert provenance.threads == torch.get_num_threads()


# Folders -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folders(pair, tmp_path):
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(tmp_path / side)
        pair.tokenizer.save_pretrained(tmp_path / side)
    return tmp_path


def name_of(folders) -> str:
    return f"{folders / 'target'},{folders / 'draft'}"


@pytest.mark.parametrize("dtype", [None, "float32", "bfloat16"])
def test_a_pair_of_folders_loads(folders, pair, dtype):
    loaded = load_pair(f"{name_of(folders)}@float32", device="cpu", dtype=dtype)
    assert isinstance(loaded.target, LanguageModel if dtype else PackedModel)
    assert loaded.stop_ids == pair.stop_ids
    assert set(loaded.fingerprints) == {"target", "draft"}
    assert loaded.fingerprints["target"] != loaded.fingerprints["draft"]
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=12)
    ids = [[t for r in decode(p, [1, 2, 3, 4], config) for t in r.emitted] for p in (loaded, pair)]
    assert ids[0] == ids[1] or dtype == "bfloat16"


@pytest.mark.parametrize("form", ["float32", "int8", "int4"])
def test_a_target_is_packed_in_the_form_that_is_asked_for(form, folders):
    """By the name of the pair or by the option; the name in a record gives it again."""
    named, asked = load_pair(f"{name_of(folders)}@{form}", "cpu"), load_pair(name_of(folders), "cpu", form=form)
    assert named.target.form == asked.target.form == form
    assert named.name.endswith(f"@{form}") == (form != USUAL_FORM)
    assert load_pair(name_of(folders), "cpu").target.form == USUAL_FORM


def test_a_form_that_cannot_be_had_is_refused(folders, make_model):
    with pytest.raises(ConfigError, match="leave --dtype out"):
        load_pair(name_of(folders), "cpu", "float32", form="int8")
    make_model("mistral", 0).save_pretrained(folders / "target")
    with pytest.raises(UnsupportedModel, match="cannot be packed"):
        load_pair(name_of(folders), "cpu", form="int8")


def test_folders_with_two_vocabularies_are_refused(folders):
    other_tokenizer("c").save_pretrained(folders / "draft")
    with pytest.raises(PairMismatch, match="267 and 3"):
        load_pair(name_of(folders), device="cpu")


def spoil_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4000])


def spoil_header(folder):
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)


def spoil_config(folder):
    (folder / "config.json").write_text("{")


def unknown_architecture(folder):
    (folder / "config.json").write_text('{"model_type": "from_the_future"}')


def remote_code(folder):
    config = json.loads((folder / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}, "model_type": "evil"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('remote code ran')")


def no_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


@pytest.mark.parametrize(
    "spoil", [spoil_weights, spoil_header, spoil_config, unknown_architecture, remote_code, no_tokenizer]
)
def test_spoilt_folders_are_refused_in_one_line(spoil, folders):
    """Truncated downloads, unknown models and remote code: a sentence for the user, never a library's traceback."""
    spoil(folders / "draft")
    with pytest.raises(UserError) as error:
        load_pair(name_of(folders), device="cpu")
    assert len(str(error.value).splitlines()) == 1


def edited(folder, change, **settings):
    """The same folder with its tensors or its configuration changed."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))


@pytest.mark.parametrize("form", ["@float32", None])
@pytest.mark.parametrize(
    ("lost", "settings"),
    [("layers.1.mlp.down_proj", {}), ("model.norm", {}), ("nothing", {"num_hidden_layers": 3}), ("nothing", {"tie_word_embeddings": False})],
)  # fmt: skip
def test_a_folder_that_lacks_tensors_is_refused(lost, settings, form, folders):
    """They were drawn at random, and the text was that of a model that nobody has (transformers#34759)."""
    edited(folders / "target", lambda found: {k: v for k, v in found.items() if lost not in k}, **settings)
    with pytest.raises(WeightsError, match=r"target lacks \d of the tensors its config.json describes, like [\w.]+"):
        load_pair(name_of(folders) + (form or ""), device="cpu", dtype=None if form else "float32")


@pytest.mark.parametrize("form", ["@float32", None])
def test_a_head_of_its_own_in_the_file_is_the_head_whatever_the_configuration_says(form, folders, plain_greedy_ids):
    """A configuration that ties the tables beside a file with a real head (vllm#51665)."""
    from transformers import AutoModelForCausalLM

    edited(folders / "target", lambda found: {**found, "lm_head.weight": found["model.embed_tokens.weight"].flip(0).contiguous()})  # fmt: skip
    loaded = load_pair(name_of(folders) + (form or ""), device="cpu", dtype=None if form else "float32")
    own = AutoModelForCausalLM.from_pretrained(folders / "target")
    ids = [t for r in decode(loaded, [1, 2, 3], DecodeConfig(rule="exact", max_new_tokens=12)) for t in r.emitted]
    output = own.generate(torch.tensor([[1, 2, 3]]), do_sample=False, max_new_tokens=12, pad_token_id=264)
    assert ids == output[0, 3:].tolist()


def test_grafted_layers_must_fit(make_model, tmp_path):
    target, other = make_model("llama", 0), make_model("llama", 1, num_hidden_layers=1)
    other.config.save_pretrained(tmp_path)
    from safetensors.torch import save_file

    save_file({k: v.clone() for k, v in other.state_dict().items() if "layers" in k}, tmp_path / "model.safetensors")
    with pytest.raises(WeightsError, match="does not hold the layers"):
        loading.graft(target, tmp_path)


@torch.inference_mode()
def test_a_grafted_draft_of_all_layers_is_the_target(make_model, tmp_path):
    """Rotary tables lost on the meta device, or embeddings copied instead of shared."""
    from safetensors.torch import save_file

    target = make_model("llama", 0)
    target.config.save_pretrained(tmp_path)
    layers = {k: v.clone() for k, v in target.state_dict().items() if "embed_tokens" not in k and "lm_head" not in k}
    save_file(layers, tmp_path / "model.safetensors")
    draft = loading.graft(target, tmp_path)
    assert draft.get_input_embeddings() is target.get_input_embeddings()
    ids = torch.arange(40)[None]
    torch.testing.assert_close(draft(input_ids=ids).logits, target(input_ids=ids).logits)


def test_a_pair_cannot_be_changed(pair, with_judge_head):
    """Runs of several visitors share it: what one adds must not reach the others."""
    for field in dataclasses.fields(pair):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(pair, field.name, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.anything = 1
    for name in ("sources", "fingerprints", "scorers", "cards"):
        with pytest.raises(TypeError):
            getattr(pair, name)["pacer"] = "x"
    judged = with_judge_head(pair)
    assert (judged.target, judged.draft) == (pair.target, pair.draft), "the weights are shared"
    assert pair.judge_head is None


def test_auto_takes_a_pair_that_shares_tables_as_a_whole(make_model, tokenizer, tmp_path):
    """The default pair of a machine with GPUs is one: its target is never spread, so `--device auto` runs without naming a pair."""
    from safetensors.torch import save_file

    target = make_model("llama", 0)
    target.save_pretrained(tmp_path / "target")
    tokenizer.save_pretrained(tmp_path / "target")
    target.config.save_pretrained(tmp_path / "draft")
    layers = {k: v.clone() for k, v in target.state_dict().items() if "embed_tokens" not in k and "lm_head" not in k}
    save_file(layers, tmp_path / "draft" / "model.safetensors")
    assert find_pair(default_pair("auto")).is_grafted
    folders = {side: tmp_path / side for side in ("target", "draft")}
    pair = load_folders("tiny", folders, {"target": "t", "draft": "d"}, placement("auto", None), grafted=True)
    assert not getattr(pair.target.model, "hf_device_map", None)
    assert pair.draft.model.get_input_embeddings() is pair.target.model.get_input_embeddings()
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=12)
    rounds = list(decode(pair, [1, 2, 3], config))
    assert all(round_.accepted == len(round_.drafted) for round_ in rounds)


# Names ---------------------------------------------------------------------------------------------------------------


def test_known_pairs():
    names = [pair.name for pair in known_pairs()]
    assert names[0] == default_pair() == "smollm2-135m"
    assert len(set(names)) == len(names) >= 8
    embedded = [pair for pair in known_pairs() if pair.is_embedded]
    assert [pair.name for pair in embedded] == ["smollm2-135m", "smollm2-135m-distilled"]
    for pair in known_pairs():
        if not pair.is_embedded:
            assert pair.target.count("/") == pair.draft.count("/") == 1
        assert pair.download_gb
        assert pair.suits
        assert pair.title


@pytest.mark.parametrize("name", ["", "nope", ",", "a,", ",b", " , "])
def test_unknown_names_say_what_is_known(name):
    with pytest.raises(UnknownPair, match="smollm2-135m.*TARGET,DRAFT"):
        find_pair(name)


def test_any_two_models_make_a_pair():
    pair = find_pair(" own/target , ./draft ")
    assert (pair.target, pair.draft, pair.is_embedded) == ("own/target", "./draft", False)


def test_a_folder_with_a_comma_is_named_in_quotes(folders, pair):
    """Nothing named it: the comma parted it in two."""
    (folders / "target").rename(folders / "target, new")
    name = f'"{folders / "target, new"}",{folders / "draft"}'
    known = find_pair(name)
    assert (known.target, known.draft) == (str(folders / "target, new"), str(folders / "draft"))
    loaded = load_pair(name, device="cpu")
    assert loaded.name == '"target, new",draft'
    assert find_pair(loaded.name).target == "target, new"
    assert find_pair('"a,b" , c ,cross-tokenizer').cross_tokenizer
    with pytest.raises(UnknownPair, match="a name with a comma in double quotes"):
        find_pair(f"{folders / 'target, new'},{folders / 'draft'}")


@pytest.mark.parametrize("name", ["a\nb,c", "a\0b,c", '"a,b', 'a"b,c"d'])
def test_odd_names_are_refused_or_two_names(name):
    try:
        known = find_pair(name)
    except UnknownPair:
        return
    assert known.target
    assert known.draft


def test_devices_and_dtypes():
    assert placement("cpu", "float32") == Placement(torch.device("cpu"), torch.float32, form=None)
    assert placement(None, None).form == "float32"
    assert placement("cpu", "bfloat16").dtype == torch.bfloat16
    for device, dtype in (
        ("cuda", None),
        ("nonsense", None),
        ("cpu:x", None),
        ("mps", None),
        ("xpu", None),
        ("meta", None),
        ("cpu", "int8"),
        ("cpu", "Float32"),
    ):
        with pytest.raises(ConfigError, match="not available here|dtype must be one of"):
            placement(device, dtype)
