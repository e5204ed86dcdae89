// Line charts, bar charts, tables and the skeleton of a page.
#include <gtest/gtest.h>

#include <string_view>

#include "schedule/html/bar_chart.hpp"
#include "schedule/html/line_chart.hpp"
#include "schedule/html/page.hpp"
#include "schedule/html/table.hpp"

namespace tilewright::html {
namespace {

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++found;
  return found;
}

bool holds(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

LineChart line_chart() {
  LineChart chart;
  chart.words = {"chart", "Time <&>", "What it shows."};
  chart.x = {"tokens", true, {1, 8}};
  chart.y = {"us", true, {}};
  chart.series = {{"first", 1, Stroke::solid, Marker::circle, false, {{1, 10, 9, 12, "p"}, {8, 40}}},
                  {"second", 2, Stroke::dashed, Marker::square, true, {{1, 5}, {8, 0}}}};
  return chart;
}

TEST(LineChart, IsDrawnForWideAndForNarrowScreensWithATitleAndADescription) {
  const std::string drawn = draw(line_chart());
  for (const std::string name : {"wide", "narrow"}) {
    EXPECT_TRUE(holds(drawn, "<svg class=\"" + name + "\""));
    EXPECT_TRUE(holds(drawn, "aria-labelledby=\"chart-" + name + "-title chart-" + name + "-desc\""));
    EXPECT_TRUE(holds(drawn, "<title id=\"chart-" + name + "-title\">Time &lt;&amp;&gt;</title>"));
    EXPECT_TRUE(holds(drawn, "<desc id=\"chart-" + name + "-desc\">What it shows.</desc>"));
  }
}

TEST(LineChart, DrawsAMarkAPointASpreadWhereThereIsOneAndALegendEntryASeries) {
  const std::string drawn = draw(line_chart());
  // Twice in the drawings, once in the legend.
  EXPECT_EQ(count(drawn, "<circle class=\"mark\""), 2U * 2 + 1);
  EXPECT_EQ(count(drawn, "class=\"spread\""), 2U);
  EXPECT_EQ(count(drawn, "<li>"), 2U);
  EXPECT_EQ(count(drawn, ">p</text>"), 2U);
  // The second series has one point that a logarithmic axis can show.
  EXPECT_EQ(count(drawn, "<rect class=\"hollow\""), 2U + 1);
}

TEST(LineChart, WithoutPointsIsStillAChart) {
  LineChart chart = line_chart();
  chart.series.clear();
  const std::string drawn = draw(chart);
  EXPECT_FALSE(holds(drawn, "nan"));
  EXPECT_FALSE(holds(drawn, "inf"));
  EXPECT_FALSE(holds(drawn, "class=\"legend\""));
}

TEST(BarChart, DividesItsWidthInProportion) {
  BarChart chart;
  chart.words = {"bars", "Bars", "Bars."};
  chart.full = 100;
  chart.left_over = "left";
  chart.bars = {{"one", "75 of 100", {{"a", 50}, {"b", 25}, {"nothing", 0}}}};
  const std::string drawn = draw(chart);
  EXPECT_TRUE(holds(drawn, "x=\"0.00\" y=\"20.0\" width=\"380.00\""));    // half of 760
  EXPECT_TRUE(holds(drawn, "x=\"380.00\" y=\"20.0\" width=\"190.00\""));  // a quarter
  EXPECT_TRUE(holds(drawn, "width=\"164.00\""));                          // half of 328
  EXPECT_TRUE(holds(drawn, "</svg> left</li>"));
}

TEST(BarChart, KeepsTextInsideBySettingTheNoteBelowOrCuttingTheLabel) {
  BarChart chart;
  chart.words = {"bars", "Bars", "Bars."};
  chart.bars = {{std::string(200, 'w'), "a note", {{"a", 1}}}};
  const std::string drawn = draw(chart);
  EXPECT_FALSE(holds(drawn, std::string(100, 'w')));
  EXPECT_EQ(count(drawn, "…</text>"), 2U);
  EXPECT_EQ(count(drawn, ">a note</text>"), 2U);
}

TEST(BarChart, GivesANameTheSameColourInEveryBar) {
  BarChart chart;
  chart.words = {"bars", "Bars", "Bars."};
  chart.order = {"a", "b"};
  chart.bars = {{"one", "", {{"b", 1}}}, {"two", "", {{"a", 1}, {"b", 1}}}};
  const std::string drawn = draw(chart);
  EXPECT_EQ(count(drawn, "<g class=\"c2\"><rect class=\"part\""), 2U * 2 + 1);
  EXPECT_EQ(count(drawn, "<g class=\"c1\"><rect class=\"part\""), 2U * 1 + 1);
}

TEST(HtmlTable, HasACaptionHeadersAndScrollsByKeyboard) {
  Table table{"Ca<ption", {{"what"}, {"us", Column::number}}, {}};
  table.add_heading("group");
  table.add({{"a&b", false, 2}, {"1.5", true}});
  table.add({{"", false, 0}, {"2.5"}});
  const std::string drawn = render(table, "t");
  EXPECT_TRUE(holds(drawn, "tabindex=\"0\" role=\"region\" aria-labelledby=\"t-caption\""));
  EXPECT_TRUE(holds(drawn, "<span id=\"t-caption\">Ca&lt;ption</span></caption>"));
  EXPECT_TRUE(holds(drawn, "<th scope=\"col\" class=\"number\">us</th>"));
  EXPECT_TRUE(holds(drawn, "<th scope=\"colgroup\" colspan=\"2\">group</th>"));
  EXPECT_TRUE(holds(drawn, "<th scope=\"rowgroup\" rowspan=\"2\">a&amp;b</th>"));
  EXPECT_TRUE(holds(drawn, "<strong>1.5<span class=\"spoken\"> (chosen)</span></strong>"));
  EXPECT_TRUE(holds(drawn, "<tr><td class=\"number\">2.5</td></tr>"));
}

TEST(HtmlTable, LeavesACaptionToScreenReadersWhereAHeadingSaysIt) {
  Table table{"caption", {{"what"}}, {}, true};
  EXPECT_TRUE(holds(render(table, "t"), "<caption><span class=\"spoken\" id=\"t-caption\">caption</span></caption>"));
}

TEST(HtmlPage, LoadsNothingAndListsItsSections) {
  const std::string page =
      render(Page{"A <title>", paragraph("lead"), {{"one", "One & all", "<p>x</p>"}, {"none", "None", ""}}});
  EXPECT_TRUE(holds(
      page, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
  EXPECT_TRUE(holds(page, "<title>A &lt;title&gt;</title>"));
  EXPECT_TRUE(holds(page, "<li><a href=\"#one\">One &amp; all</a></li>"));
  EXPECT_FALSE(holds(page, "#none"));
  EXPECT_EQ(count(page, "http"), 2U);  // the name space, and http-equiv
}

}  // namespace
}  // namespace tilewright::html
