// Schedules and problems as JSON, and back: the same in plans and in the tuning cache.
#pragma once

#include <nlohmann/json.hpp>

#include "schedule/json_fields.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright::schedule {

/// Every field of a schedule.
nlohmann::ordered_json schedule_json(const Schedule& schedule);
/// Checked for form: known names, sizes that the byte account can take.
Result<Schedule> read_schedule(const Fields& fields);

/// The bins, most rows first.
nlohmann::ordered_json rows_json(const RowsHistogram& rows);

/// `gemm`, `tokens`, `n`, `k`, `precision`, `epilogue` and `rows[]` of an object that may hold more.
Result<GemmProblem> read_problem(const Fields& fields);

}  // namespace tilewright::schedule
