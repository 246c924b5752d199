"""What pages repeat: found by its place and its words, and taken from the ends of passages only."""

from __future__ import annotations

from mnemic.text.chunking import boilerplate, trimmed


def paged(*pages: str) -> tuple[str, list[int]]:
    """A text of pages, parted by blank lines, and where they begin."""
    starts: list[int] = []
    text = ""
    for page in pages:
        text += "\n\n" if text else ""
        starts.append(len(text))
        text += page
    return text, starts


def report(count: int) -> tuple[str, list[int]]:
    return paged(
        *(
            f"Yearly report\nAcme\nBody of part {'abcdefgh'[n]}.\nMore of {'abcdefgh'[n]}.\nPage {n + 1}"
            for n in range(count)
        )
    )


def test_heads_feet_and_page_numbers_are_found_on_every_page():
    text, pages = report(5)
    found = [text[start:end] for start, end in boilerplate(text, pages)]
    assert found == [line for n in range(5) for line in ("Yearly report", "Acme", f"Page {n + 1}")]


def test_a_text_of_few_pages_or_none_repeats_nothing():
    text, pages = report(3)
    assert boilerplate(text, pages) == []
    assert boilerplate(text, []) == []
    assert boilerplate("", [0]) == []


def test_heads_of_left_and_right_pages_and_of_chapters_are_found():
    bodies = "abcdefgh"
    text, pages = paged(*(f"{'Part one' if n % 2 else 'The book'}\nWords {bodies[n]} end." for n in range(8)))
    assert {text[start:end] for start, end in boilerplate(text, pages)} == {"Part one", "The book"}


def test_what_stands_in_the_middle_or_is_long_is_never_repeated():
    middle = "Top {0}\nSecond {0}\nThird {0}\nThe refrain\nx {0}\ny {0}\nz {0}"
    names = ["oak", "elm", "ash", "fir", "yew"]
    text, pages = paged(*(middle.format(name) for name in names))
    assert boilerplate(text, pages) == []
    text, pages = paged(*(f"{'long ' * 40}\nend {name}" for name in names))
    assert boilerplate(text, pages) == []


def test_a_passage_loses_what_is_repeated_at_its_ends_and_keeps_what_is_inside():
    text, pages = report(5)
    repeated = boilerplate(text, pages)
    whole = trimmed(text, (0, len(text)), repeated)
    assert whole is not None
    assert text[slice(*whole)].startswith("Body of part a.")
    assert text[slice(*whole)].endswith("More of e.")
    assert "Page 2" in text[slice(*whole)]
    head = text.index("Body")
    assert trimmed(text, (0, head), repeated) is None
    cut = trimmed(text, (3, head + 4), repeated)
    assert cut is not None
    assert text[slice(*cut)] == "Body"


def test_a_passage_that_is_clean_stays_as_it_is():
    text, pages = report(5)
    start = text.index("Body")
    assert trimmed(text, (start, start + 10), boilerplate(text, pages)) == (start, start + 10)
    assert trimmed("a b", (0, 3), []) == (0, 3)
