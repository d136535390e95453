"""The files of a run, in the folder that a training writes.

runs/dqn-0/
    config.json         agent, configuration, versions
    checkpoint/         all that is needed to continue, bit for bit: model, state and metrics, the
                        best model so far, and a manifest of these files
    history.npz         the policies of its evaluations
    metrics.csv         exact results over the steps, and the learner's notes
    model.safetensors   the best model so far; model.json holds its sha256
    events.out...       the results for TensorBoard, with the learner's losses
    certificate.json    what is proven of the best model
    values.npz          its own values of the moves in all positions, if it has any
    growth.png          wins, losses and exploitability over the steps
    manifest.json       the sha256 of every file, written last: the run is complete

The state of a run is its last complete checkpoint, which replaces the one before by renaming. All
other files follow from it: after a kill they are brought back to it, and at the end written anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.certificates.certificate import write
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.files import MANIFEST, check_files, missing_of
from training import checkpoint, files, history, kernels, metrics
from training.checkpoint import BEST, MODEL
from training.files import LOCK, Saved, write_json
from training.learner import AgentModule, Learner
from training.options import BoardConfig
from training.record import Best, Record
from training.values import FILE as VALUES
from training.values import OwnValues, write_values

CONFIG = "config.json"
PROGRESS = "progress.json"
Name = Annotated[str, Field(pattern=r"^[^/\\[:cntrl:]]+$")]


class Configuration(Saved):
    """The contents of config.json. rival, rival_of: the folder of a second learner beside this."""

    agent: str
    config: dict[str, Any]
    versions: dict[str, str]
    preset: Name | None = None
    rival: Name | None = None
    rival_of: Name | None = None


def read_config_file(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json, in which the configuration itself is not checked yet.

    Raises FileNotFoundError if there is none, DamagedFileError if it does not describe a run.
    """
    check_files(folder, [CONFIG])
    return Configuration.read(folder / CONFIG).model_dump(exclude_none=True)


class Made(Saved):
    """The part of progress.json that is read: the seconds of a training up to its checkpoint."""

    seconds: float


class RunFiles:
    """The folder of a run: it is held by one process, brought to a checkpoint, and sealed.

    module, config, preset: what is trained, as config.json states it. related: further entries of
    that file. checkpoint: its folder, if it is not in the run's.
    """

    def __init__(
        self,
        folder: Path,
        module: AgentModule,
        config: BoardConfig,
        preset: str | None = None,
        *,
        related: Mapping[str, str] | None = None,
        checkpoint: Path | None = None,
    ):
        self.folder = folder
        self.module = module
        self.config = config
        self.preset = preset
        self.related = related or {}
        self.checkpoint = checkpoint or folder / "checkpoint"

    # --- the folder ------------------------------------------------------------------------------

    def check_folder(self) -> None:
        """Raise ValueError if the path is a file or a folder with content."""
        if self.folder.exists() and (not self.folder.is_dir() or self._has_content()):
            raise ValueError(
                f"{self.folder} is not an empty folder: give another --out, or continue it with "
                f"--resume {self.folder}"
            )

    def _has_content(self) -> bool:
        """True if anything is in the folder besides its lock."""
        return self.folder.is_dir() and any(one.name != LOCK for one in self.folder.iterdir())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process. Raises ValueError if another one trains the run.

        If nothing was saved in a new folder, it is removed again.
        """
        is_new = not self._has_content()
        with files.locked(self.folder):
            try:
                yield
            finally:
                if is_new and not self.is_saved:
                    shutil.rmtree(self.folder, ignore_errors=True)

    def write_config(self) -> None:
        """Write config.json."""
        stated: dict[str, Any] = {"agent": self.module.AGENT}
        if self.preset:
            stated["preset"] = self.preset
        stated["config"] = self.config.saved()
        made_with = {"versions": package_versions(), "kernels": kernels.chosen()}
        write_json(self.folder / CONFIG, {**stated, **self.related, **made_with})

    # --- the checkpoint --------------------------------------------------------------------------

    @property
    def is_saved(self) -> bool:
        """True if there is a checkpoint to continue from; asked also where the disk has failed."""
        return files.has_folder(self.checkpoint)

    def recover_checkpoint(self) -> None:
        """Restore the checkpoint after a kill. Raises FileNotFoundError if there is none."""
        files.recover_folder(self.checkpoint)
        if not self.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint to continue from: train anew with another --out"
            )

    def write_checkpoint(
        self, folder: Path, learner: Learner, record: Record, seconds: float
    ) -> None:
        """Write a checkpoint into an empty folder, its manifest last."""
        checkpoint.save(folder, self.module.AGENT, self.config, learner)
        if record.best is not None:
            checkpoint.write_model(folder / BEST, self.module.AGENT, record.best.model)
        metrics.write_metrics(folder / metrics.FILE, record.rows)
        record.history.write(folder / history.FILE)
        write_json(folder / PROGRESS, {"steps": learner.steps, "seconds": seconds})
        files.write_manifest(folder)

    def read_checkpoint(self, learner: Learner, record: Record) -> float:
        """Restore the learner and the record of a training; the seconds up to there.

        Changes no file. Raises DamagedFileError, and ValueError for another configuration.
        """
        files.check_all(self.checkpoint)
        seconds = Made.read(self.checkpoint / PROGRESS).seconds
        record.rows = metrics.read_metrics(self.checkpoint / metrics.FILE)
        record.history = history.History.read(self.checkpoint / history.FILE)
        checkpoint.restore(self.checkpoint, self.module.AGENT, self.config, learner)
        if record.rows:  # else it was written before the first evaluation
            model = checkpoint.read_model(
                self.checkpoint / BEST, self.module.AGENT, type(self.config)
            )
            results = metrics.results_of(record.row_at(model.steps), record.rules)
            record.best = Best(model, results, {})
        return seconds

    # --- what follows from the checkpoint --------------------------------------------------------

    def publish(self, record: Record) -> None:
        """Bring metrics, history and best model of the run to the checkpoint.

        A certificate of another model is removed; the new one is written at the end.
        """
        metrics.write_metrics(self.folder / metrics.FILE, record.rows)
        record.history.write(self.folder / history.FILE)
        if record.best is None:
            return
        for suffix in (".safetensors", ".json"):
            data = (self.checkpoint / BEST).with_suffix(suffix).read_bytes()
            target = (self.folder / MODEL).with_suffix(suffix)
            if not target.exists() or target.read_bytes() != data:
                (self.folder / CERTIFICATE).unlink(missing_ok=True)
                (self.folder / VALUES).unlink(missing_ok=True)
                files.write_bytes(target, data)

    def return_to_checkpoint(self, record: Record) -> None:
        """Bring the files of the run to the checkpoint that was read, as far as they are ahead."""
        (self.folder / MANIFEST).unlink(missing_ok=True)
        files.remove_leftovers(self.folder)
        self.write_config()
        self.publish(record)

    def write_tables(self, learner: Learner) -> None:
        """Write the learner's own tables."""
        for name, table in learner.tables().items():
            files.write_csv(self.folder / name, table.names, table.rows)

    def write_certificate(self, certificate: Certificate, own: OwnValues | None) -> None:
        """Write the certificate of the best model, and its own values if it has any."""
        write(certificate, self.folder / CERTIFICATE)
        if own is not None:
            write_values(own, certificate.sha256_of_moves, self.folder / VALUES)

    # --- the seal --------------------------------------------------------------------------------

    @property
    def is_sealed(self) -> bool:
        """True if the run has come to its end, and lacks none of its files.

        Raises DamagedFileError for a file that was changed since then.
        """
        return (self.folder / MANIFEST).exists() and not missing_of(self.folder)

    def seal(self) -> None:
        """Write the manifest of all files: the run is complete."""
        files.remove_leftovers(self.folder)  # if the disk has failed when a checkpoint was replaced
        files.write_manifest(self.folder)
