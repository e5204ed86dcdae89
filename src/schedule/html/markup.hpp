// Text in a page: what is a string must never become markup.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::html {

/// `text` as it may stand between tags and in a quoted attribute, in HTML and in XML: the characters of markup are
/// escaped; bytes that are no UTF-8 and characters that XML does not have become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace tilewright::html
