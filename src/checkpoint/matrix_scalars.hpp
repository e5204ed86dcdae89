// The fp32 scales that belong to a whole matrix.
#pragma once

#include <vector>

#include "checkpoint/expert_matrix.hpp"

namespace tilewright {

/// The value of `place` in a tensor of one value, one an expert, or one an expert and half of a fused matrix.
Result<float> read_scalar(const MatrixPlace& place, const ExpertTensor& tensor, bool fused);

/// The global scale as a multiplier. A value that is not finite and above 0, or that follows the other dialect's
/// convention, is an error; one that is only unlikely is a finding.
Result<float> read_global_scale(const MatrixPlace& place, const ExpertTensor& tensor, bool reciprocal, bool fused,
                                std::vector<Finding>* findings);

}  // namespace tilewright
