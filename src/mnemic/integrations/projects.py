"""Finds a folder's project: the agent whose memory a coding assistant uses there.

Clones of one remote share a project, as do worktrees. A repository without a remote has its own project, and so does a
folder without git. A random mark identifies a repository or folder after a move: `mnemic` in git's common directory, or
an extended attribute. The register in the user's data folder has one file per mark, with its place and project.

A repository may be hostile. Git is never run, links are not followed, and a mark is valid only in its registered place,
or in a new one if the old one no longer has it.
"""

import hashlib
import json
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from mnemic.config.values import own_store
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.document import MEBIBYTE
from mnemic.model.scope import PROJECT_PREFIX, Scope

REMOTE, OWN, CHOSEN = "remote", "own", "chosen"
"""Why a place has its project: because of its remote, its own mark, or the user's choice."""

MAX_REMOTE_CHARS = 200  # ids have at most 255 characters, including the prefix
_ATTRIBUTE = "user.mnemic.project"
_MARK = re.compile(r"[\w.-]{1,40}-[0-9a-f]{32}")  # also a file name
_UNSAFE = re.compile(r"[^\w.-]+")
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SCP = re.compile(r"(?:[^@/]+@)?([^:/@]{2,}):(?!//)(.*)")  # a host of one character is a Windows drive
_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


@dataclass(frozen=True, slots=True)
class Project:
    """The project (`id`) of a `place`: a git common directory, or a folder without git. `remote`: normalised, "" if
    there is none. `is_marked`: the place has the mark. Otherwise, it is identified by its path.
    """

    mark: str
    id: str
    place: str
    reason: str
    remote: str = ""
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A folder's project, and a note for the user if a memory is first shared here or a mark was refused."""

    project: Project
    note: str = ""


def find_project(folder: Path) -> Found | None:
    """A folder's project, registered if it is new. None for a missing folder, the home folder and its parents."""
    folder = folder.resolve()
    if not folder.is_dir() or _is_too_wide(folder):
        return None
    repository = _find_repository(folder)
    place, mark, known = (repository[1], *_look_up(repository[1])) if repository else _find_folder(folder)
    remote = read_remote(*repository) if repository else ""
    copied: Project | None = None
    if known is not None and known.place != str(place):
        if _read_mark(Path(known.place)) == mark:
            copied, known, mark = known, None, None
        else:
            known = _register(replace(known, place=str(place)))
    if known is not None:
        adopts = remote and known.reason == OWN and remote != known.remote
        return Found(_register(replace(known, remote=remote)) if adopts else known)
    mark, is_marked = _put_mark(place, mark or _new_mark(repository[0] if repository else place), is_new=mark is None)
    same = [each for each in list_projects() if remote and each.remote == remote and each.reason != CHOSEN]
    own = f"{PROJECT_PREFIX}{remote or mark}"
    chosen = next((each.id for each in sorted(same, key=lambda each: each.id != own)), own)
    project = Project(mark, chosen, str(place), REMOTE if remote else OWN, remote, is_marked)
    note = f"{place} shares memory with {same[0].place}, because both are clones of {remote}" if same else ""
    if copied is not None and copied.id != chosen:
        note = f"{place} is a copy of {copied.place} with its own memory; to share one, run `mnemic project join`"
    return Found(_register(project), note)


def choose_project(folder: Path, id: str | None) -> Project:
    """Give a folder another project's memory, or for None a new one of its own. Raises `InvalidInputError` if the
    folder cannot have a project.
    """
    found = find_project(folder)
    if found is None:
        raise InvalidInputError(f"{folder} is missing, or is your home folder or above it; choose another folder")
    chosen = id or f"{PROJECT_PREFIX}{_new_mark(Path(found.project.place))}"
    Scope(agent=chosen)  # checks the id
    return _register(replace(found.project, id=chosen, reason=CHOSEN))


def list_projects() -> list[Project]:
    """All registered places and their projects, by id."""
    marks = [file.stem for file in _find_register().glob("*.json")]
    return sorted((each for mark in marks if (each := _read_entry(mark))), key=lambda each: (each.id, each.place))


def read_remote(root: Path, common: Path) -> str:
    """The normalised address of the repository's remote `origin`, or of its only remote. "" if there is neither."""
    found = _read_config(common).items()
    urls = {name: value for (kind, name, key), value in found if (kind, key) == ("remote", "url")}
    url = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else "")
    return normalise_remote(url, root) if url else ""


def normalise_remote(url: str, root: Path) -> str:
    """`host/path` of a remote without user, password and `.git`, the same for https, ssh and git. `file:/path` for a
    path, which may be relative to `root`. "" for any other address.
    """
    scp = _SCP.fullmatch(url)
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return ""
        is_default = port in (None, _DEFAULT_PORTS.get(parts.scheme.removeprefix("git+")))
        host, path = host if is_default else f"{host}:{port}", parts.path
        if not host and parts.scheme != "file":
            return ""
    elif "::" in url:  # runs a helper program
        return ""
    else:
        host, path = (scp[1].lower(), scp[2]) if scp else ("", url)
    local = "" if host else os.path.normpath(root / path)
    name = f"{host}/{path.strip('/')}" if host else f"file:{local}"
    name = name.rstrip("/").removesuffix(".git").rstrip("/")
    if len(name) > MAX_REMOTE_CHARS:
        name = f"{name[:100].rstrip()}/{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
    return name if name.isprintable() and name == name.strip() else ""


def _is_too_wide(folder: Path) -> bool:
    """True for the home folder and its parents. They contain all projects but are not projects."""
    return folder == Path(folder.anchor) or Path.home().resolve().is_relative_to(folder)


def _find_repository(folder: Path) -> tuple[Path, Path] | None:
    """The top folder and the common directory of a folder's repository. None unless the user owns both."""
    for root in (folder, *folder.parents):
        if _is_too_wide(root):
            return None
        git = root / ".git"
        try:
            kind = git.lstat().st_mode
        except OSError:
            continue
        common = git if stat.S_ISDIR(kind) else _follow_link(root, git) if stat.S_ISREG(kind) else None
        if common is not None and _is_repository(common):
            return (root, common) if _is_own(git) and _is_own(common) else None
        if not stat.S_ISDIR(kind):
            return None
    return None


def _follow_link(root: Path, git: Path) -> Path | None:
    """The common directory that a `.git` file names, if it refers back to this folder or is inside it. Otherwise, any
    file could claim another repository.
    """
    word, _, named = _read_small(git).strip().partition(": ")
    if word != "gitdir" or not named or "\0" in named:
        return None
    target = (root / named).resolve()
    if target.parent.name == "worktrees":
        back = _read_small(target / "gitdir").strip()
        is_mutual = bool(back) and "\0" not in back and (target / back).parent.resolve() == root
        return target.parent.parent if is_mutual else None
    back = _read_config(target).get(("core", "", "worktree"), "")
    is_mutual = bool(back) and "\0" not in back and (target / back).resolve() == root
    return target if is_mutual or root in target.parents else None


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir()


def _is_own(path: Path) -> bool:
    """True if the user owns the path, as git requires. Another account could have written anything into it."""
    return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()


def _read_config(git: Path) -> dict[tuple[str, str, str], str]:
    """Values in git's configuration file by section, subsection and key. The first value counts. Ignores includes."""
    found: dict[tuple[str, str, str], str] = {}
    kind = name = ""
    for line in map(str.strip, _read_small(git / "config", MEBIBYTE).splitlines()):
        if section := _SECTION.match(line):
            kind, name = section[1].lower(), re.sub(r"\\(.)", r"\1", section[2] or "")
        key, _, value = line[section.end() if section else 0 :].partition("=")
        found.setdefault((kind, name, key.strip().lower()), re.split(r"\s[#;]", value)[0].strip().strip('"'))
    return found


def _find_folder(folder: Path) -> tuple[Path, str | None, Project | None]:
    """The nearest known folder without git, from `folder` upwards, with its mark and project; `folder` if it is new."""
    for place in (folder, *folder.parents):
        if _is_too_wide(place):
            break
        mark, known = _look_up(place)
        if known is not None:
            return place, mark, known
    return folder, _read_mark(folder), None


def _look_up(place: Path) -> tuple[str | None, Project | None]:
    """A place's mark and project, found by the mark, or by the path if it could not be marked."""
    mark = _read_mark(place)
    if mark is not None:
        return mark, _read_entry(mark)
    return None, next((each for each in list_projects() if each.place == str(place) and not each.is_marked), None)


def _new_mark(place: Path) -> str:
    name = (place.parent if place.name == ".git" else place).name
    return f"{_UNSAFE.sub('-', name)[:40] or 'folder'}-{secrets.token_hex(16)}"


def _read_mark(place: Path) -> str | None:
    try:
        text = _read_small(place / "mnemic") if _is_repository(place) else os.getxattr(place, _ATTRIBUTE).decode()
    except (OSError, ValueError, AttributeError):  # only Linux has extended attributes
        return None
    return text.strip() if _MARK.fullmatch(text.strip()) else None


def _put_mark(place: Path, mark: str, *, is_new: bool) -> tuple[str, bool]:
    """Write a mark to a place. Returns the valid mark, which another process may have written first, and whether the
    place has it.
    """
    if is_new:
        with suppress(OSError, AttributeError):
            if _is_repository(place):
                part = place / f"mnemic.{secrets.token_hex(8)}"
                part.write_text(f"{mark}\n", encoding="utf-8")
                part.replace(place / "mnemic")
            else:
                os.setxattr(place, _ATTRIBUTE, mark.encode())
    held = _read_mark(place)
    return held or mark, held is not None


def _find_register() -> Path:
    return Path(own_store(os.environ)).with_name("projects")


def _read_entry(mark: str) -> Project | None:
    try:
        entry: object = json.loads(_read_small(_find_register() / f"{mark}.json", MEBIBYTE))
        return Project(**cast("dict[str, Any]", entry)) if isinstance(entry, dict) else None
    except (ValueError, TypeError):
        return None


def _register(project: Project) -> Project:
    folder = _find_register()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = folder / f".{secrets.token_hex(8)}"
        part.write_text(json.dumps(asdict(project)), encoding="utf-8")
        part.replace(folder / f"{project.mark}.json")
    except OSError as error:
        raise ConfigError(f"the project register {folder} cannot be written: {error.strerror}") from error
    return project


def _read_small(file: Path, most: int = 4096) -> str:
    """The text of a regular file. "" for links, other file types, and files that are too long or unreadable."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(file, flags)
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return ""
        return opened.read(most).decode(errors="replace")
