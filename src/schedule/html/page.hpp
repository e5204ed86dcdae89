// The skeleton of a page: one file that needs nothing else, no script, no font, no picture, and says so to the browser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::html {

struct Section {
  std::string id;  ///< unique in the page
  std::string title;
  std::string body;  ///< markup
};

struct Page {
  std::string title;
  std::string lead;  ///< markup below the title
  std::vector<Section> sections;
};

/// A page that is valid as HTML and well-formed as XML; the same page for the same input. Sections without a body are
/// left out.
std::string render(const Page& page);

/// A paragraph of text.
std::string paragraph(std::string_view text);

/// The style sheet of every page (style.cpp).
extern const char* const kStyle;

}  // namespace tilewright::html
