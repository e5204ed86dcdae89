// tilewright explain --cutlass: what CUTLASS's builders choose for a kernel, whether it fits, and what mends it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tilewright/cutlass_render.hpp"
#include "tilewright/cutlass_rows.hpp"
#include "tools/tilewright/explain_options.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

enum class Rendering { text, md, json, dot, csv };

struct Options {
  bool cutlass = false;
  CutlassOptions kernel;
  bool emit = false;
  bool all = false;
  int remedy = 0;  ///< from 1; 0: not given
  std::string batch;
  std::optional<Rendering> format;  ///< none: text, or csv of a batch
};

constexpr const char* kExamples =
    "  tilewright explain --cutlass --arch sm_120 --grouped --tile 128x256x128 --epilogue finalize\n"
    "  tilewright explain --cutlass --compare sm_100,sm_120 --grouped --tile 128x256x256\n"
    "  tilewright explain --cutlass --device gb10 --grouped --tile CtaShape128x256x64B --epilogue finalize --emit";

Rendering rendering_named(const std::string& name) {
  if (name == "text") return Rendering::text;
  if (name == "md") return Rendering::md;
  if (name == "json") return Rendering::json;
  if (name == "dot") return Rendering::dot;
  if (name == "csv") return Rendering::csv;
  refuse_format(name, "explain", "text, md, json, dot, or csv with --batch");
}

template <typename Document>
std::string render_as(std::optional<Rendering> format, const Document& document) {
  switch (format.value_or(Rendering::text)) {
    case Rendering::md: return render_cutlass_markdown(document);
    case Rendering::json: return render_cutlass_json(document);
    case Rendering::dot: return render_cutlass_dot(document);
    default: return render_cutlass_text(document);
  }
}

Result<Outcome> compare(const Options& options) {
  TILEWRIGHT_ASSIGN(const std::vector<Arch> archs, compared_archs(options.kernel));
  CutlassComparison comparison;
  std::optional<Error> last;
  bool any = false;
  for (const Arch arch : archs) {
    TILEWRIGHT_ASSIGN(CutlassQuestion question, cutlass_question(options.kernel, arch));
    auto explanation = explain_cutlass(question.request, std::move(question.defaults));
    CutlassComparison::Side side;
    side.arch = arch;
    if (explanation) {
      side.explanation = std::move(*explanation);
      any = true;
    } else if (explanation.error().code == ErrorCode::unsupported) {
      side.unsupported = explanation.error().message();
    } else {
      return tl::unexpected<Error>(explanation.error());
    }
    comparison.sides.push_back(std::move(side));
  }
  return Outcome{render_as(options.format, comparison), any ? Exit::ok : Exit::not_possible};
}

// Counted from 1; 1 where none fits.
std::size_t first_that_fits(const std::vector<CutlassRemedy>& remedies) {
  const auto found =
      std::find_if(remedies.begin(), remedies.end(), [](const CutlassRemedy& each) { return each.fits; });
  return found == remedies.end() ? 1 : static_cast<std::size_t>(found - remedies.begin()) + 1;
}

// The parts that were filled in and that a remedy did not change.
std::vector<CutlassDefault> defaults_that_stand(const CutlassQuestion& asked, const CutlassRequest& mended) {
  const CutlassRequest& request = asked.request;
  std::vector<CutlassDefault> standing;
  for (const CutlassDefault& each : asked.defaults) {
    const bool changed = (each.what == "C" && request.c != mended.c) ||
                         (each.what == "schedule" && request.schedule != mended.schedule) ||
                         (each.what == "epilogue schedule" && request.epilogue_schedule != mended.epilogue_schedule) ||
                         (each.what == "epilogue tile" && request.epilogue_tile_n != mended.epilogue_tile_n) ||
                         (each.what == "cluster" && request.cluster_m != mended.cluster_m);
    if (!changed) standing.push_back(each);
  }
  return standing;
}

// The explanation that is asked for: of the request, or of the request with the change of a remedy.
struct Chosen {
  CutlassQuestion asked;
  CutlassExplanation explanation;
  std::string change;  ///< of the remedy; empty for the request itself
};

Result<Chosen> choose(const Options& options) {
  TILEWRIGHT_ASSIGN(const Arch arch, cutlass_arch(options.kernel));
  Chosen chosen;
  TILEWRIGHT_ASSIGN(chosen.asked, cutlass_question(options.kernel, arch));
  TILEWRIGHT_ASSIGN(chosen.explanation, explain_cutlass(chosen.asked.request, chosen.asked.defaults));
  const CutlassKernel& kernel = chosen.explanation.kernel;
  const std::vector<CutlassRemedy> remedies = chosen.explanation.remedies;
  const bool launches = kernel.builds() && kernel.fits();
  if (options.remedy == 0 && (!options.emit || launches)) return chosen;
  const auto number = options.remedy == 0 ? first_that_fits(remedies) : static_cast<std::size_t>(options.remedy);
  if (number > remedies.size()) {
    if (remedies.empty() && !launches) {
      return fail(ErrorCode::unsupported, "no change is known that makes this kernel build and fit",
                  "take another tile, or leave --emit and --remedy out to see what stops it");
    }
    return fail(ErrorCode::invalid_argument,
                launches ? std::string("the kernel fits, so there is no remedy to choose")
                         : fmt::format("there is no remedy {}: there are {}", number, remedies.size()),
                launches ? "leave --remedy out" : "");
  }
  const CutlassRemedy& remedy = remedies[number - 1];
  chosen.change = remedy.change;
  TILEWRIGHT_ASSIGN(chosen.explanation,
                    explain_cutlass(remedy.request, defaults_that_stand(chosen.asked, remedy.request)));
  return chosen;
}

Result<Outcome> explain(const Options& options) {
  TILEWRIGHT_ASSIGN(const Chosen chosen, choose(options));
  if (!options.emit) {
    if (options.format.value_or(Rendering::text) == Rendering::text) {
      return Outcome{render_cutlass_text(chosen.explanation, options.all)};
    }
    return Outcome{render_as(options.format, chosen.explanation)};
  }
  TILEWRIGHT_ASSIGN(const std::string header,
                    emit_cutlass(chosen.asked.request, chosen.explanation.kernel, chosen.asked.output));
  if (options.format == Rendering::md) return Outcome{"```cpp\n" + header + "```\n"};
  if (options.format != Rendering::json) return Outcome{header};
  Json json = Json::parse(render_cutlass_json(chosen.explanation));
  json["emitted"] = {{"change", chosen.change.empty() ? Json() : Json(chosen.change)}, {"header", header}};
  return Outcome{json.dump(2) + "\n"};
}

Result<std::string> contents(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path))
    return fail(ErrorCode::not_found, path + " cannot be read", "give a CSV file, or - for standard input");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<Outcome> fill_rows(const Options& options) {
  TILEWRIGHT_ASSIGN(const CutlassVersion version, cutlass_version(options.kernel));
  TILEWRIGHT_ASSIGN(const std::string rows, contents(options.batch));
  auto answered = answer_cutlass_rows(rows, version);
  // The command line is in order; what stands in the file is not.
  if (!answered) {
    return fail(ErrorCode::corrupt, options.batch + ": " + answered.error().cause, answered.error().remedy);
  }
  return Outcome{std::move(*answered)};
}

Status check(const Options& options) {
  if (!options.cutlass) {
    return fail(ErrorCode::invalid_argument, "explain says what CUTLASS's builders choose, and --cutlass is missing",
                "add it; why Tilewright itself takes a schedule or refuses one, 'tilewright plan --why-not TILE' says");
  }
  if (options.batch.empty() && options.format == Rendering::csv) {
    return fail(ErrorCode::invalid_argument, "--format csv fills the rows of --batch", "use text, md, json or dot");
  }
  if (!options.batch.empty() && options.format && options.format != Rendering::csv) {
    return fail(ErrorCode::invalid_argument, "--batch fills rows of CSV", "use --format csv, or ask about one kernel");
  }
  if (!options.batch.empty() && !options.kernel.tile.empty()) {
    return fail(ErrorCode::invalid_argument, "--batch and --tile are both given", "each row of a batch has its tile");
  }
  if (options.format == Rendering::dot && options.emit) {
    return fail(ErrorCode::invalid_argument, "--emit prints C++, not a graph", "use text, md or json");
  }
  if (!options.kernel.compare.empty() && (options.emit || options.remedy > 0)) {
    return fail(ErrorCode::invalid_argument, "--emit and --remedy are of one kernel, --compare is of several",
                "use --arch");
  }
  return {};
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_TRY(check(options));
  if (!options.batch.empty()) return fill_rows(options);
  return options.kernel.compare.empty() ? explain(options) : compare(options);
}

}  // namespace

Verb add_explain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "Say what CUTLASS would choose for a kernel, whether it fits, and what mends it");
  command->footer(std::string("Examples:\n") + kExamples);
  command
      ->add_option_function<std::string>(
          "--format", [options](const std::string& text) { options->format = rendering_named(text); },
          "How to print the answer: text (default), md, json, dot; csv with --batch")
      ->option_text("FORMAT");
  command->add_flag("--cutlass", options->cutlass, "Explain a kernel of CUTLASS's collective builders");
  declare_cutlass_options(*command, options->kernel);
  command
      ->add_option("--compare", options->kernel.compare, "Architectures side by side instead of --arch: sm_100,sm_120")
      ->option_text("LIST");
  command
      ->add_option("--batch", options->batch,
                   "Fill the result columns of rows like cutlass_oracle.csv's (docs/cutlass.md); - is standard input")
      ->option_text("CSV");
  command->add_flag("--emit", options->emit,
                    "Print the template arguments, as C++: of the kernel, or of the first remedy where it cannot run");
  command->add_option("--remedy", options->remedy, "Take the N-th remedy: explain it, or --emit it")
      ->check(CLI::Range(1, 1000))
      ->option_text("N");
  command->add_flag("--all", options->all, "List every step of the resolution (text; the other formats always do)");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
