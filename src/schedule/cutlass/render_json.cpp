// Schema "tilewright.explain/1": docs/cutlass.md.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "schedule/cutlass/render_json.hpp"
#include "schedule/cutlass/render_words.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright {
namespace schedule::cutlass {
namespace {

Json to_json(const CutlassTile& tile) { return fmt::format("{}x{}x{}", tile.m, tile.n, tile.k); }

Json requested(const CutlassRequest& request) {
  return {{"arch", to_string(request.arch)},
          {"cutlass_version", to_string(request.version)},
          {"grouped", request.grouped},
          {"a", to_string(request.a)},
          {"b", to_string(request.b)},
          {"c", to_string(request.c)},
          {"d", to_string(request.d)},
          {"tile", to_json(request.tile)},
          {"cluster", cluster_words(request)},
          {"schedule", tag_name(request.schedule)},
          {"epilogue_schedule", tag_name(request.epilogue_schedule)},
          {"epilogue", to_string(request.fusion)},
          {"epilogue_tile", epilogue_tile_words(request)},
          {"swap_ab", request.swap_ab},
          {"stages", stage_rule(request.stages)}};
}

Json resolved(const CutlassKernel& kernel) {
  if (!has_types(kernel)) return nullptr;
  Json json = {{"policy", kernel.policy},
               {"schedule", kernel.schedule},
               {"warps", to_string(kernel.warps)},
               {"stages", kernel.stages},
               {"epilogue_tile", fmt::format("{}x{}", kernel.epilogue_tile_m, kernel.epilogue_tile_n)},
               {"stages_c", kernel.stages_c},
               {"stages_d", kernel.stages_d},
               {"mainloop_bytes", kernel.mainloop_bytes},
               {"epilogue_bytes", kernel.epilogue_bytes}};
  if (kernel.scale_stages > 0) json["scale_stages"] = kernel.scale_stages;
  return json;
}

Json steps(const CutlassKernel& kernel) {
  Json list = Json::array();
  for (const CutlassStep& step : kernel.steps) {
    list.push_back({{"what", step.what},
                    {"requested", step.requested},
                    {"resolved", step.resolved},
                    {"rule", step.rule},
                    {"file", step.file}});
  }
  return list;
}

Json storage(const CutlassKernel& kernel) {
  Json list = Json::array();
  for (const CutlassStorage& member : kernel.storage) {
    list.push_back(
        {{"name", member.name}, {"offset", member.offset}, {"bytes", member.bytes}, {"reserved", member.reserved}});
  }
  return list;
}

Json to_json(const CutlassAlternative& other) {
  return {{"change", other.change},
          {"builds", other.builds},
          {"stages", other.stages},
          {"total", other.total},
          {"fits", other.fits}};
}

Json error(const CutlassKernel& kernel) {
  if (!kernel.error) return nullptr;
  return {{"rule", kernel.error->rule},
          {"message", kernel.error->message},
          {"file", kernel.error->file},
          {"remedy", kernel.error->remedy},
          {"in_kernel_body", kernel.error->in_kernel_body}};
}

Json candidate(const CutlassExplanation& explanation) {
  if (!explanation.candidate) return nullptr;
  const FlashInferCandidate& found = *explanation.candidate;
  return {
      {"candidate", found.name}, {"list", found.list}, {"variant", found.variant}, {"dispatched", found.dispatched}};
}

Json own(const OwnSchedule& own) {
  Json json = {{"same_tile", own.same_tile}};
  if (own.schedule) {
    const Schedule& s = *own.schedule;
    json["schedule"] = describe(s);
    json["tile"] = fmt::format("{}x{}x{}", s.tile_m, s.tile_n, s.tile_k);
    json["precision"] = to_string(s.precision);
    json["stages"] = s.stages;
    json["total"] = own.total;
    json["limit"] = own.limit;
  } else {
    json["schedule"] = nullptr;
  }
  json["message"] = own.message;
  return json;
}

}  // namespace

Json explanation_json(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  const bool sized = has_types(kernel);
  Json json = {{"requested", requested(kernel.request)},
               {"resolved", resolved(kernel)},
               {"steps", steps(kernel)},
               {"storage", storage(kernel)}};
  json["reserved_bytes"] = sized ? Json(kernel.reserved_bytes) : Json();
  json["total"] = sized ? Json(kernel.total) : Json();
  json["limit"] = kernel.limit;
  json["fits"] = launches(kernel);
  json["over_bytes"] = sized ? Json(kernel.over_bytes()) : Json();
  json["remedies"] = Json::array();
  for (const CutlassRemedy& remedy : explanation.remedies) {
    json["remedies"].push_back({{"change", remedy.change},
                                {"stages", remedy.stages},
                                {"total", remedy.total},
                                {"fits", remedy.fits},
                                {"cost", remedy.cost}});
  }
  json["error"] = error(kernel);
  json["verdict"] = verdict(kernel);
  json["causes"] = causes(explanation);
  json["not_causes"] = no_causes(explanation);
  json["other_schedules"] = Json::array();
  for (const CutlassAlternative& other : explanation.schedules) json["other_schedules"].push_back(to_json(other));
  json["without_c"] = explanation.without_c ? to_json(*explanation.without_c) : Json();
  json["defaults"] = Json::array();
  for (const CutlassDefault& each : explanation.defaults) {
    json["defaults"].push_back({{"what", each.what}, {"value", each.value}, {"why", each.why}});
  }
  json["flashinfer"] = candidate(explanation);
  json["tilewright"] = own(explanation.own);
  return json;
}

std::string document(const Json& fields) {
  Json json = {{"schema", "tilewright.explain/1"}};
  json.update(fields);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace schedule::cutlass

std::string render_cutlass_json(const CutlassExplanation& explanation) {
  return schedule::cutlass::document(schedule::cutlass::explanation_json(explanation));
}

}  // namespace tilewright
