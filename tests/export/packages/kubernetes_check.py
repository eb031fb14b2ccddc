# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests against the models that Kubeflow generates from its CRDs' schemas.

usage: kubernetes_check.py BUNDLE ...
A manifest passes when the model of its kind reads it and gives it back with nothing lost: an unknown
key would be.
"""
import sys
from pathlib import Path

import yaml
from kubeflow.training import ApiClient
from kubeflow.training import models as v1
from kubeflow_trainer_api import models as v2


class Response:
    def __init__(self, text):
        self.data = text


def given_back(manifest):
    kind = manifest["kind"]
    if kind == "TrainJob":
        return v2.TrainerV1alpha1TrainJob.from_dict(manifest).to_dict()
    if kind == "JobSet":
        return v2.JobsetV1alpha2JobSet.from_dict(manifest).to_dict()
    if kind == "ConfigMap":
        assert all(isinstance(text, str) for text in manifest["data"].values())
        return manifest
    import json

    client = ApiClient()
    return client.sanitize_for_serialization(
        client.deserialize(Response(json.dumps(manifest)), v1.KubeflowOrgV1PyTorchJob))


def lost(wanted, got, path=""):
    if isinstance(wanted, dict):
        for key, entry in wanted.items():
            if not isinstance(got, dict) or key not in got:
                yield f"{path}.{key}"
            else:
                yield from lost(entry, got[key], f"{path}.{key}")
    elif isinstance(wanted, list):
        for i, entry in enumerate(wanted):
            yield from lost(entry, got[i] if i < len(got) else None, f"{path}[{i}]")
    elif wanted != got:
        yield f"{path}: {wanted!r} became {got!r}"


failed, read = 0, 0
for bundle in sys.argv[1:]:
    for path in Path(bundle).glob("*.yaml"):
        manifest = yaml.safe_load(path.read_text())
        if "apiVersion" not in manifest:
            continue
        read += 1
        if manifest["kind"] == "ConfigMap":
            for name, text in manifest["data"].items():
                own = Path(bundle) / name
                if own.read_text() != text:
                    failed += 1
                    print(f"{path}: {name} is not the bundle's")
        try:
            for loss in lost(manifest, given_back(manifest)):
                failed += 1
                print(f"{path}: {loss}")
        except Exception as error:
            failed += 1
            print(f"{path}: {type(error).__name__}: {str(error)[:300]}")
print(f"{read} manifests, {failed} mistakes")
sys.exit(1 if failed or not read else 0)
