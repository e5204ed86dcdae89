// CSV as RFC 4180 has it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/cutlass/csv.hpp"

namespace tilewright::schedule::cutlass {
namespace {

using Fields = std::vector<std::string>;

TEST(Csv, ReadsQuotedFieldsAndEitherLineEnd) {
  const auto records = read_csv("a,\"b,c\",\"d \"\"e\"\"\"\r\n\r\n,\"two\nlines\"\nlast");
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 3U);
  EXPECT_EQ((*records)[0].fields, (Fields{"a", "b,c", "d \"e\""}));
  EXPECT_EQ((*records)[1].fields, (Fields{"", "two\nlines"}));
  EXPECT_EQ((*records)[1].line, 3);
  EXPECT_EQ((*records)[2].fields, (Fields{"last"}));
  EXPECT_EQ((*records)[2].line, 5);
}

TEST(Csv, RefusesQuotesThatAreNotOneField) {
  for (const char* text : {"a\n\"b", "a\nb\"c\n", "a\n\"b\"c\n"}) {
    const auto records = read_csv(text);
    ASSERT_FALSE(records) << text;
    EXPECT_NE(records.error().cause.find("line 2"), std::string::npos) << records.error().message();
  }
}

TEST(Csv, ReadsBackWhatItWrites) {
  EXPECT_TRUE(rc::check([] {
    const auto fields = *rc::gen::nonEmpty(
        rc::gen::container<Fields>(rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', '\r', ' '))));
    RC_PRE(fields.size() > 1 || !fields.front().empty());
    const auto records = read_csv(csv_line(fields) + "\n");
    RC_ASSERT(records.has_value());
    RC_ASSERT(records->size() == 1U);
    RC_ASSERT(records->front().fields == fields);
  }));
}

}  // namespace
}  // namespace tilewright::schedule::cutlass
