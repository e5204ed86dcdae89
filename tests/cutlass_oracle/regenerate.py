#!/usr/bin/env python3
"""Compiles rows of the CUTLASS oracle's tables against real headers, and compares. README.md says how to use it."""

import argparse
import csv
import io
import pathlib
import random
import subprocess
import sys
import tempfile

import compile_rows
import configurations
import find_cutlass
import oracle_rows

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "cutlass"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
STORAGE = ["row", "name", "offset", "bytes"]


def read_rows(path):
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(file)]


def header_version():
    """The release that rows are compiled with, or the end of the program where there is none to compile with."""
    missing = find_cutlass.find()[1]
    version = find_cutlass.oracle_version()
    if missing or not version:
        print(f"skipped: {missing or 'the oracle does not know this release of CUTLASS'}")
        sys.exit(SKIPPED)
    return version


def new_compiler(scratch):
    return compile_rows.Compiler(find_cutlass.find()[0], scratch)


def compile_batches(rows, batch, scratch):
    """{number: answer columns and members} of some rows at a time, in order."""
    compiler = new_compiler(scratch)
    for begin in range(0, len(rows), batch):
        end = min(begin + batch, len(rows))
        answers = compiler.answers(rows, range(begin, end), compile_rows.log)
        compile_rows.log(f"{end} of {len(rows)} rows compiled")
        yield answers


def oracle_answers(tilewright, rows, version):
    """What `tilewright explain --cutlass --batch` says for the same questions, row by row."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as questions:
        writer = csv.DictWriter(questions, oracle_rows.QUESTION, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        questions.flush()
        output = subprocess.run([tilewright, "explain", "--cutlass", "--batch", questions.name, "--cutlass-version",
                                 version, "--format", "csv"], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(output)))


def differences(expected, found):
    """The columns in which an answer differs from what was compiled. Of a row whose types do not compile, only that."""
    if expected["compile_status"] != "ok" or found["resolved_policy"] == "-":
        same = (expected["resolved_policy"] == "-") == (found["resolved_policy"] == "-")
        return {} if same else {"compile_status": (expected["compile_status"], found["compile_status"])}
    # Only types were compiled: an error of the kernel's body leaves the sizes to compare.
    return {name: (expected[name], found[name]) for name in oracle_rows.ANSWER[:-1] if expected[name] != found[name]}


def report(rows, answers, other, title):
    """Prints where `other` (number -> answer) disagrees with what was compiled; returns how often."""
    wrong, unsupported = 0, 0
    for number, row in enumerate(rows):
        if other[number]["compile_status"] == "unsupported":
            unsupported += 1
            continue
        changed = differences(answers[number], other[number])
        if changed:
            wrong += 1
            print(",".join(row[name] for name in oracle_rows.QUESTION))
            for name, (compiled, found) in changed.items():
                print(f"  {name}: compiled {compiled}, {title} {found}")
    beyond = f", {unsupported} are beyond what is modelled" if unsupported else ""
    print(f"{len(rows) - wrong - unsupported} of {len(rows)} rows: {title} agrees with what was compiled{beyond}")
    return wrong


def check(arguments):
    version = header_version()
    known = []
    for path in arguments.rows or sorted(DATA.glob("*.csv")):
        table = read_rows(path)
        if table and set(oracle_rows.COLUMNS) <= set(table[0]):
            known += [row for row in table if row.get("cutlass", "4.7.0") == version]
    rng = random.Random(arguments.seed)
    sample = rng.sample(known, min(arguments.sample, len(known))) if arguments.sample else known
    fresh = configurations.draw(arguments.seed, arguments.fresh, known={configurations.key(row) for row in known})
    rows = sample + fresh
    answers = {}
    for some in compile_batches(rows, arguments.batch, arguments.scratch):
        answers.update(some)
    print(f"CUTLASS {version}: {len(sample)} committed rows, {len(fresh)} fresh ones")
    wrong = report(sample, answers, dict(enumerate(sample)), "committed")
    if arguments.tilewright:
        wrong += report(rows, answers, oracle_answers(arguments.tilewright, rows, version), "the oracle")
    return 1 if wrong else 0


def draw(arguments):
    version = header_version()
    path = pathlib.Path(arguments.out)
    held = read_rows(path) if path.exists() else []
    known = {configurations.key(row) for table in [held, *map(read_rows, arguments.without)] for row in table}
    rows = configurations.draw(arguments.seed, arguments.count, arguments.arch, known)
    if not path.exists():
        append(path, [*oracle_rows.COLUMNS, "cutlass"], header=True)
        append(storage_of(path), STORAGE, header=True)
    for answers in compile_batches(rows, arguments.batch, arguments.scratch):
        append(path, [*oracle_rows.COLUMNS, "cutlass"],
               [{**rows[number], **answers[number], "cutlass": version} for number in sorted(answers)])
        append(storage_of(path), STORAGE, [{"row": len(held) + number, **member} for number in sorted(answers)
                                           for member in answers[number]["members"]])
    return 0


def body_is_suspect(row):
    """SM90's Cooperative kernels and SM120's want 128 rows, SM120's 128 columns too before b46b16d, SM100's and SM103's
    assert that they fit: types do not tell."""
    if row["arch"] in ("sm100", "sm103"):
        return row["fits"] == "false"
    if row["arch"] == "sm90":
        return int(row["tileM"]) < 128 and "Cooperative" in row["resolved_policy"]
    return int(row["tileM"]) < 128 or (row["cutlass"] < "4.5" and int(row["tileN"]) < 128)


def bodies(arguments):
    rows = read_rows(arguments.table)
    wanted = [row for number, row in enumerate(rows) if row["compile_status"] == "ok" and
              row["cutlass"] == header_version() and
              (number in arguments.row if arguments.row else body_is_suspect(row))]
    compiler = new_compiler(arguments.scratch)
    for row in wanted:
        message = compiler.body_error(row)
        compile_rows.log(",".join(row[name] for name in oracle_rows.QUESTION) + ": " + (message or "ok"))
        if message:
            row["compile_status"] = "types-ok; kernel body FAILS: " + message
            path = pathlib.Path(arguments.table)
            path.write_text("")
            append(path, [*oracle_rows.COLUMNS, "cutlass"], rows, header=True)
    return 0


def storage_of(path):
    return path.with_name(path.stem + "_storage.csv")


def append(path, columns, rows=(), header=False):
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--seed", type=int, default=1, help="of the choice of rows")
    common.add_argument("--batch", type=int, default=40, help="rows in one translation unit (some 60 MB each)")
    common.add_argument("--scratch", default="build/cutlass_oracle", help="folder for sources and programs")

    checking = verbs.add_parser("check", parents=[common], help="compile committed rows again, and compare")
    checking.add_argument("rows", nargs="*", help="tables; all of tests/data/cutlass by default")
    checking.add_argument("--sample", type=int, default=40, help="that many of the rows of this version; 0: all")
    checking.add_argument("--fresh", type=int, default=0, help="that many rows that no table holds, for the oracle")
    checking.add_argument("--tilewright", help="the tool, to compare with what it says")
    checking.set_defaults(run=check)

    drawing = verbs.add_parser("draw", parents=[common], help="compile rows that no table holds, and append them")
    drawing.add_argument("--count", type=int, default=40)
    drawing.add_argument("--arch", action="append", choices=list(configurations.ARCHITECTURES))
    drawing.add_argument("--without", nargs="*", default=[], help="tables whose rows are not wanted")
    drawing.add_argument("--out", required=True, help="the table to append to")
    drawing.set_defaults(run=draw)

    checking_bodies = verbs.add_parser("bodies", parents=[common],
                                       help="compile kernels' bodies too, and mark rows whose types alone compile")
    checking_bodies.add_argument("table")
    checking_bodies.add_argument("--row", type=int, nargs="*", help="those, from 0; by default all whose body is suspect")
    checking_bodies.set_defaults(run=bodies)

    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
