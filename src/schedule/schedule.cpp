#include "tilewright/schedule.hpp"

#include <fmt/format.h>

#include <charconv>

#include "schedule/enum_names.hpp"
#include "schedule/size_limits.hpp"

namespace tilewright {
namespace {

using schedule::name_of;
using schedule::value_of;

constexpr schedule::EnumNames<5> kMmaNames = {"wgmma_rs_bf16", "mma_mxf4nvf4", "mma_bf16", "cpu_stream", "cpu_panel"};
constexpr schedule::EnumNames<2> kConsumerNames = {"cooperative", "pingpong"};
constexpr schedule::EnumNames<3> kSplitNames = {"none", "split_k", "stream_k"};
constexpr schedule::EnumNames<2> kTokenLoadNames = {"tile_order", "gather"};
constexpr schedule::EnumNames<6> kEpilogueNames = {"bf16",      "finalize",   "act_bf16",
                                                   "act_nvfp4", "gated_bf16", "gated_nvfp4"};

// Reads a positive number at `at` and moves past it.
bool read_size(const std::string& text, std::size_t& at, int& value) {
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  at += static_cast<std::size_t>(end - begin);
  return error == std::errc() && value >= 1 && value <= schedule::kLargestTile;
}

bool skip(const std::string& text, std::size_t& at, char expected) {
  if (at >= text.size() || (text[at] != expected && text[at] != expected - 'a' + 'A')) return false;
  ++at;
  return true;
}

}  // namespace

const char* to_string(Mma mma) { return name_of(kMmaNames, mma); }
const char* to_string(Consumers consumers) { return name_of(kConsumerNames, consumers); }
const char* to_string(SplitKind split) { return name_of(kSplitNames, split); }
const char* to_string(TokenLoad load) { return name_of(kTokenLoadNames, load); }
const char* to_string(Epilogue epilogue) { return name_of(kEpilogueNames, epilogue); }

Result<Mma> parse_mma(const std::string& name) { return value_of<Mma>(kMmaNames, name, "MMA"); }
Result<Consumers> parse_consumers(const std::string& name) {
  return value_of<Consumers>(kConsumerNames, name, "way to share tiles");
}
Result<SplitKind> parse_split(const std::string& name) { return value_of<SplitKind>(kSplitNames, name, "split"); }
Result<TokenLoad> parse_token_load(const std::string& name) {
  return value_of<TokenLoad>(kTokenLoadNames, name, "way to load tokens");
}
Result<Epilogue> parse_epilogue(const std::string& name) {
  return value_of<Epilogue>(kEpilogueNames, name, "epilogue");
}

std::string describe(const Schedule& s) {
  std::string text = fmt::format("{}x{}x{}", s.tile_m, s.tile_n, s.tile_k);
  if (on_cpu(s.mma)) return text + fmt::format(", {}, {}", to_string(s.mma), to_string(s.epilogue));
  text += fmt::format(", {} stages, {} {}+{} warps", s.stages, to_string(s.roles.consumers), s.roles.consumer_warps,
                      s.roles.producer_warps);
  if (s.ctas_per_sm > 1) text += fmt::format(", {} blocks a SM", s.ctas_per_sm);
  if (s.cluster > 1) text += fmt::format(", cluster {}", s.cluster);
  if (s.split.kind == SplitKind::split_k) text += fmt::format(", split-K {}", s.split.parts);
  if (s.split.kind == SplitKind::stream_k) text += ", stream-K";
  if (s.token_load == TokenLoad::gather) text += ", gather";
  return text + ", " + to_string(s.epilogue);
}

Result<TileSpec> parse_tile(const std::string& text) {
  TileSpec tile;
  std::size_t at = 0;
  bool good = read_size(text, at, tile.m) && skip(text, at, 'x') && read_size(text, at, tile.n) &&
              skip(text, at, 'x') && read_size(text, at, tile.k);
  if (good && at < text.size()) good = text[at++] == ':' && read_size(text, at, tile.stages) && at == text.size();
  if (!good) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" is no tile", text),
                "write weights x tokens x K, with the stages if you like: 128x256x128 or 128x256x128:3");
  }
  return tile;
}

std::string to_string(const TileSpec& tile) {
  const std::string text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
  return tile.stages == 0 ? text : text + fmt::format(":{}", tile.stages);
}

}  // namespace tilewright
