#include "tools/tilewright/explain_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/tags.hpp"
#include "tilewright/device.hpp"

namespace tilewright::cli {
namespace {

namespace cutlass = schedule::cutlass;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "128x256x128" as `count` positive numbers.
std::optional<std::vector<int>> extents(const std::string& text, std::size_t count) {
  std::vector<int> sizes;
  for (const std::string& part : split(text, 'x')) {
    const auto size = number(part);
    if (!size || *size < 1) return std::nullopt;
    sizes.push_back(*size);
  }
  if (sizes.size() != count || text.back() == 'x') return std::nullopt;
  return sizes;
}

tl::unexpected<Error> no_such(const char* option, const std::string& text, const std::string& known) {
  return fail(ErrorCode::invalid_argument, fmt::format("{} '{}' is not understood", option, text), known);
}

// One type, or two with an x between them; names hold an x of their own.
Status read_dtype(const std::string& text, CutlassRequest& request) {
  for (std::size_t cross = text.find('x'); cross != std::string::npos; cross = text.find('x', cross + 1)) {
    const auto a = parse_cutlass_operand(text.substr(0, cross));
    const auto b = parse_cutlass_operand(text.substr(cross + 1));
    if (!a || !b) continue;
    request.a = *a;
    request.b = *b;
    return {};
  }
  TILEWRIGHT_ASSIGN(request.a, parse_cutlass_operand(text));
  request.b = request.a;
  return {};
}

// A tile in elements, or as FlashInfer's logs name it: of one CTA, K in bytes.
Status read_tile(const std::string& text, CutlassRequest& request) {
  if (text.empty()) return fail(ErrorCode::invalid_argument, "no tile is given", "use --tile 128x256x128, in elements");
  const std::string prefix = "CtaShape";
  const bool by_name = text.rfind(prefix, 0) == 0 && text.back() == 'B';
  const auto sizes = extents(by_name ? text.substr(prefix.size(), text.size() - prefix.size() - 1) : text, 3);
  if (!sizes) {
    return no_such("--tile", text, "write M x N x K in elements, 128x256x128, or FlashInfer's CtaShape128x256x64B");
  }
  request.tile = {(*sizes)[0], (*sizes)[1], (*sizes)[2]};
  if (!by_name) return {};
  request.tile.k = request.tile.k * 8 / cutlass::bits(cutlass::activation(request));
  if (request.arch == Arch::sm_103 && cutlass::is_fp4(request)) request.tile.k *= 3;
  if (cutlass::is_sm10x(request.arch) && request.cluster_m == 2) request.tile.m *= 2;
  return {};
}

Status read_cluster(const std::string& text, CutlassRequest& request) {
  if (text.empty()) return {};
  if (text == "dynamic") {
    request.cluster_m = request.cluster_n = 0;
    return {};
  }
  const auto sizes = extents(text, 2);
  if (!sizes) return no_such("--cluster", text, "write blocks along M x N, 2x1, or dynamic");
  request.cluster_m = (*sizes)[0];
  request.cluster_n = (*sizes)[1];
  return {};
}

Status read_epilogue(const CutlassOptions& options, CutlassRequest& request, CutlassOpen& open) {
  for (const std::string& word : split(options.epilogue, ',')) {
    if (word == "finalize") {
      request.fusion = CutlassFusion::finalize;
    } else if (word == "scale-factor") {
      request.fusion = CutlassFusion::scale_factor_d;
    } else if (word == "nosmem") {
      open.no_smem = true;
    } else if (word != "plain") {
      return no_such("--epilogue", word, "known: plain, finalize, scale-factor, nosmem, or a list of them");
    }
  }
  if (options.epilogue_tile.empty()) return {};
  const auto sizes = extents(options.epilogue_tile, 2);
  if (!sizes) return no_such("--epilogue-tile", options.epilogue_tile, "write M x N in elements, 64x16");
  request.epilogue_tile_m = (*sizes)[0];
  request.epilogue_tile_n = (*sizes)[1];
  open.epilogue_tile = false;
  return {};
}

Status read_stages(const std::string& text, CutlassRequest& request) {
  const std::string carveout = "carveout:";
  if (text == "auto") return {};
  if (text == "no-carveout") {
    request.stages.rule = CutlassStageRule::automatic;
    return {};
  }
  const bool by_bytes = text.rfind(carveout, 0) == 0;
  const auto value = number(by_bytes ? text.substr(carveout.size()) : text);
  if (!value) return no_such("--stages", text, "write auto, a number, no-carveout or carveout:BYTES");
  if (by_bytes) {
    request.stages.carveout_bytes = *value;
  } else {
    request.stages = {CutlassStageRule::explicit_count, *value, std::nullopt};
  }
  return {};
}

Status read_schedule(const std::string& text, CutlassRequest& request) {
  if (text == "auto") {
    request.schedule = {};
    return {};
  }
  const std::pair<const char*, CutlassWarps> words[] = {{"cooperative", CutlassWarps::cooperative},
                                                        {"pingpong", CutlassWarps::pingpong},
                                                        {"1sm", CutlassWarps::one_sm},
                                                        {"2sm", CutlassWarps::two_sm}};
  for (const auto& [word, warps] : words) {
    if (text != word) continue;
    request.schedule = cutlass::launcher_schedule(request, warps);
    return {};
  }
  auto tag = cutlass::parse_schedule_tag(text);
  if (!tag) {
    return fail(ErrorCode::invalid_argument, "--schedule " + tag.error().cause,
                "use auto, cooperative, pingpong, 1sm, 2sm or a full tag; " + tag.error().remedy);
  }
  request.schedule = *tag;
  return {};
}

// What the user gets, before finalize takes it from D to the scatter.
Result<CutlassElement> output_of(const CutlassOptions& options, const CutlassRequest& request) {
  if (!options.out.empty()) return parse_cutlass_element(options.out == "fp16" ? "f16" : options.out);
  return request.fusion == CutlassFusion::scale_factor_d ? CutlassElement::e2m1 : CutlassElement::bf16;
}

}  // namespace

void declare_cutlass_options(CLI::App& command, CutlassOptions& options) {
  const auto text = [&](const char* name, std::string& into, const char* help, const char* value) {
    command.add_option(name, into, help)->option_text(value)->group("A kernel");
  };
  text("--arch", options.arch, "sm_90, sm_100, sm_103, sm_120 or sm_121", "ARCH");
  text("--device", options.device, "A known device instead, e.g. rtx-pro-6000-server, gb10, h200", "NAME");
  text("--dtype", options.dtype, "Operands: nvfp4 (default), mxfp4, mxfp8, fp8, bf16, fp16, or two: mxfp8xmxfp4",
       "TYPE");
  command.add_flag("--grouped", options.grouped, "A grouped GEMM: pointer arrays, as in MoE")->group("A kernel");
  text("--tile", options.tile, "MxNxK in elements, or FlashInfer's CtaShape128x256x64B", "TILE");
  text("--cluster", options.cluster, "MxN, or dynamic (default 1x1; 2x1 for M = 256 on SM100 and SM103)", "MxN");
  text("--out", options.out, "Type of the result (default bf16)", "TYPE");
  text("--c", options.c, "Type of C, or void (default: as FlashInfer's launcher for the architecture)", "TYPE");
  text("--epilogue", options.epilogue, "plain (default), finalize, scale-factor, nosmem; or a list", "LIST");
  text("--epilogue-tile", options.epilogue_tile, "MxN in elements (default: the builder's or the launcher's)", "MxN");
  command.add_flag("--swap-ab", options.swap_ab, "Weights as A: C and D are column-major")->group("A kernel");
  text("--schedule", options.schedule,
       "auto, cooperative, pingpong, 1sm, 2sm or a full tag (default: as FlashInfer's launcher)", "SCHEDULE");
  text("--stages", options.stages, "auto (default: what the epilogue leaves), N, no-carveout, carveout:BYTES", "RULE");
  text("--cutlass-version", options.version, "4.2.1, 4.4.1, 4.4.2, 4.5.0 or 4.7.0 (default)", "VERSION");
}

Result<CutlassVersion> cutlass_version(const CutlassOptions& options) {
  return parse_cutlass_version(options.version.rfind('v', 0) == 0 ? options.version.substr(1) : options.version);
}

Result<Arch> cutlass_arch(const CutlassOptions& options) {
  if (options.device.empty() == options.arch.empty()) {
    return fail(ErrorCode::invalid_argument,
                options.device.empty() ? "no architecture is given" : "--device and --arch are both given",
                "use --arch sm_120 or --device NAME ('tilewright info --devices' lists them)");
  }
  if (!options.arch.empty()) return find_arch(options.arch);
  TILEWRIGHT_ASSIGN(const Device device, find_device(options.device));
  return device.arch;
}

Result<std::vector<Arch>> compared_archs(const CutlassOptions& options) {
  std::vector<Arch> archs;
  for (const std::string& name : split(options.compare, ',')) {
    TILEWRIGHT_ASSIGN(const Arch arch, find_arch(name));
    archs.push_back(arch);
  }
  if (archs.size() < 2) {
    return no_such("--compare", options.compare, "name two or more architectures: --compare sm_100,sm_120");
  }
  if (!options.arch.empty() || !options.device.empty()) {
    return fail(ErrorCode::invalid_argument, "--compare names the architectures, and so does --arch or --device",
                "give one of them");
  }
  return archs;
}

Result<CutlassQuestion> cutlass_question(const CutlassOptions& options, Arch arch) {
  CutlassQuestion question;
  CutlassRequest& request = question.request;
  CutlassOpen open;
  request.arch = arch;
  request.grouped = options.grouped;
  request.swap_ab = options.swap_ab;
  TILEWRIGHT_ASSIGN(request.version, cutlass_version(options));
  TILEWRIGHT_TRY(read_dtype(options.dtype, request));
  open.cluster = options.cluster.empty();
  TILEWRIGHT_TRY(read_cluster(options.cluster, request));
  TILEWRIGHT_TRY(read_tile(options.tile, request));
  TILEWRIGHT_TRY(read_epilogue(options, request, open));
  TILEWRIGHT_TRY(read_stages(options.stages, request));
  TILEWRIGHT_ASSIGN(question.output, output_of(options, request));
  request.d = question.output;
  if (!options.c.empty()) {
    TILEWRIGHT_ASSIGN(request.c, parse_cutlass_element(options.c == "fp16" ? "f16" : options.c));
    open.c = false;
  }
  if (!options.schedule.empty()) {
    TILEWRIGHT_TRY(read_schedule(options.schedule, request));
    open.schedule = false;
  }
  question.defaults = fill_as_flashinfer(request, open);
  if (request.fusion == CutlassFusion::finalize) request.d = CutlassElement::none;
  return question;
}

}  // namespace tilewright::cli
