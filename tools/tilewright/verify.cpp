// tilewright verify: does this build compute the right numbers on this machine?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/moe_layer.hpp"
#include "tools/tilewright/backend_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/verb.hpp"
#include "tools/tilewright/verification.hpp"
#include "tools/tilewright/verify_cases.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  BackendOptions backend;
  std::string isa;
  std::string precision;  // empty: what the backend has
  std::uint64_t seed = 1;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright verify --backend cpu\n"
    "  tilewright verify --isa avx2 --precision w4a4 --format json\n"
    "  tilewright verify --backend cuda\n"
    "  tilewright verify --backend cuda --arch sm_120 --emulate-mma";

// A set of kernels: a tier of the CPU's, or the GPU's.
struct Kernels {
  std::string name;
  MoeLayerOptions first;   // without a precision
  MoeLayerOptions second;  // has to give the same bits
};

// One case on one set of kernels.
struct Check {
  const VerifyCase* test = nullptr;
  Precision precision = Precision::w4a16;
  std::string kernels;
  Verification numbers;
  bool repeatable = true;
  std::string refused;  // why the backend does not take the case's sizes; empty where it does

  [[nodiscard]] bool failed() const { return refused.empty() && !(numbers.passed && repeatable); }
  [[nodiscard]] bool passed() const { return refused.empty() && !failed(); }
};

Result<std::vector<float>> run_layer(const VerifyCase& test, const ExpertWeights& weights, MoeLayerOptions how,
                                     Precision precision, const std::vector<bf16>& x, const RoutedTokens& routed) {
  how.precision = precision;
  TILEWRIGHT_ASSIGN(MoeLayer layer, MoeLayer::create(weights, test.activation, test.routing, how));
  std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
  TILEWRIGHT_TRY(layer.run(x.data(), routed, y.data()));
  return y;
}

Status check_case(const VerifyCase& test, Precision precision, const std::vector<Kernels>& all, std::uint64_t seed,
                  std::vector<Check>& checks) {
  const ExpertWeights weights = random_experts(test.shape, seed);
  const std::vector<bf16> x = random_activations(test.tokens, test.shape.hidden, seed + 1);
  TILEWRIGHT_ASSIGN(const RoutedTokens routed, slots_of(test, seed + 2));
  TILEWRIGHT_ASSIGN(const auto reference, reference_output(weights, test.activation, precision, x, routed));
  for (const Kernels& kernels : all) {
    Check check{&test, precision, kernels.name, {}, true, {}};
    const auto y = run_layer(test, weights, kernels.first, precision, x, routed);
    if (!y && y.error().code == ErrorCode::unsupported) {
      check.refused = y.error().message();
      checks.push_back(check);
      continue;
    }
    TILEWRIGHT_TRY(y);
    TILEWRIGHT_ASSIGN(const auto again, run_layer(test, weights, kernels.second, precision, x, routed));
    check.numbers = compare(*y, reference, test.tokens, precision, kernels.first.backend);
    check.repeatable = y->empty() || std::memcmp(y->data(), again.data(), y->size() * sizeof(float)) == 0;
    checks.push_back(check);
  }
  return {};
}

Json check_json(const Check& check, Backend backend) {
  const VerifyCase& test = *check.test;
  Json json = {{"case", test.name},
               {"precision", to_string(check.precision)},
               {backend == Backend::cpu ? "isa" : "device", check.kernels},
               {"hidden", test.shape.hidden},
               {"intermediate", test.shape.intermediate},
               {"experts", test.shape.global_experts},
               {"top_k", test.routing.top_k},
               {"tokens", test.tokens},
               {"activation", to_string(test.activation.kind)},
               {"scoring", to_string(test.routing.scoring)},
               {"max_rel_err", check.numbers.max_rel_err},
               {"tolerance", check.numbers.tolerance},
               {"repeatable", check.repeatable},
               {"passed", check.passed()}};
  if (!check.refused.empty()) json["refused"] = check.refused;
  return json;
}

const char* verdict_of(const Check& check) {
  if (!check.refused.empty()) return "not taken";
  if (check.passed()) return "ok";
  return check.numbers.passed ? "NOT REPEATABLE" : "WRONG";
}

// One row a case and precision: the worst kernels stand for all.
Table checks_table(const std::vector<Check>& checks, Backend backend, std::size_t kinds) {
  Table table{"",
              {{"case"},
               {"H", true},
               {"I", true},
               {"experts", true},
               {"top-k", true},
               {"tokens", true},
               {"precision"},
               {"max rel err", true},
               {"tolerance", true},
               {backend == Backend::cpu ? "worst tier" : "device"},
               {"result"}},
              {}};
  for (std::size_t i = 0; i < checks.size(); i += kinds) {
    const auto first = checks.begin() + static_cast<std::ptrdiff_t>(i);
    const Check& worst =
        *std::max_element(first, first + static_cast<std::ptrdiff_t>(kinds), [](const Check& a, const Check& b) {
          if (a.passed() != b.passed()) return a.passed();
          return a.numbers.max_rel_err < b.numbers.max_rel_err;
        });
    const VerifyCase& test = *worst.test;
    const bool all_alike = std::all_of(first, first + static_cast<std::ptrdiff_t>(kinds), [&](const Check& check) {
      return check.passed() == worst.passed() && check.numbers.max_rel_err == worst.numbers.max_rel_err;
    });
    table.rows.push_back({test.name, fmt::to_string(test.shape.hidden), fmt::to_string(test.shape.intermediate),
                          fmt::to_string(test.shape.global_experts), fmt::to_string(test.routing.top_k),
                          fmt::to_string(test.tokens), to_string(worst.precision),
                          fmt::format("{:.1e}", worst.numbers.max_rel_err),
                          fmt::format("{:.1e}", worst.numbers.tolerance),
                          all_alike && kinds > 1 ? "all alike" : worst.kernels, verdict_of(worst)});
  }
  return table;
}

// CPU: every tier with all threads and with one. GPU: the layer made and run twice.
std::vector<Kernels> kernels_to_check(const Options& options, const MoeLayerOptions& how) {
  if (how.backend == Backend::cuda) return {{describe(how), how, how}};
  std::vector<Kernels> all;
  for (const std::string& tier : options.isa.empty() ? cpu_info().tiers : std::vector<std::string>{options.isa}) {
    Kernels kernels{tier, how, how};
    kernels.first.isa = kernels.second.isa = tier;
    kernels.second.threads = 1;
    all.push_back(std::move(kernels));
  }
  return all;
}

Report checks_report(Backend backend, const std::vector<Kernels>& all, const std::vector<Check>& checks) {
  const auto count = [&](bool (Check::*is)() const) {
    return std::count_if(checks.begin(), checks.end(), [is](const Check& check) { return (check.*is)(); });
  };
  const auto passed = count(&Check::passed);
  const auto failed = count(&Check::failed);
  const auto refused = static_cast<std::ptrdiff_t>(checks.size()) - passed - failed;
  std::vector<std::string> names;
  for (const Kernels& kernels : all) names.push_back(kernels.name);
  Report report("verify");
  report.json["backend"] = to_string(backend);
  if (backend == Backend::cpu) report.json["isa_tiers"] = names;
  report.json["passed"] = passed;
  report.json["failed"] = failed;
  report.json["refused"] = refused;
  report.json["checks"] = Json::array();
  for (const Check& check : checks) report.json["checks"].push_back(check_json(check, backend));
  report.sections.emplace_back(checks_table(checks, backend, all.size()));
  std::string summary =
      fmt::format("{} of {} checks passed on {}: each compares a layer with the reference in double, and {}.", passed,
                  checks.size(), fmt::join(names, ", "),
                  backend == Backend::cpu ? "one thread with all" : "a second run with the first");
  if (refused > 0) summary += fmt::format(" The kernels do not take the sizes of {}.", refused);
  report.sections.emplace_back(Text{summary});
  return report;
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_ASSIGN(MoeLayerOptions how, layer_options(options.backend));
  how.isa = options.isa;
  const Backend backend = how.backend;
  const bool all = options.precision.empty() && backend == Backend::cpu;
  TILEWRIGHT_ASSIGN(const auto precisions, layer_precisions(all ? "w4a16,w4a4" : options.precision, how));
  for (const Precision precision : precisions) {
    how.precision = precision;
    TILEWRIGHT_TRY(check_options(how));
  }
  const std::vector<Kernels> kernels = kernels_to_check(options, how);
  const std::vector<VerifyCase> cases = verify_cases();
  std::vector<Check> checks;
  Progress progress;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const Precision precision : precisions) {
      progress.show(fmt::format("{} of {}: {}, {}", i + 1, cases.size(), cases[i].name, to_string(precision)));
      TILEWRIGHT_TRY(check_case(cases[i], precision, kernels, options.seed + 1000 * i, checks));
    }
  }
  progress.clear();
  Exit exit = Exit::not_possible;  // where the kernels take no case at all
  for (const Check& check : checks) {
    if (check.failed()) exit = Exit::wrong_numbers;
    if (check.passed() && exit != Exit::wrong_numbers) exit = Exit::ok;
  }
  return Outcome{render(checks_report(backend, kernels, checks), options.format), exit};
}

}  // namespace

Verb add_verify(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "verify", "Check this build's kernels on this machine against the reference in double",
                   kExamples, options->format);
  declare_backend_options(*command, options->backend, "What to check", "");
  command->add_option("--isa", options->isa, "One tier of CPU kernels (default: every tier that runs here)")
      ->option_text("TIER");
  command
      ->add_option("--precision", options->precision,
                   "w4a16, w4a4, or both with a comma (default: what the kernels have)")
      ->option_text("LIST");
  command->add_option("--seed", options->seed, "Seed of weights and inputs (default 1)")->option_text("N");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
