"""What is due: the days of a statement, questions for them, and sentences that show that something is done."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from mnemic.text.facts.due import Due, asked_days, find_due, find_evidence

NOW = datetime(2026, 11, 24, 10, tzinfo=UTC)
"""A Tuesday."""


def days(first: str, last: str = "") -> Due:
    return Due(date.fromisoformat(first), date.fromisoformat(last or first))


REPORT = "User has to send the report to Kim by Friday (on 2026-11-27)"
BERICHT = "User muss den Bericht bis Freitag abschicken (am 2026-11-27)"
PASSPORT = "User's passport expires on 12 March (on 2027-03-12)"
DENTIST = "User has a dentist appointment on 3 December (on 2026-12-03)"


@pytest.mark.parametrize(
    "text, due",
    [
        (REPORT, days("2026-11-27")),
        (PASSPORT, days("2027-03-12")),
        (DENTIST, days("2026-12-03")),
        ("User must renew their insurance before 1 January", days("2027-01-01")),
        ("User is going to submit their thesis in February", days("2027-02-01", "2027-02-28")),
        ("User is moving to Berlin next week", days("2026-11-30", "2026-12-06")),
        ("User has a meeting today", days("2026-11-24")),
        ("User has to call their mother this week", days("2026-11-23", "2026-11-29")),
        (BERICHT, days("2026-11-27")),
        ("Users Steuererklärung ist am 31. Januar fällig", days("2027-01-31")),
        ("用户的护照3月12日到期", days("2027-03-12")),
        ("用户要在周五之前提交报告", days("2026-11-27")),
        ("User met Ana on 3 December", None),
        ("User works from home today", None),
        ("User goes to the gym on Fridays", None),
        ("User will be 40 in 2027", None),
        ("User's birthday is on 3 May", None),
        ("User loved the concert on Friday", None),
        ("User likes tea", None),
    ],
)
def test_a_statement_about_a_coming_day_is_due_on_it(text: str, due: Due | None):
    assert find_due(text, NOW) == due


@pytest.mark.parametrize(
    "question, asked",
    [
        ("what is open?", days("2026-11-24", "9999-12-31")),
        ("What's due this week?", days("2026-11-24", "2026-11-29")),
        ("What do I have to do today?", days("2026-11-24")),
        ("Which appointments do I have next week?", days("2026-11-30", "2026-12-06")),
        ("anything due tomorrow?", days("2026-11-25")),
        ("Was steht diese Woche an?", days("2026-11-24", "2026-11-29")),
        ("Was ist noch offen?", days("2026-11-24", "9999-12-31")),
        ("我有什么待办?", days("2026-11-24", "9999-12-31")),
        ("hi", None),
        ("what was due last week?", None),
        ("what do I need to do to install it?", None),
        ("Is the window open?", None),
        ("How do I open a file?", None),
        ("Any open issues in the repository?", None),
    ],
)
def test_a_question_asks_for_what_is_due_in_its_days(question: str, asked: Due | None):
    assert asked_days(question, NOW) == asked


@pytest.mark.parametrize(
    "said, known",
    [
        ("I sent the report.", REPORT),
        ("Good news: I've finally sent Kim the report!", REPORT),
        ("The report is done.", REPORT),
        ("I renewed my passport today.", PASSPORT),
        ("Ich habe den Bericht abgeschickt.", BERICHT),
        ("我已经提交了报告。", "用户要在周五之前提交报告（2026-11-27）"),
    ],
)
def test_a_sentence_shows_that_a_task_is_done(said: str, known: str):
    assert find_evidence(f"Hello. {said}", known, date(2027, 3, 12), NOW) == said


@pytest.mark.parametrize(
    "said, known",
    [
        ("I sent the invoice to Kim.", REPORT),
        ("I haven't sent the report yet.", REPORT),
        ("I forgot to send the report.", REPORT),
        ("I will send the report tomorrow.", REPORT),
        ("Did I send the report?", REPORT),
        ("Kim sent me the report.", REPORT),
        ("Once I've sent the report, I'll rest.", REPORT),
        ("I read the report and it was great.", REPORT),
        ("I showed my passport at the airport.", PASSPORT),
        ("I lost my passport.", PASSPORT),
        ("The dentist moved my appointment to Monday.", DENTIST),
        ("Ich habe den Brief abgeschickt.", BERICHT),
        ("Ich habe den Bericht noch nicht abgeschickt.", BERICHT),
        ("报告还没提交。", "用户要在周五之前提交报告（2026-11-27）"),
    ],
)
def test_what_leaves_it_open_is_no_evidence(said: str, known: str):
    assert not find_evidence(said, known, date(2027, 3, 12), NOW)


def test_an_appointment_is_not_over_before_its_day():
    said = "The dentist went fine."
    assert not find_evidence(said, DENTIST, date(2026, 12, 3), NOW)
    assert find_evidence(said, DENTIST, date(2026, 12, 3), datetime(2026, 12, 3, 18, tzinfo=UTC)) == said
