// Any text at all as a plan: it is refused with one line, or every renderer takes it and its JSON reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tilewright/plan_render.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = tilewright::parse_plan_json({reinterpret_cast<const char*>(data), size});
  if (!plan) {
    if (plan.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const tilewright::RenderOptions options{true};
  const std::string written = render_plan_json(*plan, options);
  const auto again = tilewright::parse_plan_json(written);
  if (!again || render_plan_json(*again, options) != written) std::abort();
  if (render_plan_text(*plan, options).empty() || render_plan_markdown(*plan, options).empty() ||
      render_plan_csv(*plan, options).empty()) {
    std::abort();
  }
  return 0;
}
