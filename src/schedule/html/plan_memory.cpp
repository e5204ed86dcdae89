// The bytes of the chosen schedules, as shared_memory() counts them.
#include <fmt/format.h>

#include <algorithm>

#include "schedule/format.hpp"
#include "schedule/html/bar_chart.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

using schedule::grouped;

// One chosen schedule with the tokens it is chosen for.
struct Account {
  std::string gemm;
  std::vector<std::int64_t> tokens;
  Schedule schedule;
};

std::vector<Account> accounts_of(const std::vector<GemmGroup>& groups) {
  std::vector<Account> accounts;
  for (const GemmGroup& group : groups) {
    const std::size_t first = accounts.size();
    for (const GemmPlan* plan : group.plans) {
      if (plan->chosen() == nullptr) continue;
      const Schedule& chosen = plan->chosen()->schedule;
      auto found = std::find_if(accounts.begin() + static_cast<std::ptrdiff_t>(first), accounts.end(),
                                [&](const Account& account) { return account.schedule == chosen; });
      if (found == accounts.end()) found = accounts.insert(accounts.end(), {group.name, {}, chosen});
      found->tokens.push_back(plan->problem.tokens);
    }
  }
  return accounts;
}

// Barriers, slots and padding are too small for a part of their own.
std::string part_name(Buffer buffer) {
  switch (buffer) {
    case Buffer::stage_padding:
    case Buffer::full_barriers:
    case Buffer::empty_barriers:
    case Buffer::tile_slots:
    case Buffer::tile_barriers:
    case Buffer::landed_barriers:
    case Buffer::granule_padding: return "barriers, slots, padding";
    default: return to_string(buffer);
  }
}

Bar bar_of(const Device& device, const Account& account) {
  const SharedMemoryPlan memory = shared_memory(account.schedule);
  Bar bar{fmt::format("{}, {}", account.gemm, token_list(account.tokens)),
          fmt::format("{} of {} B", grouped(memory.total), grouped(device.smem_per_block)),
          {}};
  for (const SharedBuffer& buffer : memory) {
    const std::string name = part_name(buffer.id);
    auto part = std::find_if(bar.parts.begin(), bar.parts.end(), [&](const BarPart& p) { return p.name == name; });
    if (part == bar.parts.end()) part = bar.parts.insert(part, {name, 0});
    part->value += static_cast<double>(buffer.bytes);
  }
  std::stable_partition(bar.parts.begin(), bar.parts.end(),
                        [](const BarPart& part) { return part.name != part_name(Buffer::stage_padding); });
  return bar;
}

void add_account(Table& table, const Device& device, const Account& account) {
  const SharedMemoryPlan memory = shared_memory(account.schedule);
  table.add_heading(fmt::format("{}, {}: {}", account.gemm, token_list(account.tokens), describe(account.schedule)));
  const auto add = [&](const char* name, const std::string& stages, std::int64_t bytes) {
    table.add({{name},
               {stages},
               {grouped(bytes)},
               {schedule::percent(static_cast<double>(bytes) / static_cast<double>(device.smem_per_block))}});
  };
  for (const SharedBuffer& buffer : memory) {
    add(to_string(buffer.id), schedule::stage_words(account.schedule, buffer), buffer.bytes);
  }
  add("total", "", memory.total);
  add("left", "", device.smem_per_block - memory.total);
}

}  // namespace

std::string memory_section(const Plan& plan, const std::vector<GemmGroup>& groups) {
  const auto accounts = accounts_of(groups);
  if (accounts.empty() || plan.device.smem_per_block <= 0) return {};
  const char* name = schedule::memory_name(plan.device);
  const std::string limit = grouped(plan.device.smem_per_block);
  BarChart chart;
  chart.words = {"memory-chart",
                 fmt::format("{} of the chosen schedules", name == std::string("L2") ? "L2" : "Shared memory"),
                 fmt::format("Each bar is {} B, what a {} may have; its parts are the buffers of one chosen schedule.",
                             limit, plan.device.arch == Arch::cpu ? "core" : "block")};
  chart.order = {"weight_codes", "weight_scales", "token_codes",  "token_scales",
                 "tokens",       "staging",       "weight_panel", "panel_scales"};
  chart.full = plan.device.smem_per_block;
  chart.left_over = "left";
  Table table{fmt::format("Bytes of {}, limit {}", name, limit),
              {{"buffer"}, {"stages", Column::number}, {"bytes", Column::number}, {"% of the limit", Column::number}},
              {}};
  for (const Account& account : accounts) {
    chart.bars.push_back(bar_of(plan.device, account));
    add_account(table, plan.device, account);
  }
  return draw(chart) + render(table, "memory-bytes");
}

}  // namespace tilewright::html
