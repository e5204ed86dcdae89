#include "schedule/html/markup.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilewright::html {
namespace {

TEST(Escaped, LeavesPlainTextAlone) {
  EXPECT_EQ(escaped("128x16x128, 4 stages \xC2\xB5s \xF0\x9F\x99\x82"),
            "128x16x128, 4 stages \xC2\xB5s \xF0\x9F\x99\x82");
}

TEST(Escaped, MakesMarkupInert) {
  EXPECT_EQ(escaped("<script>alert(\"1\") && 'x'</script>"),
            "&lt;script&gt;alert(&quot;1&quot;) &amp;&amp; &#39;x&#39;&lt;/script&gt;");
}

TEST(Escaped, ReplacesWhatXmlAndUtf8DoNotHave) {
  const std::string gone = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a" + gone + "b");
  EXPECT_EQ(escaped("\x1B[31m"), gone + "[31m");
  EXPECT_EQ(escaped("\xFFx"), gone + "x");
  EXPECT_EQ(escaped("\xC3"), gone);                                   // cut off
  EXPECT_EQ(escaped("\xC0\xBC"), gone + gone);                        // '<' written too long
  EXPECT_EQ(escaped("\xE0\x80\xBC"), gone + gone + gone);             // the same in three bytes
  EXPECT_EQ(escaped("\xED\xA0\x80"), gone + gone + gone);             // a surrogate
  EXPECT_EQ(escaped("\xEF\xBF\xBF"), gone + gone + gone);             // U+FFFF
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), gone + gone + gone + gone);  // past U+10FFFF
  EXPECT_EQ(escaped("a\tb\nc"), "a\tb\nc");
}

TEST(Escaped, LeavesNoByteOfMarkupWhateverComesIn) {
  EXPECT_TRUE(rc::check("no <, > or quote, and no control character", [](const std::string& text) {
    const std::string out = escaped(text);
    RC_ASSERT(out.find_first_of("<>\"'") == std::string::npos);
    for (const char c : out) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n' || c == '\r');
    RC_ASSERT(escaped("x" + text) == "x" + out);
  }));
}

}  // namespace
}  // namespace tilewright::html
