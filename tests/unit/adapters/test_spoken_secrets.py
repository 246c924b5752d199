"""Passwords, PINs and codes as people write them to an assistant, and what only looks like them."""

from __future__ import annotations

import pytest

from mnemic.adapters.detectors.rules import RuleDetector

DETECTOR = RuleDetector()
SAID = [
    ("my pw: {}", "hunter22"),
    ("pass: {}", "s3cr3tPw!"),
    ("pass: {} for the router", "s3cr3tPw!"),
    ("wifi pass is {}", "s3cr3tPw!"),
    ("pw = {}", "hunter22"),
    ("PW: {}", "Winter2025!"),
    ("user admin, pw {}", "Sup3rS3cret!"),
    ("Mein PW: {}", "hunter22"),
    ("my password's {}", "hunter22"),
    ("the wifi password {} is on the fridge", "sunflower99"),
    ("{} is my password", "hunter22"),
    ("{} is the password for the wifi", "hunter22"),
    ("ssh root@10.0.0.5 with {}", "Sup3rS3cret!"),
    ("ssh into deploy@box with {}", "Sup3rS3cret!"),
    ("log in as admin with {}", "Sup3rS3cret!"),
    ("login admin / {}", "Sup3rS3cret!"),
    ("Ich logge mich mit {} ein", "Sup3rS3cret!"),
    ("用 {} 登录", "Sup3rS3cret!"),
    ("sshpass -p {} ssh root@host", "Sup3rS3cret!"),
    ("mysql -u root -p{}", "Sup3rS3cret!"),
    ("the PIN of my card is {}", "4417"),
    ("my card's PIN is {}", "4417"),
    ("PIN: {}", "4417"),
    ("my pin is {}.", "4417"),
    ("sim pin {}", "4417"),
    ("the pin code for the door is {}", "44170"),
    ("Die PIN meiner Karte ist {}", "4417"),
    ("Die PIN von meiner Karte lautet {}", "4417"),
    ("mi PIN es {}", "4417"),
    ("le code PIN de ma carte est {}", "4417"),
    ("我的银行卡PIN码是{}", "4417"),
    ("我的卡的密码是{}", "4417"),
    ("门禁密码 {}", "88213"),
    ("The alarm code is {}", "4417"),
    ("my locker code changed to {}", "4417"),
    ("my card pin was changed to {}", "4417"),
    ("the code of the safe is {}", "88213"),
    ("my unlock code is {}", "135790"),
    ("my 2FA backup code is {}", "8842-1190"),
    ("Der Code für die Alarmanlage ist {}", "4417"),
    ("Zugangscode: {}", "88213"),
    ("the passcode to my phone is {}", "1357"),
    ("CVV: {}", "123"),
    ("my CVC is {}", "123"),
    ("seed phrase: {}", "able about above absent absorb abstract absurd abuse access accident acid acoustic"),
]
HARMLESS = """pass: the salt
pass: the salt please
pass: failed
pass: 12 of 14 tests
pass: 98%
the pass is 2300 metres high
the mountain pass: 2473 m
boarding pass: LH4417
the ski pass is 45 euro
my pass is valid until 2031
pin: a brooch
PIN: a brooch of silver
PIN: to be changed in 2024
the PIN is wrong
my PIN is 4 digits
the pin is 4417 mm long
pin 4417 nails to the wall
GPIO pin: 17
pin code: 411001
pw: see below
PW stands for pulse width
10 pw of power
the code of conduct is 12 pages
zip code: 44170
error code: 4417
status code is 404
discount code SAVE20
ssh root@host with key forwarding
log in as admin with OAuth2
sign in with Office365!
work with Python3!
the cvv is on the back
Die PIN ist falsch
Der Pass ist 2300 m hoch
Mein Pass läuft 2031 ab
密码是什么
密码太短
邮政编码是100080
密码是4-16位
password is required
my recovery phrase is lost""".splitlines()


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("form, secret", SAID, ids=[form for form, _ in SAID])
def test_a_secret_that_a_person_writes_is_found_whole(form: str, secret: str):
    text = form.format(secret)
    found = [text[span.start : span.end] for span in DETECTOR.find(text)]
    assert secret.rstrip("!") in "".join(found)
    assert all(piece in secret for piece in found)


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_that_only_looks_like_a_secret_stays(text: str):
    assert DETECTOR.find(text) == []
