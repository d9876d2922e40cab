"""What a run may take of the machine, and what it leaves behind: full disks, too little memory, locks, signals."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in, tables_of

import kanon_sql as kanon
from kanon_sql.cli.commands.demo import make_demo_file
from kanon_sql.cli.main import root
from kanon_sql.cli.options.keys import keys_of
from kanon_sql.engine.duckdb.connection import Resources, connect
from kanon_sql.engine.files import PrivateDirectory, is_private
from kanon_sql.engine.sources.open_source import open_beside, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ended

KANON = [sys.executable, "-m", "kanon_sql"]
ANONYMIZE = [
    *("anonymize", "ward.duckdb", "admissions", "--entity", "patient_id", "--id", "name", "--qi", "birth_date,sex,zip"),
    *("--sensitive", "diagnosis", "--keep", "department,cost", "--rest", "drop", "--seed", "1"),
]
COMMANDS = [
    "demo", "anonymize", "check", "measure", "attack", "ledger", "lattice", "compare", "hierarchy list",
    "hierarchy show", "hierarchy check", "hierarchy load", "hierarchy build",
]  # fmt: skip


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ward") / "ward.duckdb"
    make_demo_file(path, 60_000)
    return path


@pytest.fixture
def ward(made_once: Path, in_tmp: Path) -> Path:
    """A database with 60,000 admissions."""
    path = in_tmp / "ward.duckdb"
    shutil.copy(made_once, path)
    return path


def leftovers(directory: Path) -> set[str]:
    return {name for name in files_in(directory) if name.startswith(".")}


# What may be taken


def test_every_command_takes_them_and_says_so(kanon: Callable[..., Ended]) -> None:
    group = root()
    for command in COMMANDS:
        found = group
        for name in command.split():
            found = found.get_command(None, name)
        assert {"run.memory_limit", "run.threads", "run.temp_dir"} <= {*keys_of(found)}, command
    assert "run.memory_limit" in kanon("settings").out


@pytest.mark.parametrize(
    "wrong",
    [
        *(("--memory-limit", size) for size in ("", "300", "potato", "-5MB", "80%", "1MB", "99999999TB", "300MB; x")),
        ("--threads", "0"),
        ("--threads", "-1"),
        ("--threads", "100000"),
        ("--temp-dir", ""),
    ],
)
def test_nonsense_is_refused_before_anything_is_opened(kanon: Callable[..., Ended], wrong: tuple[str, str]) -> None:
    ended = kanon("check", "nothing.csv", "--qi", "a", *wrong)
    if wrong != ("--temp-dir", ""):  # which typer reads as the working directory
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert wrong[0] in ended.err


def test_they_are_those_of_the_database(clinic: Path, tmp_path: Path) -> None:
    resources = kanon.Resources(memory_limit="500MB", threads=3, temp_dir=tmp_path)
    with open_source(str(clinic), resources=resources).engine as engine:
        settings = {
            name: engine.connection.execute("SELECT current_setting($name)", {"name": name}).fetchall()[0][0]
            for name in ("memory_limit", "threads", "temp_directory")
        }
    assert (settings["memory_limit"], settings["threads"]) == ("476.8 MiB", 3)
    assert Path(settings["temp_directory"]).parent == tmp_path
    assert leftovers(tmp_path) == set()


def test_little_memory_is_for_few_threads() -> None:
    assert kanon.Resources(memory_limit="130MB").settings["threads"] == 1
    assert kanon.Resources(memory_limit="130MB", threads=4).settings["threads"] == 4
    assert "threads" not in kanon.Resources().settings


def threads_of(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])


@pytest.mark.parametrize(("rows", "threads", "then"), [(122_880, None, 1), (122_880, 2, 2), (122_881, None, None)])
def test_a_small_table_is_searched_by_one_thread_unless_more_were_asked_for(
    tmp_path: Path, rows: int, threads: int | None, then: int | None
) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 100 AS age FROM range($rows) AS r(i)", {"rows": rows})
        every = threads_of(connection)
    given: dict[str, Any] = {
        "quasi_identifiers": ["age"],
        "count": "rows",
        "resources": kanon.Resources(threads=threads),
    }
    with kanon.anonymize(tmp_path / "t.duckdb", **given) as release:
        assert threads_of(release.prepared.source.engine.connection) == (then or every)


def test_a_small_file_is_read_by_one_thread_until_another_is_read_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex\n30,f\n")
    with duckdb.connect() as connection:
        every = threads_of(connection)
    small = open_source(file)
    with small.engine as engine:
        assert threads_of(engine.connection) == 1
        open_beside(small, file)
        assert threads_of(engine.connection) == every


@pytest.mark.thorough
def test_the_release_is_the_same_whatever_may_be_taken(ward: Path, kanon: Callable[..., Ended]) -> None:
    outs = []
    for limits in ([], ["--memory-limit", "200MB", "--threads", "1", "--temp-dir", "."]):
        assert kanon(*ANONYMIZE, "--out", "out.csv", "--replace", "--ignore-ledger", *limits).code == 0
        outs.append(Path("out.csv").read_text())
    assert outs[0] == outs[1]
    assert files_in(ward.parent) == {"ward.duckdb", "out.csv"}


@pytest.mark.thorough
def test_the_library_takes_them_and_a_connection_has_its_own(clinic: Path) -> None:
    resources = kanon.Resources(memory_limit="200MB", threads=1)
    given: dict[str, Any] = {"quasi_identifiers": ["sex"], "resources": resources}
    with kanon.anonymize(str(clinic), rest="drop", **given) as release:
        assert release.rows_out == 60
    with kanon.prepare(str(clinic), rest="drop", **given) as table:
        assert table.anonymize().rows_out == 60
    assert kanon.check(str(clinic), insensitive=["id", "name", "age", "zip"], **given).holds
    assert kanon.measure(str(clinic), **given).rows_out == 60
    assert kanon.risk(str(clinic), **given).smallest_class == 30
    assert kanon.attack(str(clinic), "patients", original="patients", **given).rows_out == 60
    with duckdb.connect(str(clinic)) as connection:
        for call in (kanon.anonymize, kanon.prepare, kanon.check, kanon.measure, kanon.risk):
            with pytest.raises(kanon.UsageError, match="has its own memory limit"):
                call(connection, **given)


# Private directories


def test_what_the_dead_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    alive = PrivateDirectory(tmp_path)
    (alive.path / "values").write_text("mine")
    assert alive.path.stat().st_mode & 0o777 == 0o700
    others = {".kanon-notes", ".kanon-12345678.partial", "kanon-12345678.tmp", ".kanon-abcdefgh.tmp"}
    for name in others:
        (tmp_path / name).mkdir(mode=0o755)
    (tmp_path / ".kanon-filefile.tmp").write_text("no directory")
    dead = tmp_path / ".kanon-12345678.tmp"  # its lock ended with its process
    dead.mkdir(mode=0o700)
    (dead / "values").write_text("raw")
    assert is_private(dead.name)
    with PrivateDirectory(tmp_path) as second:
        assert not dead.exists()
        assert second.path.is_dir()
    assert (alive.path / "values").read_text() == "mine"
    alive.remove()
    assert files_in(tmp_path) == others | {".kanon-filefile.tmp"}


@pytest.mark.thorough
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("step", [(tempfile, "mkdtemp"), (os, "open"), (shutil, "rmtree"), (duckdb, "connect")])
def test_ctrl_c_while_a_private_directory_is_made_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]
) -> None:
    module, name = step
    plain = getattr(module, name)

    def pressed(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()  # once
        done = plain(*arguments, **named)
        signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(module, name, pressed)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        connect(Resources(temp_dir=tmp_path), None)[1].remove()
    monkeypatch.undo()
    gc.collect()
    assert files_in(tmp_path) == set()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.thorough
def test_a_release_that_nobody_closes_leaves_nothing(clinic: Path) -> None:
    script = "import sys, kanon_sql as k; r = k.anonymize(sys.argv[1], quasi_identifiers=['sex'], rest='drop'); k.x = r"
    subprocess.run([sys.executable, "-c", script, str(clinic)], check=True)  # noqa: S603 - our own program
    assert files_in(clinic.parent) == {"clinic.duckdb"}


# Full disks, too little memory


def without_empty_logs(directory: Path) -> set[str]:
    """Return the names of all files but empty logs of changes, which DuckDB leaves when the disk is full."""
    return {file.name for file in directory.iterdir() if file.suffix != ".wal" or file.stat().st_size}


def limited(size: int) -> Callable[[], None]:
    """Return what makes a process unable to write files beyond a size, as if the disk were full there."""

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return limit


def ran(*arguments: object, size: int | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [*KANON, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=None if size is None else limited(size),
    )


def assert_no_room(ended: subprocess.CompletedProcess[str], *says: str) -> None:
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
    for text in says:
        assert text in ended.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["out.parquet", "table"])
def test_a_disk_that_fills_up_under_the_release(ward: Path, target: str) -> None:
    pytest.importorskip("resource")
    before = tables_of(ward)
    # The disk takes what is there already, and some more.
    place = ["--into", "released"] if target == "table" else ["--out", target]
    ended = ran(*ANONYMIZE, *place, "-q", size=ward.stat().st_size + 50_000 if target == "table" else 100_000)
    where = str(ward.name) if target == "table" else str(ward.parent)
    assert_no_room(ended, where, "took no more while it ran this step: ", "Make room there")
    assert tables_of(ward) == before
    assert without_empty_logs(ward.parent) == {"ward.duckdb"}


@pytest.mark.thorough
def test_a_disk_that_fills_up_under_what_does_not_fit_into_memory(ward: Path) -> None:
    pytest.importorskip("resource")
    Path("spills").mkdir()
    limits = ["--memory-limit", "16MB", "--temp-dir", "spills"]
    # Hierarchies that are given need no look at the values, which can be what runs out of memory.
    limits += ["--hierarchy", "zip=mask:right:1,2,4", "--hierarchy", "birth_date=date:month,year"]
    ended = ran(*ANONYMIZE, "--out", "out.parquet", "-q", *limits, size=50_000)
    assert_no_room(ended, "spills took no more of what does not fit into memory", "--temp-dir", "--memory-limit")
    assert files_in(ward.parent) == {"ward.duckdb", "spills"}
    assert files_in(Path("spills")) == set()


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.name != "posix" or os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("needs to mount a small disk")
    path.mkdir()
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603 - as found above
        pytest.skip("may not mount a small disk")
    try:
        yield path
    finally:
        subprocess.run([umount, str(path)], check=True)  # noqa: S603 - as found above


@pytest.mark.thorough
def test_a_full_disk_in_place(ward: Path) -> None:
    content, size = ward.read_bytes(), ward.stat().st_size
    for room in (100_000, size // 2):
        for more in (["--no-backup"], ["--backup", "before.duckdb"]):
            ended = ran(*ANONYMIZE, "--in-place", *more, "-q", size=room)
            assert_no_room(ended, "took no more")
            assert ward.read_bytes() == content
            assert files_in(ward.parent) == {ward.name}
    cleaned = ran("clean", ward.name, "-q", size=size // 2)
    assert_no_room(cleaned, "took no more")
    assert ward.read_bytes() == content
    assert files_in(ward.parent) == {ward.name}


@pytest.mark.thorough
def test_a_real_disk_that_is_full(ward: Path, in_tmp: Path) -> None:
    before = tables_of(ward)
    with small_disk(in_tmp / "disk", "1600k") as disk:
        ended = ran(*ANONYMIZE, "--out", disk / "out.csv", "-q")
        assert_no_room(ended, f"{disk} took no more", "No space left on device")
        assert files_in(disk) == set()
        shutil.copy(ward, disk)
        ended = ran(*[disk / word if word == "ward.duckdb" else word for word in ANONYMIZE], "--into", "released", "-q")
        assert_no_room(ended, f"{disk}/ward.duckdb took no more", "No space left on device")
        assert tables_of(disk / "ward.duckdb") == before
        assert without_empty_logs(disk) == {"ward.duckdb"}
    assert tables_of(ward) == before


def test_too_little_memory_says_what_to_give(ward: Path, kanon: Callable[..., Ended]) -> None:
    before = ward.read_bytes()
    ended = kanon(*ANONYMIZE, "--out", "out.csv", "-q", "--memory-limit", "10MB")
    assert (ended.code, ended.err.count("\n")) == (3, 1)
    assert "needs more memory than its limit of 9.5 MiB while it ran this step: " in ended.err
    assert "--memory-limit" in ended.err
    assert "--set run.threads=N" in ended.err
    assert files_in(ward.parent) == {"ward.duckdb"}
    assert ward.read_bytes() == before


def test_a_file_that_does_not_fit_into_memory_is_not_called_broken(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect() as connection:
        connection.execute("COPY (SELECT range AS a, hash(range) AS b FROM range(300000)) TO 'rows.csv'")
    ended = kanon("check", "rows.csv", "--qi", "a,b", "--memory-limit", "10MB")
    assert ended.code == 3
    assert "needs more memory" in ended.err
    assert files_in(in_tmp) == {"rows.csv"}


# What may not be written, or is in use


def test_a_directory_for_spills_that_is_not_there(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("check", clinic, "--qi", "sex", "--temp-dir", "nowhere")
    assert ended.code == 3
    assert ended.err.startswith("error: nowhere, where what does not fit into memory would be put, cannot be written")
    assert "--temp-dir" in ended.err


def as_plain_user(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody for whom the permissions of files hold: root without the right to pass over them."""

    def obey() -> None:
        import ctypes

        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP

    return subprocess.run(  # noqa: S603 - our own program
        [*KANON, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        preexec_fn=obey if os.geteuid() == 0 else None,
    )


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs the permissions of Linux")
def test_files_and_directories_that_may_only_be_read(clinic: Path) -> None:
    place = clinic.parent
    before = clinic.read_bytes()
    clinic.chmod(0o444)
    place.chmod(0o555)
    ask = ("anonymize", "clinic.duckdb", "--qi", "sex", "--rest", "drop", "-q")
    try:
        checked = as_plain_user(place, "check", "clinic.duckdb", "--qi", "sex", "--keep", "id,name,age,zip", "-k", "5")
        assert checked.returncode == 0, checked.stderr  # what does not fit into memory would go elsewhere
        into = as_plain_user(place, *ask, "--into", "released")
        assert_no_room(into, "clinic.duckdb cannot be written (Permission denied)", "--out")
        out = as_plain_user(place, *ask, "--out", "out.csv")
        assert_no_room(out, "The directory . cannot be written (no permission)", "--out")
        clinic.chmod(0)
        assert_no_room(as_plain_user(place, *ask, "--into", "released"), "clinic.duckdb")
    finally:
        place.chmod(0o755)
        clinic.chmod(0o644)
    assert clinic.read_bytes() == before
    assert files_in(place) == {"clinic.duckdb"}


WRITES = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('INSERT INTO patients (id) VALUES (1000)')"


def another_writes(path: Path) -> bool:
    """Let another process add a row; tell whether it could."""
    done = subprocess.run([sys.executable, "-c", WRITES, str(path)], capture_output=True, check=False)  # noqa: S603 - this interpreter and a text of this test
    return done.returncode == 0


@pytest.mark.thorough
def test_nobody_writes_while_a_database_is_read(clinic: Path) -> None:
    """Closing any descriptor of a file takes the locks of the whole process on it away: it must not be opened twice."""
    with (opened := open_source(str(clinic), "patients")).engine:
        assert not another_writes(clinic)
        open_beside(opened, str(clinic), "patients")
        assert not another_writes(clinic)
    assert another_writes(clinic)


def test_a_database_that_changes_before_it_is_opened_for_writing(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kanon.anonymize(str(clinic), quasi_identifiers=["sex"], rest="drop") as release:
        engine = release.prepared.source.engine
        reopen = engine.reopen

        def late(*, writable: bool) -> None:
            with duckdb.connect(str(clinic)) as other:  # the file is let go of at this moment
                other.execute("INSERT INTO patients (id) VALUES (1000)")
            reopen(writable=writable)

        monkeypatch.setattr(engine, "reopen", late)
        with pytest.raises(kanon.VerificationError, match=r"Another process changed .* nothing was written"):
            release.to_table("released")
    assert set(tables_of(clinic)) == {"main.patients"}


# Tables that change


@pytest.mark.thorough
def test_a_table_that_its_owner_changes_meanwhile_is_not_published(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range % 4 AS a, range % 3 AS s FROM range(120)")
        other = connection.cursor()
        for change in (
            "INSERT INTO t VALUES (99, 1)",  # a row that no hierarchy knows: it would be left out in silence
            "DELETE FROM t WHERE rowid = 0",
            "UPDATE t SET a = 3 WHERE rowid = 4",
        ):
            with kanon.anonymize(connection, "t", quasi_identifiers=["a"], rest="keep", models=[kanon.KAnonymity(2)],
                                 hierarchies={"a": "flat"}) as release:  # fmt: skip
                other.execute(change)
                for publish in (
                    lambda made: made.to_table("r"),
                    lambda made: made.to_file(tmp_path / "r.csv"),
                    lambda made: made.to_pandas(),
                ):
                    with pytest.raises(kanon.VerificationError):
                        publish(release)
            assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
    assert files_in(tmp_path) == set()


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_file_that_changes_meanwhile(in_tmp: Path, suffix: str) -> None:
    def write(rows: int) -> None:
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT range % 4 AS a FROM range({rows})) TO 'new.{suffix}'")  # noqa: S608 - names and numbers of this test
        Path(f"new.{suffix}").replace(f"t.{suffix}")

    write(120)
    with kanon.anonymize(f"t.{suffix}", quasi_identifiers=["a"], hierarchies={"a": "flat"}) as release:
        write(124)
        if suffix == "parquet":  # which is read where it lies, and so twice
            with pytest.raises(kanon.VerificationError, match=r"t\.parquet was changed while it was anonymized"):
                release.to_file("out.csv")
        else:
            assert release.to_file("out.csv").verification.rows == 120
    assert (in_tmp / "out.csv").exists() == (suffix != "parquet")
    assert leftovers(in_tmp) == set()


# Signals

LOUD = [*ANONYMIZE, "-v"]


def began(step: str, *arguments: str) -> subprocess.Popen[str]:
    """Return a run that has begun a step; it hears SIGHUP, also where the tests are run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*KANON, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.stderr is not None
    for line in process.stderr:
        if step in line:
            return process
    pytest.fail(f"{step} was never begun")


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
@pytest.mark.parametrize(
    ("number", "step", "times", "place"),
    [
        (signal.SIGTERM, "frequency set of the quasi-identifiers", 1, ["--out", "out.csv"]),
        (signal.SIGHUP, "size of the frequency set", 2, ["--into", "released"]),
        (signal.SIGTERM, "make the release", 2, ["--into", "released"]),
        (signal.SIGTERM, "make the release", 1, ["--in-place", "--no-backup"]),
    ],
)
def test_a_signal_ends_it_and_leaves_nothing(
    ward: Path, number: signal.Signals, step: str, times: int, place: list[str]
) -> None:
    before = tables_of(ward)
    process = began(step, *LOUD, *place)
    for _ in range(times):
        process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out) == (128 + number, "")
    assert err.endswith(f"error: Ended by {number.name}; nothing was written.\n")
    assert err.count("error") == 1
    assert files_in(ward.parent) == {"ward.duckdb"}
    assert tables_of(ward) == before


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
def test_a_search_that_is_asked_to_end_publishes_nothing(ward: Path) -> None:
    """Unlike one that is interrupted by Ctrl-C, which publishes the best so far."""
    process = began("Searching", *LOUD, "--out", "out.csv")
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143
    assert files_in(ward.parent) == {"ward.duckdb"}


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("nohup") is None, reason="needs nohup")
def test_nohup_is_respected(ward: Path) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [str(shutil.which("nohup")), *KANON, *ANONYMIZE, "--out", "out.csv", "-v"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stderr is not None
    while "Searching" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGHUP)
    process.communicate()
    assert process.returncode == 0
    assert "out.csv" in files_in(ward.parent)


@pytest.mark.thorough
def test_a_directory_of_files_that_are_larger_than_the_memory(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "parts").mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for part in range(4):
            rows = connection.sql(
                "SELECT uuid()::TEXT AS note, uuid()::TEXT AS name, i % 90 AS age, i % 7 AS ward FROM range($n) r(i)",
                params={"n": 300_000},
            )
            rows.write_parquet(f"parts/{part}.parquet")
    size = sum(file.stat().st_size for file in (in_tmp / "parts").iterdir())
    limit = 55_000_000
    assert size > 1.5 * limit
    asked = ("--id", "name", "--qi", "age,ward", "--sensitive", "note", "-k", "5", "--seed", "1", "--temp-dir", ".")
    ended = kanon("anonymize", "parts", *asked, "--out", "out.parquet", "--memory-limit", "55MB")
    assert ended.code == 0, ended.err
    found = duckdb.sql("SELECT count(*), count(DISTINCT note) FROM 'out.parquet'").fetchall()
    assert found == [(1_200_000, 1_200_000)]
    assert files_in(in_tmp) == {"parts", "out.parquet"}
