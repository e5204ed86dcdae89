// Statistics of measured times.
#pragma once

#include <span>
#include <vector>

namespace tilewright::tune {

/// The value below which a share `q` of the values lies, the nearest one; of at least one value.
double quantile(std::vector<double> values, double q);

/// Of an even number the lower of the two in the middle; of at least one value.
double median(std::span<const double> values);

/// exp of the mean of the logarithms; of at least one positive value.
double geometric_mean(std::span<const double> values);

}  // namespace tilewright::tune
