"""Checksums that are made to fit again after a change: what a loader then refuses, it refuses for what the file says.

Without this, nearly every change of what Thence wrote is refused for its checksum alone.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np

from tests.fuzz.samples import Files
from thence._base.integrity.arrays import dump_arrays
from thence._base.integrity.checksums import CHECKSUM, seal
from thence._base.integrity.manifest import MANIFEST, Entry, Manifest

RECORDS = ("meta", "numbers")


def sign(files: Files) -> Files:
    """Return the files with new checksums: in records, in files of arrays, and in the manifest if there is one."""
    signed = {name: sign_file(name, data) for name, data in files.items()}
    if "model.json" in signed:
        signed["model.json"] = sign_model(signed["model.json"], signed)
    if MANIFEST in signed:
        entries = {
            name: Entry(len(data), hashlib.sha256(data).hexdigest())
            for name, data in signed.items()
            if name not in (MANIFEST, "reviews.json")
        }
        signed[MANIFEST] = json.dumps(Manifest(Path(), entries).to_dict()).encode()
    return signed


def sign_file(name: str, data: bytes) -> bytes:
    """Return a file with its own checksum, if it can carry one."""
    try:
        if name.endswith(".json") and name not in (MANIFEST, "model.json"):
            record = json.loads(data)
            return json.dumps(seal(record)).encode() if isinstance(record, dict) and CHECKSUM in record else data
        if name.endswith(".npz"):
            with np.load(io.BytesIO(data), allow_pickle=False) as source:
                arrays = {entry: source[entry] for entry in source.files}
            entry = next(entry for entry in RECORDS if entry in arrays)
            return dump_arrays(json.loads(arrays.pop(entry).tobytes()), arrays, entry=entry)
    except Exception:  # what cannot be signed is left as it is
        pass
    return data


def sign_model(data: bytes, files: Files) -> bytes:
    """Return the description of networks with the checksums of their files and of itself."""
    try:
        content = json.loads(data)
        for block in content["blocks"]:
            network = block["network"]
            network["sha256"] = hashlib.sha256(files[network["file"]]).hexdigest()
        content["sha256"] = hashlib.sha256(json.dumps(content["blocks"], sort_keys=True).encode()).hexdigest()
        return json.dumps(content).encode()
    except Exception:
        return data
