"""What Spark did for a run: the plan of each statement, as it was in the end, and the bytes of each stage.

Used by ``warehouses.py spark --stages``. The figures are those of Spark's own status store, which the pages of its user
interface show too.
"""

from __future__ import annotations

from typing import Any

_TOLD = ("Scan", "Exchange", "Join", "Sort", "HashAggregate", "Write", "Execute")


class Stages:
    """The statements and stages of a session, from now on."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401 - a SparkSession
        """Begin to look."""
        self._session = session
        self._stages = {stage.stageId() for stage in self._all()}
        self._statements = {found.executionId() for found in self._executions()}

    def print(self) -> None:
        """Print what has been since."""
        print(
            _line(
                "stage", "tasks", "rows in", "MB in", "rows shuffled", "MB shuffled", "MB spilled", "MB out", "task s"
            )
        )
        for stage in sorted(self._all(), key=lambda stage: stage.stageId()):
            if stage.stageId() not in self._stages and stage.status().toString() == "COMPLETE":
                counts = [stage.stageId(), stage.numTasks(), f"{stage.inputRecords():,}", _mb(stage.inputBytes())]
                counts += [f"{stage.shuffleWriteRecords():,}", _mb(stage.shuffleWriteBytes())]
                counts += [_mb(stage.diskBytesSpilled()), _mb(stage.outputBytes()), stage.executorRunTime() / 1000]
                print(_line(*counts))
        for found in self._executions():
            tree = found.physicalPlanDescription().split("== Initial Plan ==")[0].split("\n\n")[0]
            steps = [line for line in tree.splitlines() if any(word in line for word in _TOLD)]
            if found.executionId() not in self._statements and len(steps) > 1:
                print("\n".join([f"\n  statement {found.executionId()}", *(f"    {line}" for line in steps)]))

    def _all(self) -> list[Any]:
        context = self._session.sparkContext
        gateway = context._gateway  # noqa: SLF001 - pyspark has no other way to ask
        nothing = gateway.new_array(gateway.jvm.double, 0)
        store = context._jsc.sc().statusStore()  # noqa: SLF001 - as above
        found = store.stageList(None, False, False, nothing, gateway.jvm.java.util.ArrayList())  # noqa: FBT003 - of Java
        return [found.apply(number) for number in range(found.size())]

    def _executions(self) -> list[Any]:
        store = self._session._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - as above
        found = store.executionsList()
        return [found.apply(number) for number in range(found.size())]


def _line(*cells: object) -> str:
    widths = (7, 6, 14, 9, 14, 12, 11, 9, 8)
    return "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f}"
