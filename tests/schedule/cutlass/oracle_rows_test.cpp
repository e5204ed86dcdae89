// The oracle against every row of cutlass_oracle.csv.
#include <map>

#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

constexpr std::size_t kStatus = 23;

std::string joined(const Fields& fields, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += (i == begin ? "" : ",") + fields[i];
  return text;
}

// What a row's compile_status says, in the oracle's terms.
struct Outcome {
  std::string message;  // CUTLASS's own words; empty where it builds
  bool in_kernel_body = false;
};

Outcome outcome_of(const std::string& status) {
  const std::string assertion = "static_assert: ";
  const std::string body = "types-ok; kernel body FAILS: ";
  if (status == "ok") return {};
  if (status.compare(0, assertion.size(), assertion) == 0) return {status.substr(assertion.size()), false};
  if (status.compare(0, body.size(), body) == 0) return {status.substr(body.size()), true};
  return {status, false};
}

// The body's errors are told in the table's words; these are CUTLASS's.
bool is_cooperative_rows(const std::string& message) { return message.find("M>=128") != std::string::npos; }

void expect_outcome(const CutlassKernel& kernel, const std::string& status) {
  const Outcome outcome = outcome_of(status);
  ASSERT_EQ(kernel.builds(), outcome.message.empty()) << status;
  if (kernel.builds()) return;
  EXPECT_EQ(kernel.error->in_kernel_body, outcome.in_kernel_body) << status;
  EXPECT_FALSE(kernel.error->remedy.empty()) << status;
  EXPECT_FALSE(kernel.error->file.empty()) << status;
  if (!outcome.in_kernel_body) {
    EXPECT_EQ(kernel.error->message, outcome.message);
  } else {
    EXPECT_EQ(kernel.error->rule, "tile_m");
    const std::string words =
        is_cooperative_rows(outcome.message) ? "greater than or equal to 128" : "CTA_Tile and SLayout";
    EXPECT_NE(kernel.error->message.find(words), std::string::npos) << kernel.error->message;
  }
}

void expect_rows(const std::string& arch, std::size_t count) {
  std::size_t rows = 0;
  for (const Fields& row : table("cutlass_oracle.csv")) {
    if (row[0] != arch) continue;
    ++rows;
    SCOPED_TRACE(joined(row, 0, kAsking));
    const auto asked = parse_cutlass_row(row);
    ASSERT_TRUE(asked) << asked.error().message();
    const auto kernel = resolve_cutlass(asked->request);
    ASSERT_TRUE(kernel) << kernel.error().message();
    const Fields answer = cutlass_row_answer(*asked, kernel);
    EXPECT_EQ(joined(answer, 0, answer.size() - 1), joined(row, kAsking, kStatus));
    EXPECT_EQ(answer.back(), kernel->error ? "error: " + kernel->error->rule : "ok");
    expect_outcome(*kernel, row[kStatus]);
  }
  EXPECT_EQ(rows, count);
}

TEST(CutlassRows, OfSm90AreAnsweredAsCompiled) { expect_rows("sm90", 24); }
TEST(CutlassRows, OfSm100AreAnsweredAsCompiled) { expect_rows("sm100", 34); }
TEST(CutlassRows, OfSm103AreAnsweredAsCompiled) { expect_rows("sm103", 12); }
TEST(CutlassRows, OfSm120AreAnsweredAsCompiled) { expect_rows("sm120", 122); }
TEST(CutlassRows, OfSm121AreAnsweredAsCompiled) { expect_rows("sm121", 8); }

TEST(CutlassRows, ComeBackWithTheirColumnsInOrderAndQuoted) {
  const std::string text = read_table("cutlass_oracle.csv");
  const auto answered = answer_cutlass_rows(text);
  ASSERT_TRUE(answered) << answered.error().message();
  EXPECT_EQ(answered->substr(0, answered->find('\n')), text.substr(0, text.find_first_of("\r\n")));
  const auto records = schedule::cutlass::read_csv(*answered);
  ASSERT_TRUE(records);
  const std::vector<Fields> rows = table("cutlass_oracle.csv");
  ASSERT_EQ(records->size(), rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Fields& answer = (*records)[i + 1].fields;
    ASSERT_EQ(answer.size(), 24U);
    EXPECT_EQ(joined(answer, 0, kAsking), joined(rows[i], 0, kAsking));
  }
}

const char* const kRow = "sm120,grouped,nvfp4,nvfp4,ue4m3/16,bf16,void,128,256,128,1,1,";

std::string answer(const std::string& row) {
  const auto answered = answer_cutlass_rows(row);
  if (!answered) return answered.error().message();
  return answered->substr(answered->find('\n') + 1);
}

TEST(CutlassRows, AreAnsweredWithoutAHeaderAndOnWindowsLines) {
  const std::string schedule = "Auto|epi=TmaWarpSpecialized|FINALIZE";
  const std::string text = answer(kRow + schedule + "\r\n\r\n" + kRow + schedule + " swapAB\r\n");
  EXPECT_NE(text.find(",3,64x32,2,2,82944,16896,102400,101376,false,ok\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",2,64x32,2,2,55296,17408,74752,101376,true,ok\n"), std::string::npos) << text;
}

TEST(CutlassRows, SayUnsupportedWhereANameIsNotModelled) {
  for (const char* schedule : {"StreamKCooperative", "Auto|epi=Sideways"}) {
    EXPECT_NE(answer(std::string(kRow) + schedule + "\n").find(",-,-,-,-,-,-,-,-,101376,false,unsupported\n"),
              std::string::npos)
        << schedule;
  }
  const std::string int8 = "sm120,dense,int8,int8,-,bf16,bf16,128,128,128,1,1,Auto\n";
  EXPECT_NE(answer(int8).find("unsupported"), std::string::npos);
  const std::string thor = "sm110,dense,nvfp4,nvfp4,ue4m3/16,bf16,bf16,128,128,128,1,1,Auto\n";
  EXPECT_NE(answer(thor).find(",232448,false,unsupported"), std::string::npos) << answer(thor);
  const std::string scales = "sm120,dense,nvfp4,nvfp4,ue8m0/32,bf16,bf16,128,128,128,1,1,Auto\n";
  EXPECT_NE(answer(scales).find("unsupported"), std::string::npos);
}

TEST(CutlassRows, AreRefusedWithTheirLineWhereTheyAreMalformed) {
  const std::string good = std::string(kRow) + "Auto|FINALIZE\n";
  const std::map<std::string, std::string> cases = {
      {"sm120,grouped,nvfp4\n", "a row of 3 columns"},
      {"sm120,batched,nvfp4,nvfp4,ue4m3/16,bf16,bf16,128,128,128,1,1,Auto\n", "kind 'batched'"},
      {"sm120,dense,nvfp4,nvfp4,ue4m3/16,bf16,bf16,128,-8,128,1,1,Auto\n", "tileN '-8'"},
      {"sm120,dense,nvfp4,nvfp4,ue4m3/16,bf16,bf16,128,128,99999999999999999999,1,1,Auto\n", "tileK"},
      {std::string(kRow) + "Auto|stages=StageCount<x>\n", "stages 'StageCount<x>'"},
      {std::string(kRow) + "Auto|stages=StageCount<0>\n", "StageCount<0>"},
      {std::string(kRow) + "Auto|epiTile=64\n", "epiTile '64' is not MxN"},
      {std::string(kRow) + "Auto|epiTile=64x0\n", "epiTile '0'"},
      {std::string(kRow) + "\"Auto\n", "a quote that is not closed"},
  };
  for (const auto& [row, words] : cases) {
    const std::string message = answer(good + row);
    EXPECT_NE(message.find("line 2"), std::string::npos) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tilewright::cutlass_tests
