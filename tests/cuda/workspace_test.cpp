#include "cuda/moe/workspace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace tilewright::cuda {
namespace {

WorkspaceSizes random_sizes() {
  WorkspaceSizes sizes;
  sizes.tokens = *rc::gen::inRange(1, 3000);
  sizes.top_k = *rc::gen::inRange(1, 12);
  sizes.experts = *rc::gen::inRange(1, 1025);
  sizes.hidden = 16 * *rc::gen::inRange(1, 500);
  sizes.gemms.partials = 4 * *rc::gen::inRange(0, 100000);
  sizes.gemms.flags = 4 * *rc::gen::inRange(0, 300);
  sizes.gemms.arranged = *rc::gen::inRange(0, 50000000);
  sizes.gemms.inner = *rc::gen::inRange(0, 1000000);
  sizes.gemms.unquantized = *rc::gen::inRange(0, 1000000);
  sizes.gemms.input_scales = *rc::gen::inRange(0, 10000);
  return sizes;
}

TEST(Workspace, GivesEveryBufferBytesOfItsOwn) {
  EXPECT_TRUE(rc::check("buffers follow each other, aligned, and each has room", [] {
    const WorkspaceSizes sizes = random_sizes();
    const WorkspaceLayout layout = workspace_layout(sizes);
    const std::int64_t slots = std::int64_t{sizes.tokens} * sizes.top_k;
    const std::pair<std::int64_t, std::int64_t> buffers[] = {
        {layout.ids, slots * 4},
        {layout.weights, slots * 4},
        {layout.ranges, std::int64_t{sizes.experts} * 8},
        {layout.row_source, layout.group_rows * 4},
        {layout.row_dest, layout.group_rows * 4},
        {layout.row_weights, layout.group_rows * 4},
        {layout.slot_rows, slots * 4},
        {layout.flags, sizes.gemms.flags},
        {layout.partials, sizes.gemms.partials},
        {layout.input_scales, sizes.gemms.input_scales},
        {layout.unquantized, sizes.gemms.unquantized},
        {layout.inner, sizes.gemms.inner},
        {layout.rows, slots * sizes.hidden * 2},
        {layout.rows, sizes.gemms.arranged},
    };
    std::int64_t end = 0;
    for (const auto& [offset, bytes] : buffers) {
      RC_ASSERT(offset % 256 == 0);
      if (offset != layout.rows) RC_ASSERT(offset >= end);
      end = std::max(end, offset + bytes);
    }
    RC_ASSERT(end <= layout.total);
  }));
}

TEST(Workspace, HasARowForEverySlotHoweverTheyFallOnExperts) {
  EXPECT_TRUE(rc::check("experts begin at multiples of 8 and all fit", [] {
    const int experts = *rc::gen::inRange(1, 200);
    std::vector<int> rows(static_cast<std::size_t>(experts));
    for (int& count : rows) count = *rc::gen::element(0, 0, 1, 7, 8, 9, 100);
    std::int64_t slots = 0;
    std::int64_t taken = 0;
    for (const int count : rows) {
      slots += count;
      taken += (count + 7) / 8 * 8;
    }
    const std::int64_t room = grouped_rows(slots, experts);
    RC_ASSERT(taken <= room);
    RC_ASSERT(room % kRowGroup == 0);
    RC_ASSERT(room < slots + 8 * std::min<std::int64_t>(experts, slots) + 8);
  }));
}

TEST(Workspace, NeverShrinksWithMoreTokens) {
  EXPECT_TRUE(rc::check("a larger batch's workspace holds a smaller one's", [] {
    WorkspaceSizes sizes = random_sizes();
    const std::int64_t smaller = workspace_layout(sizes).total;
    sizes.tokens += *rc::gen::inRange(0, 100);
    RC_ASSERT(workspace_layout(sizes).total >= smaller);
  }));
}

}  // namespace
}  // namespace tilewright::cuda
