#include "schedule/html/page.hpp"

#include <fmt/format.h>

#include <iterator>

#include "schedule/html/markup.hpp"

namespace tilewright::html {
namespace {

using Out = std::back_insert_iterator<std::string>;

// Nothing is loaded and no script runs, whatever a string smuggled in. The empty icon keeps a browser from asking for
// one.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta name="generator" content="tilewright"/>
<link rel="icon" href="data:,"/>
)";

}  // namespace

std::string render(const Page& page) {
  std::string contents, body;
  for (const Section& section : page.sections) {
    if (section.body.empty()) continue;
    const std::string id = escaped(section.id);
    const std::string title = escaped(section.title);
    fmt::format_to(Out(contents), "<li><a href=\"#{}\">{}</a></li>\n", id, title);
    fmt::format_to(
        Out(body),
        "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n{2}</section>\n", id,
        title, section.body);
  }
  std::string out = kHead;
  fmt::format_to(Out(out), "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n", escaped(page.title), kStyle);
  fmt::format_to(Out(out), "<header>\n<h1>{}</h1>\n{}</header>\n", escaped(page.title), page.lead);
  if (!contents.empty()) {
    fmt::format_to(Out(out), "<nav aria-label=\"Contents\">\n<ul>\n{}</ul>\n</nav>\n", contents);
  }
  fmt::format_to(Out(out), "<main>\n{}</main>\n</body>\n</html>\n", body);
  return out;
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", escaped(text)); }

}  // namespace tilewright::html
