"""Every pass, and the pipeline that `tilesat compile` runs. Passes have the seeds' names where those have one.

A line here fully declares a pass: `tilesat passes`, `tilesat opt`, the printing options, docs/passes.md and the tests
derive from it.
"""

from __future__ import annotations

from lowering.passes.registry import Option, Pass, Statistic

SCHEDULERS = ("turns", "alone", "back-off")
PERSISTENT = ("off", "static", "atomic", "dynamic")
METHODS = ("auto", "tree", "greedy", "pruned", "ilp", "top:N")
CONSUMERS = ("cooperative", "ping-pong")
SOURCE, LOGICAL, CODE = "lowering.passes.source", "lowering.passes.logical", "lowering.passes.code"
INFINITE = float("inf")

_RULES = (
    Option("rules", "names", (), "files of additional rewrite rules"),
    Option("budget", "count", 0, "limit on matches of rules, 0 for the default of 200000 and 200 a value"),
)
_MATCHES = (
    Statistic("matches", "matches of all rules"),
    Statistic("iterations", "iterations of both phases"),
    Statistic("rows", "rows of all tables at the end"),
)
_OPERATIONS = Statistic("operations", "operations of the resulting kernel")

PASSES: dict[str, Pass] = {
    each.name: each
    for each in (
        Pass("convert-cuda-tile-to-tileaa", "cuda_tile", "nv_tileaa", f"{LOGICAL}:to_tileaa", statistics=(_OPERATIONS,),
             shared=True, verified=True),
        Pass("convert-tileaa-to-cuda-tile", "nv_tileaa", "cuda_tile", f"{LOGICAL}:to_tile_ir",
             statistics=(_OPERATIONS,), shared=True, verified=True),
        Pass("pack-half-bytes", "cuda_tile", "cuda_tile", f"{SOURCE}:pack_half_bytes",
             statistics=(Statistic("accesses", "loads and stores of f4E2M1FN that it turned into those of bytes"),),
             shared=True),
        Pass("drop-unit-batches", "cuda_tile", "cuda_tile", f"{SOURCE}:drop_unit_batches",
             statistics=(Statistic("products", "products that it made of two dimensions"),), shared=True),
        Pass("select-small-inserts", "cuda_tile", "cuda_tile", f"{SOURCE}:select_small_inserts",
             statistics=(Statistic("inserts", "inserts that it made selects by place"),), shared=True),
        Pass("tileas-dynamic-persistent", "cuda_tile", "cuda_tile", f"{SOURCE}:make_persistent",
             (Option("schedule", "name", "off", "how persistent CTAs take their tiles", PERSISTENT),
              Option("group", "count", 0, "tile blocks along x in a group, before those of the next y; 0: the "
                     "number that loads the fewest bytes into the L2 cache"),
              Option("blocks", "count", 0, "tile blocks of a launch, to compare orders; 0: eight waves "
                     "over the device")),
             (Statistic("loops", "loops over tiles created"),), shared=True),
        Pass("tileas-plan-cta", "cuda_tile", "cuda_tile", f"{SOURCE}:plan_ctas",
             (Option("ctas", "count", 0, "CTAs of a cluster, mandatory; 0: as the hint asks, if "
                     "they can divide a tile block"),
              Option("cut", "name", "", "parts of the largest tile along its dimensions, such as 1x2; by default "
                     "every split worth a trial")),
             (Statistic("ctas", "CTAs that share the work of a tile block"),)),
        Pass("unroll-loops", "cuda_tile", "cuda_tile", f"{SOURCE}:unroll",
             statistics=(Statistic("loops", "loops unrolled"),), shared=True),
        Pass("simplify-induction-variables", "cuda_tile", "cuda_tile", f"{SOURCE}:simplify_induction_variables",
             statistics=(Statistic("variables", "carried values that it computes from a loop's counter"),),
             shared=True),
        Pass("check-supported", "cuda_tile", "cuda_tile", f"{SOURCE}:check_supported", shared=True),
        Pass("tileas-slicing", "cuda_tile", "cuda_tile", f"{SOURCE}:slice_products",
             (Option("half", "count", 0, "1 or 2: halve all products of the largest size along one dimension or the "
                     "other, even if registers hold them"),
              Option("count", "count", 0, "2 to 16: this many iterations of innermost counted loops in each trip, then "
                     "a loop over the remainder")),
             (Statistic("products", "products added by cutting others, including those in slices of loops"),
              Statistic("loops", "loops cut into slices")), shared=True),
        Pass("best-of-candidates", "cuda_tile", "nv_tileas", "lowering.passes.candidates:best_of_candidates",
             (Option("clusters", "flag", False, "try clusters of 2, 4 and 8 CTAs too"),
              Option("blocks", "count", 0, "tile blocks of a launch, to compare clusters; 0: more than "
                     "fill the device"),
              Option("consumers", "name", "auto", "consumer warpgroups share one tile of a persistent loop, "
                     "alternate on successive ones, or whichever is faster", ("auto", *CONSUMERS))),
             statistics=(Statistic("programs", "programs that were tried"),), around=True),
        Pass("encode", "cuda_tile", "encoded", f"{SOURCE}:encode",
             (Option("warps", "count", 0, "consumer warps of a CTA, 0 to let extraction choose"),),
             (Statistic("values", "values of the source"), Statistic("rows", "rows of all tables")), shared=True),
        Pass("saturate", "encoded", "egraph", f"{SOURCE}:saturate",
             (*_RULES, Option("without", "names", (), "rules to leave out, by prefix of their names"),
              Option("fast", "names", (), "permissions for inexact rewrites: nsz, contract, ...",
                     check="egraph.permissions:check_permissions"),
              Option("scheduler", "name", "turns", "rule scheduler", SCHEDULERS),
              Option("rows", "count", 0, "limit on rows a phase adds, 0 for twice the matches"),
              Option("iterations", "count", 0, "limit on iterations of a phase, 0 for 400 and 3 a value"),
              Option("counting", "flag", False, "count rows after every iteration"),
              Option("provenance", "flag", False, "record what each rule matches")), _MATCHES, shared=True),
        Pass("sink-negf-through-shapes", "encoded", "egraph", f"{SOURCE}:sink_negf", _RULES[1:], _MATCHES, shared=True),
        Pass("extract", "egraph", "chosen", f"{SOURCE}:extract",
             (Option("forbid", "names", (), "atoms to exclude, by prefix of their names",
                     check="lowering.atoms.names:check_forbidden"),
              Option("method", "name", "auto", "extraction method", METHODS),
              Option("budget", "number", 0.0, "work limit of the search, 0 for the default of 10000 units"),
              Option("apart", "flag", False, "no two loops share the memory of a ring"),
              Option("below", "number", INFINITE, "skip programs that do not cost less"),
              Option("unspilled", "flag", False, "tiles must fit in the register file"),
              Option("aside", "flag", False, "stop early if the best program so far spills registers"),
              Option("sliced", "flag", False, "stop early even if the bound is far off, since slices are tried"),
              Option("costs", "function", None, "node costs that replace the target's tables"),
              Option("warps", "count", 0, "consumer warps of a CTA, where several numbers are possible; 0: any"),
              Option("ctas", "count", 0, "CTAs per SM, where several numbers are possible; 0: any")),
             (Statistic("classes", "classes that the cheapest program needs"),
              Statistic("cost", "its cost in cycles of the target"),
              Statistic("bound", "no program of the e-graph costs less"))),
        Pass("decode", "chosen", "placed", f"{SOURCE}:decode", statistics=(
            _OPERATIONS, Statistic("conversions", "conversions of layouts among them"),
            Statistic("early", "products to issue one iteration early"),
            Statistic("powers", "loops with powers of two by polynomials"),
            Statistic("producers", "warps of the producer that gathers tiles"),
            Statistic("transformers", "warps of the agent that computes tiles for the consumers"))),
        Pass("tileas-rotate-loops", "placed", "placed", f"{SOURCE}:rotate_loops",
             statistics=(Statistic("loops", "loops rotated"),), again=True),
        Pass("tileas-place-accumulators", "placed", "placed", f"{SOURCE}:place_in_tensor_memory",
             statistics=(Statistic("products", "products placed in tensor memory"),), again=True),
        Pass("tileas-materialize-schedule", "placed", "pipelined", f"{SOURCE}:materialize_schedule",
             (Option("consumers", "name", "cooperative", "warpgroups that compute on one tile, or alternate on "
                     "successive tiles of a persistent loop", CONSUMERS),
              Option("forbid", "names", (), "tcgen05.agent.read, agent.correction or prefixes: consumer threads "
                     "issue the products they read, or scale their sums",
                     check="lowering.atoms.names:check_forbidden")), statistics=(
            Statistic("buffers", "buffers and rings in shared memory"),
            Statistic("pipelines", "rings that agents fill"),
            Statistic("shared_bytes", "bytes of shared memory"))),
        Pass("tileas-lower-pipelines", "pipelined", "nv_tileas", f"{SOURCE}:lower_regions", statistics=(
            Statistic("waits", "waits for a stage or a group of copies"),
            Statistic("arrivals", "arrivals at barriers of stages"))),
        Pass("tileas-peel-masks", "nv_tileas", "nv_tileas", f"{SOURCE}:peel_masks",
             (Option("forbid", "names", (), "loop.peel, or a prefix of it: split no loop",
                     check="lowering.atoms.names:check_forbidden"),),
             statistics=(Statistic("loops", "loops split"),)),
        Pass("optimize-execution-unit-mapping", "nv_tileas", "nv_tileas", f"{SOURCE}:map_execution_units", statistics=(
            Statistic("agents", "agents that run side by side"),
            Statistic("warps", "warps of the block including idle ones, if there are agents")), verified=True),
        Pass("tileas-list-schedule", "nv_tileas", "nv_tileas", f"{CODE}:list_schedule",
             (Option("forbid", "names", (), "load.ahead, or a prefix of it: keep the order of the source",
                     check="lowering.atoms.names:check_forbidden"),),
             statistics=(Statistic("loads", "loads issued before barriers or waits that they came after"),)),
        Pass("convert-tileas-to-nvgpu", "nv_tileas", "nvgpu", f"{CODE}:to_nvgpu",
             (Option("forbid", "names", (), "prefetch.tensormap, or a prefix of it: do not prefetch tensor maps",
                     check="lowering.atoms.names:check_forbidden"),),
             statistics=(_OPERATIONS,)),
        Pass("convert-nvgpu-to-nvvm", "nvgpu", "nvvm", f"{CODE}:to_nvvm",
             (Option("forbid", "names", (), "rcp, or a prefix of it: keep quotients instead of reciprocals",
                     check="lowering.atoms.names:check_forbidden"),),
             statistics=(_OPERATIONS, Statistic("blocks", "basic blocks"))),
        Pass("simplify-branches", "nvvm", "nvvm", f"{CODE}:simplify", statistics=(
            Statistic("changes", "edges redirected, operations hoisted out of both branches"),)),
        Pass("merge-carried-values", "nvvm", "nvvm", f"{CODE}:merge_carried", statistics=(
            Statistic("values", "block arguments removed"),)),
        Pass("carry-addresses", "nvvm", "nvvm", f"{CODE}:carry_stages", statistics=(
            Statistic("values", "block arguments that became addresses"),)),
        Pass("carry-as-read", "nvvm", "nvvm", f"{CODE}:carry_read", statistics=(
            Statistic("values", "carried values that changed form, addresses displaced before the loop"),)),
        Pass("rematerialize", "nvvm", "nvvm", f"{CODE}:recompute", statistics=(
            Statistic("values", "values rematerialised after a loop"),)),
        Pass("simplify-by-uses", "nvvm", "nvvm", f"{CODE}:simplify_uses", statistics=(
            Statistic("changes", "operations removed or narrowed"),)),
        Pass("tileas-insert-ocg-knobs", "nvvm", "nvvm", f"{CODE}:insert_ocg_knobs", statistics=(
            Statistic("pragmas", "pragmas inserted"),)),
        Pass("select-instructions", "nvvm", "machine", f"{CODE}:select", statistics=(
            Statistic("instructions", "PTX instructions"), Statistic("folded", "operations that need none"))),
        Pass("grant-registers", "machine", "machine", f"{CODE}:grant_registers", statistics=(
            Statistic("registers", "32-bit registers that a thread needs"),
            Statistic("maxnreg", "registers that a thread starts with, 0 if unspecified"))),
        Pass("coalesce-registers", "machine", "machine", f"{CODE}:coalesce_registers", statistics=(
            Statistic("values", "values that share a register with another"),)),
        Pass("convert-nvvm-to-llvm", "nvvm", "llvm", f"{CODE}:to_llvm", statistics=(
            Statistic("lines", "lines of the module"), Statistic("inline", "operations that are inline PTX"))),
        Pass("print-ptx", "machine", "ptx", f"{CODE}:print_ptx",
             (Option("annotate", "flag", False, "comment each line with its operation and source location"),
              Option("lineinfo", "flag", False, "source locations as .loc directives, for profilers and nvdisasm")),
             (Statistic("lines", "lines of PTX"),)),
    )
}  # fmt: skip

ROAD = (
    "convert-cuda-tile-to-tileaa,convert-tileaa-to-cuda-tile,"
    "drop-unit-batches,select-small-inserts,tileas-dynamic-persistent,tileas-plan-cta,pack-half-bytes,unroll-loops,"
    "simplify-induction-variables,check-supported,tileas-slicing,"
    "best-of-candidates("
    "encode,saturate,extract,decode,tileas-rotate-loops,tileas-place-accumulators,"
    "tileas-materialize-schedule,tileas-lower-pipelines,tileas-peel-masks,optimize-execution-unit-mapping"
    "),"
    "tileas-list-schedule,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,simplify-branches,merge-carried-values,carry-addresses,carry-as-read,"
    "rematerialize,simplify-by-uses,select-instructions,grant-registers,coalesce-registers,print-ptx"
)
"""What `tilesat compile` runs by default."""
