// Stands in for oneTBB under ThreadSanitizer (the tsan preset puts this folder first on the include path). Debian's TBB
// is not built for it, so that its hand-over and join of tasks are invisible and every value that crosses them is
// reported. These few lines do the same jobs with std::thread, whose synchronisation is seen: what the tasks of this
// project do to each other's data is then checked for real.
#pragma once

#include <thread>

namespace tbb {

namespace stand_in {

/// Threads of the arena that the calling thread is in, and its number among them.
inline int& concurrency() {
  thread_local int threads = static_cast<int>(std::thread::hardware_concurrency());
  return threads;
}
inline int& worker() {
  thread_local int number = 0;
  return number;
}

}  // namespace stand_in

class task_arena {
 public:
  task_arena() = default;
  explicit task_arena(int threads) : threads_(threads) {}

  template <typename Body>
  void execute(const Body& body) {
    const int before = stand_in::concurrency();
    stand_in::concurrency() = threads_;
    body();
    stand_in::concurrency() = before;
  }

 private:
  int threads_ = static_cast<int>(std::thread::hardware_concurrency());
};

}  // namespace tbb
