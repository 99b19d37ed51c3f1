"""Token text: emoji and CJK split over tokens become whole characters, never a row of U+FFFD (exo PR#1691, ecco#51)."""

from hypothesis import example, given
from hypothesis import strategies as st

from explorer.pieces import piece_of, pieces_of, text_of

texts = st.text() | st.text(st.sampled_from("aé漢字🎉👩‍👩‍👧\u200d\n<>&�"))


@st.composite
def splits(draw):
    """Bytes of a text (sometimes with invalid ones among them) cut at any place, empty tokens included."""
    raw = draw(texts).encode()
    if draw(st.booleans()):
        raw += draw(st.binary(max_size=6)) + draw(texts).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)])]


@given(splits())
@example([b"\xf0\x9f", b"\x8e", b"\x89"])
@example([b"\xe6\xbc", b"a"])
@example([b"\xf0", b""])
def test_joined_pieces_equal_one_decode(tokens):
    pieces = pieces_of(tokens)
    assert len(pieces) == len(tokens)
    assert "".join(piece.text for piece in pieces) == b"".join(tokens).decode("utf-8", "replace")
    assert text_of(range(len(tokens)), dict(enumerate(tokens))) == b"".join(tokens).decode("utf-8", "replace")


@given(splits())
def test_parts_of_characters_are_shown_as_hex(tokens):
    for token, piece in zip(tokens, pieces_of(tokens)):
        if piece.hex is None:
            assert piece.text.encode() == token
            assert piece.label == piece.text
        else:
            assert bytes.fromhex(piece.hex) == token
            assert piece.label == f"⟨{piece.hex}⟩"


def test_a_split_character_appears_once_at_the_token_that_completes_it():
    pieces = pieces_of([b"a", b"\xf0\x9f", b"\x8e\x89", b"b"])
    assert [piece.text for piece in pieces] == ["a", "", "🎉", "b"]
    assert [piece.hex for piece in pieces] == [None, "f0 9f", "8e 89", None]


def test_one_token_alone():
    assert piece_of("🎉".encode()).label == "🎉"
    assert piece_of(b"\x8e\x89").label == "⟨8e 89⟩"
    assert piece_of(b"").label == ""
    assert piece_of("�".encode()).hex is None, "a real U+FFFD is a character, not a part of one"
