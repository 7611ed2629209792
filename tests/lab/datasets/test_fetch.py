"""Published files: downloaded once, checked, resumed, from the first address that has them; or one clear error."""

from __future__ import annotations

import errno
import hashlib
import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.helpers.processes import PATIENCE
from tests.helpers.publishers import Publisher, publish
from thence._base.integrity.checksums import file_digest
from thence.data.datasets.published import Archive, Published, Remote
from thence.errors import InputError
from thence.lab.datasets import folders as fetching
from thence.lab.datasets.folders import data_folders, fetched_folder, find_folder, get_files

CONTENT = b"".join(b"%d,%d\n" % (row, row * row) for row in range(20_000))
OTHER = CONTENT[::-1]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def publication(*files: Remote) -> Published:
    return Published("things", files, "The Publisher", "https://doi.org/10.1/x", "CC0", "Somebody (2020)")


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("THENCE_OFFLINE", "0")
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("THENCE_MIRROR", raising=False)
    return tmp_path / "cache" / "data" / "things"


@pytest.fixture
def server() -> Iterator[Publisher]:
    with publish() as publisher:
        publisher.files["/a.csv"] = CONTENT
        yield publisher


@pytest.fixture
def remote(server: Publisher) -> Remote:
    return Remote("a.csv", len(CONTENT), digest(CONTENT), (f"{server.url}/a.csv",))


def find(*files: Remote, **options: Any) -> Path:
    return find_folder("things", publication(*files), [file.name for file in files], **options)


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_a_file_is_downloaded_once_and_not_read_again(server: Publisher, remote: Remote, online: Path) -> None:
    seen: list[tuple[float, float]] = []
    folder = find(remote, progress=lambda stage, done, total, note="": seen.append((done, total)))
    assert folder == online and (folder / "a.csv").read_bytes() == CONTENT and leftovers(folder) == {"a.csv"}
    assert seen[-1] == (len(CONTENT), len(CONTENT))

    def refuse(path: Path) -> str:
        raise AssertionError("a file in the cache was read to find it")

    assert find(replace(remote, digest=refuse)) == folder
    assert server.log == [("/a.csv", None)]


def test_the_next_address_is_tried_after_a_wrong_checksum_or_a_missing_file(server: Publisher, remote: Remote) -> None:
    server.files["/wrong.csv"] = OTHER
    addresses = tuple(f"{server.url}/{name}" for name in ("none.csv", "wrong.csv", "a.csv"))
    assert (find(replace(remote, urls=addresses)) / "a.csv").read_bytes() == CONTENT
    assert [path for path, _ in server.log] == ["/none.csv", "/wrong.csv", "/a.csv"]


def test_wrong_everywhere_is_one_error_that_names_addresses_and_checksums(
    server: Publisher, remote: Remote, online: Path
) -> None:
    server.files["/a.csv"] = OTHER
    addresses = (f"{server.url}/a.csv", f"{server.url}/none.csv")
    with pytest.raises(InputError) as caught:
        find(replace(remote, urls=addresses))
    message = str(caught.value)
    for part in (*addresses, digest(CONTENT), digest(OTHER), "404 Not Found", "a.csv (0.3 MB)", str(online)):
        assert part in message
    assert "https://doi.org/10.1/x" in message and "THENCE_DATA" in message and "path=" in message
    assert leftovers(online) == set()


def test_what_was_cut_off_is_resumed_by_range(server: Publisher, remote: Remote) -> None:
    server.cuts["/a.csv"] = [81_920, 40_960]
    assert (find(remote) / "a.csv").read_bytes() == CONTENT
    assert server.log == [("/a.csv", None), ("/a.csv", "bytes=81920-"), ("/a.csv", "bytes=122880-")]


def test_a_later_call_resumes_what_an_earlier_one_left(server: Publisher, remote: Remote, online: Path) -> None:
    """Also after another version of the file: its part leads to a wrong checksum, and the download begins anew."""
    online.mkdir(parents=True)
    for part, ranges in (
        (CONTENT[:1000], ["bytes=1000-"]),
        (CONTENT, [f"bytes={len(CONTENT)}-"]),
        (OTHER[:1000], ["bytes=1000-", None]),
        (OTHER + b"more", [f"bytes={len(CONTENT) + 4}-", None]),
    ):
        (online / "a.csv").unlink(missing_ok=True)
        (online / "a.csv.part").write_bytes(part)
        server.log.clear()
        assert (find(remote) / "a.csv").read_bytes() == CONTENT and leftovers(online) == {"a.csv"}
        assert [wanted for _, wanted in server.log] == ranges


def test_a_server_without_ranges_sends_the_file_again(server: Publisher, remote: Remote) -> None:
    server.ranges = False
    server.cuts["/a.csv"] = [70_000]
    assert (find(remote) / "a.csv").read_bytes() == CONTENT
    assert len(server.log) == 2


def test_an_interrupted_download_leaves_its_part(server: Publisher, remote: Remote, online: Path) -> None:
    def interrupt(stage: str, done: float, total: float, note: str = "") -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(remote, progress=interrupt)
    assert "a.csv" not in leftovers(online)
    assert (find(remote) / "a.csv").read_bytes() == CONTENT
    assert server.log[1][1] is not None


def test_a_server_that_stops_sending_is_given_up(
    server: Publisher, remote: Remote, online: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_TIMEOUT", (5.0, 0.05))
    server.files["/slow.csv"], server.cuts["/slow.csv"] = CONTENT, [8_192, 0]
    server.stalls.add("/slow.csv")
    slow = replace(remote, urls=(f"{server.url}/slow.csv",))
    with pytest.raises(InputError, match=r"slow.csv: timed out"):
        find(slow)
    assert leftovers(online) <= {"a.csv.part"}
    server.cuts["/slow.csv"] = [0]
    assert (find(replace(slow, urls=(*slow.urls, *remote.urls))) / "a.csv").read_bytes() == CONTENT


def test_a_host_that_does_not_answer_is_asked_once(server: Publisher, online: Path) -> None:
    """Without this, many files behind a firewall would each wait for the time-out."""
    with publish() as gone:
        pass
    files = [
        Remote(f"{name}.csv", len(CONTENT), digest(CONTENT), (f"{gone.url}/{name}.csv", f"{server.url}/a.csv"))
        for name in "xyz"
    ]
    assert leftovers(find(*files)) == {"x.csv", "y.csv", "z.csv"}
    with pytest.raises(InputError, match=r"Connection refused(.|\n)*did not answer before"):
        find(*(replace(file, name=f"new {file.name}", urls=file.urls[:1]) for file in files))


def test_redirects_are_followed_also_when_resumed(server: Publisher, remote: Remote) -> None:
    server.redirects["/old.csv"] = f"{server.url}/a.csv"
    server.cuts["/a.csv"] = [8_192]
    assert (find(replace(remote, urls=(f"{server.url}/old.csv",))) / "a.csv").read_bytes() == CONTENT
    assert server.log[-1] == ("/a.csv", "bytes=8192-")


def test_a_full_disk_is_an_error_and_leaves_nothing(
    remote: Remote, online: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(io.BytesIO):
        def write(self, block: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    opened = Path.open

    def open_part(path: Path, mode: str = "r", *given: Any, **options: Any) -> Any:
        if path.suffix == ".part" and mode != "rb":
            opened(path, mode).close()
            return FullDisk()
        return opened(path, mode, *given, **options)

    monkeypatch.setattr(Path, "open", open_part)
    with pytest.raises(InputError, match=f"^{online}: no space left on the disk .*THENCE_CACHE"):
        find(remote)
    assert leftovers(online) == set()


def test_a_folder_that_cannot_be_written_is_an_error(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        find(remote)


@pytest.mark.parametrize("reason", ["THENCE_OFFLINE is set", "pip install 'thence[datasets]'"])
def test_without_the_network_or_pooch_nothing_is_asked(
    server: Publisher, remote: Remote, online: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    if "OFFLINE" in reason:
        monkeypatch.setenv("THENCE_OFFLINE", "1")
    else:
        monkeypatch.setattr(fetching.util, "find_spec", lambda name: None)
    many = [replace(remote, name=f"{number}.csv") for number in range(6)]
    with pytest.raises(InputError) as caught:
        find(*many)
    message = str(caught.value)
    assert reason in message and remote.urls[0] in message and str(online) in message and "3.csv (0.3 MB)" in message
    assert "and 2 more: thence datasets show things" in message and "4.csv" not in message
    assert server.log == []


def test_an_address_of_your_own_is_tried_first(
    server: Publisher, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/copies/things/deep/a%20b.csv"] = CONTENT
    monkeypatch.setenv("THENCE_MIRROR", f"{server.url}/copies/")
    find(replace(remote, name="deep/a b.csv"), remote)
    assert [path for path, _ in server.log] == ["/copies/things/deep/a%20b.csv", "/copies/things/a.csv", "/a.csv"]


def test_threads_and_processes_download_a_file_once(server: Publisher, remote: Remote, online: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(find(remote))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [online] * 4 and len(server.log) == 1
    (online / "a.csv").unlink()
    code = (
        "from thence.lab.datasets.folders import find_folder; from thence.data.datasets.published import *;"
        f"p = Published('things', (Remote({remote.name!r}, {remote.size}, {remote.sha256!r}, {remote.urls!r}),),"
        "'', '', '', ''); print(find_folder('things', p, ['a.csv']))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=PATIENCE) for process in running]
    assert [(out.strip(), err) for out, err in told] == [(str(online), "")] * 2
    assert (online / "a.csv").read_bytes() == CONTENT and leftovers(online) == {"a.csv"}


def test_files_are_taken_from_an_archive_that_is_downloaded_once(
    server: Publisher, remote: Remote, online: Path
) -> None:
    """Members are found by their base names; of several, the one with the right checksum counts."""
    windows = CONTENT.replace(b"\n", b"\r\n")
    members = {"old/a.csv": OTHER, "data/new/a.csv": CONTENT, "data/b.csv": windows, "c.csv": OTHER}
    server.files["/all.zip"] = zipped(members)
    archive = Archive("all.zip", (f"{server.url}/none.zip", f"{server.url}/all.zip"))
    a = replace(remote, urls=(), archive=archive)
    b = replace(a, name="b.csv", newlines=True)
    assert find(a, b) == online and leftovers(online) == {"a.csv", "b.csv"}
    assert (online / "a.csv").read_bytes() == (online / "b.csv").read_bytes() == CONTENT
    assert [path for path, _ in server.log] == ["/none.zip", "/all.zip"]
    with pytest.raises(InputError) as caught:
        find(replace(a, name="c.csv"), replace(a, name="d.csv"))
    message = str(caught.value)
    assert f"c.csv: the SHA-256 is {digest(OTHER)}, expected {digest(CONTENT)}" in message
    assert "no member d.csv" in message and "none.zip: 404" in message
    server.files["/all.zip"] = b"not a zip"
    with pytest.raises(InputError, match=r"all.zip: not a zip archive"):
        find(replace(a, name="c.csv"))
    assert leftovers(online) == {"a.csv", "b.csv"}


def test_an_archive_that_was_put_in_a_folder_is_used(
    remote: Remote, online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THENCE_OFFLINE", "1")
    a = replace(remote, urls=(), archive=Archive("all.zip", ("https://example.org/all.zip",)))
    with pytest.raises(InputError, match=r"put them \(or all.zip\) in"):
        find(a)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "all.zip").write_bytes(zipped({"x/a.csv": CONTENT}))
    for _ in range(2):
        assert find(a, path=tmp_path / "mine") == online
    assert leftovers(tmp_path / "mine") == {"all.zip"}


def test_a_file_can_be_made_from_an_archive(server: Publisher, online: Path) -> None:
    def join(archive: ZipFile, target: Path) -> None:
        target.write_bytes(b"".join(archive.read(name) for name in sorted(archive.namelist())))

    server.files["/all.zip"] = zipped({"1": b"one", "2": b"two"})
    archive = Archive("all.zip", (f"{server.url}/all.zip",))
    made = Remote("joined", 0, digest(b"onetwo"), archive=archive, make=join)
    assert (find(made) / "joined").read_bytes() == b"onetwo"
    with pytest.raises(InputError, match=rf"other: the SHA-256 is {digest(b'onetwo')}, expected"):
        find(replace(made, name="other", sha256=digest(b"")))
    assert leftovers(online) == {"joined"}


def test_damaged_files_in_the_cache_are_downloaded_again(server: Publisher, remote: Remote, online: Path) -> None:
    """One of another size when it is needed, one of the same size when ``thence datasets get`` checks it."""
    things = publication(remote)
    assert get_files("things", things) == (online, ("a.csv",))
    assert get_files("things", things) == (online, ())
    (online / "a.csv").write_bytes(CONTENT[:-1])
    assert file_digest(find(remote) / "a.csv") == remote.sha256
    (online / "a.csv").write_bytes(OTHER)
    assert get_files("things", things) == (online, ("a.csv",))
    assert file_digest(online / "a.csv") == remote.sha256 and len(server.log) == 3


def test_a_given_path_is_never_completed_by_a_download(server: Publisher, remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing: a.csv \(get them from The Publisher, https://doi.org/10.1/x"):
        find(remote, path=tmp_path)
    assert server.log == []


def test_the_folder_for_downloads_is_searched(remote: Remote) -> None:
    assert fetched_folder(publication(remote)).parent in data_folders()
