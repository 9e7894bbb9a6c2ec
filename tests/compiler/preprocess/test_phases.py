"""Translation phases 1 to 3: the canonical text that NVRTC compiles, and the origin of its characters."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpulab.compiler.preprocess.phases import MAX_CHARACTERS, read_source
from gpulab.errors import CompileError, UsageError


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a // b\nc\n", "a     \nc\n"),
        ("a /* b */ c\n", "a         c\n"),
        ("a /*\n b\n*/ c\n", "a   \n  \n   c\n"),
        ("#define A /*\n*/ 5\nb\n", "#define A       5\n\nb\n"),  # a comment does not end a directive
        ("a\\\nb\nc\n", "ab\n\nc\n"),
        ("a\\\nb", "ab\n\n"),
        ("a\\\\\n\nb\n", "ab\n\n\n"),  # removing the first splice forms a second one
        ("// a\\\nb\nc\n", "     \n\nc\n"),
        ('"/* not a comment"\n', '"/* not a comment"\n'),
        ("'\"' // b\n", "'\"'     \n"),
        ('R"(/* \n // )" // x\n', 'R"(/* \n // )"     \n'),
        ('\\\nR"(\n)"\nx\n', 'R"(\n)"\n\nx\n'),  # the raw string keeps exactly one newline
        ('#if 1 \\\n\n#endif\nR"(\n\n)" R"(\n)"\nx\n', '#if 1 \n\n#endif\nR"(\n\n)" R"(\n)"\nx\n'),
        ("1'000'000 // '\n", "1'000'000     \n"),
        ("#error don't // stop\n", "#error don't // stop\n"),  # an open quote ends with its line, as in NVRTC
        ("a\r\nb\rc", "a\nb\nc\n"),
        ("\ufeffa\n", "a\n"),
        ("a\fb\v\n", "a b \n"),
    ],
)
def test_canonical_text_has_no_splices_and_no_comments(written: str, canonical: str) -> None:
    assert read_source(written).text == canonical


@pytest.mark.parametrize(
    ("written", "offset", "place"),
    [
        ("ab\ncd\n", 3, (2, 1)),
        ("a\\\nb\nc\n", 1, (2, 1)),  # the b
        ("a\\\nb\nc\n", 4, (3, 1)),  # the c
        ("#define A /*\n*/ 5\nb\n", 16, (2, 4)),  # the 5
        ('\\\nR"(\n)" b\nc\n', 7, (3, 4)),  # the b
        ('\\\nR"(\n)" b\nc\n', 10, (4, 1)),  # the c
    ],
)
def test_place_of_returns_line_and_column_in_the_students_text(
    written: str, offset: int, place: tuple[int, int]
) -> None:
    assert read_source(written).place_of(offset) == place


def test_place_converts_a_column_in_bytes_to_characters() -> None:
    source = read_source('x("é中"); y\n')
    assert source.place(1, len('x("é中"); '.encode()) + 1) == (1, 10)


@pytest.mark.parametrize("written", ["", " \n\t\n", "// nothing\n", "/* nothing */"])
def test_source_without_code_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        read_source(written)


@pytest.mark.parametrize(
    "written", [b"\xff\xfe\x00", "a\ud800b", 3, None, "x" * (MAX_CHARACTERS + 1), "x" * 10_000_000]
)
def test_source_that_is_not_unicode_text_is_refused(written: object) -> None:
    with pytest.raises(UsageError):
        read_source(written)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "line", "column"),
    [
        ("int a;\nint \0b;\n", 2, 5),
        ("a\x1bb\n", 1, 2),
        ("int a; /* b\n", 1, 8),
        ('x = R"(a\n', 1, 5),
        ('x = R"(a\\\nb)"\n', 1, 5),
        ("a \\  \nb\n", 1, 3),
        ("a\n??=include\n", 2, 1),
        ("a ??/\nb\n", 1, 3),
    ],
)
def test_ambiguous_source_is_refused_at_its_line_and_column(written: str, line: int, column: int) -> None:
    with pytest.raises(CompileError) as caught:
        read_source(written)
    assert (caught.value.diagnostics[0].line, caught.value.diagnostics[0].column) == (line, column)


PIECES = st.sampled_from(
    [
        "\n",
        "\\\n",
        "\\",
        "/*",
        "*/",
        "//",
        '"',
        "'",
        'R"(',
        ')"',
        "#",
        "%:",
        " ",
        "x",
        "1'0",
        "é",
        "\r",
        "\f",
        "/",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_line_of_the_canonical_text_ends_in_a_backslash(written: str) -> None:
    try:
        source = read_source(written)
    except (CompileError, UsageError):
        return
    assert not any(line.rstrip().endswith("\\") for line in source.text.split("\n"))


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
@example('\\\nR"(\n)"')
def test_tokens_have_the_text_at_their_offset_and_place(written: str) -> None:
    try:
        source = read_source(written)
    except (CompileError, UsageError):
        return
    for token in source.tokens:
        line, column = source.place_of(token.offset)
        assert source.student_line(line)[column - 1] == token.text[0]
        assert source.text.startswith(token.text, token.offset)
