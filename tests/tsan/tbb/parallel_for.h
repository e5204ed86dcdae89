// See task_arena.h.
#pragma once

#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tbb {

struct simple_partitioner {};
struct static_partitioner {};

template <typename Index>
class blocked_range {
 public:
  blocked_range(Index begin, Index end) : begin_(begin), end_(end) {}
  [[nodiscard]] Index begin() const { return begin_; }
  [[nodiscard]] Index end() const { return end_; }

 private:
  Index begin_;
  Index end_;
};

/// body(i) for every i in [first, last), each by whichever thread is free.
template <typename Index, typename Body>
void parallel_for(Index first, Index last, const Body& body) {
  std::atomic<Index> next = first;
  const auto work = [&](int number) {
    stand_in::worker() = number;
    for (Index i = next.fetch_add(1); i < last; i = next.fetch_add(1)) body(i);
    stand_in::worker() = 0;
  };
  std::vector<std::thread> others;
  for (int number = 1; number < stand_in::concurrency(); ++number) others.emplace_back(work, number);
  work(0);
  for (std::thread& other : others) other.join();
}

template <typename Index, typename Body, typename Partitioner>
void parallel_for(Index first, Index last, const Body& body, const Partitioner& /*how*/) {
  parallel_for(first, last, body);
}

/// body(part) for parts that cover the range.
template <typename Index, typename Body>
void parallel_for(const blocked_range<Index>& range, const Body& body) {
  const Index count = range.end() - range.begin();
  const Index parts = std::min<Index>(count, 4 * static_cast<Index>(stand_in::concurrency()));
  parallel_for(Index{0}, parts, [&](Index part) {
    body(blocked_range<Index>(range.begin() + count * part / parts, range.begin() + count * (part + 1) / parts));
  });
}

}  // namespace tbb
