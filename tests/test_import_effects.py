"""A program that imports grailbench finds its own process as it was."""

from commands import in_python

OTHERS = """
import atexit, faulthandler, gc, importlib, locale, logging, multiprocessing, os, pkgutil, random, signal, socket, sys
import threading, warnings
import click, jinja2, numba, numpy, pandas, platformdirs, psutil, pydantic, requests, rich, scipy.sparse
import tabulate
import multiprocessing.connection, scipy.sparse.csgraph, numba.cuda, numba.core.caching, rich.progress, rich.live
for name in ("matplotlib.figure", "pyreachability", "cupy", "networkx"):
    try: importlib.import_module(name)
    except ImportError: pass
numba.get_num_threads()  # starts what it needs to know
"""
STATE = """
def settings():
    found = {
        "environment": dict(os.environ), "folder": os.getcwd(), "locale": locale.setlocale(locale.LC_ALL),
        "signals": {str(number): repr(signal.getsignal(number)) for number in signal.valid_signals()},
        "warnings": [repr(each) for each in warnings.filters],
        "log": [repr(logging.root.handlers), logging.root.level, logging.root.manager.disable],
        "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
        "hooks": [repr(hook) for hook in (sys.excepthook, sys.displayhook, threading.excepthook, sys.gettrace())],
        "path": list(sys.path), "finders": [repr(each) for each in sys.meta_path + sys.path_hooks],
        "gc": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()], "faults": faulthandler.is_enabled(),
        "exit": atexit._ncallbacks(), "threads": threading.active_count(), "sockets": socket.getdefaulttimeout(),
        "fork": multiprocessing.get_start_method(allow_none=True), "random": hash(random.getstate()),
        "numpy": [numpy.geterr(), numpy.get_printoptions(), str(numpy.random.get_state()[1][:9])],
        "pandas": repr(pandas._config.config._global_config),
        "numba": {n: repr(v) for n, v in vars(numba.config).items() if n.isupper()}, "workers": numba.get_num_threads(),
        "children": len(psutil.Process().children()), "streams": [repr(sys.stdin), repr(sys.stdout), repr(sys.stderr)],
    }
    if "matplotlib" in sys.modules:
        found["matplotlib"] = {name: repr(value) for name, value in sys.modules["matplotlib"].rcParams.items()}
    return found
"""
IMPORT = """
import grailbench
for module in pkgutil.walk_packages(grailbench.__path__, "grailbench."):
    importlib.import_module(module.name)
"""
COMPARE = """
before = settings()
{work}
after = settings()
print({{name: (before[name], after[name]) for name in before if before[name] != after[name]}})
"""


def changed(work):
    code, out = in_python(OTHERS + STATE + COMPARE.format(work=work))
    assert code == 0, out
    return out.strip()


def test_importing_every_module_changes_no_global_setting():
    assert changed(IMPORT) == "{}"
