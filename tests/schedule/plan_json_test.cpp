#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schedule/problems.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using nlohmann::json;
using schedule_tests::device;
using schedule_tests::glm5;

Plan example(const char* name = "rtx-pro-6000-server") {
  PlanOptions options;
  options.why_not = {parse_tile("128x256x128").value(), parse_tile("128x256x128:4").value()};
  const Device d = name == std::string("cpu") ? schedule_tests::cpu() : device(name);
  return plan(d, glm5(512, 8, default_precision(d.arch)), options).value();
}

TEST(PlanJson, HasTheShapeThatItsSchemaPromises) {
  const json document = json::parse(render_plan_json(example()));
  EXPECT_EQ(document["schema"], "tilewright.plan/1");
  EXPECT_EQ(document["device"]["name"], "rtx-pro-6000-server");
  EXPECT_EQ(document["device"]["arch"], "sm_120");
  EXPECT_EQ(document["device"]["sm_count"], 188);
  EXPECT_EQ(document["device"]["smem_per_block"], 101376);
  ASSERT_EQ(document["plans"].size(), 2U);
  const json& gemm = document["plans"][0];
  EXPECT_EQ(gemm["gemm"], "gemm1");
  EXPECT_EQ(gemm["tokens"], 512);
  EXPECT_EQ(gemm["rows_per_expert"], 16.0);
  EXPECT_EQ(gemm["active_experts"], 32);
  EXPECT_EQ(gemm["weight_bytes"], std::int64_t{32} * 4096 * 6144 * 9 / 16);
  const json& chosen = gemm["chosen"];
  for (const char* key : {"tile_m", "tile_n", "tile_k", "stages"}) EXPECT_GT(chosen["schedule"][key], 0) << key;
  EXPECT_GT(chosen["predicted_us"], 0.0);
  EXPECT_EQ(chosen["bound"], "dram");
  EXPECT_EQ(chosen["shared_memory"]["limit"], 101376);
  std::int64_t sum = 0;
  for (const json& buffer : chosen["shared_memory"]["buffers"]) {
    EXPECT_FALSE(buffer["name"].get<std::string>().empty());
    sum += buffer["bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(chosen["shared_memory"]["total"], sum);
  EXPECT_FALSE(gemm.contains("candidates"));
}

TEST(PlanJson, GivesEachRejectionItsBytesAndTheNearestSchedule) {
  const json document = json::parse(render_plan_json(example()));
  const json& rejected = document["plans"][0]["rejected"];
  ASSERT_GE(rejected.size(), 12U);
  for (const json& entry : rejected) {
    EXPECT_EQ(entry["code"], "smem_over_limit");
    EXPECT_EQ(entry["limit"], 101376);
    EXPECT_GT(entry["needs"], 101376);
    EXPECT_EQ(entry["schedule"]["stages"].get<int>(), entry["nearest"]["stages"].get<int>() + 1);
    EXPECT_FALSE(entry["message"].get<std::string>().empty());
  }
}

TEST(PlanJson, ListsEveryCandidateWhenAsked) {
  const Plan plan = example();
  const json document = json::parse(render_plan_json(plan, {true}));
  const json& candidates = document["plans"][0]["candidates"];
  ASSERT_EQ(candidates.size(), plan.plans[0].ranked.size());
  EXPECT_EQ(candidates[0], document["plans"][0]["chosen"]);
  double slowest = 0;  // of those before
  for (const json& candidate : candidates) {
    EXPECT_EQ(candidate.size(), document["plans"][0]["chosen"].size());
    EXPECT_LE(candidate["shared_memory"]["total"], 101376);
    // Within half a percent the plainer one comes first.
    EXPECT_LE(slowest, 1.005 * candidate["predicted_us"].get<double>());
    slowest = std::max(slowest, candidate["predicted_us"].get<double>());
  }
}

TEST(PlanJson, HasANullWhereNothingRuns) {
  const json document = json::parse(render_plan_json(example("b200")));
  EXPECT_TRUE(document["plans"][0]["chosen"].is_null());
  EXPECT_EQ(document["plans"][0]["rejected"][0]["code"], "no_kernels_for_arch");
  EXPECT_TRUE(document["plans"][0]["rejected"][0]["schedule"].is_null());
  EXPECT_TRUE(document["layers"][0]["predicted_us"].is_null());
}

TEST(PlanJson, ReadsBackWhatItWrote) {
  for (const char* name : {"rtx-pro-6000-server", "h200", "gb10", "b200", "cpu"}) {
    for (const bool all : {false, true}) {
      const std::string text = render_plan_json(example(name), {all});
      const auto read = parse_plan_json(text);
      ASSERT_TRUE(read) << name << ": " << read.error().message();
      EXPECT_EQ(render_plan_json(*read, {all}), text) << name;
    }
  }
}

TEST(PlanJson, NamesThePlaceOfWhatIsWrong) {
  const std::string good = render_plan_json(example());
  const struct {
    const char* pointer;
    json value;
    const char* said;
  } changes[] = {
      {"/schema", "tilewright.plan/2", "schema"},
      {"/device/name", "rtx-9090", "rtx-9090"},
      {"/device/sm_count", 170, "170 SMs"},
      {"/device/arch", "sm_122", "device.arch"},
      {"/plans/0/n", -1, "plans[0].n"},
      {"/plans/0/rows/0/experts", 0, "plans[0].rows[0].experts"},
      {"/plans/0/chosen/schedule/stages", 3.5, "plans[0].chosen.schedule.stages"},
      {"/plans/0/chosen/schedule/tile_m", 1 << 30, "plans[0].chosen.schedule.tile_m"},
      {"/plans/0/chosen/shared_memory/total", 101376, "plans[0].chosen.shared_memory"},
      {"/plans/0/chosen/shared_memory/buffers/0/bytes", 1, "plans[0].chosen.shared_memory"},
      {"/plans/0/chosen/bound", "luck", "plans[0].chosen.bound"},
      {"/plans/0/chosen/predicted_us", "fast", "plans[0].chosen.predicted_us"},
      {"/plans/1/rejected/2/code", "no", "plans[1].rejected[2].code"},
      {"/plans/0/why_not/0/tile", "128", "plans[0].why_not[0].tile"},
      {"/layers/0/steps", json::object(), "layers[0].steps"},
      {"/plans", nullptr, "plans"},
  };
  for (const auto& change : changes) {
    json document = json::parse(good);
    document[json::json_pointer(change.pointer)] = change.value;
    const auto read = parse_plan_json(document.dump());
    ASSERT_FALSE(read) << change.pointer;
    EXPECT_NE(read.error().message().find(change.said), std::string::npos)
        << change.pointer << ": " << read.error().message();
    EXPECT_EQ(read.error().message().find('\n'), std::string::npos);
  }
}

TEST(PlanJson, RefusesTextThatIsNoPlan) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"schema\":1}", "{\"schema\":\"tilewright.plan/1\"}"}) {
    const auto read = parse_plan_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  }
}

TEST(PlanJson, SurvivesAnyTruncation) {
  const std::string good = render_plan_json(example());
  EXPECT_TRUE(rc::check("a prefix is refused, never a crash", [&] {
    const auto length = *rc::gen::inRange<std::size_t>(0, good.size() - 2);
    RC_ASSERT(!parse_plan_json(std::string_view(good).substr(0, length)).has_value());
  }));
}

}  // namespace
}  // namespace tilewright
