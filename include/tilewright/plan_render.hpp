// A plan as text: for people (text, Markdown, HTML), for spreadsheets (CSV) and for programs (JSON, and back).
#pragma once

#include <string>
#include <string_view>

#include "tilewright/planner.hpp"

namespace tilewright {

struct RenderOptions {
  bool all = false;  ///< list every legal candidate, not only the chosen one and the runner-up
};

/// The plan as EXPLAIN prints it: the device, then for each GEMM the schedule, why, the bytes, and the rejected.
std::string render_plan_text(const Plan& plan, const RenderOptions& options = {});
std::string render_plan_markdown(const Plan& plan, const RenderOptions& options = {});
/// One line a GEMM (with `all`, a line a candidate), with a header line.
std::string render_plan_csv(const Plan& plan, const RenderOptions& options = {});
/// One self-contained page with charts, and every number of a chart in a table: nothing is loaded and no script runs.
/// Valid as HTML and well-formed as XML; strings are escaped.
std::string render_plan_html(const Plan& plan, const RenderOptions& options = {});
/// Schema "tilewright.plan/1" (docs/schedules.md).
std::string render_plan_json(const Plan& plan, const RenderOptions& options = {});

/// Reads what render_plan_json wrote. The device must be known by name or carry its facts; every schedule is checked
/// for form (known names, sizes within 1..2^20), its bytes against shared_memory(), and sums against totals. A text
/// that is no plan is `corrupt` with the place that is wrong.
Result<Plan> parse_plan_json(std::string_view text);

}  // namespace tilewright
