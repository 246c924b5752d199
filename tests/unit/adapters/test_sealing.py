"""What is sealed opens as a whole, in its order and in its place, or not at all; whatever is done to the bytes."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic import Mnemic, check_backup
from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.adapters.archives.sealed import PartCipher
from mnemic.config import Config
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.scope import Scope

SECRET = bytes(range(32))
CHUNK = (1 << 20) + 16
POSITIONS = 600
ANA, BORIS = Scope(org="acme", user="ana"), Scope(org="globex", user="boris")


def seal(content: bytes, secret: bytes = SECRET, backup: str = "b1", part: str = "p1") -> bytes:
    return b"".join(PartCipher(secret, backup, part).sealed([content]))


def unseal(content: bytes, secret: bytes = SECRET, backup: str = "b1", part: str = "p1") -> bytes:
    return b"".join(PartCipher(secret, backup, part).opened(io.BytesIO(content)))


@pytest.mark.requirement("P-37")
class TestAPart:
    @pytest.mark.parametrize("size", [0, 1, 1000, (1 << 20) - 400, 1 << 20, 3 << 20])
    def test_opens_as_what_was_sealed(self, size: int):
        content = os.urandom(size)
        assert unseal(seal(content)) == content

    def test_that_shrinks_much_comes_in_small_pieces(self):
        sealed = seal(bytes(50 << 20))
        pieces = [len(piece) for piece in PartCipher(SECRET, "b1", "p1").opened(io.BytesIO(sealed))]
        assert (sum(pieces), max(pieces)) == (50 << 20, 1 << 20)

    @pytest.mark.parametrize(
        "names", [{"secret": bytes(32)}, {"backup": "b2"}, {"part": "p2"}, {"backup": "b", "part": "1p1"}]
    )
    def test_opens_with_no_other_key_and_in_no_other_place(self, names: dict[str, str]):
        with pytest.raises(InvalidInputError, match="damaged or belongs to another backup"):
            unseal(seal(b"a secret"), **names)  # type: ignore[arg-type] -- names of its arguments

    @pytest.mark.parametrize(
        "order", [(0, 1, 2), (0,), (), (1, 2, 3), (1, 0, 2, 3), (0, 1, 1, 2, 3), (0, 1, 2, 3, 3), (3,)]
    )
    def test_whose_pieces_are_cut_off_moved_or_repeated_does_not_open(self, order: tuple[int, ...]):
        sealed = seal(os.urandom(3 << 20))
        chunks = [sealed[start : start + CHUNK] for start in range(0, len(sealed), CHUNK)]
        assert len(chunks) == 4
        with pytest.raises(InvalidInputError):
            unseal(b"".join(chunks[number] for number in order))

    def test_with_a_byte_less_or_more_does_not_open(self):
        for sealed in (seal(b"a secret"), seal(os.urandom(2 << 20))):
            for changed in (sealed[:-1], sealed + b"\0", sealed[1:]):
                with pytest.raises(InvalidInputError):
                    unseal(changed)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "keyring.json"


@pytest.fixture
def memory(tmp_path: Path, ring: Path) -> Mnemic:
    mnemic = Mnemic.open(Config(store=str(tmp_path / "memory.db"), embedder="none", backup_keyring=ring))
    mnemic.remember(ANA, "Saw a greenfinch")
    mnemic.remember(BORIS, "Saw a goldcrest")
    return mnemic


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def write(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for name, value in content.items():
            packed.writestr(name, value)


@pytest.mark.requirement("P-37")
class TestASealedFile:
    def test_with_any_byte_changed_is_refused_or_reads_the_same(self, memory: Mnemic, ring: Path, tmp_path: Path):
        path, damaged = tmp_path / "b.zip", tmp_path / "damaged.zip"
        config = Config(backup_keyring=ring)
        manifest = memory.backup(path).manifest
        content, chance = path.read_bytes(), random.Random(20_261_122)
        refused = 0
        for position in chance.sample(range(len(content)), POSITIONS):
            changed = bytearray(content)
            changed[position] ^= 1 << chance.randrange(8)
            damaged.write_bytes(changed)
            try:
                report = check_backup(damaged, config=config if position % 5 else None)
            except (InvalidInputError, ConfigError):
                refused += 1
            else:
                assert (report.manifest, report.lost) == (manifest, ())
        assert refused > POSITIONS * 3 // 4

    def test_cut_anywhere_is_refused(self, memory: Mnemic, tmp_path: Path):
        path, damaged = tmp_path / "b.zip", tmp_path / "damaged.zip"
        memory.backup(path)
        content = path.read_bytes()
        for size in random.Random(1).sample(range(len(content)), 100):
            damaged.write_bytes(content[:size])
            with pytest.raises(InvalidInputError, match="damaged or not a backup"):
                check_backup(damaged)

    def test_with_a_part_or_manifest_of_another_or_without_one_is_refused(
        self, memory: Mnemic, ring: Path, tmp_path: Path
    ):
        memory.backup(tmp_path / "first.zip")
        memory.remember(ANA, "Saw a linnet")
        memory.backup(tmp_path / "b.zip")
        first, whole = members(tmp_path / "first.zip"), members(tmp_path / "b.zip")
        manifest = json.loads(whole["manifest.json"])
        without_one = manifest | {"sealed": manifest["sealed"] | {"parts": manifest["sealed"]["parts"][:1]}}
        another_time = manifest | {"made_at": "2020-01-01T00:00:00+00:00"}
        fewer = manifest | {"counts": {}}
        names = sorted(name for name in whole if name != "manifest.json")
        swapped = {names[0]: whole[names[1]], names[1]: whole[names[0]]}
        forged = [
            *(whole | {name: first[name]} for name in whole),
            *({other: whole[other] for other in whole if other != name} for name in whole),
            whole | swapped,
            *(whole | {"manifest.json": json.dumps(each).encode()} for each in (without_one, another_time, fewer)),
        ]
        before = memory.list(ANA).memories
        for content in forged:
            write(tmp_path / "forged.zip", content)
            with pytest.raises(InvalidInputError, match="damaged or not a backup"):
                check_backup(tmp_path / "forged.zip", config=Config(backup_keyring=ring))
            with pytest.raises(InvalidInputError, match="damaged or not a backup"):
                memory.restore(tmp_path / "forged.zip", is_replacing=True)
        assert memory.list(ANA).memories == before
        write(tmp_path / "forged.zip", whole)
        assert memory.restore(tmp_path / "forged.zip", is_replacing=True).lost == ()

    def test_names_no_place_outside_of_it(self, memory: Mnemic, ring: Path, tmp_path: Path):
        memory.backup(tmp_path / "b.zip")
        whole = members(tmp_path / "b.zip")
        told = json.loads(whole["manifest.json"])
        told["sealed"]["shared"] = "../../../etc/passwd"
        write(tmp_path / "b.zip", whole | {"manifest.json": json.dumps(told).encode()})
        with pytest.raises(InvalidInputError, match="manifest cannot be read"):
            check_backup(tmp_path / "b.zip", config=Config(backup_keyring=ring))

    def test_damaged_in_a_part_that_was_erased_is_refused_still(self, memory: Mnemic, ring: Path, tmp_path: Path):
        path = tmp_path / "b.zip"
        memory.backup(path)
        key = FileKeyring(ring).of([ANA.org])[ANA.org][0].id
        memory.erase(ANA, level="org")
        whole = members(path)
        part = bytearray(whole[f"parts/{key}.sealed"])
        part[len(part) // 2] ^= 1
        write(path, whole | {f"parts/{key}.sealed": bytes(part)})
        with pytest.raises(InvalidInputError, match=f"part {key} has changed since the backup was made"):
            memory.restore(path, is_replacing=True)
        assert datetime.now(UTC) > FileKeyring(ring).of([ANA.org])[ANA.org][0].made_at
