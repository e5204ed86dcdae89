#include "schedule/html/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/html/markup.hpp"

namespace tilewright::html {

double text_width(std::string_view text) {
  // Continuation bytes of UTF-8 are no characters.
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  return 0.66 * kTextSize * static_cast<double>(characters);
}

std::string open_svg(const ChartWords& words, const Canvas& canvas, double height) {
  return fmt::format(
      "<svg class=\"{0}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {1:.0f} {2:.0f}\" role=\"img\" "
      "aria-labelledby=\"{3}-{0}-title {3}-{0}-desc\">\n<title id=\"{3}-{0}-title\">{4}</title>\n"
      "<desc id=\"{3}-{0}-desc\">{5}</desc>\n",
      canvas.name, canvas.width, height, escaped(words.id), escaped(words.title), escaped(words.description));
}

std::string svg_text(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string svg_marker(Marker marker, double x, double y, bool hollow) {
  const char* kind = hollow ? "hollow" : "mark";
  switch (marker) {
    case Marker::circle: return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", kind, x, y);
    case Marker::square:
      return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\"/>\n", kind, x - 3.5,
                         y - 3.5);
    case Marker::triangle: return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l4.5 8h-9z\"/>\n", kind, x, y - 5);
    case Marker::diamond:
      return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"/>\n", kind, x, y - 5);
    case Marker::none: break;
  }
  return {};
}

std::string figure(const ChartWords& words, const std::string& legend, const std::string& drawings) {
  std::string list;
  if (!legend.empty()) list = fmt::format("<ul class=\"legend\">\n{}</ul>\n", legend);
  return fmt::format(
      "<figure id=\"{}\">\n<p class=\"chart-title\">{}</p>\n{}{}<figcaption>{}</figcaption>\n</figure>\n",
      escaped(words.id), escaped(words.title), list, drawings, escaped(words.description));
}

}  // namespace tilewright::html
