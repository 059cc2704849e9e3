"""Other engines than threads: processes and Dask give the same bits, also when one of their workers is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from faults import kept_entries
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.runs import dask_cluster, executors, workers

SETTINGS = ("trials=12", "steps=300_000", "record_every=10_000", "chain.alpha=0.02", 'chain.initial="stationary"')
SCENARIO = tracker.parse((SCENARIOS / "example_a.toml").read_text(), settings=SETTINGS)


@pytest.fixture(scope="module")
def expected() -> str:
    return str(tracker.run(SCENARIO, executor=1).summary["hash"])


@pytest.mark.parametrize("engine", ["processes", "dask"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Dask's own
def test_a_killed_worker_costs_at_most_its_shards(engine: str, expected: str, tmp_path: Path) -> None:
    path, killed, notices = tmp_path / "run", list[set[int]](), list[str]()

    def progress(done: float, total: float, note: str) -> None:
        if note.startswith("running") and not killed and len(kept_entries(path)) >= 3:
            killed.append(set(kept_entries(path)))
            busiest = max(psutil.Process().children(recursive=True), key=lambda child: child.cpu_times().user)
            os.kill(busiest.pid, signal.SIGKILL)

    seen: list[set[int]] = []
    run = tracker.run(
        SCENARIO,
        path,
        1,
        engine=engine,
        shard_size=1,
        progress=lambda *told: (progress(*told), seen.append(set(kept_entries(path))))[0],
        notice=notices.append,
    )
    assert run.summary["hash"] == expected
    assert len(killed) == 1
    assert all(killed[0] <= kept for kept in seen[seen.index(killed[0]) : -1])
    # Dask begins again what it lost by itself; a pool is built anew here
    assert [("the pool of workers broke" in notice) for notice in notices] == [True] * (engine == "processes")


def test_an_executor_of_processes_of_ones_own(expected: str) -> None:
    """Any executor will do; here the work is sent through pickle, but done in this process."""

    class Sent(ProcessPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Any:
            import pickle
            from concurrent.futures import Future

            future: Future[Any] = Future()
            function, arguments = pickle.loads(pickle.dumps((function, arguments)))  # noqa: S301
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))  # noqa: S301
            return future

    with Sent(1) as pool:
        assert tracker.run(SCENARIO, executor=pool, shard_size=5).summary["hash"] == expected


def test_what_cannot_be_sent_is_said() -> None:
    class Local(NamedTuple):
        depth: float

    problem: Any = (Local(1.0),)
    with pytest.raises(ValueError, match=r"cannot be sent to other processes .* use threads"):
        workers.pack(problem)
    with pytest.raises(workers.OtherProgram, match="install the same version"):
        workers.work(workers.PackedProblem(b"", "another"), workers.Task(0, 0, 1, None))
    with pytest.raises(ValueError, match="engine: 'gpu' is none of threads"):
        executors.executor_of(problem, None, "gpu", 1)


@pytest.fixture
def mute() -> Iterator[int]:
    """A port where something listens that is no scheduler: it takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def dead() -> int:
    """A port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_dead_scheduler_is_told_before_anything_is_written(command: str, dead: int, tmp_path: Path) -> None:
    swept = ["--set", 'sweep={"chain.alpha" = [0.01, 0.02]}'] if command == "sweep" else []
    file, out = str(SCENARIOS / "example_a.toml"), tmp_path / "out"
    began = time.perf_counter()
    told = CliRunner().invoke(app, [command, file, "--out", str(out), "--engine", f"dask:127.0.0.1:{dead}", *swept])
    assert time.perf_counter() - began < 5.0
    assert told.exit_code == 2
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"dask:127.0.0.1:{dead}: no scheduler answers there (")
    assert "`dask scheduler` starts one" in line
    assert not out.exists()


def test_what_listens_but_is_no_scheduler_is_told_soon(mute: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "SECONDS_TO_ANSWER", 0.2)
    with pytest.raises(
        dask_cluster.NoScheduler, match=f"dask:tcp://127.0.0.1:{mute}: no scheduler answers there .timed out"
    ):
        tracker.run(SCENARIO, engine=f"dask:tcp://127.0.0.1:{mute}")


BABBLE = {
    "garbage": bytes(range(256)) * 8,
    "a long greeting": b"\xff" * 7 + b"\x68" + b"\x02" + b"\x00" * 7,
    "a web server": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "a mail server": b"220 mail.example.org ESMTP ready\r\n",
    "half a word": b"\x01\x02\x03",
    "nothing": b"",
}


@pytest.fixture
def babbling(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port that says what the test asks for to everybody, and then holds the line or hangs up."""
    said: bytes = request.param
    held: list[socket.socket] = []

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.sendall(said)
                held.append(connection) if said else connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        talker = threading.Thread(target=answer, daemon=True)
        talker.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    talker.join()
    for connection in held:
        connection.close()


@pytest.mark.parametrize("scheme", ["tcp://", "tls://", ""])
@pytest.mark.parametrize("babbling", BABBLE.values(), ids=BABBLE, indirect=True)
def test_what_babbles_is_no_scheduler(
    babbling: int, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "SECONDS_TO_ANSWER", 0.3)
    out, address = tmp_path / "out", f"dask:{scheme}127.0.0.1:{babbling}"
    file = str(SCENARIOS / "example_a.toml")
    began = time.perf_counter()
    told = CliRunner().invoke(app, ["run", file, "--out", str(out), "--engine", address])
    assert time.perf_counter() - began < 5.0
    assert told.exit_code == 2
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"{address}: no scheduler answers there (")
    assert not out.exists()


def test_tls_without_certificates_says_what_is_missing(mute: int) -> None:
    with pytest.raises(
        dask_cluster.NoScheduler, match="tls:// needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE"
    ):
        dask_cluster.refuse_if_silent(f"dask:tls://127.0.0.1:{mute}")


def certificates(folder: Path) -> dict[str, str]:
    """Make an authority and a certificate that it signed; return the settings with which Dask uses them."""
    ca, key, request, cert = (str(folder / name) for name in ("ca.pem", "key.pem", "request.pem", "cert.pem"))
    ca_key = str(folder / "ca-key.pem")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
    sign = ["openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial"]
    for command in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", ca_key, "-out", ca],
        [*new, "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", request],
        [*sign, "-days", "2", "-out", cert],
    ):
        subprocess.run(command, check=True, capture_output=True)
    each = {
        f"distributed.comm.tls.{role}.{k}": v
        for role in ("client", "scheduler", "worker")
        for k, v in (("cert", cert), ("key", key))
    }
    return {"distributed.comm.tls.ca-file": ca, **each}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Dask's own
def test_a_cluster_with_certificates_gives_the_same_bits(expected: str, tmp_path: Path) -> None:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with dask.config.set(certificates(tmp_path / "one")):
        secret = Security(require_encryption=True)
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            protocol="tls://",
            security=secret,
            silence_logs=50,
        ) as far:
            assert far.scheduler_address.startswith("tls://")
            run = tracker.run(SCENARIO, engine=f"dask:{far.scheduler_address}", shard_size=6)
            assert run.summary["hash"] == expected
            with (
                dask.config.set(certificates(tmp_path / "two")),
                pytest.raises(dask_cluster.NoScheduler, match="no TLS"),
            ):
                dask_cluster.refuse_if_silent(f"dask:{far.scheduler_address}")  # of another authority


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Dask's own
def test_a_cluster_is_asked_for_its_program_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://", silence_logs=50
    ) as far:
        engine = f"dask:{far.scheduler_address}"
        dask_cluster.refuse_if_silent(engine)
        monkeypatch.setattr(
            dask_cluster, "program", lambda plugins: "another" if not called.pop() else workers.program(plugins)
        )
        called = [True, False]
        file, out = str(SCENARIOS / "example_a.toml"), tmp_path / "out"
        told = CliRunner().invoke(app, ["run", file, "--out", str(out), "--engine", engine])
    assert told.exit_code == 2
    assert "install the same version there" in told.stderr
    assert not out.exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Dask's own
def test_the_local_cluster_listens_on_loopback_only() -> None:
    from tracker.engine.simulate import prepare

    before = _listening()
    engine = executors.Dask(prepare(SCENARIO), 1, None)
    try:
        new = _listening() - before
    finally:
        engine.close(at_once=True)
    assert new
    assert {host for host, _ in new} <= {"127.0.0.1", "::1"}


def _listening() -> set[tuple[str, int]]:
    """Where this process and its children take connections."""
    found = set()
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            found |= {tuple(c.laddr) for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    return found


@pytest.mark.parametrize("address", ["", "foo", "foo:", ":8786", "foo:0", "foo:99999", "tcp://", "a b:1", "x:y"])
def test_what_cannot_be_an_address_is_told_at_once(address: str) -> None:
    with pytest.raises(ValueError, match=r"must be dask:HOST:PORT, as in dask:tcp://127.0.0.1:8786"):
        tracker.run(SCENARIO, engine=f"dask:{address}")
    told = CliRunner().invoke(app, ["run", "any.toml", "--engine", f"dask:{address}"])
    assert told.exit_code == 2
    assert "dask:HOST:PORT" in told.stderr


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("tcp://127.0.0.1:8786", ("127.0.0.1", 8786)),
        ("node-3.local:80", ("node-3.local", 80)),
        ("tls://[::1]:8786", ("::1", 8786)),
    ],
)
def test_addresses_are_understood(address: str, place: tuple[str, int]) -> None:
    assert dask_cluster.host_and_port(address) == place
