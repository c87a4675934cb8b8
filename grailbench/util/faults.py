"""What to say when a GPU fails midway, and whether this process can go on using it.

After some errors of the driver (a kernel that reads where nothing is, memory beyond repair) every later call of the
process fails: the GPU is lost to the process. Then nothing is tried there any more, and nothing is given back.
"""

import traceback
from collections.abc import Callable, Iterator

from grailbench.errors import GpuFailed, GrailbenchError, MachineLacks, TooLittleMemory

_OUT_OF_MEMORY = 2
#: errors after which the GPU is lost, by the numbers of the driver, which are those of the runtime too
LOSING = {4, 46, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 809, 911, 999}
#: classes of numba and CuPy, and their attribute with the number; neither is imported here
_CLASSES = {"CudaAPIError": "code", "CUDADriverError": "status", "CUDARuntimeError": "status"}
_OF_POOL = "OutOfMemoryError"  #: of CuPy's own memory, a MemoryError

lost: str | None = None  #: the error by which this process lost its GPU
when_lost: list[Callable[[], None]] = []  #: called once, when that happens


def failed(number: int, what: str) -> GpuFailed:
    """Returns the error to raise for an error of the driver, and remembers one by which the GPU is lost."""
    global lost
    if number not in LOSING:
        return GpuFailed(f"the GPU failed: {what} (take another implementation, as `parallel`)")
    if lost is None:
        lost = what
        for forget in when_lost:
            forget()
    return GpuFailed(
        f"the GPU failed: {what}; it is lost to this process, and all that was there is gone "
        "(start again, or take another implementation, as `parallel`)"
    )


def require_usable() -> None:
    """Raises MachineLacks if this process has lost its GPU."""
    if lost is not None:
        raise MachineLacks(
            f"not tried: the GPU was lost to this process before ({lost}; start again, a run with --resume)"
        )


def explained(error: BaseException) -> GrailbenchError | None:
    """Returns the error to show for one that numba or CuPy raised for the driver, or Python where no thread can start;
    None for any other."""
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return MachineLacks(f"{error}: too many processes or threads (raise `ulimit -u`)")
    what = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    for cls in type(error).__mro__:
        attribute, of_pool = _CLASSES.get(cls.__name__), cls.__name__ == _OF_POOL and cls.__module__.startswith("cupy")
        if attribute is not None or of_pool:
            number = _OUT_OF_MEMORY if attribute is None else int(getattr(error, attribute))
            if number == _OUT_OF_MEMORY:
                return TooLittleMemory(f"no memory is left: {what} (take a smaller graph, or a GPU with more)")
            return failed(number, what)
    return None


def freeing(work: Callable, *arguments):
    """Returns work(*arguments). An error of a driver is explained. Whoever keeps an error does not keep what the calls
    that it ended held, such as arrays on a GPU; the traceback of an expected one begins here."""
    try:
        return work(*arguments)
    except Exception as error:
        found = _let_go(error)
    raise found


def _let_go(error: Exception) -> Exception:
    for each in chain(error):
        traceback.clear_frames(each.__traceback__)
    found = explained(error) or error
    if isinstance(found, GrailbenchError):  # functions in a traceback keep what they close over
        found.__cause__ = found.__context__ = None
        found = found.with_traceback(None)
    return found


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
