"""Compiles rows of the CUTLASS oracle's tables: many in one translation unit, the failing ones alone.

Only types and sizes are asked for, so g++ with CUTLASS's and CUDA's headers is enough; no nvcc and no GPU.
"""

import json
import pathlib
import re
import subprocess
import sys

import oracle_rows

HERE = pathlib.Path(__file__).resolve().parent


# What nvcc defines for the code of an architecture, as far as CUTLASS asks for it.
BODY_FEATURE = {"sm90": "__CUDA_ARCH_FEAT_SM90_ALL", "sm100": "__CUDA_ARCH_FEAT_SM100_ALL",
                "sm103": "__CUDA_ARCH_FEAT_SM103_ALL", "sm120": "__CUDA_ARCH_FEAT_SM120_ALL",
                "sm121": "__CUDA_ARCH_FEAT_SM121_ALL"}


class CompileFailed(Exception):
    pass


class Compiler:
    def __init__(self, headers, scratch, cxx="g++"):
        self.scratch = pathlib.Path(scratch)
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.includes = [f"-I{path}" for path in [self.scratch, HERE, *headers]]
        # The headers' static functions call the CUDA runtime; in sections of their own the linker drops them.
        self.command = [cxx, "-std=c++17", "-O0", "-w", "-fdiagnostics-color=never", "-ffunction-sections"]
        self._precompile()

    def _run(self, arguments):
        return subprocess.run([*self.command, *arguments, *self.includes], capture_output=True, text=True, check=False)

    def _precompile(self):
        prefix = self.scratch / "oracle_prefix.hpp"
        compiled = self.scratch / "oracle_prefix.hpp.gch"
        stamp = self.scratch / "oracle_prefix.stamp"
        # Also what the command cannot show: our own headers.
        made_from = [*self.includes, *((HERE / name).read_text() for name in ("host_cuda.hpp", "probe.hpp"))]
        for command in (self.command, [*self.command, "-fpermissive"]):
            if compiled.is_file() and stamp.is_file() and stamp.read_text() == "\n".join([*command, *made_from]):
                self.command = command
                return
        stamp.unlink(missing_ok=True)
        prefix.write_text('#include "probe.hpp"\n')
        header = ["-x", "c++-header", str(prefix), "-o", str(compiled)]
        outcome = self._run(header)
        if "[-fpermissive]" in outcome.stderr:
            # b46b16d names an alias as the type that it stands for, which nvcc accepts and g++ does not.
            self.command.append("-fpermissive")
            outcome = self._run(header)
        if outcome.returncode != 0:
            raise CompileFailed("CUTLASS's headers do not compile:\n" + outcome.stderr[:4000])
        stamp.write_text("\n".join([*self.command, *made_from]))

    def _source(self, rows, numbers, name):
        text = ['#include "oracle_prefix.hpp"\n']
        for number in numbers:
            # The line marker attributes a diagnostic to its row.
            text.append(f'# 1 "row_{number}"\n' + oracle_rows.cpp_request(rows[number], f"Row{number}"))
            text.append(f"void report{number}() {{ probe::report<Row{number}>({number}); }}\n")
        text.append("int main() {\n" + "".join(f"  report{number}();\n" for number in numbers) + "}\n")
        path = self.scratch / f"{name}.cpp"
        path.write_text("".join(text))
        return path

    def first_error(self, row):
        """The first diagnostic of a row that is compiled alone, or None where it compiles."""
        source = self._source([row], [0], "alone")
        outcome = self._run(["-fsyntax-only", "-fmax-errors=1", str(source)])
        return None if outcome.returncode == 0 else error_text(outcome.stderr)

    def body_error(self, row):
        """The first diagnostic of the kernel's body, whose types compile; None where it compiles. Takes a minute."""
        source = self.scratch / "body.cpp"
        source.write_text('#include "oracle_prefix.hpp"\n' + oracle_rows.cpp_request(row, "Row") +
                          "using Kernel = probe::Build<Row>::Kernel;\n"
                          "void use(Kernel& kernel, Kernel::Params const& params, char* storage) {\n"
                          "  kernel(params, storage);\n}\n")
        # SM90's kernels, which SM120 also uses, are empty but for the architectures that they name.
        outcome = self._run(["-fsyntax-only", "-fmax-errors=1", f"-D{BODY_FEATURE[row['arch']]}", str(source)])
        return None if outcome.returncode == 0 else error_text(outcome.stderr)

    def emitted(self, texts):
        """(bytes of each emitted GemmKernel::SharedStorage, None), or (None, the first diagnostic)."""
        source = ['#include "oracle_prefix.hpp"\n']
        for number, text in enumerate(texts):
            # Their own includes were all read already, so that each struct Gemm can have a namespace around it.
            header = self.scratch / f"emitted{number}.hpp"
            header.write_text(text)
            source.append(f'namespace emitted{number} {{\n#include "{header.name}"\n}}\n')
        source.append("int main() {\n" + "".join(
            f'  std::printf("%zu\\n", sizeof(emitted{number}::Gemm::GemmKernel::SharedStorage));\n'
            for number in range(len(texts))) + "}\n")
        path = self.scratch / "emitted.cpp"
        path.write_text("".join(source))
        program = path.with_suffix("")
        outcome = self._run([str(path), "-o", str(program), "-Wl,--gc-sections"])
        if outcome.returncode != 0:
            return None, error_text(outcome.stderr)
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
        return [int(line) for line in output.split()], None

    def answers(self, rows, numbers, progress=lambda text: None):
        """{number: result columns, and "members"} for every row that is asked for."""
        remaining = list(numbers)
        answered = {}
        while remaining:
            source = self._source(rows, remaining, "batch")
            program = source.with_suffix("")
            outcome = self._run([str(source), "-o", str(program), "-Wl,--gc-sections"])
            if outcome.returncode == 0:
                output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
                for line in output.splitlines():
                    found = json.loads(line)
                    answered[found["row"]] = {**oracle_rows.answer_columns(rows[found["row"]], found),
                                              "members": found["members"]}
                break
            failing = rows_with_errors(outcome.stderr) & set(remaining) or set(remaining)
            progress(f"{len(failing)} of {len(remaining)} do not build")
            for number in sorted(failing):
                message = self.first_error(rows[number])
                # A row can also be named because it shares a type with a failing one.
                if message is not None:
                    answered[number] = {**oracle_rows.error_columns(rows[number], message), "members": []}
                    remaining.remove(number)
            if not failing - set(remaining):
                raise CompileFailed("no row fails alone, but together they do:\n" + outcome.stderr[:4000])
        return answered


def rows_with_errors(stderr):
    failing = set()
    context = set()
    for line in stderr.splitlines():
        named = re.match(r"row_(\d+):\d+", line)
        if named:
            context.add(int(named[1]))
        if " error: " in line:
            failing |= context
            context = set()
    return failing


def error_text(stderr):
    for line in stderr.splitlines():
        found = re.search(r"error: (.*)", line)
        if found:
            asserted = re.match(r"static assertion failed: (.*)", found[1])
            return "static_assert: " + asserted[1] if asserted else found[1]
    return "does not compile: " + stderr[-200:].strip()


def log(text):
    print(text, file=sys.stderr, flush=True)
