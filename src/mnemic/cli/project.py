"""`mnemic project`: shows or changes the project whose memory a folder uses."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mnemic.cli.commands import command
from mnemic.cli.options import AsJson
from mnemic.cli.output import note, one_line, show_json, write
from mnemic.errors import NotFoundError
from mnemic.integrations import projects
from mnemic.integrations.projects import CHOSEN, OWN, REMOTE, Project, is_folder, list_projects
from mnemic.model.scope import PROJECT_PREFIX

REASONS = {REMOTE: "clones of {remote} share it", OWN: "this folder has its own project", CHOSEN: "you chose it"}
In = Annotated[Path, typer.Option("--in", help="The folder. Default: the current one.", metavar="FOLDER")]


@command("project")
def project(ctx: typer.Context, folder: In = Path(), as_json: AsJson = False) -> None:
    """Show the project whose memory coding assistants use in a folder, and the reason. Its id is an agent in the scope:
    pass it to `--agent`.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = projects.find_project(folder)
    if found is None:
        raise NotFoundError(f"{folder.resolve()} is your home folder or one of its parents; choose another folder")
    if found.note:
        note(found.note)
        projects.clear_note(found)
    _show(found, as_json=as_json)


@command("project list")
def list_known(as_json: AsJson = False) -> None:
    """List the known folders and their projects."""
    known = list_projects()
    if as_json:
        show_json([_describe(each) for each in known])
        return
    for each in known:
        write(one_line(f"{each.id}  {each.place}{'' if is_folder(Path(each.place)) else ' (gone)'}"))
    if not known:
        note("no projects yet; run `mnemic project` in a folder to register one")


@command("project join")
def join(
    name: Annotated[str, typer.Argument(help="A project's id, or a folder that uses the project.", metavar="PROJECT")],
    folder: In = Path(),
    as_json: AsJson = False,
) -> None:
    """Use another project's memory in a folder, for example after moving the folder to another disk. The folder's
    earlier memory stays with its project. To use it again, join that project.
    """
    place = Path(os.path.expanduser(name))  # noqa: PTH111 -- `Path.expanduser` raises for an unknown user
    other = projects.find_project(place) if is_folder(place) else None
    chosen = other.id if other else PROJECT_PREFIX + name.removeprefix(PROJECT_PREFIX)
    if chosen not in {each.id for each in list_projects()}:
        is_path = name.startswith(("../", "./", "/", "~")) or name in (".", "..")
        if is_path or is_folder(place):
            raise NotFoundError(f"{name} is no folder with a project; `mnemic project list` shows the projects")
        note(f"no folder on this machine uses {one_line(chosen)} yet")
    _change(folder, chosen, as_json=as_json)


@command("project leave")
def leave(folder: In = Path(), as_json: AsJson = False) -> None:
    """Give a folder its own new, empty memory, even if it is a clone of a shared remote."""
    _change(folder, None, as_json=as_json)


def _change(folder: Path, id: str | None, *, as_json: bool) -> None:
    former = projects.find_project(folder)
    changed = projects.choose_project(folder, id)
    if former and former.id != changed.id:
        note(f"the former project is {one_line(former.id)}; to use it again, join it")
    place = Path(changed.place)
    if place not in (folder.resolve(), folder.resolve() / ".git"):
        note(f"changed {place}, including all its worktrees and subfolders")
    _show(changed, as_json=as_json)


def _describe(project: Project) -> dict[str, str]:
    return {"id": project.id, "place": project.place, "reason": project.reason, "remote": project.remote}


def _show(project: Project, *, as_json: bool) -> None:
    others = [each.place for each in list_projects() if each.id == project.id and each.place != project.place]
    if as_json:
        show_json({**_describe(project), "others": others})
        return
    write(one_line(project.id))
    write("  " + one_line(f"{REASONS[project.reason].format(remote=project.remote)}; registered at {project.place}"))
    for other in others:
        write("  " + one_line(f"also used in {other}"))
