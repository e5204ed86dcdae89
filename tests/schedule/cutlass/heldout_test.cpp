// The oracle against rows that were compiled from CUTLASS's headers and that no rule was written from
// (tests/cutlass_oracle draws and compiles them).
#include <algorithm>
#include <map>
#include <set>

#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

constexpr std::size_t kStatus = 23;
constexpr std::size_t kVersion = 24;

Result<CutlassKernel> kernel_of(const Fields& row) {
  TILEWRIGHT_ASSIGN(const CutlassVersion version, parse_cutlass_version(row[kVersion]));
  TILEWRIGHT_ASSIGN(const CutlassRow asked, parse_cutlass_row(Fields(row.begin(), row.begin() + kAsking), version));
  return resolve_cutlass(asked.request);
}

Fields answer_of(const Fields& row) {
  CutlassRow asked;
  asked.fields.assign(row.begin(), row.begin() + kAsking);
  return cutlass_row_answer(asked, kernel_of(row));
}

std::string joined(const Fields& fields, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i != begin) text += ',';
    text += fields[i];
  }
  return text;
}

std::string question(const Fields& row) { return "CUTLASS " + row[kVersion] + ": " + joined(row, 0, kAsking); }

bool is_unsupported(const Fields& answer) { return answer.back() == "unsupported"; }

// What stops a kernel is told in other words than the compiler's; all else is equal to the letter.
bool agrees(const Fields& row, const Fields& answer) {
  const bool builds = row[kStatus] == "ok";
  return std::equal(answer.begin(), answer.end() - 1, row.begin() + kAsking) &&
         (builds ? answer.back() == "ok" : answer.back().rfind("error: ", 0) == 0);
}

TEST(CutlassHeldOut, RowsAreAnsweredAsTheyWereCompiled) {
  const std::vector<Fields> rows = table("heldout.csv");
  ASSERT_GE(rows.size(), 250U);
  std::set<std::string> versions;
  for (const Fields& row : rows) {
    ASSERT_EQ(row.size(), kVersion + 1) << row[0];
    versions.insert(row[kVersion]);
    const Fields answer = answer_of(row);
    if (is_unsupported(answer)) continue;
    EXPECT_TRUE(agrees(row, answer)) << question(row) << "\n  compiled " << joined(row, kAsking, kStatus + 1)
                                     << "\n  answered " << joined(answer, 0, answer.size());
  }
  EXPECT_GE(versions.size(), 3U);
}

// The draw reaches beyond what is modelled: tiles and tags that nobody uses. They must stay few.
TEST(CutlassHeldOut, FewRowsAreBeyondWhatIsModelled) {
  std::string beyond;
  long count = 0;
  const std::vector<Fields> rows = table("heldout.csv");
  for (const Fields& row : rows) {
    if (!is_unsupported(answer_of(row))) continue;
    ++count;
    beyond += '\n';
    beyond += question(row);
  }
  EXPECT_LE(count * 20, static_cast<long>(rows.size())) << count << " of " << rows.size() << beyond;
}

struct Member {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  bool operator==(const Member&) const = default;
};

// heldout_storage.csv: row, name, offset, bytes.
std::map<std::size_t, std::map<std::string, Member>> compiled_storage() {
  std::map<std::size_t, std::map<std::string, Member>> rows;
  for (const Fields& fields : table("heldout_storage.csv")) {
    rows[std::stoul(fields[0])][fields[1]] = {std::stoll(fields[2]), std::stoll(fields[3])};
  }
  return rows;
}

TEST(CutlassHeldOut, EveryMemberOfTheSharedStorageLiesWhereItWasCompiledTo) {
  const std::vector<Fields> rows = table("heldout.csv");
  std::size_t compared = 0;
  for (const auto& [number, members] : compiled_storage()) {
    ASSERT_LT(number, rows.size());
    const auto kernel = kernel_of(rows[number]);
    if (!kernel) continue;  // counted above
    std::size_t known = 0;
    for (const CutlassStorage& each : kernel->storage) {
      const auto found = members.find(each.name);
      if (found == members.end()) continue;  // a part that has no name in C++, or a name of its own
      ++known;
      EXPECT_EQ((Member{each.offset, each.bytes}), found->second)
          << question(rows[number]) << "\n  " << each.name << ": compiled " << found->second.bytes << " bytes at "
          << found->second.offset << ", answered " << each.bytes << " at " << each.offset;
    }
    EXPECT_GE(known, 4U) << question(rows[number]);
    compared += known;
  }
  EXPECT_GE(compared, 1000U);
}

}  // namespace
}  // namespace tilewright::cutlass_tests
