// What both kinds of charts draw with. A chart is drawn twice, for wide and for narrow screens, with text of the same
// size; the style sheet shows one of them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tilewright::html {

/// A canvas in CSS pixels.
struct Canvas {
  const char* name = "wide";  ///< class of the drawing, and suffix of its ids
  double width = 760;
  double height = 400;  ///< of a line chart; bars take what they need
};
inline constexpr std::array<Canvas, 2> kCanvases = {{{"wide", 760, 400}, {"narrow", 328, 300}}};

inline constexpr double kTextSize = 13;  ///< as the style sheet has it

/// Where text begins at an edge: the glyph of a T, say, begins left of its origin.
inline constexpr double kOverhang = 1;

/// An upper estimate of a text's width: 0.66 em a character, as wide as DejaVu Sans, the widest of the fonts that a
/// browser falls back to.
double text_width(std::string_view text);

/// What the drawing of one chart needs to be understood without seeing it.
struct ChartWords {
  std::string id;     ///< unique in the page
  std::string title;  ///< one line
  std::string description;
};

/// <svg ...><title/><desc/>, to be closed by the caller.
std::string open_svg(const ChartWords& words, const Canvas& canvas, double height);

/// A text; `anchor` is start, middle or end.
std::string svg_text(double x, double y, const char* anchor, std::string_view text);

enum class Marker { none, circle, square, triangle, diamond };
std::string svg_marker(Marker marker, double x, double y, bool hollow);

/// A figure: title, legend (list items, may be empty), the drawings, the description as its caption.
std::string figure(const ChartWords& words, const std::string& legend, const std::string& drawings);

}  // namespace tilewright::html
