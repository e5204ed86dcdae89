// What tune, regret and calibrate print, of measurements that are made up.
#include <gtest/gtest.h>

#include "tilewright/model.hpp"
#include "tools/tilewright/calibrate_answer.hpp"
#include "tools/tilewright/regret_answer.hpp"
#include "tools/tilewright/tune_answer.hpp"
#include "tune/simulated_bench.hpp"

namespace tilewright::cli {
namespace {

Device h200() { return find_device("h200").value(); }

TuneAnswer tuned(std::size_t fastest, std::size_t wrong) {
  TuneAnswer answer;
  answer.on = tune::here();
  answer.cache = "/cache/tuning.json";
  LayerProblem layer;
  layer.model = find_model("glm-5").value();
  layer.ep = 8;
  tune::SimulatedBench bench;
  bench.fastest_rank = fastest;
  bench.wrong_rank = wrong;
  tune::TuneOptions options;
  options.tokens = {1, 64};
  auto tuning = tune::tune_layer(h200(), layer, answer.on, options, bench, [](const TuningEntry&) { return Status(); });
  answer.layers.push_back({layer, std::move(*tuning)});
  return answer;
}

TEST(TuneAnswer, TellsEveryChoiceBesideTheDefault) {
  const TuneAnswer answer = tuned(1, 1000);
  const Report report = tune_report(answer);
  const Json& json = report.json;
  ASSERT_EQ(json["results"].size(), 4U);
  for (const auto& result : json["results"]) {
    EXPECT_NE(result["chosen"]["schedule"], result["default"]["schedule"]);
    EXPECT_LT(result["chosen"]["us"], result["default"]["us"]);
    EXPECT_GE(result["trials"].size(), 7U);
  }
  EXPECT_EQ(json["layers"][0]["end"], "complete");
  EXPECT_TRUE(json["errors"].empty());
  EXPECT_EQ(exit_of(answer), Exit::ok);
  EXPECT_NE(render(report, Format::text).find("4 of 4 problems"), std::string::npos);
}

TEST(TuneAnswer, AFailedCandidateIsNamedAndShowsInTheExitCode) {
  const TuneAnswer answer = tuned(0, 1);
  const Report report = tune_report(answer);
  EXPECT_EQ(report.json["errors"].size(), 4U);
  EXPECT_EQ(exit_of(answer), Exit::wrong_numbers);
  EXPECT_NE(render(report, Format::text).find("FAILED  gemm1, 1 tokens: "), std::string::npos);
}

RegretAnswer measured() {
  RegretAnswer answer;
  answer.on = tune::here();
  answer.device = h200();
  auto shapes = tune::regret_shapes({"glm-5", "gpt-oss-120b"}, find_model).value();
  shapes.resize(24);
  tune::SimulatedBench bench;
  bench.fastest_rank = 2;
  answer.run = tune::measure_regret(answer.device, shapes, {}, bench).value();
  return answer;
}

TEST(RegretAnswer, HasTheFieldsThatAreCommitted) {
  RegretAnswer answer = measured();
  const Json json = regret_report(answer, Format::json).json;
  EXPECT_EQ(json["schema"], "tilewright.regret/1");
  EXPECT_EQ(json["complete"], true);
  for (const char* half : {"held_out", "fitting"}) {
    EXPECT_EQ(json[half]["shapes"], 24) << half;
    EXPECT_GT(json[half]["regret_geomean"], 1.5) << half;
    EXPECT_GE(json[half]["regret_p95"], json[half]["regret_geomean"]) << half;
    EXPECT_EQ(json[half]["top1"], 0.0) << half;
    EXPECT_EQ(json[half]["top3"], 1.0) << half;
    EXPECT_LT(json[half]["time_mape"], 0.02) << half;
    EXPECT_LT(json[half]["time_p90"], 0.02) << half;
  }
  ASSERT_EQ(json["rows"].size(), 48U);
  EXPECT_EQ(json["rows"][0]["fastest_rank"], 3);
  EXPECT_FALSE(json["rows"][0].contains("trials"));
  answer.all = true;
  EXPECT_GE(regret_report(answer, Format::json).json["rows"][0]["trials"].size(), 7U);
}

TEST(RegretAnswer, IsAPageWithAChartWhoseNumbersStandInATable) {
  const RegretAnswer answer = measured();
  const std::string page = render(regret_report(answer, Format::html), Format::html);
  EXPECT_NE(page.find("Regret of each problem"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("gpt-oss-120b"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(render(regret_report(answer, Format::text), Format::text).find("<svg"), std::string::npos);
}

TEST(RegretAnswer, SaysThatItEndedEarly) {
  RegretAnswer answer = measured();
  answer.run.out_of_time = true;
  answer.run.rows.resize(answer.run.rows.size() - 5);
  const Report report = regret_report(answer, Format::text);
  EXPECT_EQ(report.json["complete"], false);
  EXPECT_EQ(report.json["measured"], 43);
  EXPECT_EQ(report.json["left_out"], 5);
  EXPECT_NE(render(report, Format::text).find("which was the budget; 5 left out"), std::string::npos);
}

TEST(RegretAnswer, OfNothingMeasuredIsStillAnAnswer) {
  RegretAnswer answer;
  answer.on = tune::here();
  answer.device = h200();
  for (const Format format : {Format::text, Format::json, Format::html, Format::csv}) {
    EXPECT_FALSE(render(regret_report(answer, format), format).empty());
  }
}

TEST(CalibrateAnswer, PutsWhatWasMeasuredBesideTheModelsConstants) {
  cuda::Calibration measured;
  measured.read_GBps = 4400;
  measured.matrix_tflops = 742;
  measured.l2_GBps = 6500;
  measured.l2_clock_mhz = 1700;
  measured.step_cycles = 13;
  measured.decode_step_cycles = 26.6;
  const auto constants = constants_of(measured, h200());
  const auto of = [&](const std::string& name) {
    for (const CalibratedConstant& constant : constants) {
      if (constant.name == name) return constant;
    }
    ADD_FAILURE() << name;
    return CalibratedConstant{};
  };
  EXPECT_EQ(of("dram_read_GBps").model, 4610);
  EXPECT_NEAR(of("mma_share").measured, 742 / 989.4, 1e-3);
  EXPECT_NEAR(of("l2_bytes_per_clk").measured, 6500e3 / 1700, 1e-9);
  EXPECT_NEAR(of("kDecodedWeightsPerClk").measured, 1024 / 23.2, 0.1);
  EXPECT_NEAR(of("kDecodedWeightsPerClk").model, 1024 / 24.0, 1e-9);
  const Report report = calibrate_report({tune::here(), h200(), constants});
  EXPECT_EQ(report.json["constants"].size(), constants.size());
  EXPECT_NE(render(report, Format::text).find("-4.6"), std::string::npos) << "4400 over 4610";
}

}  // namespace
}  // namespace tilewright::cli
