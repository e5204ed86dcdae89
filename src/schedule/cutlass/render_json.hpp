// An explanation as JSON fields, for the documents that hold one or several.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tilewright/cutlass_render.hpp"

namespace tilewright::schedule::cutlass {

using Json = nlohmann::ordered_json;

/// The fields of one explanation, without the schema.
Json explanation_json(const CutlassExplanation& explanation);

/// A document with the schema first.
std::string document(const Json& fields);

}  // namespace tilewright::schedule::cutlass
