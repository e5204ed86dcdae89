"""The rows of the CUTLASS oracle's tables, and the C++ request that each of them asks for.

A row has 13 columns that ask and 11 that answer; their grammar is that of tests/data/cutlass/*.csv.
"""

import re

QUESTION = ["arch", "kind", "dtypeA", "dtypeB", "sf", "dtypeC", "dtypeD", "tileM", "tileN", "tileK", "clusterM",
            "clusterN", "requested_schedule"]
ANSWER = ["resolved_policy", "stages", "epi_tile", "epi_stagesC", "epi_stagesD", "smem_mainloop", "smem_epilogue",
          "smem_total", "smem_limit", "fits", "compile_status"]
COLUMNS = QUESTION + ANSWER

LIMIT = {"sm90": 232448, "sm100": 232448, "sm103": 232448, "sm120": 101376, "sm121": 101376}
ARCH_TAG = {"sm90": "Sm90", "sm100": "Sm100", "sm103": "Sm103", "sm120": "Sm120", "sm121": "Sm120"}
BLOCK_SCALED = {"nvfp4": ("nv_float4_t", "float_e2m1_t", "float_ue4m3_t"),
                "mxfp4": ("mx_float4_t", "float_e2m1_t", "float_ue8m0_t"),
                "mxfp8": ("mx_float8_t", "float_e4m3_t", "float_ue8m0_t")}
VALUE = {"fp8": "float_e4m3_t", "bf16": "bfloat16_t", "fp16": "half_t"}
ELEMENT = {"f16": "half_t", "bf16": "bfloat16_t", "f32": "float", "e4m3": "float_e4m3_t", "e5m2": "float_e5m2_t",
           "e2m1": "float_e2m1_t"}
BITS = {"nvfp4": 4, "mxfp4": 4, "mxfp8": 8, "fp8": 8, "bf16": 16, "fp16": 16, "f16": 16, "f32": 32, "e4m3": 8,
        "e5m2": 8, "e2m1": 4}


def cpp_element(name):
    if name == "void":
        return "void"
    value = ELEMENT[name]
    return value if value == "float" else "cutlass::" + value


def cpp_operand(row, name):
    if name in VALUE:
        return "cutlass::" + VALUE[name]
    pair, value, scale = BLOCK_SCALED[name]
    # SM103's builder takes the pair as a tuple, the others as the named type.
    if row["arch"] == "sm103":
        return f"cute::tuple<cutlass::{value}, cutlass::{scale}>"
    return f"cutlass::{pair}<cutlass::{value}>"


def operand_alignment(row, name):
    # A 4-bit operand beside an 8-bit one is unpacked on the way in: TMA then wants 128 elements.
    if BITS[name] == 4 and BITS[row["dtypeA"]] + BITS[row["dtypeB"]] == 12:
        return 128
    return 128 // BITS[name]


def cpp_schedule(row, tag):
    tag = tag.split("(")[0]
    if tag == "Auto":
        return "cutlass::gemm::collective::KernelScheduleAuto"
    if tag.startswith("Kernel"):
        return "cutlass::gemm::" + tag
    ptr_array = tag.startswith("PtrArray")
    rest = tag[len("PtrArray"):] if ptr_array else tag
    head = "cutlass::gemm::Kernel" + ("PtrArray" if ptr_array else "") + "TmaWarpSpecialized"
    if rest == "TmaWarpSpecialized":
        return head
    ultra = re.fullmatch(r"([12]Sm)Ultra(Vs\d+)(TmaPrefetch|DisablePrefetch)?", rest)
    if ultra:
        return head + f"{ultra[1]}BlockScaledMxNvf4Ultra{ultra[2]}Sm103{ultra[3] or ''}"
    if re.match(r"[12]Sm", rest) and not re.search(r"Sm\d{3}$", rest):
        return head + rest + "Sm100"
    return head + rest


def cpp_epilogue_schedule(tag):
    return "cutlass::epilogue::" + ("collective::EpilogueScheduleAuto" if tag == "Auto" else tag)


def request_parts(row):
    """schedule, epilogue schedule, stages, epilogue tile (or None), the rest of the tags in one text"""
    schedule, *rest = row["requested_schedule"].split("|")
    epilogue, stages, tile, labels = "Auto", "", None, []
    for part in rest:
        if part.startswith("epi="):
            epilogue = part[4:]
        elif part.startswith("stages="):
            stages = part[7:]
        elif part.startswith("epiTile="):
            tile = tuple(int(n) for n in part[8:].split("x"))
        else:
            labels.append(part)
    return schedule, epilogue, stages, tile, " ".join(labels)


def cpp_stage_count(stages):
    if not stages:
        return "probe::CarveoutOf<Epilogue>"
    carveout = re.fullmatch(r"AutoCarveout<(\d+)>", stages)
    name = f"StageCountAutoCarveout<{carveout[1]}>" if carveout else stages
    return "cutlass::gemm::collective::" + name


def cpp_fusion(row, labels):
    if "FINALIZE" in labels:
        per = ("PerRowBiasPerColScale" if "swapAB" in labels else "PerColBiasPerRowScale")
        output = cpp_element(row["dtypeC"] if row["dtypeC"] in ("f16", "bf16") else "bf16")
        return (f"cutlass::epilogue::fusion::ScaledAcc{per}Scatter<std::remove_pointer_t<LayoutD>, {output}, float, "
                f"{output}, float>")
    if "SFD" in labels:
        return ("cutlass::epilogue::fusion::LinCombBlockScaleFactor<16, ElementD, float, cutlass::float_ue4m3_t, "
                "std::remove_pointer_t<LayoutD>, ElementC>")
    return "void"


def cpp_shape(*sizes):
    return "cute::Shape<" + ", ".join("int" if n == "dyn" else f"cute::Int<{n}>" for n in sizes) + ">"


def cpp_request(row, name):
    """A struct that probe.hpp can build."""
    schedule, epilogue, stages, epilogue_tile, labels = request_parts(row)
    star = "*" if row["kind"] == "grouped" else ""
    block_scaled = row["dtypeA"] in BLOCK_SCALED
    layout_c = "cutlass::layout::" + ("ColumnMajor" if "swapAB" in labels else "RowMajor") + star
    bits_d = BITS[row["dtypeD"]] if row["dtypeD"] != "void" else 16
    bits_c = BITS[row["dtypeC"]] if row["dtypeC"] != "void" else bits_d
    # Without shared memory SM100's epilogue stores 256 bits at a time.
    access = 256 if "NoSmem" in epilogue and row["arch"] in ("sm100", "sm103") else 128
    problem = ("cutlass::gemm::GroupProblemShape<cute::Shape<int, int, int>>" if star else
               "cute::Shape<int, int, int, int>")
    cluster = cpp_shape(row["clusterM"], row["clusterN"], 1)
    lines = [
        f"struct {name} {{",
        f"  using ArchTag = cutlass::arch::{ARCH_TAG[row['arch']]};",
        f"  using OpClass = cutlass::arch::OpClass{'BlockScaled' if block_scaled else ''}TensorOp;",
        f"  using ProblemShape = {problem};",
        f"  using ElementA = {cpp_operand(row, row['dtypeA'])};",
        f"  using LayoutA = cutlass::layout::RowMajor{star};",
        f"  static constexpr int kAlignA = {operand_alignment(row, row['dtypeA'])};",
        f"  using ElementB = {cpp_operand(row, row['dtypeB'])};",
        f"  using LayoutB = cutlass::layout::ColumnMajor{star};",
        f"  static constexpr int kAlignB = {operand_alignment(row, row['dtypeB'])};",
        f"  using ElementC = {cpp_element(row['dtypeC'])};",
        f"  using LayoutC = {layout_c};",
        f"  static constexpr int kAlignC = {access // bits_c};",
        f"  using ElementD = {cpp_element(row['dtypeD'])};",
        f"  using LayoutD = {layout_c};",
        f"  static constexpr int kAlignD = {access // bits_d};",
        f"  using TileShape = {cpp_shape(row['tileM'], row['tileN'], row['tileK'])};",
        f"  using ClusterShape = {cluster};",
        "  using EpilogueClusterShape = ClusterShape;",
        "  using EpilogueTile = " + (cpp_shape(*epilogue_tile) if epilogue_tile else
                                     "cutlass::epilogue::collective::EpilogueTileAuto") + ";",
        f"  using EpilogueSchedule = {cpp_epilogue_schedule(epilogue)};",
        f"  using FusionOp = {cpp_fusion(row, labels)};",
        "  template <class Epilogue>",
        f"  using StageCount = {cpp_stage_count(stages)};",
        f"  using KernelSchedule = {cpp_schedule(row, schedule)};",
        "};",
    ]
    return "\n".join(lines) + "\n"


def short_policy(name):
    """The demangled policy as the tables write it: without spaces and without the namespaces that say nothing."""
    name = name.replace(" ", "")
    name = re.sub(r"\bcute::", "", name)
    return re.sub(r"\bcutlass::gemm::(?=Mainloop|Kernel)", "", name)


def answer_columns(row, found):
    """The eleven columns for a request that compiled."""
    limit = LIMIT[row["arch"]]
    stages = str(found["stages"]) + (f"(+SF {found['scale_stages']})" if found["scale_stages"] else "")
    tile = f"{found['epi_m']}x{found['epi_n']}" if found["epi_m"] else "none"
    return {"resolved_policy": short_policy(found["policy"]), "stages": stages, "epi_tile": tile,
            "epi_stagesC": str(found["stages_c"]), "epi_stagesD": str(found["stages_d"]),
            "smem_mainloop": str(found["mainloop"]), "smem_epilogue": str(found["epilogue"]),
            "smem_total": str(found["total"]), "smem_limit": str(limit),
            "fits": "true" if found["total"] <= limit else "false", "compile_status": "ok"}


def error_columns(row, message):
    """The eleven columns for a request that does not compile."""
    columns = {name: "-" for name in ANSWER}
    columns.update(smem_limit=str(LIMIT[row["arch"]]), fits="false", compile_status=message)
    return columns
