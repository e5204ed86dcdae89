"""Draws configurations that stretch an oracle: every architecture, type, schedule and epilogue, and awkward tiles.

A draw is a row of the oracle's tables with its first 13 columns. Many do not compile, which is an answer too.
"""

import random

import oracle_rows

SCALE = {"nvfp4": "ue4m3/16", "mxfp4": "ue8m0/32", "mxfp8": "ue8m0/32"}


def pick(rng, *weighted):
    """One of (value, weight) pairs."""
    return rng.choices([value for value, _ in weighted], [weight for _, weight in weighted])[0]


def output_types(rng, finalize=False, scale_factor=False):
    if finalize:
        return pick(rng, ("bf16", 5), ("f16", 2), ("void", 4)), "void"
    if scale_factor:
        return pick(rng, ("f16", 2), ("bf16", 2), ("void", 2)), "e2m1"
    d = pick(rng, ("bf16", 6), ("f16", 3), ("f32", 3), ("e4m3", 2), ("e2m1", 1))
    c = pick(rng, ("void", 6), (d, 5), ("bf16", 2), ("f16", 1), ("f32", 2))
    return c, d


def sm120(rng):
    arch = pick(rng, ("sm120", 12), ("sm121", 1))
    grouped = rng.random() < 0.6
    a, b = pick(rng, (("nvfp4", "nvfp4"), 9), (("mxfp4", "mxfp4"), 4), (("mxfp8", "mxfp8"), 3), (("mxfp8", "mxfp4"), 2),
                (("mxfp4", "mxfp8"), 1), (("fp8", "fp8"), 3))
    narrow = a in ("nvfp4", "mxfp4") and b == a
    m = pick(rng, (128, 8), (256, 4), (64, 1))
    n = pick(rng, (8, 2), (16, 2), (32, 4), (64, 4), (96, 1), (128, 5), (256, 4), (24, 0.5), (192, 0.5))
    k = pick(rng, (128, 8), (256, 5 if narrow else 1), (64, 1), (512, 1 if narrow else 0.3))
    finalize = grouped and rng.random() < 0.3
    scale_factor = not finalize and a == "nvfp4" and rng.random() < 0.12
    c, d = output_types(rng, finalize, scale_factor)
    if a == "fp8":
        schedule = (pick(rng, ("PtrArrayCooperativeSm120<2>", 3), ("PtrArrayPingpongSm120<2>", 2),
                         ("PtrArrayCooperativeSm120<3>", 1), ("Auto", 0.5)) if grouped else
                    pick(rng, ("Auto", 4), ("Cooperative", 1), ("Pingpong", 1)))
    elif grouped:
        schedule = pick(rng, ("Auto", 6), ("PtrArrayCooperative", 2), ("PtrArrayPingpong", 3))
    else:
        family = {"nvfp4": "Nvf4", "mxfp4": "Mxf4"}.get(a, "Mxf8f6f4") if narrow else "Mxf8f6f4"
        schedule = pick(rng, ("Auto", 5), ("Cooperative", 1), ("Pingpong", 2), (f"{family}Sm120", 1),
                        (f"Pingpong{family}Sm120", 1))
    epilogue = pick(rng, ("Auto", 6), ("TmaWarpSpecialized", 4), ("TmaWarpSpecializedCooperative", 1),
                    ("PtrArrayTmaWarpSpecializedCooperative" if grouped else "TmaWarpSpecialized", 1),
                    ("PtrArrayTmaWarpSpecializedPingpong" if grouped else "TmaWarpSpecialized", 1))
    tile = pick(rng, (None, 12), ("64x16", 1), ("64x32", 1), ("64x64", 1), ("128x32", 1), ("32x32", 0.5), ("128x64", 1))
    cluster = pick(rng, ((1, 1), 30), ((2, 1), 1))
    return question(rng, arch, grouped, a, b, c, d, (m, n, k), cluster, schedule, epilogue, tile,
                    finalize=finalize, scale_factor=scale_factor, stages=(1, 6))


def sm100(rng):
    grouped = rng.random() < 0.5
    a, b = pick(rng, (("nvfp4", "nvfp4"), 6), (("mxfp4", "mxfp4"), 3), (("mxfp8", "mxfp8"), 3), (("mxfp8", "mxfp4"), 2),
                (("fp8", "fp8"), 3), (("bf16", "bf16"), 3), (("fp16", "fp16"), 2))
    scaled = a in SCALE
    two = rng.random() < 0.5
    m = pick(rng, (256 if two else 128, 6), (128 if two else 64, 0.5 if scaled else 2))
    n = pick(rng, (64, 3), (128, 4), (192, 2), (256, 4), (32, 0.3 if scaled else 2), (16, 0 if scaled else 1),
             (8, 0 if scaled else 1), (96, 0.3))
    k = pick(rng, *{"nvfp4": ((256, 8), (128, 1), (512, 1)), "mxfp4": ((256, 8), (128, 1), (512, 1)),
                    "mxfp8": ((128, 8), (256, 1)), "fp8": ((128, 8), (64, 1), (256, 1)), "bf16": ((64, 8), (128, 1)),
                    "fp16": ((64, 8), (128, 1), (32, 1))}[a])
    family = {"nvfp4": "Nvf4", "mxfp4": "Mxf4", "mxfp8": "Mxf8f6f4"}.get(a, "")
    if b != a:
        family = "Mxf8f6f4"
    if scaled and rng.random() < 0.15:
        family = "BlockScaled"
    sm = "2Sm" if two else "1Sm"
    auto = rng.random() < (0.04 if grouped else 0.35)
    schedule = "Auto" if auto else ("PtrArray" if grouped else "") + sm + family
    array = "PtrArray" if grouped else ""
    epilogue = pick(rng, (f"{array}TmaWarpSpecialized{sm}", 6), ("Auto", 0 if grouped else 4),
                    (f"{array}NoSmemWarpSpecialized{sm}", 2))
    cluster = pick(rng, ((2, 1), 5), ((2, 2), 1), ((4, 1), 1), ((4, 2), 0.5), (("dyn", "dyn"), 1)) if two else pick(
        rng, ((1, 1), 5), ((1, 2), 1), ((2, 1), 1), (("dyn", "dyn"), 1))
    finalize = grouped and "NoSmem" not in epilogue and rng.random() < 0.2
    c, d = output_types(rng, finalize)
    tile = pick(rng, (None, 12), ("128x64", 2), ("128x32", 1), ("64x32", 0.5), ("128x16", 0.5))
    return question(rng, "sm100", grouped, a, b, c, d, (m, n, k), cluster, schedule, epilogue, tile,
                    finalize=finalize, stages=(2, 7))


def sm103(rng):
    grouped = rng.random() < 0.6
    a = pick(rng, ("nvfp4", 3), ("mxfp4", 2))
    two = rng.random() < 0.5
    m = pick(rng, (256 if two else 128, 12), (64, 0.5))
    n = pick(rng, (64, 1), (128, 4), (192, 2), (256, 3))
    k = pick(rng, (768, 15), (384, 0.5), (256, 0.5))
    sm = "2Sm" if two else "1Sm"
    array = "PtrArray" if grouped else ""
    tail = pick(rng, ("", 6), ("TmaPrefetch", 1), ("DisablePrefetch", 1)) if not grouped else ""
    schedule = f"{array}{sm}Ultra{'Vs16' if a == 'nvfp4' else 'Vs32'}{tail}"
    if not grouped and rng.random() < 0.15:
        schedule = "Auto"
    cluster = pick(rng, ((2, 1), 5), ((4, 1), 1), ((2, 2), 1), (("dyn", "dyn"), 1)) if two else pick(
        rng, ((1, 1), 5), ((1, 2), 1), (("dyn", "dyn"), 1))
    epilogue = pick(rng, (f"{array}TmaWarpSpecialized{sm}", 5), (f"{array}NoSmemWarpSpecialized{sm}", 4))
    c, d = output_types(rng)
    tile = pick(rng, (None, 12), ("128x64", 1), ("128x32", 1))
    return question(rng, "sm103", grouped, a, a, c, d, (m, n, k), cluster, schedule, epilogue, tile, stages=(2, 5))


def sm90(rng):
    grouped = rng.random() < 0.5
    a = pick(rng, ("bf16", 3), ("fp16", 2), ("fp8", 3))
    m = pick(rng, (64, 2), (128, 5), (256, 2))
    n = pick(rng, (8, 0.5), (16, 1), (32, 1.5), (64, 2), (96, 0.7), (128, 4), (192, 1), (256, 3))
    k = pick(rng, (128, 6), (64, 2), (256, 0.5)) if a == "fp8" else pick(rng, (64, 6), (32, 1), (128, 1.5))
    array = "PtrArray" if grouped else ""
    fast = "FP8FastAccum" if a == "fp8" and rng.random() < 0.6 else ""
    warps = pick(rng, ("Cooperative", 4), ("Pingpong", 4))
    schedule = array + warps + fast
    if not grouped:
        schedule = pick(rng, (schedule, 6), ("Auto", 4), ("FP8FastAccum" if fast else "TmaWarpSpecialized", 1.5))
    if grouped:
        epilogue = f"PtrArrayTmaWarpSpecialized{warps}"
    elif schedule == "Auto":
        epilogue = pick(rng, ("Auto", 2), ("TmaWarpSpecializedCooperative" if m > 64 else "TmaWarpSpecialized", 3))
    else:
        epilogue = "TmaWarpSpecializedCooperative" if warps == "Cooperative" and "Coop" in schedule else (
            "TmaWarpSpecialized")
        epilogue = pick(rng, (epilogue, 6), ("NoSmemWarpSpecialized", 1))
    cluster = pick(rng, ((1, 1), 5), ((2, 1), 3), ((1, 2), 1), ((2, 2), 1))
    finalize = grouped and rng.random() < 0.15
    c, d = output_types(rng, finalize)
    d = "bf16" if d == "e2m1" else d
    tile = pick(rng, (None, 12), ("64x32", 1), ("128x32", 1), ("64x64", 1), ("64x16", 0.5)) if (
        "Tma" in epilogue) else None
    return question(rng, "sm90", grouped, a, a, c, d, (m, n, k), cluster, schedule, epilogue, tile,
                    finalize=finalize, stages=(2, 9))


def question(rng, arch, grouped, a, b, c, d, tile, cluster, schedule, epilogue, epilogue_tile, finalize=False,
             scale_factor=False, stages=(1, 6)):
    count = pick(rng, (None, 14), ("explicit", 2), ("StageCountAuto", 1), ("carveout", 1))
    text = schedule
    if count == "explicit":
        text += f"|stages=StageCount<{rng.randint(*stages)}>"
    elif count == "carveout":
        text += f"|stages=AutoCarveout<{1024 * rng.randint(1, 40)}>"
    elif count:
        text += f"|stages={count}"
    text += f"|epi={epilogue}"
    if epilogue_tile:
        text += f"|epiTile={epilogue_tile}"
    swap = rng.random() < (0.4 if finalize else 0.12)
    if finalize:
        text += "|flashinfer fusion=FINALIZE" + (" swapAB" if swap else "")
    elif scale_factor:
        text += "|ex79d SFD epilogue"
    elif swap:
        text += "|C/D col-major (swapAB)"
    values = [arch, "grouped" if grouped else "dense", a, b, SCALE.get(a, "-"), c, d, *tile, *cluster, text]
    return dict(zip(oracle_rows.QUESTION, [str(value) for value in values]))


ARCHITECTURES = {"sm120": sm120, "sm100": sm100, "sm103": sm103, "sm90": sm90}


def key(row):
    return tuple(row[name] for name in oracle_rows.QUESTION)


def draw(seed, count, architectures=None, known=frozenset()):
    """`count` distinct rows that are not among the keys of `known`, the architectures by turns."""
    rng = random.Random(seed)
    names = architectures or list(ARCHITECTURES)
    rows, seen = [], set(known)
    while len(rows) < count:
        row = ARCHITECTURES[names[len(rows) % len(names)]](rng)
        if key(row) not in seen:
            seen.add(key(row))
            rows.append(row)
    return rows
