#include "schedule/published/halves.hpp"

#include <fmt/format.h>

namespace tilewright::schedule {

Halves::Halves(const std::vector<PublishedLayer>& layers) {
  std::set<Shape> shapes;
  for (const PublishedLayer& layer : layers) shapes.insert(shape_of(layer));
  by_model_ = shapes.size() > 1;
  if (!by_model_) {
    shapes.clear();
    for (const PublishedLayer& layer : layers) shapes.insert(shape_of(layer));
  }
  for (const Shape& shape : shapes) (fitting_.size() > held_out_.size() ? held_out_ : fitting_).insert(shape);
}

Halves::Shape Halves::shape_of(const PublishedLayer& layer) const {
  if (!by_model_) return {layer.tp, layer.ep, 0, 0};
  return {layer.hidden, layer.intermediate, layer.top_k, layer.experts};
}

std::vector<std::string> Halves::words(const std::set<Shape>& shapes) const {
  std::vector<std::string> list;
  for (const auto& [first, second, top_k, experts] : shapes) {
    list.push_back(by_model_ ? fmt::format("{} x {}, top-{} of {}", first, second, top_k, experts)
                             : fmt::format("tp {}, ep {}", first, second));
  }
  return list;
}

}  // namespace tilewright::schedule
