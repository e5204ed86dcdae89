#include "tilewright/tuning_cache.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "support/temporary_directory.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/plan_render.hpp"
#include "tune/tuning_fixture.hpp"

namespace tilewright::tune {
namespace {

using testing::TemporaryDirectory;

std::string reason(const Result<TunedSchedule>& answer) {
  EXPECT_FALSE(answer);
  return answer ? std::string() : answer.error().message();
}

TEST(TuningCache, AnswersWithWhatWasMeasuredToBeFastest) {
  TuningCache cache;
  cache.add(entry_of(problem(), {110, 120, 100}));
  const auto answer = cache.find(here(), problem());
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->schedule, ranked(problem())[2].schedule);
  EXPECT_EQ(answer->us, 100);
  EXPECT_FALSE(answer->pinned);
}

TEST(TuningCache, KnowsEveryFieldOfAProblem) {
  TuningCache cache;
  cache.add(entry_of(problem(), {100, 110}));
  const auto missing = [&](const auto& change) {
    GemmProblem other = problem();
    change(other);
    const auto answer = cache.find(here(), other);
    return !answer && answer.error().code == ErrorCode::not_found;
  };
  EXPECT_TRUE(missing([](GemmProblem& p) { p.gemm = GemmId::gemm2; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.n += 16; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.k += 16; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.tokens += 1; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.precision = Precision::w4a4; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.epilogue = Epilogue::bf16; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.rows.bins.front().rows += 1; }));
  EXPECT_TRUE(missing([](GemmProblem& p) { p.rows.bins.push_back({0, 1}); }));
  EXPECT_TRUE(cache.find(here(), problem()));
}

TEST(TuningCache, RefusesWhatIsStaleWithAReason) {
  TuningCache cache;
  cache.add(entry_of(problem(), {100, 110}));
  TunedOn now = here();
  now.driver = "590.10";
  EXPECT_NE(reason(cache.find(now, problem())).find("driver 580.65.06, and this is 590.10"), std::string::npos);
  now = here();
  now.version = "0.2.0";
  EXPECT_NE(reason(cache.find(now, problem())).find("tilewright 0.1.0, and this is 0.2.0"), std::string::npos);
  EXPECT_EQ(cache.find(now, problem()).error().code, ErrorCode::mismatch);
  now = here();
  now.sm_count = 114;
  EXPECT_EQ(cache.find(now, problem()).error().code, ErrorCode::not_found) << "another device is not a stale one";
}

TEST(TuningCache, PrefersAFreshEntryToAStaleOne) {
  TuningCache cache;
  TuningEntry old = entry_of(problem(), {100, 110});
  old.on.driver = "570.1";
  cache.add(old);
  cache.add(entry_of(problem(), {110, 100}));
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
  EXPECT_EQ(cache.find(here(), problem())->schedule, ranked(problem())[1].schedule);
  EXPECT_EQ(cache.entries().size(), 2U) << "an update of the driver loses nothing";
}

TEST(TuningCache, IsAskedAboutADeviceByItsShortNameOnAnyMachine) {
  TuningCache cache;
  cache.add(entry_of(problem(), {100, 110}));
  const TunedOn question{"h200", Arch::sm_90, 132, "", "0.1.0"};
  EXPECT_TRUE(cache.find(question, problem()));
  EXPECT_FALSE(cache.find({"h100", Arch::sm_90, 132, "", "0.1.0"}, problem()));
}

TEST(TuningCache, NeverChoosesWhatFailed) {
  TuningEntry entry = entry_of(problem(), {100, 50, 110});
  entry.trials[1].error = "256x8x256: 3 of 100 values are wrong";
  TuningCache cache;
  cache.add(entry);
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
  // Another run in which it did not fail does not take that back.
  cache.add(entry_of(problem(), {100, 50, 110}, 9));
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
}

TEST(TuningCache, NeverChoosesAKernelThatIsNotBuiltAnyMore) {
  TuningEntry entry = entry_of(problem(), {100, 50});
  entry.trials[1].schedule.tile_n = 72;
  TuningCache cache;
  cache.add(entry);
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
  TuningEntry gone = entry_of(problem(128), {50});
  gone.trials[0].schedule.stages = 9;
  cache.add(gone);
  EXPECT_NE(reason(cache.find(here(), problem(128))).find("none is built"), std::string::npos);
}

TEST(TuningCache, ABannedScheduleIsNotChosenUntilTheBanIsLifted) {
  TuningCache cache;
  cache.add(entry_of(problem(), {110, 100, 120}));
  const Schedule best = ranked(problem())[1].schedule;
  const SchedulePattern pattern{{best.tile_m, best.tile_n, best.tile_k, best.stages}, best.split.kind, {}, {}};
  cache.ban({"NVIDIA H200", pattern});
  cache.ban({"NVIDIA H200", pattern});
  EXPECT_EQ(cache.bans().size(), 1U);
  EXPECT_EQ(cache.find(here(), problem())->us, 110);
  EXPECT_FALSE(cache.banned("NVIDIA H100", best));
  EXPECT_TRUE(cache.unban({"NVIDIA H200", pattern}));
  EXPECT_FALSE(cache.unban({"NVIDIA H200", pattern}));
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
}

TEST(TuningCache, APinnedScheduleIsTakenWhateverItsTime) {
  TuningCache cache;
  TuningEntry entry = entry_of(problem(), {100, 110, 120});
  const Schedule third = entry.trials[2].schedule;
  entry.pin = SchedulePattern{{third.tile_m, third.tile_n, third.tile_k, 0}, third.split.kind, third.token_load, {}};
  cache.add(entry);
  ASSERT_TRUE(cache.find(here(), problem()));
  EXPECT_EQ(cache.find(here(), problem())->schedule, third);
  EXPECT_TRUE(cache.find(here(), problem())->pinned);
  cache.add(entry_of(problem(), {100, 110, 120}));
  EXPECT_TRUE(cache.find(here(), problem())->pinned) << "tuning again does not remove a pin";
  cache.pin(here(), problem(), std::nullopt);
  EXPECT_EQ(cache.find(here(), problem())->us, 100);
  cache.pin(here(), problem(), SchedulePattern{{64, 8, 64, 0}, {}, {}, {}});
  EXPECT_NE(reason(cache.find(here(), problem())).find("64x8x64"), std::string::npos);
}

TuningEntry arbitrary_entry() {
  TuningEntry entry = entry_of(problem(*rc::gen::element(1, 8, 64)), {});
  const auto candidates = ranked(entry.problem);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (*rc::gen::arbitrary<bool>()) continue;
    const int samples = *rc::gen::inRange(0, 4);
    entry.trials.push_back({candidates[i].schedule, static_cast<int>(i), candidates[i].cost.predicted_us,
                            samples == 0 ? 0.0 : *rc::gen::inRange(500, 1500) / 10.0, samples,
                            *rc::gen::inRange(0, 8) == 0 ? std::string("wrong") : std::string()});
  }
  entry.noise = *rc::gen::inRange(2, 40) / 1000.0;
  entry.on.driver = *rc::gen::element<std::string>("580.1", "590.2");
  return entry;
}

TEST(TuningCache, MergesWithoutLossInAnyOrder) {
  EXPECT_TRUE(rc::check([] {
    TuningCache a;
    TuningCache b;
    TuningCache c;
    for (TuningCache* cache : {&a, &b, &c}) {
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) cache->add(arbitrary_entry());
    }
    TuningCache ab = a;
    ab.merge(b);
    TuningCache ba = b;
    ba.merge(a);
    RC_ASSERT(ab.text() == ba.text());
    TuningCache left = ab;
    left.merge(c);
    TuningCache bc = b;
    bc.merge(c);
    TuningCache right = a;
    right.merge(bc);
    RC_ASSERT(left.text() == right.text());
    TuningCache twice = left;
    twice.merge(a);
    RC_ASSERT(twice.text() == left.text());
    for (const TuningEntry& entry : a.entries()) {
      const auto same = [&](const TuningEntry& e) {
        return e.on == entry.on && e.problem.tokens == entry.problem.tokens && e.trials.size() >= entry.trials.size();
      };
      RC_ASSERT(std::any_of(left.entries().begin(), left.entries().end(), same));
    }
  }));
}

TEST(TuningCache, ReadsWhatItWrote) {
  EXPECT_TRUE(rc::check([] {
    TuningCache cache;
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) cache.add(arbitrary_entry());
    cache.ban({"NVIDIA H200", {{256, 8, 256, 5}, SplitKind::stream_k, {}, {}}});
    const auto again = TuningCache::parse(cache.text());
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->text() == cache.text());
  }));
}

TEST(TuningCache, NamesThePlaceThatIsWrong) {
  TuningCache cache;
  cache.add(entry_of(problem(), {100, 110}));
  const std::string text = cache.text();
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto parsed = TuningCache::parse(changed);
    EXPECT_FALSE(parsed) << to;
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_NE(error("tilewright.cache/1", "tilewright.cache/2").find("tilewright.cache/2"), std::string::npos);
  EXPECT_NE(error("\"samples\": 5", "\"samples\": -1").find("entries[0].trials[0].samples"), std::string::npos);
  EXPECT_NE(error("\"samples\": 5", "\"samples\": 0").find("entries[0].trials[0]"), std::string::npos);
  EXPECT_NE(error("gated_bf16", "gated_fp64").find("entries[0].problem.epilogue"), std::string::npos);
  EXPECT_NE(error("\"noise\": 0.003", "\"noise\": \"low\"").find("entries[0].noise"), std::string::npos);
  EXPECT_FALSE(TuningCache::parse(text.substr(0, text.size() / 2)));
  EXPECT_FALSE(TuningCache::parse(""));
}

TEST(TuningCache, OfAFileThatIsNotThereIsEmptyAndABrokenOneIsLeftAlone) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("deep/er/cache.json");
  EXPECT_TRUE(TuningCache::load(path)->entries().empty());
  const auto add = [](TuningCache& cache) { cache.add(entry_of(problem(), {100, 110})); };
  ASSERT_TRUE(update_tuning_cache(path, add));
  EXPECT_EQ(TuningCache::load(path)->entries().size(), 1U);
  const std::string broken = folder.write("broken.json", "{");
  const auto loaded = TuningCache::load(broken);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find(broken), std::string::npos);
  EXPECT_FALSE(update_tuning_cache(broken, add));
  EXPECT_EQ(std::filesystem::file_size(broken), 1U);
}

TEST(TuningCache, LosesNothingWhenSeveralWriteAtATime) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("cache.json");
  constexpr int kWriters = 4;
  constexpr int kEach = 8;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i) {
        const TuningEntry entry = entry_of(problem(1 + w * kEach + i), {100, 110});
        EXPECT_TRUE(update_tuning_cache(path, [&](TuningCache& cache) { cache.add(entry); }));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const auto cache = TuningCache::load(path);
  ASSERT_TRUE(cache) << cache.error().message();
  EXPECT_EQ(cache->entries().size(), static_cast<std::size_t>(kWriters * kEach));
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) files += file.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 2) << "the cache and its lock";
}

TEST(TuningCache, AnswersInTenMicroseconds) {
#ifdef NDEBUG
  constexpr double kLimitUs = 10.0;
#else
  constexpr double kLimitUs = 1000.0;  // without optimisation or under a sanitizer
#endif
  TuningCache cache;
  for (int tokens = 1; tokens <= 300; ++tokens) {
    for (const GemmId gemm : {GemmId::gemm1, GemmId::gemm2}) {
      const GemmProblem p = problem(tokens, gemm);
      cache.add(entry_of(p, std::vector<double>(ranked(p).size(), 100.0)));
    }
  }
  const GemmProblem asked = problem(300);
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto answer = cache.find(here(), asked);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(answer);
    fastest = std::min(fastest, took.count());
  }
  RecordProperty("fastest_us", std::to_string(fastest));
  EXPECT_LT(fastest, kLimitUs);
}

LayerProblem glm5() {
  LayerProblem layer;
  layer.model = find_model("glm-5").value();
  layer.ep = 8;
  layer.tokens = 64;
  return layer;
}

TEST(TunedPlan, PutsTheMeasuredChoiceFirstAndSaysWhatTheModelsWas) {
  TuningCache cache;
  const LayerProblem layer = glm5();
  const LayerGemms gemms = layer_gemms(layer).value();
  cache.add(entry_of(gemms.gemm1, {110, 120, 100}));
  Plan plan = tilewright::plan(find_device("h200").value(), layer).value();
  const Plan model = plan;
  EXPECT_TRUE(use_tuning_cache(plan, cache, here()).empty());
  ASSERT_TRUE(plan.plans[0].tuned);
  EXPECT_EQ(plan.plans[0].chosen()->schedule, model.plans[0].ranked[2].schedule);
  EXPECT_EQ(plan.plans[0].ranked[1].schedule, model.plans[0].ranked[0].schedule);
  EXPECT_EQ(plan.plans[0].ranked.size(), model.plans[0].ranked.size());
  EXPECT_EQ(plan.plans[0].tuned->us, 100);
  EXPECT_EQ(plan.plans[0].tuned->model_us, 110);
  EXPECT_EQ(plan.plans[0].tuned->model_choice, model.plans[0].ranked[0].schedule);
  EXPECT_FALSE(plan.plans[1].tuned);
  const double slower = model.plans[0].ranked[2].cost.predicted_us - model.plans[0].ranked[0].cost.predicted_us;
  EXPECT_NEAR(plan.layers[0].predicted_us, model.layers[0].predicted_us + slower, 1e-9);
  const std::string text = render_plan_markdown(plan);
  EXPECT_NE(text.find("by the model; the choice is"), std::string::npos) << text;
  TunedOn later = here();
  later.version = "9";
  Plan untouched = model;
  const auto stale = use_tuning_cache(untouched, cache, later);
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_NE(stale[0].find("gemm1, 64 tokens: it was tuned with tilewright 0.1.0"), std::string::npos) << stale[0];
  EXPECT_FALSE(untouched.plans[0].tuned);
}

TEST(TunedPlan, GivesALayerTheRungsThatHaveBothGemms) {
  TuningCache cache;
  LayerProblem layer = glm5();
  const LayerGemms at64 = layer_gemms(layer).value();
  cache.add(entry_of(at64.gemm1, {110, 100}));
  cache.add(entry_of(at64.gemm2, {100, 110}));
  layer.tokens = 128;
  cache.add(entry_of(layer_gemms(layer).value().gemm1, {100, 110}));
  const auto rungs = tuned_rungs(cache, here(), layer, Arch::sm_90);
  ASSERT_EQ(rungs.size(), 1U);
  EXPECT_EQ(rungs[0].tokens, 64);
  EXPECT_EQ(rungs[0].schedules.gemm1, ranked(at64.gemm1)[1].schedule);
  EXPECT_EQ(rungs[0].schedules.gemm2, ranked(at64.gemm2)[0].schedule);
}

TEST(TunedPlan, GivesALayerNoSchedulesOfOtherKernelsThanItRunsOn) {
  TuningCache cache;
  const LayerProblem layer = glm5();
  const LayerGemms gemms = layer_gemms(layer).value();
  cache.add(entry_of(gemms.gemm1, {100, 110}));
  cache.add(entry_of(gemms.gemm2, {100, 110}));
  EXPECT_EQ(tuned_rungs(cache, here(), layer, Arch::sm_90).size(), 1U);
  EXPECT_TRUE(tuned_rungs(cache, here(), layer, Arch::sm_120).empty());  // as w4a16 with --arch sm_120 on this GPU
}

}  // namespace
}  // namespace tilewright::tune
