#include "tools/tilewright/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/tilewright/bench_figures.hpp"

namespace tilewright::cli {
namespace {

Report sample() {
  Report report("sample");
  report.json["answer"] = 42;
  report.sections.emplace_back(Text{"A sentence."});
  report.sections.emplace_back(Facts{"Device", {{"name", "gb10"}, {"SMs", "48"}}});
  report.sections.emplace_back(Table{"", {{"tile"}, {"us", true}}, {{"a,b", "1.5"}, {"c|d", "12"}}});
  return report;
}

TEST(Report, TextAlignsNumbersRightAndLeavesNoTrailingSpace) {
  EXPECT_EQ(render(sample(), Format::text),
            "A sentence.\n\nDevice\nname  gb10\nSMs   48\n\ntile   us\na,b   1.5\nc|d    12\n");
}

TEST(Report, MarkdownEscapesBars) {
  EXPECT_EQ(render(sample(), Format::md),
            "A sentence.\n\n**Device**\n\n| what | value |\n|---|---|\n| name | gb10 |\n| SMs | 48 |\n\n"
            "| tile | us |\n|---|---:|\n| a,b | 1.5 |\n| c\\|d | 12 |\n");
}

TEST(Report, CsvQuotesCommasAndLeavesProseOut) {
  EXPECT_EQ(render(sample(), Format::csv), "what,value\nname,gb10\nSMs,48\n\ntile,us\n\"a,b\",1.5\nc|d,12\n");
}

TEST(Report, JsonCarriesItsSchema) {
  const auto json = nlohmann::json::parse(render(sample(), Format::json));
  EXPECT_EQ(json["schema"], "tilewright.sample/1");
  EXPECT_EQ(json["answer"], 42);
}

TEST(Report, APageHasASectionForEachTitleAndThoseWithoutOneUnderTheLast) {
  Report report = sample();
  report.title = "A <report>";
  report.sections.emplace_back(Figure{"<figure>drawn</figure>"});
  const std::string page = render(report, Format::html);
  const auto at = [&](const char* text) { return page.find(text); };
  EXPECT_NE(at("<h1>A &lt;report&gt;</h1>\n<p>A sentence.</p>"), std::string::npos) << page;
  EXPECT_LT(at("<h2 id=\"section-1-heading\">Device</h2>"), at("<dt>SMs</dt><dd>48</dd>"));
  EXPECT_LT(at("<dd>48</dd>"), at("<td class=\"number\">1.5</td>"));
  EXPECT_LT(at("<td class=\"number\">1.5</td>"), at("<figure>drawn</figure>"));
  EXPECT_EQ(at("section-2"), std::string::npos);
}

TEST(Report, OtherFormatsLeaveFiguresOut) {
  Report report = sample();
  report.sections.emplace_back(Figure{"<figure>drawn</figure>"});
  for (const Format format : {Format::text, Format::md, Format::csv, Format::json}) {
    EXPECT_EQ(render(report, format), render(sample(), format));
  }
}

TEST(Report, ABenchCurveIsTwoFiguresWhoseLinesRunFromFewTokensToMany) {
  Report report("bench");
  add_figures(report, {"w4a16, tp 1, ep 8",
                       "read words",
                       "compute words",
                       {{8, 40, 39, 44, 10, 30, 0.75}, {1, 20, 19, 21, 10, 5, 0.5}}});
  ASSERT_EQ(report.sections.size(), 2U);
  const std::string time = std::get<Figure>(report.sections[0]).markup;
  const std::string share = std::get<Figure>(report.sections[1]).markup;
  for (const char* words :
       {"id=\"time-w4a16--tp-1--ep-8\"", "</svg> read words</li>", "</svg> compute words</li>", ">8</text>"}) {
    EXPECT_NE(time.find(words), std::string::npos) << words;
  }
  EXPECT_LT(share.find(">50</text>"), share.find(">75</text>"));
  EXPECT_EQ((BenchPoint{8, 40, 39, 44, 10, 30, 0.75}.roofline_us()), 30);
}

TEST(Report, ColumnsAreMeasuredInCharactersNotBytes) {
  Report report("sample");
  report.sections.emplace_back(Table{"", {{"x"}, {"y"}}, {{"\xC2\xB5s", "1"}, {"abc", "2"}}});
  EXPECT_EQ(render(report, Format::text), "x    y\n\xC2\xB5s   1\nabc  2\n");
}

TEST(Significant, KeepsDigitsWithoutExponents) {
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(0.012345), "0.0123");
  EXPECT_EQ(significant(1.0), "1.00");
  EXPECT_EQ(significant(9.996), "10.0");
  EXPECT_EQ(significant(123.4), "123");
  EXPECT_EQ(significant(12345.6), "12346");
  EXPECT_EQ(significant(1.5e-7), "1.50e-07");
  EXPECT_EQ(significant(-2.5), "-2.50");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Significant, RoundedKeepsTheValueOfItsDigits) {
  EXPECT_EQ(rounded(123.456789, 4), 123.5);
  EXPECT_EQ(rounded(0.0), 0.0);
  EXPECT_TRUE(std::isnan(rounded(std::nan(""))));
}

TEST(ReadableBytes, PicksTheUnit) {
  EXPECT_EQ(readable_bytes(768), "768 B");
  EXPECT_EQ(readable_bytes(101376), "99.0 KiB");
  EXPECT_EQ(readable_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
}

}  // namespace
}  // namespace tilewright::cli
