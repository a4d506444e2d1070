"""Compiles the kernels of a module for a GPU that need not be there."""

from __future__ import annotations

TYPES = {
    "logits_ptr": "*fp32",
    "reals_ptr": "*fp64",
    "best_ptr": "*fp64",
    "thresholds_ptr": "*i32",
    "stride": "i32",
    "width": "i32",
    "blocks": "i32",
}  # all others are pointers to 64-bit integers
CONSTANTS = {"SCAN": 4096, "STOPS": 8, "BLOCK": 1024, "FORCED_WIDTH": 8, "BLOCKS": 128}


def compiled(module):
    """Return the names of a module's kernels, each compiled to the GPU's own code."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = [name for name in vars(module) if name.endswith("_kernel")]
    for name in names:
        kernel = getattr(module, name)
        constants = [argument in CONSTANTS for argument in kernel.arg_names]
        source = ASTSource(
            fn=kernel,
            signature={
                argument: "constexpr" if constant else TYPES.get(argument, "*i64")
                for argument, constant in zip(kernel.arg_names, constants, strict=True)
            },
            constexprs={
                (at,): CONSTANTS[argument]
                for at, argument in enumerate(kernel.arg_names)
                if argument in CONSTANTS
            },
        )
        assert "ptx" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm
    return names
