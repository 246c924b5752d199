"""Generates texts with invented secrets, and harmless texts that look similar, so that this file contains none.

`secrets()` returns texts that must be redacted, `lookalikes()` returns texts that must stay unchanged. The same seed
gives the same texts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
B64 = ALNUM + "+/"
NUMBER = 12
"""Texts of each sort."""

Draw = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Planted:
    """A text and the secret in it; `secret` empty where there is none."""

    sort: str
    text: str
    secret: str = ""


def drawn(rng: random.Random, letters: str, length: int) -> str:
    """A text of random letters, with a digit where the letters have any."""
    value = [rng.choice(letters) for _ in range(length)]
    if any(letter.isdigit() for letter in letters):
        value[rng.randrange(length)] = rng.choice("23456789")
    return "".join(value)


def _after(prefix: str, letters: str, length: int, suffix: str = "") -> Draw:
    return lambda rng: prefix + drawn(rng, letters, length) + suffix


def _jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": drawn(rng, string.digits, 10), "name": drawn(rng, ALNUM, 8), "iat": rng.randrange(10**9)}
    return ".".join([part({"alg": "HS256", "typ": "JWT"}), part(claims), drawn(rng, WORD, 43)])


def _pem(label: str, lines: int) -> Draw:
    def draw(rng: random.Random) -> str:
        dashes = "-" * 5
        body = "\n".join(drawn(rng, B64, 64) for _ in range(lines))
        return f"{dashes}BEGIN {label}{dashes}\n{body}\n{drawn(rng, B64, 22)}==\n{dashes}END {label}{dashes}"

    return draw


def _password(rng: random.Random) -> str:
    word = rng.choice(["Sunflower", "tiger", "Kreuzberg", "maple", "Dragonfly", "qwertz", "OceanBlue", "hunter"])
    return rng.choice(
        [
            f"{word}{rng.randrange(10, 9999)}",
            f"{word}!{rng.randrange(100)}",
            drawn(rng, ALNUM + "!#%&*", 14),
            f"{word}@{rng.randrange(2030)}",
        ]
    )


ISSUED: dict[str, Draw] = {
    "aws access key": _after("AKI" + "A", UPPER, 16),
    "aws temporary key": _after("ASI" + "A", UPPER, 16),
    "google api key": _after("AIz" + "a", WORD, 34, "q"),
    "google oauth token": _after("ya2" + "9.", WORD, 60, "q"),
    "google client secret": _after("GOC" + "SPX-", WORD, 27, "q"),
    "github token": _after("gh" + "p_", ALNUM, 36),
    "github server token": _after("gh" + "s_", ALNUM, 36),
    "github fine-grained token": lambda rng: "github" + "_pat_" + drawn(rng, ALNUM, 22) + "_" + drawn(rng, ALNUM, 59),
    "gitlab token": _after("glp" + "at-", WORD, 19, "q"),
    "slack bot token": lambda rng: (
        "xox" + f"b-{rng.randrange(10**11)}-{rng.randrange(10**12)}-" + drawn(rng, ALNUM, 24)
    ),
    "slack webhook": lambda rng: (
        "T0" + drawn(rng, UPPER, 8) + "/B0" + drawn(rng, UPPER, 8) + "/" + drawn(rng, ALNUM, 24)
    ),
    "stripe live key": _after("sk_" + "live_", ALNUM, 24),
    "stripe restricted key": _after("rk_" + "live_", ALNUM, 24),
    "stripe webhook secret": _after("whs" + "ec_", ALNUM, 32),
    "openai project key": lambda rng: (
        "sk-" + "proj-" + drawn(rng, WORD, 74) + "T3Blbk" + "FJ" + drawn(rng, WORD, 73) + "q"
    ),
    "openai old key": lambda rng: "sk-" + drawn(rng, ALNUM, 20) + "T3Blbk" + "FJ" + drawn(rng, ALNUM, 20),
    "anthropic key": _after("sk-" + "ant-api03-", WORD, 93, "AA"),
    "other sk key": _after("sk" + "-", HEX, 32),
    "huggingface token": _after("h" + "f_", string.ascii_letters, 34),
    "npm token": _after("np" + "m_", ALNUM, 36),
    "pypi token": _after("pyp" + "i-AgEIcHlwaS5vcmc", WORD, 160, "q"),
    "docker token": _after("dckr" + "_pat_", WORD, 26, "q"),
    "json web token": _jwt,
    "sendgrid key": lambda rng: "S" + "G." + drawn(rng, WORD, 22) + "." + drawn(rng, WORD, 42) + "q",
    "twilio key": _after("S" + "K", HEX, 32),
    "mailgun key": _after("ke" + "y-", HEX, 32),
    "telegram bot token": lambda rng: f"{rng.randrange(10**8, 10**10)}:A" + "A" + drawn(rng, WORD, 32) + "q",
    "discord bot token": lambda rng: (
        "M" + drawn(rng, ALNUM, 23) + "." + drawn(rng, ALNUM, 6) + "." + drawn(rng, WORD, 37) + "q"
    ),
    "shopify token": _after("shp" + "at_", HEX, 32),
    "digitalocean token": _after("dop" + "_v1_", HEX, 64),
    "databricks token": _after("da" + "pi", HEX, 32),
    "vault token": _after("hv" + "s.", WORD, 90, "q"),
    "linear key": _after("lin" + "_api_", ALNUM, 40),
    "groq key": _after("gs" + "k_", ALNUM, 52),
    "grafana token": lambda rng: "gls" + "a_" + drawn(rng, ALNUM, 32) + "_" + drawn(rng, HEX, 8),
    "rsa private key": _pem("RSA PRIV" + "ATE KEY", 12),
    "openssh private key": _pem("OPENSSH PRIV" + "ATE KEY", 6),
    "private key": _pem("PRIV" + "ATE KEY", 16),
    "pgp private key": _pem("PGP PRIV" + "ATE KEY BLOCK", 8),
    "age key": _after("AGE-SECRET" + "-KEY-1", UPPER, 58),
}
"""Secrets that can be told by themselves, by sort."""

CARRIERS = (
    "{}",
    "here is the key: {}",
    'export SERVICE_TOKEN="{}"\npython run.py',
    "hey, can you check whether {} still works? I think it was rotated.",
    "我的密钥是 {} ，请帮我看看为什么报错。",
    '{{"user": "mei", "value": "{}", "n": 3}}',
    "2026-03-01T10:00:00Z ERROR request failed url=https://api.internal/v1?k={}&page=2 status=401",
    "deploy:\n  image: web\n  value: {}\n  replicas: 2\n",
)

ANNOUNCED: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "password in a setting": (
        _password,
        (
            "DB_PASSWORD={}",
            'password = "{}"',
            "password: {}",
            "'password': '{}',",
            "spring.datasource.password={}",
            "export PGPASSWORD={}",
            '<add key="Password" value="x"/> Pwd={};',
            "mysql --password {} -h db",
        ),
    ),
    "password in a sentence": (
        _password,
        (
            "the wifi password is {}",
            "My Netflix password is {} in case you need it.",
            "I changed the password to {} yesterday.",
            "my password for the router is now {}.",
            "Login: mei / Password: {}",
            "das Passwort ist {}",
            "la contraseña es {}",
            "le mot de passe est {} , ne le dis à personne",
        ),
    ),
    "password in Chinese, Japanese, Korean": (
        _password,
        (
            "我的密码是{}",
            "密码：{}",
            "路由器密码改成{}了",
            "邮箱密码为 {} ，别告诉别人",
            "パスワードは{}です",
            "パスワード：{}",
            "비밀번호는 {}",
            "wifi密码是{}，你连一下",
        ),
    ),
    "connection string": (
        lambda rng: drawn(rng, ALNUM, 16),
        (
            "postgresql://app:{}@db.internal:5432/prod",
            "connect with mysql://root:{}@10.0.0.5/shop please",
            "redis://:{}@cache:6379/0",
            "mongodb+srv://admin:{}@cluster0.ab1cd.mongodb.net/test",
            "amqp://svc:{}@mq:5672//",
            "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true",
            "https://deploy:{}@git.example.org/team/repo.git",
        ),
    ),
    "bearer header": (
        lambda rng: drawn(rng, WORD, 39) + "q",
        (
            "Authorization: Bearer {}",
            "curl -H 'Authorization: Bearer {}' https://api.internal/me",
            '"authorization": "bearer {}"',
        ),
    ),
    "basic login": (
        lambda rng: base64.b64encode(f"mei:{drawn(rng, ALNUM, 12)}".encode()).decode(),
        ("Authorization: Basic {}", "-H 'Authorization: Basic {}'"),
    ),
    "curl login": (
        lambda rng: drawn(rng, ALNUM, 14),
        ("curl -u mei:{} https://ci.internal/job", "curl --user 'mei:{}' -X POST https://x.internal"),
    ),
    "key in a setting": (
        lambda rng: drawn(rng, ALNUM, 32),
        (
            "API_KEY={}",
            'api_key = "{}"',
            "x-api-key: {}",
            '"clientSecret": "{}"',
            "client_secret: {}",
            "auth_token={}",
            "SECRET_KEY = '{}'",
            "access_token={}&scope=all",
            "my api key is: {}",
            "app-secret: {}",
        ),
    ),
    "aws secret key": (
        lambda rng: drawn(rng, B64, 40),
        ("aws_secret_access_key = {}", '"SecretAccessKey": "{}"', "AWS_SECRET_ACCESS_KEY={}"),
    ),
    "npmrc": (lambda rng: str(uuid.UUID(int=rng.getrandbits(128))), ("//packages.internal/:_authToken={}",)),
    "azure storage": (
        lambda rng: drawn(rng, B64, 86) + "==",
        ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core",),
    ),
}
"""Secrets that only the words around them tell, by sort."""


def secrets(seed: int = 7, number: int = NUMBER) -> Iterator[Planted]:
    """Texts with one secret each, `number` of every sort."""
    rng = random.Random(seed)  # noqa: S311 -- made-up secrets guard nothing
    for sort, draw in ISSUED.items():
        for place in range(number):
            secret = draw(rng)
            carrier = CARRIERS[place % len(CARRIERS)]
            if sort == "slack webhook":
                carrier = carrier.replace("{}", "https://hooks.slack" + ".com/services/{}")
            if "\n" in secret and carrier.startswith("{{"):
                secret = secret.replace("\n", "\\n")
            yield Planted(sort, carrier.format(secret), secret)
    for sort, (draw, carriers) in ANNOUNCED.items():
        for place in range(number):
            secret = draw(rng)
            yield Planted(sort, carriers[place % len(carriers)].format(secret), secret)


_ASKS = (
    "your-api-key-here",
    "<your token>",
    "YOUR_API_KEY",
    "changeme",
    "xxxxxxxxxxxxxxxxxxxx",
    "********",
    "${API_KEY}",
    "{{ secrets.TOKEN }}",
    "$DB_PASSWORD",
    "os.environ['API_KEY']",
    "process.env.SECRET_KEY",
    "getpass.getpass()",
    "None",
    "config.get('token')",
    "...",
    "<password>",
)
_SAYINGS = (
    "I forgot my password again, can you remind me how to reset it?",
    "The password must be at least 12 characters long and hold a digit.",
    "My secret to good bread: let the dough rest for 24 hours.",
    "Her secret is that she never drinks coffee after 3pm.",
    "The password is wrong, it says, but I typed it twice.",
    "Pass me the salt. Password managers are great, I use one since 2019.",
    "The token limit is 4096 tokens: longer prompts are cut.",
    "token: the smallest unit of text that a model reads",
    "Password: required. Username: required.",
    "We need an API key for the weather service; ask Tom at tom.b2@example.org.",
    "The key to success is patience: 90% of it is showing up.",
    "password reset link expires in 30 minutes",
    "Please set the password to something that you remember.",
    "The passport number field takes 9 characters; the pass is valid until 2027-05-01.",
    "def login(user: str, password: str, token: str):\n    return check(password=password, token=token)",
    "if password == user.password and secret_name is None: raise ValueError('password too short')",
    "max_tokens: 4096\ntokenizer: cl100k_base\npassword_file: /run/secrets/db\nsecret_name: prod-db-2024",
    "const apiKey = useApiKey(); const token = await getToken(session.id);",
    "The passphrase is optional; the key type is ed25519.",
    "Passwords are hashed with bcrypt, the salt is 16 bytes, the cost is 12rounds.",
    "The access token is a JWT that expires after 3600s.",
    "The password was changed 2days ago by the admin.",
    "我忘了密码，怎么重置？密码长度至少为8位。",
    "这个秘密只有我知道：他喜欢吃榴莲。",
    "密码学是一门研究信息安全的学科，密钥长度是256位。",
    "今天天气很好，我和小李去了公园，花了45元。",
    "パスワードは8文字以上にしてください。",
    "비밀번호는 8자리 이상이어야 합니다.",
    "Das Passwort ist falsch, sagt das System seit 14Uhr.",
    "La contraseña es incorrecta, me pidió cambiarla el 12/05.",
    "Our wifi password is on the fridge, ask Ana.",
    "See https://docs.example.org/auth#bearer-token and mail ops@example.org; ssh git@github.com:team/repo.git",
    "Authorization: Bearer <token>\nX-Api-Key: YOUR_KEY",
    "https://user:password@example.org/ is how a URL with a login looks.",
    "postgresql://user:${DB_PASSWORD}@localhost/db",
    "The bearer of this letter may enter. Basic training starts in May2027.",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "A private key starts with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.",
    "AKIAIOSFODNN7EXAMPLE is the key that the documentation uses.",
    "The password is set in settings.py, see README.md#L12.",
)


def lookalikes(seed: int = 8, number: int = NUMBER) -> Iterator[Planted]:
    """Harmless texts, `number` of every drawn sort, and sentences."""
    rng = random.Random(seed)  # noqa: S311 -- as above

    def blob(size: int) -> str:
        return base64.b64encode(rng.randbytes(size)).decode()

    def digest() -> str:
        return hashlib.sha256(rng.randbytes(8)).hexdigest()

    sorts: dict[str, Callable[[], str]] = {
        "uuid": lambda: f"request_id={uuid.UUID(int=rng.getrandbits(128))} took 3 ms",
        "git sha": lambda: f"commit {digest()[:40]}\nAuthor: Mei <mei@example.org>\n\n    Fix token refresh",
        "sha256": lambda: f"sha256:{digest()}  model.onnx",
        "lock file": lambda: (
            f'"integrity": "sha512-{blob(64)}",\n"tarball": "https://packages.example.org/a-1.2.{rng.randrange(99)}.tgz"'
        ),
        "base64 image": lambda: f"![plot](data:image/png;base64,{blob(900)})",
        "base64 text": lambda: f"payload: {blob(60)}",
        "minified code": lambda: (
            "!function(e,t){"
            + "".join(
                f"var {drawn(rng, ALNUM[:52], 2)}={rng.randrange(999)},t=e.k[{rng.randrange(9)}];" for _ in range(20)
            )
            + "}(this);"
        ),
        "public ssh key": lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn(rng, B64, 43)} mei@laptop",
        "phone and card like numbers": lambda: (
            f"call +49 30 {rng.randrange(10**7)} or order {rng.randrange(10**15, 10**16)}"
        ),
        "file name": lambda: f"open /var/data/{drawn(rng, ALNUM, 32)}/report_{rng.randrange(2000, 2030)}.pdf",
        "video link": lambda: (
            f"watch https://video.example.org/watch?v={drawn(rng, WORD, 11)}&list=PL{drawn(rng, WORD, 32)}"
        ),
        "password hash": lambda: f"password_hash: $2b$12${drawn(rng, ALNUM, 53)}",
        "stand-in": lambda: rng.choice(
            ("api_key = {}", "password: {}", 'token="{}"', "Authorization: Bearer {}")
        ).format(rng.choice(_ASKS)),
        "public stripe key": lambda: "pk_" + "live_" + drawn(rng, ALNUM, 24),
        "csrf and page tokens": lambda: f"next_page_cursor: {drawn(rng, ALNUM, 24)}",
        "trace header": lambda: f"traceparent: 00-{digest()[:32]}-{digest()[:16]}-01",
        "chemistry": lambda: (
            "CC(C)CC1=CC=C(C=C1)C(C)C(=O)O is ibuprofen; protein MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDG"
            "TQDNLSGAEKAVQVKVKALPDAQFEVV"
        ),
    }
    for sort, draw in sorts.items():
        for _ in range(number):
            yield Planted(sort, draw())
    for saying in _SAYINGS:
        yield Planted("sentence", saying)
