// What the GPUs of a layer send each other.
#include <algorithm>
#include <cmath>

#include "tilewright/bottleneck.hpp"

namespace tilewright {
namespace {

// Expected share of tokens that have at least one of `local` experts among their k of E.
double share_with_local_expert(int top_k, int experts, double local) {
  double none = 1.0;
  for (int i = 0; i < top_k; ++i) none *= std::max(experts - local - i, 0.0) / (experts - i);
  return 1.0 - none;
}

double us(double bytes, int shots, const Link& link) { return bytes / (1e3 * link.GBps) + shots * link.latency_us; }

Exchange all_reduce(double tensor_bytes, int ranks, const Link& link) {
  const double one_shot = tensor_bytes * (ranks - 1);
  const double two_shot = 2.0 * tensor_bytes * (ranks - 1) / ranks;
  const bool one = us(one_shot, 1, link) < us(two_shot, 2, link);
  const double bytes = one ? one_shot : two_shot;
  return {"all_reduce", static_cast<std::int64_t>(bytes), us(bytes, one ? 1 : 2, link)};
}

}  // namespace

std::vector<Exchange> exchanges(const LayerProblem& problem, const Link& link) {
  const ModelFacts& model = problem.model;
  const auto hidden = static_cast<double>(model.hidden);
  const double local_experts = static_cast<double>(model.experts) / problem.ep;
  const double reached = share_with_local_expert(model.routing.top_k, model.experts, local_experts);
  std::vector<Exchange> list;
  if (problem.ep > 1) {
    const double own_tokens = std::ceil(static_cast<double>(problem.tokens) / problem.ep);
    const double copies = own_tokens * (problem.ep - 1) * reached;
    const double in = copies * hidden * (problem.precision == Precision::w4a4 ? 9.0 / 16.0 : 2.0);
    const double out = copies * hidden * 2.0;
    list.push_back({"dispatch", static_cast<std::int64_t>(in), us(in, 1, link)});
    list.push_back({"combine", static_cast<std::int64_t>(out), us(out, 1, link)});
  }
  if (problem.tp > 1) {
    // The tokens that this rank's experts have a part of.
    const double tokens = std::ceil(static_cast<double>(problem.tokens) * reached);
    list.push_back(all_reduce(tokens * hidden * 2.0, problem.tp, link));
  }
  return list;
}

}  // namespace tilewright
