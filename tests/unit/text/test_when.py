from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.facts.when import find_time
from mnemic.text.languages import detect, lookup

AT = datetime(2026, 5, 6, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text, label",
    [
        ("yesterday", "on 2026-05-05"),
        ("the day before yesterday", "on 2026-05-04"),
        ("tomorrow", "on 2026-05-07"),
        ("I left on Monday", "on 2026-05-04"),
        ("my exam is on Monday", "on 2026-05-11"),
        ("last Wednesday", "on 2026-04-29"),
        ("next Monday", "on 2026-05-11"),
        ("two weeks ago", "in the week of 2026-04-20"),
        ("a couple of days ago", "on 2026-05-04"),
        ("in three months", "in 2026-08"),
        ("last month", "in 2026-04"),
        ("next year", "in 2027"),
        ("back in 2019", "in 2019"),
        ("on 3 May", "on 2026-05-03"),
        ("I'm off from 3 to 17 December", "in 2026-12"),
        ("I was in Rome from May 3rd to 9th, 2024", "in 2024-05"),
        ("I moved on 2024-05-03 to 12 Main Street", "on 2024-05-03"),
        ("I work from 9 to 17 since 4 May", "on 2026-05-04"),
        ("Ich bin vom 3. bis 17. Dezember weg", "in 2026-12"),
        ("我打算12月3日到17日休假", "in 2026-12"),
        ("in December", "in 2025-12"),
        ("I'm planning a trip in January", "in 2027-01"),
        ("I bought it in November", "in 2025-11"),
        ("I'm excited about the match on Saturday", "on 2026-05-09"),
        ("I met Olga last weekend", "on the weekend of 2026-05-02"),
        ("I met Olga over the weekend", "on the weekend of 2026-05-02"),
        ("I met Olga this weekend", "on the weekend of 2026-05-02"),
        ("we go camping this weekend", "on the weekend of 2026-05-09"),
        ("last March", "in 2026-03"),
        ("next February", "in 2027-02"),
        ("Walking the Camino this September", "in 2026-09"),
        ("I ran a marathon this March", "in 2026-03"),
        ("They pushed me back to 9 June", "on 2026-06-09"),
        ("They squeezed me in on 2 June instead", "on 2026-06-02"),
        ("They had a free slot on 18 June so I took it", "on 2026-06-18"),
        ("a few weeks ago", "in 2026-04"),
        ("前天", "on 2026-05-04"),
        ("上周五", "on 2026-05-01"),
        ("下周一", "on 2026-05-11"),
        ("三个月前", "in 2026-02"),
        ("去年", "in 2025"),
        ("2019年", "in 2019"),
    ],
)
def test_times_are_counted_from_when_it_was_said(text: str, label: str):
    named = find_time(text, AT, detect(text).dates)
    assert named is not None
    assert lookup("en").dates.labels[named.unit].format(named.start) == f" ({label})"
    assert named.start < named.end


@pytest.mark.parametrize("text", ["", "on 31 February", "99999 years ago", "at once", "in 1066", "以前", "二十天前"])
def test_no_time_is_read_into_a_text(text: str):
    assert find_time(text, AT, detect(text).dates) is None


@pytest.mark.parametrize(
    "said_at, text, label",
    [
        ("2025-02-20", "I have got the dentist on 4 March at 10:15", "on 2025-03-04"),
        ("2025-02-20", "Dentist on 4 March at 10:15", "on 2025-03-04"),
        ("2025-02-20", "I had the dentist on 4 March", "on 2024-03-04"),
        ("2025-02-20", "Ana wanted to marry on 18 October", "on 2025-10-18"),
        ("2025-02-20", "I have been to Rome in March", "in 2024-03"),
        ("2025-02-20", "I got a table for 4 March", "on 2024-03-04"),
        ("2025-02-20", "I booked a table for 4 March", "on 2025-03-04"),
        ("2025-04-10", "Olek is coming to stay for the whole of July", "in 2025-07"),
        ("2025-04-10", "My brother, who moved to Rome, gets married on 1 July", "on 2025-07-01"),
        ("2025-04-10", "I've been working there since November", "in 2024-11"),
        ("2025-04-10", "I left on 29 February", "on 2024-02-29"),
        ("2025-04-14", "Ana calls on Wednesday", "on 2025-04-16"),
        ("2025-04-14", "I relapsed, one cigarette in March, none since", "in 2025-03"),
        ("2025-04-14", "I am to get the knee done, they gave me a date in July", "in 2025-07"),
        ("2025-04-14", "I have signed for the first of February", "on 2026-02-01"),
        ("2025-04-14", "The new carer starts 15 January, called Colin", "on 2026-01-15"),
        ("2025-04-14", "Ana called on Wednesday", "on 2025-04-09"),
        ("2025-04-14", "We moved the meeting to noon on Friday", "on 2025-04-18"),
        ("2025-02-20", "Ana hat am 4. Juni Prüfung", "on 2025-06-04"),
        ("2025-02-20", "Ana heiratet am 18. Oktober", "on 2025-10-18"),
        ("2025-02-20", "Ana hat am 18. Oktober geheiratet", "on 2024-10-18"),
        ("2025-02-20", "Ana wollte am 18. Oktober kommen", "on 2025-10-18"),
        ("2025-02-20", "Mein Kurs ist am 4. Juni", "on 2025-06-04"),
        ("2025-02-20", "Im Juni war ich in Rom", "in 2024-06"),
        ("2025-04-14", "Mia hat am Mittwoch Training", "on 2025-04-16"),
        ("2025-02-20", "我7月1日搬家", "on 2025-07-01"),
        ("2025-02-20", "我7月1日搬了家", "on 2024-07-01"),
    ],
)
def test_a_date_without_a_year_goes_by_the_verb(said_at: str, text: str, label: str):
    named = find_time(text, datetime.fromisoformat(said_at).replace(tzinfo=UTC), detect(text).dates)
    assert named is not None
    assert lookup("en").dates.labels[named.unit].format(named.start) == f" ({label})"


@pytest.mark.parametrize(
    "text, label",
    [
        ("My first marathon is in two weeks", "in the week of 2026-05-18"),
        ("I haven't told Ana but I'm leaving in two weeks", "in the week of 2026-05-18"),
        ("I'm not going back, the wedding is in six weeks", "in the week of 2026-06-15"),
        ("Mein erster Marathon ist in drei Wochen", "in the week of 2026-05-25"),
        ("My best friend visits me in two weeks", "in the week of 2026-05-18"),
        ("My first marathon takes place in six weeks", "in the week of 2026-06-15"),
        ("Mein erster Marathon findet in drei Wochen statt", "in the week of 2026-05-25"),
        ("我三天后去上海出差", "on 2026-05-09"),
    ],
)
def test_what_is_to_come_is_a_date(text: str, label: str):
    named = find_time(text, AT, detect(text).dates)
    assert named is not None
    assert lookup("en").dates.labels[named.unit].format(named.start) == f" ({label})"


@pytest.mark.parametrize(
    "text, label",
    [
        ("I sang at the fair last weekend, on April 25th", "on 2026-04-25"),
        ("Next week, on 14 May, I see the dentist", "on 2026-05-14"),
        ("Last week I bought a tent for our trip on 20 May", "in the week of 2026-04-27"),
        ("On 3 March I fell, and last week the cast came off", "in the week of 2026-04-27"),
    ],
)
def test_a_date_is_more_exact_than_a_week_or_a_weekend_beside_it(text: str, label: str):
    named = find_time(text, AT, detect(text).dates)
    assert named is not None
    assert lookup("en").dates.labels[named.unit].format(named.start) == f" ({label})"


@pytest.mark.parametrize(
    "text", ["My sister's birthday is on 3 May", "Mein Bruder hat am 4. Juni Geburtstag", "我妈妈的生日是8月22号"]
)
def test_what_comes_back_every_year_is_of_no_year(text: str):
    assert find_time(text, AT, detect(text).dates) is None


@pytest.mark.parametrize(
    "text",
    [
        "612 km in eight days is my record",
        "I rode home in two days",
        "I haven't been to one in six years because of it",
        "I can't remember a colder night in five years",
        "My first holiday in three years",
        "It's the first time in four years that I can run",
        "That was the best meal in two years",
        "We haven't spoken in over ten years",
        "Ich bin 612 km in acht Tagen gefahren",
        "Ich war in sechs Jahren nicht beim Zahnarzt",
        "Zum ersten Mal in fünf Jahren habe ich Urlaub",
        "Das ist mein erster Urlaub in drei Jahren",
        "毕业五年后我才找到喜欢的工作",
    ],
)
def test_a_duration_is_no_date(text: str):
    assert find_time(text, AT, detect(text).dates) is None


@given(st.text(), st.datetimes(timezones=st.just(UTC)))
def test_no_moment_raises(text: str, moment: datetime):
    for said in (text, f"yesterday {text}", "in 9 years", "900 years ago"):
        named = find_time(said, moment, detect(said).dates)
        assert named is None or named.start < named.end


@pytest.mark.parametrize(
    "text, start",
    [
        ("I am on permanent nights since November so she will like that", "2025-11-01"),
        ("Declan is off the last week in June", "2026-06-01"),
        ("I asked for four-day weeks from August", "2026-08-01"),
        ("We decided the flight on 12 September", "2026-09-12"),
        ("I started at the museum, contract to Sept 30", "2026-09-30"),
    ],
)
def test_a_month_goes_by_what_is_said_of_it(text: str, start: str):
    named = find_time(text, AT, detect(text).dates)
    assert named is not None
    assert named.start.date().isoformat() == start


def test_a_weekly_habit_has_no_date():
    text = "I've joined the choir on Monday mornings"
    assert find_time(text, AT, detect(text).dates) is None
