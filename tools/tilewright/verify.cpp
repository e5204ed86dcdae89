// tilewright verify: does this build compute the right numbers on this machine?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/moe_layer.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/verb.hpp"
#include "tools/tilewright/verification.hpp"
#include "tools/tilewright/verify_cases.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string backend = "cpu";
  std::string isa;
  std::string precision = "w4a16,w4a4";
  std::uint64_t seed = 1;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright verify --backend cpu\n"
    "  tilewright verify --isa avx2 --precision w4a4 --format json";

// One case on one instruction set tier.
struct Check {
  const VerifyCase* test = nullptr;
  Precision precision = Precision::w4a16;
  std::string isa;
  Verification numbers;
  bool repeatable = true;  // the same bits with one thread and with all

  [[nodiscard]] bool passed() const { return numbers.passed && repeatable; }
};

Result<std::vector<float>> run_layer(const VerifyCase& test, const ExpertWeights& weights, const MoeLayerOptions& how,
                                     const std::vector<bf16>& x, const RoutedTokens& routed) {
  TILEWRIGHT_ASSIGN(MoeLayer layer, MoeLayer::create(weights, test.activation, test.routing, how));
  std::vector<float> y(x.size());
  TILEWRIGHT_TRY(layer.run(x.data(), routed, y.data()));
  return y;
}

Status check_case(const VerifyCase& test, Precision precision, const std::vector<std::string>& tiers,
                  std::uint64_t seed, std::vector<Check>& checks) {
  const ExpertWeights weights = random_experts(test.shape, seed);
  const std::vector<bf16> x = random_activations(test.tokens, test.shape.hidden, seed + 1);
  TILEWRIGHT_ASSIGN(const RoutedTokens routed, slots_of(test, seed + 2));
  TILEWRIGHT_ASSIGN(const auto reference, reference_output(weights, test.activation, precision, x, routed));
  for (const std::string& tier : tiers) {
    Check check{&test, precision, tier, {}, true};
    TILEWRIGHT_ASSIGN(const auto y, run_layer(test, weights, {precision, Backend::cpu, tier, 0}, x, routed));
    TILEWRIGHT_ASSIGN(const auto again, run_layer(test, weights, {precision, Backend::cpu, tier, 1}, x, routed));
    check.numbers = compare(y, reference, test.tokens, precision);
    check.repeatable = y.empty() || std::memcmp(y.data(), again.data(), y.size() * sizeof(float)) == 0;
    checks.push_back(check);
  }
  return {};
}

Json check_json(const Check& check) {
  const VerifyCase& test = *check.test;
  return {{"case", test.name},
          {"precision", to_string(check.precision)},
          {"isa", check.isa},
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
}

// One row a case and precision: the worst tier stands for all.
Table checks_table(const std::vector<Check>& checks, std::size_t tiers) {
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
               {"worst tier"},
               {"result"}},
              {}};
  for (std::size_t i = 0; i < checks.size(); i += tiers) {
    const auto first = checks.begin() + static_cast<std::ptrdiff_t>(i);
    const Check& worst =
        *std::max_element(first, first + static_cast<std::ptrdiff_t>(tiers), [](const Check& a, const Check& b) {
          if (a.passed() != b.passed()) return a.passed();
          return a.numbers.max_rel_err < b.numbers.max_rel_err;
        });
    const VerifyCase& test = *worst.test;
    const bool all_alike = std::all_of(first, first + static_cast<std::ptrdiff_t>(tiers), [&](const Check& check) {
      return check.passed() == worst.passed() && check.numbers.max_rel_err == worst.numbers.max_rel_err;
    });
    const char* verdict = worst.passed() ? "ok" : worst.numbers.passed ? "NOT REPEATABLE" : "WRONG";
    table.rows.push_back(
        {test.name, fmt::to_string(test.shape.hidden), fmt::to_string(test.shape.intermediate),
         fmt::to_string(test.shape.global_experts), fmt::to_string(test.routing.top_k), fmt::to_string(test.tokens),
         to_string(worst.precision), fmt::format("{:.1e}", worst.numbers.max_rel_err),
         fmt::format("{:.1e}", worst.numbers.tolerance), all_alike ? "all alike" : worst.isa, verdict});
  }
  return table;
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_ASSIGN([[maybe_unused]] const Backend backend, parse_backend(options.backend));
  TILEWRIGHT_ASSIGN(const auto precisions, precisions_of(options.precision, Precision::w4a16));
  const std::vector<std::string> tiers = options.isa.empty() ? cpu_info().tiers : std::vector<std::string>{options.isa};
  const std::vector<VerifyCase> cases = verify_cases();
  std::vector<Check> checks;
  Progress progress;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const Precision precision : precisions) {
      progress.show(fmt::format("{} of {}: {}, {}", i + 1, cases.size(), cases[i].name, to_string(precision)));
      TILEWRIGHT_TRY(check_case(cases[i], precision, tiers, options.seed + 1000 * i, checks));
    }
  }
  progress.clear();
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Check& check) { return !check.passed(); });
  Report report("verify");
  report.json["backend"] = options.backend;
  report.json["isa_tiers"] = tiers;
  report.json["passed"] = static_cast<std::ptrdiff_t>(checks.size()) - failed;
  report.json["failed"] = failed;
  report.json["checks"] = Json::array();
  for (const Check& check : checks) report.json["checks"].push_back(check_json(check));
  report.sections.emplace_back(checks_table(checks, tiers.size()));
  report.sections.emplace_back(Text{fmt::format(
      "{} of {} checks passed on {}: each compares a layer with the reference in double, and one thread with all.",
      static_cast<std::ptrdiff_t>(checks.size()) - failed, checks.size(), fmt::join(tiers, ", "))});
  return Outcome{render(report, options.format), failed == 0 ? Exit::ok : Exit::wrong_numbers};
}

}  // namespace

Verb add_verify(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "verify", "Check this build's kernels on this machine against the reference in double",
                   kExamples, options->format);
  command->add_option("--backend", options->backend, "What to check: cpu (default)")->option_text("NAME");
  command->add_option("--isa", options->isa, "One tier of CPU kernels (default: every tier that runs here)")
      ->option_text("TIER");
  command->add_option("--precision", options->precision, "w4a16, w4a4, or both with a comma (default)")
      ->option_text("LIST");
  command->add_option("--seed", options->seed, "Seed of weights and inputs (default 1)")->option_text("N");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
