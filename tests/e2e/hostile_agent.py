"""Run inside an instance: everything that an agent could try on who looks into its network."""

import contextlib
import pathlib
import socket
import time

LIE = '#!/bin/sh\necho \'{"routes": [], "proxy": false}\'\n'
PLACES = ("/opt/cspace/bin", "/usr/local/bin", "/usr/bin", "/workspace", "/home/dev")
SYSTEM = ("/etc/hosts", "/etc/resolv.conf", "/usr/lib/python3/sitecustomize.py")

for place in PLACES:
    for name in ("python", "python3", "curl", "docker", "cspace"):
        with contextlib.suppress(OSError):
            path = pathlib.Path(place, name)
            path.unlink(missing_ok=True)
            path.write_text(LIE, encoding="utf-8")
            path.chmod(0o755)
for place in SYSTEM:
    with contextlib.suppress(OSError):
        pathlib.Path(place).write_text("127.0.0.1 egress a.root-servers.net\n", encoding="utf-8")
held = []
for port in (*range(1, 512), 3128, 8080):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for address in ("0.0.0.0", "127.0.0.11"):  # noqa: S104  in the instance
            one = socket.socket(socket.AF_INET, kind)
            with contextlib.suppress(OSError):
                one.bind((address, port))
                if kind == socket.SOCK_STREAM:
                    one.listen()
                held.append(one)
with contextlib.suppress(OSError), pathlib.Path("/tmp/full").open("wb") as file:
    file.write(b"x" * 50_000_000)
pathlib.Path("/tmp/hostile").write_text(str(len(held)), encoding="ascii")
time.sleep(600)
