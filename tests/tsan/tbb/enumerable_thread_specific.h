// See task_arena.h.
#pragma once

#include <tbb/task_arena.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tbb {

/// A value for each thread of an arena, made when first asked for.
template <typename T>
class enumerable_thread_specific {
 public:
  template <typename Factory>
  explicit enumerable_thread_specific(Factory make) : make_([make] { return std::make_unique<T>(make()); }) {}

  T& local() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<T>& value = values_[stand_in::worker()];
    if (value == nullptr) value = make_();
    return *value;
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<T>> values_;
};

}  // namespace tbb
