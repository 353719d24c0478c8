"""Running: every group past every runner, rows written as they come, resumable at any point."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from clover_decide.errors import CloverError, InputError
from clover_decide.files import short_hash
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Header, Row, matched, read_results
from clover_eval.runners.base import Runner
from clover_eval.sets import LoadedSet
from clover_eval.variants import VARIANTS


@dataclass(frozen=True)
class Task:
    """A runner asked about a set in one form. `variant` is empty for the form as it stands."""

    runner: Runner
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.runner.name}+{self.variant}" if self.variant else self.runner.name

    def form(self, group: LabelledGroup) -> LabelledGroup:
        return VARIANTS[self.variant](group) if self.variant else group

    def header(self, source: LoadedSet) -> Header:
        return Header(source.name, source.sha256, self.name, {**self.runner.identity, "variant": self.variant})

    def file(self, folder: Path) -> Path:
        """Where its rows go: a readable name, and a hash that keeps apart what reads alike."""
        plain = re.sub(r"[^\w.+-]+", "-", self.name).strip("-")[:60]
        return folder / f"{plain}.{short_hash(self.name)[:6]}.jsonl"


def run(
    source: LoadedSet,
    groups: Sequence[LabelledGroup],
    tasks: Sequence[Task],
    folder: Path,
    *,
    resume: bool = False,
    concurrency: int = 1,
    progress: Callable[[str, bool], None] = lambda name, failed: None,
) -> list[Path]:
    """Answer all groups with all tasks; the files of results, in the order of the tasks.

    Groups go one after another, so that runners of one model share the reading of a material; the order of the tasks turns by
    one with each group, so that none always pays for it. A group that fails is a row, and is asked again on resume.

    Raises:
        InputError: a file exists and `resume` was not asked for, belongs to another run, or cannot be written.
    """
    files = [task.file(folder) for task in tasks]
    done = _begin(source, tasks, files, resume)
    for runner in {id(task.runner): task.runner for task in tasks}.values():
        runner.prepare(source.groups)
    for task, ids in zip(tasks, done, strict=True):
        for _ in range(sum(group.id in ids for group in groups)):
            progress(task.name, False)
    with _Sinks(files) as sinks:

        def work(index: int, group: LabelledGroup) -> None:
            row = ask(tasks[index], group)
            sinks.write(index, row)
            progress(tasks[index].name, row.failed is not None)

        _each(work, ((i, group) for i, group in _order(groups, len(tasks)) if group.id not in done[i]), concurrency)
    return files


def _begin(source: LoadedSet, tasks: Sequence[Task], files: Sequence[Path], resume: bool) -> list[set[str]]:
    """Make the files, or take out of them what does not stand; the ids that each has answered. All are checked before any is written."""
    headers = [task.header(source) for task in tasks]
    kept = [_kept(path, header, source.groups, resume) for path, header in zip(files, headers, strict=True)]
    for path, header, rows in zip(files, headers, kept, strict=True):
        _write(path, "\n".join([header.line(), *(row.line() for row in rows)]) + "\n")
    return [{row.id for row in rows} for rows in kept]


def _each(work: Callable[[int, LabelledGroup], None], items: Iterable[tuple[int, LabelledGroup]], concurrency: int) -> None:
    """Do the work for all items, so many at once; no more is handed out than is worked on, so that an interrupt ends soon."""
    pending: set[Future[None]] = set()
    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        try:
            for item in items:
                while len(pending) >= concurrency:
                    pending = _drain(pending)
                pending.add(pool.submit(work, *item))
            while pending:
                pending = _drain(pending)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _order(groups: Sequence[LabelledGroup], tasks: int) -> Iterator[tuple[int, LabelledGroup]]:
    for number, group in enumerate(groups):
        for step in range(tasks):
            yield (number + step) % tasks, group


def _drain(pending: set[Future[None]]) -> set[Future[None]]:
    finished, rest = wait(pending, return_when=FIRST_COMPLETED)
    for future in finished:
        future.result()
    return rest


def ask(task: Task, group: LabelledGroup) -> Row:
    """One row that can be written. Whatever goes wrong with one group is recorded and stops nothing."""
    about = (group.id, group.material_sha, group.questions_sha)
    began = time.perf_counter()
    try:
        reply = task.runner.answer(task.form(group))
        row = Row(*about, reply.answers, reply.probability, _since(began), reply.unsupported)
        # A value that is no JSON (an infinite number) or no text (half a surrogate pair) is found here.
        row.line().encode("utf-8")
        return row
    except CloverError as error:
        failed = error.as_dict()
    except Exception as error:
        failed = {"error": type(error).__name__, "path": task.name, "problem": str(error)[:300]}
    return Row(*about, failed=json.loads(json.dumps(failed, default=str).encode("utf-8", "replace")), seconds=_since(began))


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 4)


def _kept(path: Path, header: Header, groups: Sequence[LabelledGroup], resume: bool) -> list[Row]:
    """The rows of an earlier run that stand: not the failed ones, nor a line that a kill cut off.

    Raises:
        InputError: the file may not be gone on with.
    """
    if not path.exists():
        return []
    if not resume:
        raise InputError("results exist", path=str(path), accepted="--resume, or another --out folder")
    if path.stat().st_size == 0:
        return []
    results = read_results(path)
    if results.header.run != header.run:
        accepted = f"the same set, model and options ({dict(header.identity)}), or another --out folder"
        raise InputError("holds results of another run", path=str(path), given=dict(results.header.identity), accepted=accepted)
    matched(results, groups, str(path))
    return [row for row in results.rows if row.failed is None]


def _write(path: Path, content: str) -> None:
    """Replace a file as a whole: a kill leaves the old one or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".tmp")
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=str(path), accepted="a writable --out folder") from None


class _Sinks:
    """Open files of results; a row is written and flushed as one."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._paths, self._files = files, list[IO[Any]]()
        self._lock = threading.Lock()

    def __enter__(self) -> _Sinks:
        self._files = [path.open("a", encoding="utf-8") for path in self._paths]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def write(self, index: int, row: Row) -> None:
        with self._lock:
            self._files[index].write(row.line() + "\n")
            self._files[index].flush()
