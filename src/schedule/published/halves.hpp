// Which rows fit and which are held out.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tilewright/published.hpp"

namespace tilewright::schedule {

/// The shapes of a file, alternating: the first, in order, fits. Shapes are models (hidden, intermediate, top-k,
/// experts); in a file with one model they are its layouts (tp, ep).
class Halves {
 public:
  explicit Halves(const std::vector<PublishedLayer>& layers);

  [[nodiscard]] bool held_out(const PublishedLayer& layer) const { return held_out_.count(shape_of(layer)) > 0; }
  [[nodiscard]] std::vector<std::string> fitting() const { return words(fitting_); }
  [[nodiscard]] std::vector<std::string> held_out() const { return words(held_out_); }

 private:
  using Shape = std::tuple<std::int64_t, std::int64_t, int, int>;

  [[nodiscard]] Shape shape_of(const PublishedLayer& layer) const;
  [[nodiscard]] std::vector<std::string> words(const std::set<Shape>& shapes) const;

  bool by_model_ = true;
  std::set<Shape> fitting_;
  std::set<Shape> held_out_;
};

}  // namespace tilewright::schedule
