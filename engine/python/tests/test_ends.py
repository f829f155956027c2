"""Progress, ends by exceptions and signals, calls beside each other, and forks."""

import os
import random
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from conftest import nothing_goes_on, ppm, threads, tiles, until

import edgezoom


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def large(photo):
    return photo.repeat(3, axis=0).repeat(2, axis=1)


def test_progress_never_falls_and_ends_at_the_last_row(large):
    seen = []
    edgezoom.dzsave(ppm(large), lambda *tile: None, progress=lambda *rows: seen.append(rows))
    assert seen == sorted(seen) and seen[-1] == (2100, 2100)
    assert {of for _, of in seen} == {2100}


def ends(large, folder, number):
    """Returns a source and a target, different ones for each number."""
    source = large if number % 2 else ppm(large)
    return source, [folder / "out", folder / "out.szi", lambda *tile: None, None][number % 4]


def test_a_hundred_ends_by_an_exception_leave_nothing(large, tmp_path):
    chance = random.Random(1)
    for number in range(100):
        source, target = ends(large, tmp_path, number)
        left = chance.randrange(30)

        def stop(*_):
            nonlocal left
            left -= 1
            if left < 0:
                raise Stop

        if callable(target):
            with pytest.raises(Stop):
                edgezoom.dzsave(source, stop)
        else:
            left = 0 if number % 8 < 4 else -1
            with pytest.raises(Stop):
                edgezoom.dzsave(source, target, progress=stop)
        assert os.listdir(tmp_path) == []
        nothing_goes_on()


def test_a_hundred_ends_by_a_signal_leave_nothing(large, tmp_path):
    chance, stopped, is_armed = random.Random(2), 0, False

    def stop(*_):
        if is_armed:
            raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for number in range(100):
            source, target = ends(large, tmp_path, number)
            try:
                is_armed = True
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.1))
                edgezoom.dzsave(source, target)
                is_armed = False
            except Stop:
                is_armed, stopped = False, stopped + 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            nothing_goes_on()
            # A signal may come after the end, too.
            assert sorted(os.listdir(tmp_path)) in ([], ["out.szi"], ["out.dzi", "out_files"])
            shutil.rmtree(tmp_path)
            tmp_path.mkdir()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stopped > 0


def test_ctrl_c_ends_a_call_that_tells_nothing():
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='5' height='5'/><text>a</text></svg>"

    is_pressed = False

    def press(*_):
        nonlocal is_pressed
        if threads() and not is_pressed:  # an ended thread may be listed for a moment
            is_pressed = True
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        with pytest.raises(KeyboardInterrupt):
            edgezoom.text(drawing)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    nothing_goes_on()


def test_ctrl_c_in_a_function_ends_its_call(large):
    # Shells let programs in the background ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            edgezoom.dzsave(large, lambda *tile: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    nothing_goes_on()


def test_an_iterator_waits_for_its_reader_and_may_be_left(large):
    with closing(edgezoom.tiles(large, tile_size=64)) as some:
        first = next(some)
        assert len(first) == 4 and isinstance(first.bytes, bytes)
        until(lambda: not any(is_busy() for _ in range(20)))
        assert len([first, *some]) == len(tiles(large, tile_size=64))
    with closing(edgezoom.tiles(large, tile_size=64)) as some:
        next(some)
        assert threads()
    nothing_goes_on()


def is_busy():
    """Returns true if a thread of the engine runs."""
    stats = [Path("/proc/self/task", thread, "stat").read_text() for thread in threads()]
    return any(stat.rsplit(")")[1].split()[0] == "R" for stat in stats)


def test_four_calls_at_once_and_python_goes_on(large, photo):
    expected, turns, is_over = tiles(ppm(photo)), 0, threading.Event()

    def count():
        nonlocal turns
        while not is_over.is_set():
            turns += 1

    counting = threading.Thread(target=count)
    counting.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(found == expected for found in pool.map(tiles, [ppm(photo), photo] * 4))
        before = turns
        edgezoom.dzsave(large)
        assert turns > before
    finally:
        is_over.set()
        counting.join()


def test_forked_children_save_as_their_parent_does(photo):
    expected = tiles(photo)
    with closing(edgezoom.tiles(photo, tile_size=64)) as some:
        next(some)  # the engine has threads while the process forks
        children = [fork(lambda: tiles(photo) == expected) for _ in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert tiles(photo) == expected


def fork(holds):
    """Starts a child that succeeds if something holds, and returns its number."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            os._exit(0 if holds() else 1)
        finally:
            os._exit(2)
    return child
