// An explanation as the body of a Graphviz graph.
#pragma once

#include <string>

#include "tilewright/cutlass_render.hpp"

namespace tilewright::schedule::cutlass {

/// Nodes and edges; every node's name starts with `prefix`, so that several explanations fit into one graph.
std::string graph_body(const CutlassExplanation& explanation, const std::string& prefix);

/// A string as a quoted label: quotes and backslashes escaped, line breaks as "\n".
std::string label(const std::string& text);

/// `body` in a digraph with the common style.
std::string graph(const std::string& body);

}  // namespace tilewright::schedule::cutlass
