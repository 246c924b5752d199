"""What is due: the days of a statement, questions for them, and sentences that show that something is done."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from mnemic.text.facts.due import Due, asked_days, find_due, read_evidence, shows_done

NOW = datetime(2026, 11, 24, 10, tzinfo=UTC)
"""A Tuesday."""


SAID = datetime(2026, 11, 23, 9, tzinfo=UTC)
"""When the statements were made."""


def shown(said: str, known: str, first: date, at: datetime = NOW) -> list[str]:
    """The sentences of a message that show that something is done."""
    return [each.text for each in read_evidence(said, at) if shows_done(each, known, first, SAID)]


def days(first: str, last: str = "") -> Due:
    return Due(date.fromisoformat(first), date.fromisoformat(last or first))


REPORT = "User has to send the report to Kim by Friday (on 2026-11-27)"
BERICHT = "User muss den Bericht bis Freitag abschicken (am 2026-11-27)"
BILL = "User has to pay the electricity bill by Friday (on 2026-11-27)"
FLIGHTS = "User needs to book flights to Lisbon by Friday (on 2026-11-27)"
PHONE = "Users Handyvertrag läuft am 31. Januar ab (am 2027-01-31)"
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
        ("User has a dentist appointment on Friday, 4 December", days("2026-12-04")),
        ("User muss den Bericht bis Freitag, den 4. Dezember abgeben", days("2026-12-04")),
        ("User has to call Ida on Friday (on 2026-12-04)", days("2026-12-04")),
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
        ("Which appointments table column is unused?", None),
        ("Write a SQL query: show all appointments of a doctor", None),
        ("what is due diligence?", None),
        ("what's coming up in Python 3.14?", None),
        ("what is pending in the PR?", None),
        ("Is there anything to do in Porto?", None),
        ("Welche Aufgaben hat der Bundespräsident?", None),
        ("Was steht auf dem Schild an der Wand?", None),
        ("Was muss ich bei einem Kreislaufkollaps tun?", None),
        ("Welche Termine habe ich nächste Woche?", days("2026-11-30", "2026-12-06")),
        ("what do I have to do before Friday?", days("2026-11-27")),
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
        ("Sent the report.", REPORT),
        ("I paid the electricity bill.", BILL),
        ("Ich habe den Handyvertrag verlängert.", PHONE),
        ("我已经提交了报告。", "用户要在周五之前提交报告（2026-11-27）"),
    ],
)
def test_a_sentence_shows_that_a_task_is_done(said: str, known: str):
    assert shown(f"Hello. {said}", known, date(2027, 3, 12)) == [said]


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
        ("I told Kim I'd send the report.", REPORT),
        ("I sent the report to Tom.", REPORT),
        ("I sent Kim the report template.", REPORT),
        ("I was sent the report.", REPORT),
        ("The report was sent back.", REPORT),
        ("I wish I had sent the report.", REPORT),
        ("Translate into German: I sent the report to Kim.", REPORT),
        ("My colleague wrote: I sent the report to Kim.", REPORT),
        ("I paid the water bill.", BILL),
        ("I booked flights to Porto.", FLIGHTS),
        ("I paid with my passport as ID.", PASSPORT),
        ("My wife renewed her passport.", PASSPORT),
        ("I finished scanning my passport.", PASSPORT),
        ("My son's dentist went well.", DENTIST),
        ("The dentist says I'm done growing.", DENTIST),
        ("Ich habe den Bericht an Tom geschickt.", BERICHT),
        ("Ich bekam den Bericht geschickt.", BERICHT),
        ("Ich habe meinen Handyvertrag gefunden.", PHONE),
        ("Der Handyvertrag ist teuer geworden.", PHONE),
        ("The dentist moved my appointment to Monday.", DENTIST),
        ("Ich habe den Brief abgeschickt.", BERICHT),
        ("Ich habe den Bericht noch nicht abgeschickt.", BERICHT),
        ("报告还没提交。", "用户要在周五之前提交报告（2026-11-27）"),
    ],
)
def test_what_leaves_it_open_is_no_evidence(said: str, known: str):
    assert shown(said, known, date(2027, 3, 12), datetime(2027, 3, 14, tzinfo=UTC)) == []


def test_what_happened_before_is_no_evidence():
    assert shown("I sent the report last year.", REPORT, date(2026, 11, 27)) == []


def test_an_appointment_is_not_over_before_its_day():
    said = "The dentist went fine."
    assert shown(said, DENTIST, date(2026, 12, 3)) == []
    assert shown(said, DENTIST, date(2026, 12, 3), datetime(2026, 12, 3, 18, tzinfo=UTC)) == [said]
