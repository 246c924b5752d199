"""Whether what stands behind a word like `password` is one, or a placeholder, a piece of code or plain prose."""

from __future__ import annotations

import math
import re
from collections import Counter

from mnemic.text.late_pattern import late_pattern

_STAND_INS = frozenset(
    re.split(
        r"\s+",
        """password passwd passwort pass pwd secret token key test testing foo bar baz qux none null nil true false
        undefined str string int bool bytes any object text char varchar required optional hidden masked empty default
        mandatory missing invalid incorrect wrong expired weak strong blank unset set changed reset protected encrypted
        stored sent shown given here prompt stdin env type value input username user hello world todo tbd n/a na
        redacted removed omitted disabled enabled unknown yes no bearer basic jwt oauth oauth2 authorization""",
    )
)
_STAND_IN = late_pattern(
    r"(?i)your[_ -]?|example|placeholder|change[_-]?me|x{4}|\*{3}|\.{3}|…|•{3}|redacted|insert[_-]|dummy|sample"
    r"|replace[_-]?(?:me|with)|<[^>]{1,40}>|my[_-]?(?:secret|password|token|api[_-]?key)(?![a-z0-9])|[_-]here$"
    r"|^[a-z]*(?:password|secret|token)[a-z]*$|^(?:abc)?1?23(?:4(?:5)?)?$"
)
_CODE = late_pattern(
    r"^[${(\[<]|^%\w+%$|^![a-zA-Z]+$|\$\{|\{\{|%\(|%s|^[A-Za-z_][\w.]{0,120}[(\[]"
    r"|^[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60})+$"
    r"|^[A-Z][A-Z0-9_]*_[A-Z0-9_]+$|::|->|=>|^[a-z_]+_[a-z_]+[,;)]{0,3}$|^\d+(?:\.\d+)*$"
    r"|^[a-z]+[A-Z][a-z]+(?:[A-Z][a-z]+)*[,;)]{0,3}$"
)
_MEASURE = late_pattern(
    r"(?i)^\d+[+-]?(?:st|nd|rd|th|x|%|[ -]?(?:char|digit|letter|word|bit|byte|round|day|week|month|year|min|hour|sec"
    r"|s|time)[a-z]{0,8})\W{0,3}$"
    r"|^(?:sha|md5|aes|bcrypt|argon|scrypt|pbkdf|rsa|base64|utf|oauth|http|tls|ssl|wpa|saml|win|ipv|mp3|v\d|2fa|mfa"
    r"|u2f|fido|k8s|s3|ec2)[\w+-]*$"
    r"|^(?:pbkdf2|scrypt|argon2|bcrypt)[:$]"
    r"|^\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\d{1,4})?(?:[ap]m)?$|^\d{1,2}(?::\d\d)?[ap]m$"
)
_UUID = late_pattern(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LINK = late_pattern(r"(?i)^(?:https?:|ftp:|www\.|[\w.+-]+@[\w-]+\.[a-z]{2,}\W?$)")
_PATH = late_pattern(r"^\.{0,2}/|^[A-Za-z]:\\|^~/")
_FEW_LETTERS = 5
"""A long value of fewer different characters is a mask, such as `xxxxxxxx`."""
_LEAST_KEY, _JUDGED = 12, 80
_LEAST_ENTROPY = 2.8
"""Bits per character: random hexadecimal of 16 has about 3.2, words and identifiers with a number mostly less."""
_PATH_ENTROPY = 4.3
"""What begins like a path is one, unless it is that much out of order: a key in base64 may begin with a slash."""
_LEAST_SETTING, _LEAST_SAID, _MOST_DIGITS = 4, 6, 20
_SYMBOLS = frozenset("!@#$%^&*+=?~")


def is_stand_in(value: str) -> bool:
    """True for what examples and masks put in the place of a secret, such as `your-api-key-here` or `****`."""
    is_mask = len(value) > 2 * _FEW_LETTERS and len(set(value)) < _FEW_LETTERS
    return is_mask or value.lower() in _STAND_INS or bool(_STAND_IN.search(value))


def is_mixed(value: str) -> bool:
    """True when letters and digits stand in one value."""
    return any(c.isalpha() for c in value) and any(c.isdigit() for c in value)


def is_key(value: str, *, takes_uuid: bool) -> bool:
    """True when a value looks as if a machine had drawn it: a dozen letters and digits at least, in no order."""
    value = value[:_JUDGED]
    if len(value) < _LEAST_KEY or is_stand_in(value) or _CODE.search(value) or _LINK.search(value):
        return False
    if _UUID.match(value):
        return takes_uuid
    least = _PATH_ENTROPY if _PATH.search(value) else _LEAST_ENTROPY
    return is_mixed(value) and _entropy_bits(value) >= least


def is_password(value: str, *, is_quoted: bool, is_setting: bool) -> bool:
    """True when a value after a word for password may be one. `is_setting`: it fills a line or field such as
    `PASSWORD=…`, where any word counts; elsewhere a plain word does not.
    """
    if len(value) < _LEAST_SETTING or is_stand_in(value) or any(e.search(value) for e in (_LINK, _PATH, _MEASURE)):
        return False
    if is_quoted:
        return is_mixed(value) or not _CODE.match(value)
    if value.isdigit():
        return is_setting or _LEAST_SAID <= len(value) <= _MOST_DIGITS
    if _CODE.search(value):
        return False
    inner = value.strip(".,;:!?()[]'\"*")
    return is_setting or (len(inner) >= _LEAST_SAID and (is_mixed(inner) or not _SYMBOLS.isdisjoint(inner)))


def _entropy_bits(value: str) -> float:
    """The Shannon entropy of the characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
