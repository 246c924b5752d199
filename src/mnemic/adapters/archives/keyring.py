"""The keyring as a JSON file that only its owner may read, replaced atomically under a lock. A master key encrypts
every secret. Org names are keyed hashes. A destroyed key leaves its id and two times, so that a restore can explain it.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.adapters.archives.sealed import KEY_BYTES
from mnemic.adapters.indexes.hnsw import lease_at_once
from mnemic.errors import ConfigError, UnavailableError
from mnemic.ports.files import DataKey, Destroy, Keyring

FORMAT, VERSION = "mnemic-keyring", 1  # raise the version if an older Mnemic must not read the file
SHORTEST_MASTER = 16  # characters: 64 bits if hexadecimal, and scrypt slows down each guess
_NONCE_BYTES = 12  # 96 bits, as NIST SP 800-38D recommends for GCM
_SCRYPT = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 26}
_PAUSE_S = 0.02  # between two attempts to lock; locks last milliseconds


@dataclass(slots=True)
class _Held:
    """The content of a keyring: keys by id, each with the keyed hash of its org."""

    id: str
    salt: bytes
    naming: bytes
    keys: dict[str, tuple[str, DataKey]] = field(default_factory=dict[str, tuple[str, DataKey]])

    def name(self, org: str | None) -> str:
        """The keyed hash of an org, or of rows without one."""
        said = b"shared" if org is None else b"org\x1f" + org.encode("utf-8", "surrogatepass")
        return hmac.new(self.naming, said, hashlib.sha256).hexdigest()

    def of(self, org: str | None) -> list[DataKey]:
        """All keys of an org, destroyed ones included."""
        name = self.name(org)
        return [key for named, key in self.keys.values() if named == name]


class FileKeyring:
    """The `Keyring` port over a file at `path`, created with the first key. Waits `lock_wait_s` for other processes."""

    def __init__(self, path: str | Path, master: str | None = None, *, lock_wait_s: float = 10.0) -> None:
        if master is not None and len(master) < SHORTEST_MASTER:
            raise ConfigError(f"backup.master-key must have at least {SHORTEST_MASTER} characters")
        self._path, self._master, self._lock_wait_s = Path(path), master, lock_wait_s
        self._wrapping: dict[bytes, AESGCM] = {}

    @property
    def id(self) -> str:
        with self._errors():
            held = self._read()
        return "" if held is None else held.id

    def issue(self, orgs: Collection[str | None], at: datetime) -> Mapping[str | None, DataKey]:
        with self._errors(), self._hold_lock():
            held = self._read() or _Held(secrets.token_hex(8), secrets.token_bytes(16), secrets.token_bytes(KEY_BYTES))
            alive = {named: key for named, key in held.keys.values() if key.secret}
            found = {org: alive.get(held.name(org)) for org in orgs}
            fresh = {
                org: DataKey(secrets.token_hex(8), at, secrets.token_bytes(KEY_BYTES))
                for org, key in found.items()
                if key is None
            }
            if fresh:
                held.keys |= {key.id: (held.name(org), key) for org, key in fresh.items()}
                self._write(held)
            return {org: key for org, key in found.items() if key is not None} | fresh

    def find(self, ids: Collection[str]) -> Mapping[str, DataKey]:
        with self._errors():
            held = self._read()
        return {} if held is None else {each: held.keys[each][1] for each in ids if each in held.keys}

    def of(self, orgs: Collection[str]) -> Mapping[str, Sequence[DataKey]]:
        with self._errors():
            held = self._read()
        return {org: [] if held is None else held.of(org) for org in orgs}

    @contextmanager
    def destroying(self) -> Generator[Destroy]:
        with self._hold_lock():

            def destroy(org: str, at: datetime, until: datetime | None) -> int:
                with self._errors():
                    held = self._read()
                    keys = [] if held is None else held.of(org)
                    gone = [key for key in keys if key.secret and (until is None or key.made_at <= until)]
                    if held is not None and gone:
                        name = held.name(org)
                        held.keys |= {key.id: (name, replace(key, secret=b"", destroyed_at=at)) for key in gone}
                        self._write(held)
                    return len(gone)

            yield destroy

    @contextmanager
    def _hold_lock(self) -> Generator[None]:
        deadline = time.monotonic() + self._lock_wait_s
        with ExitStack() as stack:
            with self._errors():
                while not stack.enter_context(lease_at_once(self._path_beside("lock"))):
                    stack.close()
                    if time.monotonic() > deadline:
                        raise UnavailableError(f"the keyring {self._path} is locked by another process; try again")
                    time.sleep(_PAUSE_S)
                self._clear()
            yield

    def _read(self) -> _Held | None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            told: Any = json.loads(text)
            _check_format(told, self._path)
            salt = bytes.fromhex(told["salt"])
            wrapping = self._wrapping_key(salt, is_needed=bool(told["is_wrapped"]))
            held = _Held(str(told["id"]), salt, _unwrap_secret(wrapping, told["naming"], "naming"))
            for each in told["keys"]:
                held.keys[each["id"]] = (each["org"], _key(wrapping, each))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(
                f"{self._path} is damaged or not a Mnemic keyring; restore a copy of it. Without the keyring, "
                "sealed backups cannot be opened. To create new keys for new backups, move the file away"
            ) from error
        except InvalidTag as error:
            raise ConfigError(
                f"the master key does not match the keyring {self._path}; correct MNEMIC_BACKUP_MASTER_KEY"
            ) from error
        return held

    def _wrapping_key(self, salt: bytes, *, is_needed: bool) -> AESGCM | None:
        if not is_needed:
            return None
        if self._master is None:
            raise ConfigError(f"the keyring {self._path} requires its master key; set MNEMIC_BACKUP_MASTER_KEY")
        if salt not in self._wrapping:
            self._wrapping[salt] = AESGCM(hashlib.scrypt(self._master.encode(), salt=salt, dklen=KEY_BYTES, **_SCRYPT))
        return self._wrapping[salt]

    def _write(self, held: _Held) -> None:
        """Replace the file. Old content, also of a process that died, is overwritten before this returns."""
        wrapping = self._wrapping_key(held.salt, is_needed=self._master is not None)
        told = {
            "format": FORMAT,
            "version": VERSION,
            "id": held.id,
            "is_wrapped": wrapping is not None,
            "salt": held.salt.hex(),
            "naming": _wrap_secret(wrapping, held.naming, "naming"),
            "keys": [_key_record(wrapping, org, key) for org, key in held.keys.values()],
        }
        new, old = self._path_beside("new"), self._path_beside("old")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write((json.dumps(told, indent=1) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
        with ExitStack() as stack:
            left = self._keep_old(old, stack) if self._path.exists() else None
            new.replace(self._path)
            self._settle()
            if left is not None:
                _overwrite(left)
        self._clear()

    def _keep_old(self, old: Path, stack: ExitStack) -> IO[bytes] | None:
        """Rename the old file so that the next process can overwrite it. Without hard links, only open it."""
        try:
            os.link(self._path, old)
        except OSError:
            return stack.enter_context(self._path.open("r+b"))
        return None

    def _clear(self) -> None:
        """Overwrite and remove leftovers of a write, perhaps of a dead process, because they may contain keys."""
        for left in (self._path_beside("new"), self._path_beside("old")):
            if not left.exists():
                continue
            if not (self._path.exists() and left.samefile(self._path)):
                with left.open("r+b") as file:
                    _overwrite(file)
            left.unlink()
            self._settle()

    def _settle(self) -> None:
        """Make new names in the folder durable."""
        if hasattr(os, "O_DIRECTORY"):
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _path_beside(self, suffix: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{suffix}")

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise UnavailableError(
                f"the keyring {self._path} cannot be read or written: {error.strerror or error}"
            ) from error


def _overwrite(file: IO[bytes]) -> None:
    file.write(bytes(os.fstat(file.fileno()).st_size))
    file.flush()
    os.fsync(file.fileno())


def _check_format(told: Mapping[str, Any], path: Path) -> None:
    if told["format"] != FORMAT:
        raise ValueError(told["format"])
    if int(told["version"]) > VERSION:
        raise ConfigError(f"the keyring {path} was written by a newer Mnemic; run `pip install --upgrade mnemic`")


def _key_record(wrapping: AESGCM | None, org: str, key: DataKey) -> dict[str, object]:
    told: dict[str, object] = {"id": key.id, "org": org, "made_at": key.made_at.isoformat()}
    if key.destroyed_at is not None:
        return {**told, "destroyed_at": key.destroyed_at.isoformat()}
    return {**told, "secret": _wrap_secret(wrapping, key.secret, key.id)}


def _key(wrapping: AESGCM | None, told: Mapping[str, str]) -> DataKey:
    made_at = datetime.fromisoformat(told["made_at"])
    if "destroyed_at" in told:
        return DataKey(told["id"], made_at, b"", datetime.fromisoformat(told["destroyed_at"]))
    return DataKey(told["id"], made_at, _unwrap_secret(wrapping, told["secret"], told["id"]))


def _wrap_secret(wrapping: AESGCM | None, secret: bytes, bound: str) -> str:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    kept = secret if wrapping is None else nonce + wrapping.encrypt(nonce, secret, bound.encode())
    return base64.b64encode(kept).decode()


def _unwrap_secret(wrapping: AESGCM | None, text: str, bound: str) -> bytes:
    kept = base64.b64decode(text, validate=True)
    if wrapping is not None:
        kept = wrapping.decrypt(kept[:_NONCE_BYTES], kept[_NONCE_BYTES:], bound.encode())
    if len(kept) != KEY_BYTES:
        raise ValueError(len(kept))
    return kept


_: type[Keyring] = FileKeyring
