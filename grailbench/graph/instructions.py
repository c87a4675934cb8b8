"""Single instructions of the processor for kernels: the places and numbers of bits, and loading ahead."""

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def lowest(typing, word):
    """The position of the lowest bit that is set in a uint64 other than 0, a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), generate


@intrinsic
def ones(typing, word):
    """The number of bits that are set in a uint64, a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _prefetch(typing, array, at):
    """Has the cache line of `array[at]` loaded; the array is contiguous, and a place outside it does no harm."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        load = builder.module.declare_intrinsic(
            "llvm.prefetch", [place], ir.FunctionType(ir.VoidType(), [place, word, word, word])
        )
        address = builder.bitcast(builder.gep(data, [arguments[1]]), place)
        builder.call(load, [address, word(0), word(3), word(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _nothing(array, at):
    """Stands for `prefetch` where kernels run as plain Python (NUMBA_DISABLE_JIT)."""


prefetch = _nothing if config.DISABLE_JIT else _prefetch
