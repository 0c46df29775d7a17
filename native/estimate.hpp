// The kernels K(s, s') and the kernel-weighted mean of the Q estimate. Only +, -, *, / and sqrt on doubles, summed from
// the nearest neighbour to the farthest, so that Q is the same to the bit everywhere (the Gaussian alone calls exp).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace nait {

enum class Kernel { tricubic, uniform, inverse, triweight, gaussian };

inline Kernel kernel_of(const std::string& name) {
    if (name == "tricubic") return Kernel::tricubic;
    if (name == "uniform") return Kernel::uniform;
    if (name == "inverse") return Kernel::inverse;
    if (name == "triweight") return Kernel::triweight;
    if (name == "gaussian") return Kernel::gaussian;
    throw std::invalid_argument("kernel '" + name + "': choose tricubic, uniform, inverse, triweight or gaussian");
}

// Weights from squared distances in ascending order. All kernels see u = d / d_max in [0, 1], as the paper's tricubic
// does, so none has a bandwidth to choose: the inverse is 1 / (u + 1e-3), the Gaussian has its d_max at 3 sigma. Where
// all weights vanish (every distance the same) the mean is plain.
template <class Weight>
void weigh_each(const std::int64_t* squared, std::size_t n, double* weights, Weight weight) {
    const auto farthest = static_cast<double>(squared[n - 1]);
    for (std::size_t i = 0; i < n; ++i) {
        const double u2 = farthest > 0.0 ? static_cast<double>(squared[i]) / farthest : 0.0;
        weights[i] = weight(u2, std::sqrt(u2));
    }
}

inline void weigh(Kernel kernel, const std::int64_t* squared, std::size_t n, double* weights) {
    if (n == 0) return;
    const auto cube = [](double t) { return t * t * t; };
    if (kernel == Kernel::tricubic)
        weigh_each(squared, n, weights, [&](double u2, double u) { return cube(1.0 - u2 * u); });
    if (kernel == Kernel::uniform) weigh_each(squared, n, weights, [](double, double) { return 1.0; });
    if (kernel == Kernel::inverse) weigh_each(squared, n, weights, [](double, double u) { return 1.0 / (u + 1e-3); });
    if (kernel == Kernel::triweight) weigh_each(squared, n, weights, [&](double u2, double) { return cube(1.0 - u2); });
    if (kernel == Kernel::gaussian)
        weigh_each(squared, n, weights, [](double u2, double) { return std::exp(-4.5 * u2); });
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += weights[i];
    if (sum <= 0.0)
        for (std::size_t i = 0; i < n; ++i) weights[i] = 1.0;
}

inline double weighted_mean(const double* weights, const double* values, std::size_t n) {
    double sum = 0.0, total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        sum += weights[i] * values[i];
        total += weights[i];
    }
    return sum / total;
}

}  // namespace nait
