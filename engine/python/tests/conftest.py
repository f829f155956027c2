"""Pictures for the tests, and the events that `cargo xtask test` reads: those of Rust's test programs."""

import json
import os
import time
from pathlib import Path

import numpy
import pytest

import edgezoom

ROOT = Path(__file__).parents[3]


def pytest_addoption(parser):
    parser.addoption("--events", action="store_true", help="print an event of JSON for each test")


class Events:
    def __init__(self):
        self.reports = []

    def print(self, **event):
        print(json.dumps(event, separators=(",", ":")), flush=True)

    def pytest_collection_finish(self, session):
        self.print(type="suite", event="started", test_count=len(session.items))

    def pytest_collectreport(self, report):
        if report.failed:
            print(report.longreprtext, flush=True)

    def pytest_runtest_logstart(self, nodeid):
        self.reports = []
        self.print(type="test", event="started", name=nodeid)

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def pytest_runtest_logfinish(self, nodeid):
        failed = [report for report in self.reports if report.failed]
        skipped = any(report.skipped for report in self.reports)
        self.print(
            type="test",
            event="failed" if failed else "ignored" if skipped else "ok",
            name=nodeid,
            exec_time=sum(report.duration for report in self.reports),
            stdout="\n".join(f"{report.longreprtext}\n{report.capstdout}{report.capstderr}" for report in failed),
        )


def pytest_configure(config):
    if config.getoption("--events"):
        config.pluginmanager.register(Events())


@pytest.fixture(scope="session")
def photo():
    """An array of 900×700 pixels: waves and some noise."""
    y, x = numpy.mgrid[0:700, 0:900]
    waves = numpy.stack([x + y, 2 * x - y, x * y / 300], axis=2) / 40
    noise = numpy.random.default_rng(1).normal(0, 4, waves.shape)
    return (127 + 100 * numpy.sin(waves) + noise).clip(0, 255).astype(numpy.uint8)


def ppm(pixels):
    """Returns an array as the bytes of a file."""
    kind = b"P5" if pixels.ndim == 2 else b"P6"
    return b"%s %d %d 255\n" % (kind, pixels.shape[1], pixels.shape[0]) + pixels.tobytes()


def tiles(src, **options):
    """Returns all tiles of a source."""
    return {tile[:3]: tile.bytes for tile in edgezoom.tiles(src, **options)}


#: Threads of the interpreter and of NumPy.
OTHERS = set(os.listdir("/proc/self/task"))


def threads():
    """Returns the engine's threads."""
    return set(os.listdir("/proc/self/task")) - OTHERS


def until(holds):
    """Waits for a state."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def nothing_goes_on():
    """Waits until no thread is left: the kernel may list one for a moment after it has been joined."""
    until(lambda: not threads())
