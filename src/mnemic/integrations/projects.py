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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from mnemic.config.values import own_store
from mnemic.errors import ConfigError, InvalidInputError, NotFoundError
from mnemic.model.document import MEBIBYTE
from mnemic.model.scope import PROJECT_PREFIX, Scope

REMOTE, OWN, CHOSEN = "remote", "own", "chosen"
"""Why a place has its project: because of its remote, its own mark, or the user's choice."""

MAX_REMOTE_CHARS = 200  # ids have at most 255 characters, including the prefix
_ATTRIBUTE = "user.mnemic.project"
_MARK = re.compile(r"[\w.-]{1,40}-[0-9a-f]{32}")  # also a file name
_UNSAFE = re.compile(r"[^\w.-]+")
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*+(?:"((?:[^"\\]|\\.)*+)"\s*+)?\]')
_SCP = re.compile(r"(?:([^@/]+)@)?([^:/@]{2,}):(?!//)(.*)")  # a host of one character is a Windows drive
_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


@dataclass(frozen=True, slots=True)
class Project:
    """The project (`id`) of a `place`: a git common directory, or a folder without git. `remote`: normalised, "" if
    there is none. `is_marked`: the place has the mark. Otherwise, it is identified by its path. `note`: a text that
    the user has not seen yet.
    """

    mark: str
    id: str
    place: str
    reason: str
    remote: str = ""
    is_marked: bool = False
    note: str = ""


_List = Callable[[], "list[Project]"]


def find_project(folder: Path) -> Project | None:
    """A folder's project, registered if it is new. None for the home folder and its parents. Raises `NotFoundError` for
    a missing or unreachable folder, unless it or a parent is registered.
    """
    folder = _resolve(folder)
    known = cache(list_projects)
    if not is_folder(folder):
        return _find_missing(folder, known)
    if _is_too_wide(folder):
        return None
    repository = _find_repository(folder)
    if repository is None:
        places = takewhile(lambda each: not _is_too_wide(each), (folder, *folder.parents))
        nearest = next(filter(None, (_look_up(each, known) for each in places)), None)
        return nearest or _add(folder, folder, "", known)
    root, common = repository
    remote = read_remote(root, common)
    found = _look_up(common, known)
    return _add(common, root, remote, known) if found is None else _follow_remote(found, remote, known)


def choose_project(folder: Path, id: str | None) -> Project:
    """Give a folder another project's memory, or a new one if `id` is None. In a repository, this applies to all of it.
    Raises `InvalidInputError` if the folder cannot have a project, and `NotFoundError` if it is missing and is not
    registered itself.
    """
    folder = _resolve(folder)
    found = find_project(folder)
    if found is None:
        raise InvalidInputError(f"{folder} is your home folder or one of its parents; choose another folder")
    if not is_folder(folder) and found.place not in (str(folder), str(folder / ".git")):
        raise NotFoundError(f"the folder {folder} does not exist, and only its parent {found.place} is registered")
    if is_folder(folder) and _find_repository(folder) is None and not _is_same(found.place, folder):
        found = _add(folder, folder, "", list_projects)
    chosen = id or f"{PROJECT_PREFIX}{_new_mark(Path(found.place))}"
    Scope(agent=chosen)  # checks the id
    return _register(replace(found, id=chosen, reason=CHOSEN, note=""))


def clear_note(project: Project) -> None:
    """Forget a project's note, because the user has seen it."""
    now = _read_entry(project.mark)  # the user may have run `mnemic project join` in the meantime
    if now and now.note == project.note:
        _register(replace(now, note=""))


def list_projects() -> list[Project]:
    """All registered places and their projects, by id."""
    marks = [file.stem for file in _find_register().glob("*.json")]
    return sorted((each for mark in marks if (each := _read_entry(mark))), key=lambda each: (each.id, each.place))


def is_folder(path: Path) -> bool:
    """True for a folder that can be reached."""
    return os.path.isdir(path)  # noqa: PTH112 -- `Path.is_dir` raises below an unreadable folder


def read_remote(root: Path, common: Path) -> str:
    """The normalised address of the repository's remote `origin`, or of its only remote. "" if there is neither."""
    found = _read_config(common).items()
    urls = {name: value for (kind, name, key), value in found if (kind, key) == ("remote", "url")}
    url = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else "")
    return normalise_remote(url, common.parent if common.name == ".git" else root) if url else ""


def normalise_remote(url: str, root: Path) -> str:
    """`host/path` of a remote without password and `.git`, the same for https, ssh and git. `user@host/~/path` in a
    user's home folder, unless the user is `git`, as on hosting sites. `file:/path` for a path, which may be relative to
    `root`. "" for any other address, and for one with a query or without a path.
    """
    scp = _SCP.fullmatch(url)
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port, user = parts.hostname or "", parts.port, parts.username
        except ValueError:
            return ""
        is_default = port in (None, _DEFAULT_PORTS.get(parts.scheme.removeprefix("git+")))
        host, path = host if is_default else f"{host}:{port}", parts.path
        is_in_home = path.startswith("/~")
        if (not host and parts.scheme != "file") or parts.query or parts.fragment:
            return ""
        host = f"file:{host}" if host and parts.scheme == "file" else host
    elif "::" in url:  # runs a helper program
        return ""
    else:
        user, host, path = (scp[1], scp[2].lower(), scp[3]) if scp else (None, "", url)
        is_in_home = not path.startswith("/") or path.startswith("/~")
    local = "" if host else os.path.normpath(root / path)
    path = path.strip("/")
    if is_in_home:
        path = path.removeprefix("~/")
        path, host = (path, host) if user == "git" else (f"~/{path}", f"{user}@{host}" if user else host)
    name = f"{host}/{path}" if not local else f"file:{local}"
    name = name.rstrip("/").removesuffix(".git").rstrip("/")
    if len(name) > MAX_REMOTE_CHARS:
        name = f"{name[:100].rstrip()}/{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
    is_named = local or path.removesuffix(".git")
    return name if is_named and name.isprintable() and name == name.strip() else ""


def _add(place: Path, root: Path, remote: str, known: _List) -> Project:
    """Register a new place in the folder `root`. `git init` in a known folder keeps the project. A copy does not get
    its original's project, unless both are clones of `remote`.
    """
    held = _read_mark(place)
    copied = _read_entry(held) if held else None
    copied = None if copied and _is_same(copied.place, place) else copied  # same: another process was faster
    mark, is_marked = _put_mark(place, _derive_mark(copied.mark, place) if copied else _new_mark(root), copied)
    same = [each for each in known() if remote and each.remote == remote and each.reason != CHOSEN]
    own, note, reason = f"{PROJECT_PREFIX}{remote or mark}", "", REMOTE if remote else OWN
    others = [each for each in known() if each.id == own and each.remote != remote and each.reason != CHOSEN]
    before = _look_up(root, known) if copied is None and place == root / ".git" else None
    if before is not None:
        own, reason = before.id, before.reason
    elif copied is not None and copied.reason == CHOSEN:
        own, reason = f"{PROJECT_PREFIX}{mark}", CHOSEN
    elif same:
        own = min(same, key=lambda each: each.id != own).id
        clones = [each.place for each in same if each.place != str(place)]  # not a former clone in the same folder
        note = f"{place} shares memory with {clones[0]}, because both are clones of {remote}" if clones else ""
    elif others:  # a repository that had this remote
        own, reason = f"{PROJECT_PREFIX}{mark}", OWN
    if copied is not None and copied.id != own:
        note = f"{place} is a copy of {copied.place} with its own memory; to share memory, run `mnemic project join`"
    if not is_marked and copied is None:
        mark = _derive_mark("", place)
    return _register(Project(mark, own, str(place), reason, remote, is_marked, note), is_new=True)


def _follow_remote(project: Project, remote: str, known: _List) -> Project:
    """Record a new or changed remote. The project stays the same, because its memory must not be lost."""
    if not remote or remote == project.remote:
        return project
    note, place = project.note, project.place
    sharing = [each for each in known() if each.id == project.id and each.remote not in ("", remote)]
    others = [each.place for each in sharing if each.place != place]
    if project.remote and project.reason != CHOSEN and others:
        note = f"{place} still shares memory with {others[0]}, although its remote is now {remote}; to separate them, "
        note += "run `mnemic project leave`"
    now = _read_entry(project.mark) or project
    return _register(replace(project, remote=remote, note=note)) if now == project else now


def _find_missing(folder: Path, known: _List) -> Project | None:
    """The project of a folder that was deleted or moved, by its path."""
    registered = {each.place: each for each in known()}
    for each in (folder, *folder.parents):
        if os.path.lexists(each / ".git") and not _is_too_wide(each):
            return find_project(each)
        if found := registered.get(str(each)) or registered.get(str(each / ".git")):
            return found
    raise NotFoundError(f"the folder {folder} does not exist or cannot be reached, and no project is registered for it")


def _resolve(folder: Path) -> Path:
    try:
        return Path(os.path.realpath(folder))  # `Path.resolve` fails for a loop of links
    except (OSError, ValueError) as error:  # the current folder was deleted
        raise NotFoundError(f"the folder {folder} cannot be found: {error}") from error


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
    target = Path(os.path.realpath(root / named))
    if target.parent.name == "worktrees":
        back = _read_small(target / "gitdir").strip()
        is_mutual = bool(back) and "\0" not in back and Path(os.path.realpath((target / back).parent)) == root
        return target.parent.parent if is_mutual else None
    back = _read_config(target).get(("core", "", "worktree"), "")
    is_mutual = bool(back) and "\0" not in back and Path(os.path.realpath(target / back)) == root
    return target if is_mutual or root in target.parents else None


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD") and is_folder(folder / "objects")


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


def _look_up(place: Path, known: _List) -> Project | None:
    """Find a place's project by its mark, or by the path if it has no mark. None for a new place or a new copy.
    Registers a moved place again.
    """
    mark = _read_mark(place)
    if mark is None:
        return next((each for each in known() if not each.is_marked and _is_same(each.place, place)), None)
    entry = _read_entry(mark)
    if entry is None or _is_same(entry.place, place):
        return entry
    if own := _read_entry(_derive_mark(mark, place)):
        return own
    return None if _read_mark(Path(entry.place)) == mark else _register(replace(entry, place=str(place)))


def _is_same(registered: str, place: Path) -> bool:
    """True if both paths name the same folder, for example through a symbolic link or a bind mount."""
    try:
        return registered == str(place) or Path(registered).samefile(place)
    except OSError:
        return False


def _new_mark(place: Path) -> str:
    return f"{_clean_name(place)}-{secrets.token_hex(16)}"


def _derive_mark(mark: str, place: Path) -> str:
    """The mark of a copy, or of a place that cannot be marked (`mark` is ""). Concurrent processes get the same one."""
    digest = hashlib.sha256(mark.encode() + b"\0" + os.fsencode(place))
    return f"{_clean_name(place)}-{digest.hexdigest()[:32]}"


def _clean_name(place: Path) -> str:
    return _UNSAFE.sub("-", (place.parent if place.name == ".git" else place).name)[:40] or "folder"


def _read_mark(place: Path) -> str | None:
    try:
        text = _read_small(place / "mnemic") if _is_repository(place) else os.getxattr(place, _ATTRIBUTE).decode()
    except (OSError, ValueError, AttributeError):  # only Linux has extended attributes
        return None
    return text.strip() if _MARK.fullmatch(text.strip()) else None


def _put_mark(place: Path, mark: str, copied: Project | None) -> tuple[str, bool]:
    """Write a mark to a place. In a copy, it replaces the original's mark. Returns the valid mark, which another
    process may have written first, and whether the place has it.
    """
    with suppress(OSError, AttributeError):
        if _is_repository(place):
            part = place / f"mnemic.{secrets.token_hex(8)}"
            part.write_text(f"{mark}\n", encoding="utf-8")
            try:
                (os.replace if copied else os.link)(part, place / "mnemic")  # a link fails if a mark exists
            finally:
                part.unlink(missing_ok=True)
        else:
            os.setxattr(place, _ATTRIBUTE, mark.encode(), os.XATTR_CREATE if copied is None else 0)
    held = _read_mark(place)
    return (mark, held == mark) if copied else (held or mark, held is not None)


def _find_register() -> Path:
    return Path(own_store(os.environ)).with_name("projects")


def _read_entry(mark: str) -> Project | None:
    try:
        entry: object = json.loads(_read_small(_find_register() / f"{mark}.json", MEBIBYTE))
        return Project(**cast("dict[str, Any]", entry)) if isinstance(entry, dict) else None
    except (ValueError, TypeError):
        return None


def _register(project: Project, *, is_new: bool = False) -> Project:
    """Write an entry. If it `is_new`, an entry that another process wrote first is kept and returned."""
    folder = _find_register()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part, entry = folder / f".{secrets.token_hex(8)}", folder / f"{project.mark}.json"
        part.write_text(json.dumps(asdict(project)), encoding="utf-8")
        if is_new:
            with suppress(OSError):
                os.link(part, entry)
        if is_new and entry.exists():
            part.unlink()
        else:
            part.replace(entry)
    except OSError as error:
        raise ConfigError(f"the project register {folder} cannot be written: {error.strerror}") from error
    return (_read_entry(project.mark) if is_new else None) or project


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
