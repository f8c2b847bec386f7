"""The image of this checkout, for tests that start containers themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.instance import image
from cspace.owner import find_owner

BASE = "debian:bookworm-slim"
# Where a proxy signs TLS, the build needs its authority.
BUNDLE = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"


@pytest.fixture(scope="session")
def tag(tmp_path_factory: pytest.TempPathFactory, engine_answer: object) -> str:
    """Build the image of this checkout; layers that the engine has are not built again."""
    bundle = Path(BUNDLE) if Path(BUNDLE).is_file() else None
    planned = image.plan_image(find_owner(), base_image=BASE, ca_bundle=bundle)
    context = tmp_path_factory.mktemp("context")
    image.write_context(planned, context)
    arguments = {**planned.arguments, **image.proxy_arguments(os.environ)}
    options = [f"--build-arg={key}={value}" for key, value in arguments.items()]
    # Whoever comes next finds this image: it must be what cspace makes, with its label.
    options += [f"--label={key}={value}" for key, value in planned.labels.items()]
    proc.run("docker", "build", "--quiet", "--tag", planned.tag, *options, context)
    return planned.tag
