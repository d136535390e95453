"""A server of the page with one fault: `python tests/faulty_server.py FAULT`."""

import os
import re
import subprocess
import sys
import threading
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

from web import api, refusals, server
from web.lanes import BusyError

FAULTS = {}
KEPT = []


def fault(plant):
    """Add a function that puts a fault into the modules of this process; its name is the fault."""
    FAULTS[plant.__name__] = plant
    return plant


@fault
def fails():
    def standing_json(game):
        raise ZeroDivisionError

    api.standing_json = standing_json


@fault
def is_busy_and_does_not_say_for_how_long():
    def standing_json(game):
        raise BusyError("busy")

    def refused_without_it(reason, status, headers=None):
        headers = {name: value for name, value in (headers or {}).items() if name != "Retry-After"}
        return refused(reason, status, headers)

    refused = refusals.refused
    api.standing_json, refusals.refused = standing_json, refused_without_it


@fault
def lets_uvicorn_refuse_what_is_too_much():
    def connection_made(self, transport):
        most = self.limit_concurrency
        connection_made_by_us(self, transport)
        self.limit_concurrency = most

    connection_made_by_us = server.Connection.connection_made
    server.Connection.connection_made = connection_made


@fault
def describes_another_answer():
    describe = server.DescribedApp.openapi

    def openapi(self):
        described = describe(self)
        described["components"]["schemas"]["GamesAnswer"]["properties"]["count"]["type"] = "string"
        return described

    server.DescribedApp.openapi = openapi


@fault
def sends_any_file():
    def lookup_path(self, path):
        full_path = os.path.join("models", path)
        return full_path, os.stat(full_path) if os.path.isfile(full_path) else None

    server.SmallFiles.lookup_path = lookup_path


@fault
def serves_other_pages():
    refusals.stranger = lambda headers: ""


@fault
def has_any_name():
    refusals.HOST = re.compile(b"(?s).*")


@fault
def waits_for_silent_clients():
    server.Connection = H11Protocol


@fault
def computes_where_it_listens():
    finished = api.finished

    def slowly(*asked, **about):
        time.sleep(6)
        return finished(*asked, **about)

    api.finished = slowly


@fault
def takes_much_memory():
    KEPT.append(b"x" * 450_000_000)


@fault
def logs_a_traceback():
    sys.stderr.write("Traceback (most recent call last):\n")


@fault
def goes_on_after_its_end():
    threading.Thread(target=time.sleep, args=(600,)).start()


@fault
def leaves_a_process():
    subprocess.Popen(["sleep", "600"])


if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(server.main(["--port", "0"]))
