#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "tune/regret_run.hpp"

namespace tilewright::tune {
namespace {

struct Slice {
  int tp = 1;
  int ep = 1;
};

struct SetModel {
  const char* name;
  std::array<Slice, 3> slices;
};

constexpr std::array kModels = {
    SetModel{"glm-5", {{{1, 8}, {8, 1}, {4, 2}}}},         SetModel{"deepseek-v3", {{{1, 8}, {8, 1}, {1, 16}}}},
    SetModel{"qwen3-30b-a3b", {{{1, 1}, {2, 1}, {1, 4}}}}, SetModel{"qwen3.5-397b-a17b", {{{1, 8}, {4, 1}, {1, 4}}}},
    SetModel{"gpt-oss-120b", {{{1, 1}, {4, 1}, {1, 4}}}},  SetModel{"minimax-m2", {{{1, 8}, {4, 1}, {1, 4}}}},
};

// Powers of two, and odd counts between; the sign of a kernel that suits powers of two alone is regret at the others.
constexpr std::array kTokens = {1,   2,   3,   4,   8,   13,   16,   32,   57,   64,
                                128, 201, 256, 512, 777, 1024, 2048, 3001, 4096, 8192};
constexpr std::size_t kLeap = 7;  // about a third of the counts, and without a factor in common: none is left out

/// Whether each model is in the half that is held out: every second one in order of its sizes.
std::vector<bool> held_out(const std::vector<ModelFacts>& models) {
  const auto key = [](const ModelFacts& m) { return std::tuple(m.hidden, m.intermediate, m.routing.top_k, m.experts); };
  std::vector<bool> held;
  for (const ModelFacts& model : models) {
    const auto smaller =
        std::count_if(models.begin(), models.end(), [&](const ModelFacts& other) { return key(other) < key(model); });
    held.push_back(smaller % 2 == 1);
  }
  return held;
}

bool wanted(const std::vector<std::string>& models, const char* name) {
  return models.empty() || std::find(models.begin(), models.end(), name) != models.end();
}

}  // namespace

Result<std::vector<RegretShape>> regret_shapes(const std::vector<std::string>& models,
                                               Result<ModelFacts> (*find)(const std::string&)) {
  std::vector<std::string> names;
  for (const SetModel& model : kModels) names.emplace_back(model.name);
  for (const std::string& name : models) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fail(ErrorCode::not_found, fmt::format("{} is not in the set", name),
                  fmt::format("it has {}", fmt::join(names, ", ")));
    }
  }
  std::vector<ModelFacts> facts;
  for (const SetModel& model : kModels) {
    TILEWRIGHT_ASSIGN(ModelFacts found, find(model.name));
    facts.push_back(std::move(found));
  }
  const std::vector<bool> held = held_out(facts);
  std::vector<RegretShape> shapes;
  // Token counts run slowest and by leaps, so that a run that is cut short has small and large ones of every model.
  for (std::size_t leap = 0; leap < kTokens.size(); ++leap) {
    const std::size_t i = leap * kLeap % kTokens.size();
    for (const RowDistribution distribution : {RowDistribution::uniform_random, RowDistribution::power_law}) {
      if (distribution == RowDistribution::power_law && i % 2 == 1) continue;
      for (std::size_t m = 0; m < kModels.size(); ++m) {
        if (!wanted(models, kModels[m].name)) continue;
        for (const Slice& slice : kModels[m].slices) {
          RegretShape shape{{}, held[m]};
          shape.layer.model = facts[m];
          shape.layer.tokens = kTokens[i];
          shape.layer.tp = slice.tp;
          shape.layer.ep = slice.ep;
          shape.layer.rows.distribution = distribution;
          shapes.push_back(std::move(shape));
        }
      }
    }
  }
  return shapes;
}

}  // namespace tilewright::tune
