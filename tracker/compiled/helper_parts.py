"""Compile helpers only as part of the kernel that calls them, never on their own.

Numba optimises every helper and makes machine code of it, at each depth of calls again, although only the kernel at the
top is ever run: half of the time that a kernel takes to compile. With ``PartCompiler`` a helper stops at LLVM's
intermediate code; the kernel links it in and optimises the whole once.

This reaches into numba (0.63 to 0.68 have what it takes). Where numba has moved a name, importing this file fails, and where it
does otherwise with one, the two small parts of ``works`` are not made: helpers are then compiled numba's own way, slower and
to the same numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import _dynfunc, njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.extending import register_jitable


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Intermediate code of a helper and of all that it calls, to be linked into a kernel."""

    def finalize(self) -> None:
        """Link in what the helper calls: neither optimise nor make machine code."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[untyped-decorator]
class PartLowering(NativeLowering):  # type: ignore[misc]
    """Lower a helper to a ``PartLibrary``."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower, and tell numba where callers find the part."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        state.library.finalize()
        name = lowered.fndesc.qualname.split(".")[-1]
        # a Python function without an address: numba knows helpers by it and never calls it
        key = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)  # noqa: SLF001
        state["cr"] = lowered._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[untyped-decorator]
class DisjointPartLowering(PartLowering):
    """Lower a helper to a ``PartLibrary`` and tell LLVM that what it writes is reached through one argument only."""

    _name = "disjoint_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower with numba's flag for it, which has no option of its own."""
        state.flags.noalias = True
        return super().run_pass(state)


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler with ``PartLowering`` in its place."""

    lowering = PartLowering
    on_trial = False

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, one of them exchanged."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines if self.on_trial or works() else ():
            passes = [(self.lowering if kind is NativeLowering else kind, why) for kind, why in pipeline.passes]
            pipeline.passes = passes
            pipeline._finalized = False  # noqa: SLF001
            pipeline.finalize()
        return pipelines  # type: ignore[no-any-return]


class DisjointPartCompiler(PartCompiler):
    """The same for a helper whose arrays share no memory that it writes."""

    lowering = DisjointPartLowering


@cache
def works() -> bool:
    """Tell whether this numba makes parts: two small ones are tried, once in each process that compiles."""
    trials = [type("Trial", (kind,), {"on_trial": True}) for kind in (PartCompiler, DisjointPartCompiler)]
    try:
        one, two = (register_jitable(pipeline_class=trial)(lambda x: 2.0 * x) for trial in trials)
        return bool(njit(lambda x: one(two(x)))(1.0) == 4.0)
    except Exception:  # whatever has moved in numba
        return False
