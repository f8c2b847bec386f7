from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance.image import build_wheel, plan_egress_image, plan_image, write_context

BASE = "debian:bookworm-slim"


def test_a_slow_start_hazard_the_image_is_named_by_everything_that_goes_into_it(
    tmp_path: Path,
) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text("CERTIFICATE", encoding="utf-8")
    tags = {
        plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=None).tag,
        plan_image(Owner(1001, 1000), base_image=BASE, ca_bundle=None).tag,
        plan_image(Owner(1000, 1001), base_image=BASE, ca_bundle=None).tag,
        plan_image(Owner(1000, 1000), base_image="debian:trixie-slim", ca_bundle=None).tag,
        plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=authority).tag,
    }
    assert len(tags) == 5
    assert plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=None).tag in tags


def test_a_ca_bundle_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.pem"):
        plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=tmp_path / "missing.pem")


def test_the_context_holds_dockerfile_scripts_and_one_wheel(tmp_path: Path) -> None:
    write_context(plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=None), tmp_path)
    assert (tmp_path / "Dockerfile").is_file()
    assert (tmp_path / "scripts" / "entrypoint.sh").stat().st_mode & 0o111
    assert len(list((tmp_path / "wheel").glob("cspace-*-py3-none-any.whl"))) == 1
    assert (tmp_path / "ca" / "ca.crt").read_bytes() == b""


def test_the_running_package_becomes_the_same_whole_wheel_each_time() -> None:
    wheel = build_wheel()
    assert build_wheel() == wheel
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = set(archive.namelist())
        record = next(name for name in names if name.endswith("/RECORD"))
        recorded = {line.split(",")[0] for line in archive.read(record).decode().splitlines()}
    assert recorded == names
    assert {"cspace/cli/app.py", "cspace/_assets/templates/compose.yaml.j2"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_the_proxys_image_is_no_part_of_the_instances_nor_the_other_way_round() -> None:
    instances = plan_image(Owner(1000, 1000), base_image=BASE, ca_bundle=None)
    egress = plan_egress_image(base_image=BASE)
    assert "Dockerfile" in egress.files
    assert egress.files["Dockerfile"] != instances.files["Dockerfile"]
    assert not [name for name in instances.files if "egress" in name]
    with zipfile.ZipFile(io.BytesIO(build_wheel())) as archive:
        assert not [name for name in archive.namelist() if "devcontainer/egress" in name]


def test_the_proxys_image_is_named_by_what_goes_into_it_and_says_what_it_is() -> None:
    egress = plan_egress_image(base_image=BASE)
    assert egress.tag.startswith("cspace-egress:")
    assert egress.tag == plan_egress_image(base_image=BASE).tag
    assert egress.tag != plan_egress_image(base_image="debian:trixie-slim").tag
    assert egress.labels["dev.cspace.role"] == "egress"
