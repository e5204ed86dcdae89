#!/usr/bin/env python3
"""Writes docs/kernels/sm120-prediction.md: what SM120's kernels were fed with on an H200, and the speed that follows.

  scripts/sm120_doc.py TILEWRIGHT           rewrite the page, with the tool at TILEWRIGHT
  scripts/sm120_doc.py TILEWRIGHT --check   fail when the page is not what the tool and the results say

Read are bench/results/feed/h200.json, as cuda_feed_bench printed it, the plans of the tool, and the published times in
tests/data/published/measurements.csv.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEED = ROOT / "bench" / "results" / "feed" / "h200.json"
PUBLISHED = ROOT / "tests" / "data" / "published" / "measurements.csv"
PAGE = ROOT / "docs" / "kernels" / "sm120-prediction.md"

DEVICE = "rtx-pro-6000-server"
SMEM_BYTES_PER_CLK = 128
DENSE = 8192
PREFILL = 128  # tokens of a tile
TOKENS = (1, 8, 32, 128, 1024, 4096, 16384)
RANKS = ((1, 1), (8, 1), (1, 8))  # ep, tp
STACKS = {"moe_torch_flow_cutlass TRTLLM1.3.0rc20": "TensorRT-LLM", "sglang_flashinfer_cutlass_moe SGLang0.5.14": "FlashInfer"}


def fail(message):
    sys.exit(f"sm120_doc: {message}")


class Schedule:
    """One schedule and what its k-block takes a SM, in cycles."""

    def __init__(self, candidate, gemm, device):
        s = candidate["schedule"]
        self.tile = (s["tile_m"], s["tile_n"], s["tile_k"])
        self.stages, self.consumers, self.split = s["stages"], s["consumers"], s["split"]
        tiles = candidate["terms"]["tiles"]
        blocks = -(-gemm["k"] // s["tile_k"])
        sms = device["sm_count"]
        self.busiest = -(-tiles * blocks // sms) if self.split == "stream_k" else -(-tiles // sms) * blocks
        per_block = device["clock_mhz"] / self.busiest
        self.shared = candidate["terms"]["smem_us"] * per_block
        self.predicted_mma = candidate["terms"]["mma_us"] * per_block
        m, n, k = self.tile
        self.mma = 2.0 * m * n * k / fp4_rate(gemm, device)
        self.barriers = candidate["terms"]["overhead_us"] * per_block
        self.reads = self.shared - (m + n) * k * 9 / 16 / SMEM_BYTES_PER_CLK

    def words(self):
        split = ", stream-K" if self.split == "stream_k" else ""
        return f"{'x'.join(map(str, self.tile))}, {self.stages} stages, {self.consumers}{split}"


def fp4_rate(gemm, device):
    """FLOP a clock and SM, from the roofline."""
    floor = gemm["floor"]
    return round(floor["flops"] / (floor["mma_us"] * device["clock_mhz"] * device["sm_count"]))


class Feed:
    """The results of cuda_feed_bench."""

    PATTERN = re.compile(r"(\d+)x(\d+)x(\d+), (\d+) stages, (\w+) \d+\+\d+ warps(, stream-K)?, bf16")

    def __init__(self, path, schedules):
        result = json.loads(path.read_text(encoding="utf-8"))
        if result.get("schema") != "tilewright.feed/2":
            fail(f"{path}: schema is {result.get('schema')!r}, not 'tilewright.feed/2'; run cuda_feed_bench again")
        self.device, self.read = result["device"], result["read_GBps"]
        self.depths = {}  # share of the read bandwidth, all bytes, by tile and stages
        for row in result["depths"]:
            m, n, k, stages, consumers, _ = self.PATTERN.fullmatch(row["schedule"]).groups()
            self.depths.setdefault(f"{m}x{n}x{k}, {consumers}", {})[int(stages)] = row["all_share"]
        self.rows = []
        for row in result["results"]:
            m, n, k, stages, consumers, split = self.PATTERN.fullmatch(row["schedule"]).groups()
            same = ((int(m), int(n), int(k)), consumers, int(stages), "stream_k" if split else "none")
            schedule = next((s for s in schedules if (s.tile, s.consumers, s.stages, s.split) == same), None)
            if schedule is None:
                fail(f"{path}: {row['schedule']} is no schedule of the planner; run cuda_feed_bench again")
            self.rows.append((row, schedule))
        # ptxas drops a load whose value nothing takes.
        if any(row["cycles_per_k_block"] < schedule.reads for row, schedule in self.rows):
            fail(f"{path}: a k-block took less than its fragments' bytes do: they were not loaded")

    def cycles(self, schedule):
        """Of a k-block, for prefill tiles; of the others the H200's memory was the limit."""
        if schedule.tile[1] < PREFILL:
            return None
        same = (row for row, other in self.rows if (other.tile, other.consumers, other.split) == (schedule.tile, schedule.consumers, "none"))
        return next((row["cycles_per_k_block"] for row in same), None)


class Tool:
    def __init__(self, path):
        self.path = path

    def plan(self, *arguments):
        command = [self.path, "plan", "--device", DEVICE, "--precision", "w4a4", "--format", "json", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(command)}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def published():
    """us by what was timed: the dense GEMM under "dense", layers under (ep, tp, tokens) by stack."""
    dense, layers = None, {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["dtype"] != "nvfp4":
                continue
            if row["category"] == "dense" and row["M"] == row["N"] == row["K"] == str(DENSE):
                dense = float(row["time_us"])
            if row["library_kernel"] in STACKS:
                ep, tp = re.fullmatch(r"256/ep(\d+)/tp(\d+)", row["E_or_groups"]).groups()
                times = layers.setdefault((int(ep), int(tp), int(row["M"])), {})
                times[STACKS[row["library_kernel"]]] = float(row["time_us"])
    return dense, layers


def fed_by(schedule, feed):
    """Cycles of a k-block that only feeds: measured, or by the account of shared memory."""
    return feed.cycles(schedule) or schedule.shared


def limit_us(candidate, gemm, device, feed):
    """The longer of the busiest SM's k-blocks, multiplied or fed, and the bytes from DRAM; nothing else."""
    schedule = Schedule(candidate, gemm, device)
    busy = schedule.busiest * max(schedule.mma, fed_by(schedule, feed)) / device["clock_mhz"]
    return max(busy, candidate["terms"]["dram_us"])


def table(head, align, rows):
    rule = "|" + "|".join("---:" if a == "r" else "---" for a in align) + "|"
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def us(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def inputs(plan, share, feed):
    device, gemm = plan["device"], plan["plans"][0]
    rate = fp4_rate(gemm, device)
    peak = 1e-6 * rate * device["sm_count"] * device["clock_mhz"]
    rows = [
        ["clock", f"{device['clock_mhz']} MHz", "the highest that was reported of this card; a card that runs into its power limit is slower"],
        ["SMs", f"{device['sm_count']}", "data sheet"],
        ["MMA", f"{rate} FLOP a clock and SM: {2 * 16 * 8 * 64 * 4 // rate} cycles an m16n8k64 on each of four sub-cores", f"measured by others (`devices.cpp`); {peak:,.0f} TFLOP/s dense at this clock"],
        ["feed", "cycles of a k-block without its MMA", f"measured on one {feed.device} (below); where it tells nothing, the account of shared memory, {SMEM_BYTES_PER_CLK} bytes a clock"],
        ["DRAM", f"{device['dram_read_GBps']:.0f} GB/s read", f"measured by others; {device['dram_GBps']:.0f} by specification, which the floor takes"],
        ["share of the MMA's rate", f"{share:.2f}", "the planner's, calibrated on the published dense GEMM below"],
        ["L2, barriers, epilogues, launches", "[schedules.md](../schedules.md)", "the planner's; SM120's L2 rate is an estimate"],
    ]
    return "## Inputs\n\n" + table(["input", "value", "from"], "lll", rows)


def feed_section(feed):
    prefill, decode, shares = [], [], []
    for row, schedule in feed.rows:
        cycles = (schedule.mma, schedule.shared, schedule.shared + schedule.barriers, row["cycles_per_k_block"])
        if schedule.tile[1] < PREFILL:
            bandwidth = [f"{row['weight_GBps']:,}", f"{row['read_share']:.2f}", f"{row['all_GBps']:,}", f"{row['all_share']:.2f}"]
            decode.append([schedule.words(), *(f"{c:.0f}" for c in cycles), f"{row['us']:.1f}", *bandwidth, f"{row['l2_us']:.1f}"])
        else:
            shares.append(row["cycles_per_k_block"] / schedule.mma)
            prefill.append([schedule.words(), *(f"{c:.0f}" for c in cycles), f"{shares[-1]:.2f}"])
    head = ["schedule", "MMA needs", "shared memory, by account", "with barriers", "measured"]
    return (
        "## Fed on an H200\n\n"
        "`cuda_feed_bench`: the kernels with an MMA that only takes its operands in, under SM120's shared memory; 32 experts of 4,096 x 6,144, 512\n"
        "rows each for prefill and a tile's rows for decode; medians. Cycles of a k-block in a SM.\n\n"
        + table([*head, "of the MMA's"], "lrrrrr", prefill)
        + f"\nTiles of {PREFILL} tokens and more are fed in {min(shares):.2f} to {max(shares):.2f} of the cycles that the MMA takes, on a GPU with more L2 and DRAM bandwidth a SM.\n\n"
        f"Decode tiles wait for the H200's memory, of which a kernel that only reads got {feed.read:,} GB/s in the same run: their cycles are an upper bound, and\n"
        "the predictions below take the account of shared memory for them. *All bytes* are weights, x and y. *From L2* is the time where every expert's\n"
        "weights are the first's, and little comes from DRAM.\n\n"
        + table([*head, "us", "weights, GB/s", "of read", "all bytes, GB/s", "of read", "from L2, us"], "lrrrrrrrrrr", decode)
        + "\nThe same share, of all bytes, by the depth of the ring; the last of each row is the deepest that fits:\n\n"
        + depth_table(feed)
    )


def depth_table(feed):
    depths = range(min(map(min, feed.depths.values())), max(map(max, feed.depths.values())) + 1)
    rows = [[tile, *(f"{shares[depth]:.2f}" if depth in shares else "" for depth in depths)] for tile, shares in feed.depths.items()]
    return table(["stages", *map(str, depths)], "l" + "r" * len(depths), rows)


def dense_section(plan, feed, published_us):
    device, gemm = plan["device"], plan["plans"][0]
    chosen, flops = gemm["chosen"], gemm["floor"]["flops"]
    schedule = Schedule(chosen, gemm, device)
    peak = flops / gemm["floor"]["us"]
    named = [
        ("floor: dense peak", gemm["floor"]["us"]),
        ("MMA and feed alone, in whole tiles", limit_us(chosen, gemm, device, feed)),
        ("**predicted**, Tilewright", chosen["predicted_us"]),
        ("published, CUTLASS, best of its tiles", published_us),
    ]
    rows = [[name, us(time), f"{1e-6 * flops / time:,.0f}", f"{100 * flops / time / peak:.0f} %"] for name, time in named]
    return (
        f"## Dense, {DENSE:,} x {DENSE:,} x {DENSE:,}\n\n"
        + table(["", "us", "TFLOP/s", "of the peak"], "lrrr", rows)
        + f"\n`tilewright plan --device {DEVICE} --groups 1 --rows {DENSE} --n {DENSE} --k {DENSE} --precision w4a4`: {schedule.words()}.\n"
        f"Predicted / published {chosen['predicted_us'] / published_us:.2f}. This is no test of the model: its share of the MMA's rate was chosen so that the published GEMM\n"
        f"(https://github.com/NVIDIA/cutlass/pull/3272) comes out. The clock and the power of that run are not published; {published_us:.0f} us are\n"
        f"{1e-3 * flops / published_us / device['sm_count'] / device['clock_mhz'] * 1e-3 * 1e6:,.0f} FLOP a clock and SM if it ran at {device['clock_mhz']} MHz.\n"
    )


def layer_section(tool, feed, layers):
    head = ["ep", "tp", "tokens", "GEMM1", "GEMM2", "floor", "GEMMs' limit", "**predicted**", *STACKS.values(), "predicted / best published"]
    rows, ratios = [], []
    for ep, tp in RANKS:
        plan = tool.plan("--model", "glm-5", "--ep", ep, "--tp", tp, "--rows-from", "balanced", "--tokens", ",".join(map(str, TOKENS)))
        device, gemms = plan["device"], plan["plans"]
        for layer, gemm1, gemm2 in zip(plan["layers"], gemms[0::2], gemms[1::2]):
            times = layers[(ep, tp, layer["tokens"])]
            ratio = layer["predicted_us"] / min(times.values())
            ratios.append(ratio)
            limit = sum(limit_us(gemm["chosen"], gemm, device, feed) for gemm in (gemm1, gemm2))
            tiles = [Schedule(gemm["chosen"], gemm, device).words().replace(" stages, cooperative", "").replace(" stages", "") for gemm in (gemm1, gemm2)]
            rows.append([f"{ep}", f"{tp}", f"{layer['tokens']:,}", *tiles, us(layer["floor_us"]), us(limit), us(layer["predicted_us"]),
                         *(us(times[stack]) for stack in STACKS.values()), f"{ratio:.2f}"])
    return (
        "## GLM-5 expert layers\n\n"
        "One rank, tokens over all ranks, balanced routing; microseconds. Published: whole layers, replayed from a CUDA graph (https://github.com/ai-dynamo/aiconfigurator,\n"
        "commit 095f58a5). Predicted: `plan --model glm-5 --rows-from balanced`, routing to combined output. *GEMMs' limit* is the sum over both\n"
        "GEMMs of the longest of MMA, feed and DRAM, and nothing else; the tiles are cooperative unless they say otherwise.\n\n"
        + table(head, "rrrllrrrrrr", rows)
        + f"\nPredicted / best published: {min(ratios):.2f} to {max(ratios):.2f}. The replays find in the L2 what fits it, up to 128 MB of weights and activations; the prediction reads every\n"
        "weight from DRAM. Published times include each stack's own launches and passes, the predicted ones 4 us a launch. A ratio below 1 says\n"
        "what these kernels would reach if the model holds for them, not that they have.\n"
    )


def page(tool):
    published_us, layers = published()
    plan = tool.plan("--groups", 1, "--rows", DENSE, "--n", DENSE, "--k", DENSE, "--all")
    gemm = plan["plans"][0]
    feed = Feed(FEED, [Schedule(candidate, gemm, plan["device"]) for candidate in gemm["candidates"]])
    chosen = Schedule(gemm["chosen"], gemm, plan["device"])
    return "\n".join([
        "# Predicted speed on SM120\n\n"
        "**Prediction: no SM120 card has run this.** It is what an RTX PRO 6000 Server would do if its facts and the cost model hold, beside what others\n"
        "published for their kernels on that card. This page is generated by `scripts/sm120_doc.py` (`make docs`); a test compares it. The kernels:\n"
        "[sm120.md](sm120.md).\n",
        inputs(plan, chosen.mma / chosen.predicted_mma, feed),
        feed_section(feed),
        dense_section(plan, feed, published_us),
        layer_section(tool, feed, layers),
    ])


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = page(Tool(arguments[0]))
    if len(arguments) == 1:
        PAGE.write_text(text, encoding="utf-8")
        return
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        fail("docs/kernels/sm120-prediction.md is not what the tool and bench/results say; run `make docs`")
    print("sm120_doc: docs/kernels/sm120-prediction.md is up to date")


if __name__ == "__main__":
    main(sys.argv[1:])
