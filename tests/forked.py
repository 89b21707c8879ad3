# ruff: noqa: SIM115 (the streams of a process stay open)
"""Python programs as processes that start at once.

A fresh interpreter takes seconds of processor time to import the package. These processes are
forked from one that has imported it. Descriptors, folder, environment, signals and exit codes are
those of a real process. Tests of what happens while Python or the package loads start a fresh
interpreter instead.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
import types
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

LOADED = [
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "rich.progress",
    "sketchlasso.cluster.dask_engine",
    "sketchlasso.engine",
    "sketchlasso.interfaces.cli",
    "sketchlasso.interfaces.app",
    "sketchlasso.interfaces.commands.screen",
    "sketchlasso.interfaces.web",
    "sketchlasso.topics",
    "uvicorn",
]


def forking_context():
    """Return the context of multiprocessing whose processes have imported the package."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


class Forked:
    """What subprocess.Popen is, as far as the tests use it; all streams are text.

    Parameters
    ----------
    arguments : sequence
        What follows the name of the interpreter: `-m module` or `-c code`, and more.
    stdin, stdout, stderr : int or None
        A descriptor, or subprocess.PIPE for the latter two.
    cwd : path-like, optional
    env : dict, optional
    """

    def __init__(self, arguments, *, stdin=None, stdout=None, stderr=None, cwd=None, env=None):
        ends, self._read = {}, {}
        for number, given in enumerate((stdin, stdout, stderr)):
            if given == subprocess.PIPE:
                self._read[number], ends[number] = os.pipe()
            elif given is not None:
                ends[number] = os.dup(given)
        sent = {number: Connection(end) for number, end in ends.items()}
        place, variables = os.fspath(cwd or os.getcwd()), dict(os.environ if env is None else env)
        self._process = forking_context().Process(
            target=_be_python, args=([str(word) for word in arguments], sent, place, variables)
        )
        self._process.start()
        for end in sent.values():
            end.close()
        self.pid = self._process.pid
        self.stdout, self.stderr = (
            open(self._read[number], encoding="utf-8") if number in self._read else None
            for number in (1, 2)
        )

    @property
    def returncode(self):
        return self._process.exitcode

    poll = returncode.fget

    def send_signal(self, number):
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self):
        self._process.kill()

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout)
        return self.returncode

    def communicate(self, timeout=None):
        """Return the rest of both streams once the process has ended."""
        with ThreadPoolExecutor(2) as pool:
            streams = [stream and pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            said = tuple(stream and stream.result() for stream in streams)
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()
        return said


def run(arguments, *, timeout=None, **options):
    """Be subprocess.run(..., capture_output=True, text=True, check=False)."""
    process = Forked(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    output, errors = process.communicate(timeout)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def _be_python(arguments, streams, place, variables):
    """End as `python arguments` would."""
    for number, stream in streams.items():
        os.dup2(stream.fileno(), number)
        stream.close()
    os.chdir(place)
    os.environ.clear()
    os.environ.update(variables)
    # The fork server ignores it where the tests run in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, closefd=False)
    sys.stdout, sys.stderr = (
        open(number, "w", encoding="utf-8", closefd=False, buffering=1 if os.isatty(number) else -1)
        for number in (1, 2)
    )
    sys.stderr.reconfigure(line_buffering=True)
    sys.path.insert(0, place)
    code = 1
    try:
        code = _exit_code(arguments)
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _exit_code(arguments):
    how, program, *rest = arguments
    sys.argv = [how, *rest]
    try:
        if how == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = main = types.ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), vars(main))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0
