// Which instruction set the core runs on: one binary, chosen once per process. Every path computes the same integers,
// so the choice changes the speed and nothing else; NAIT_SIMD=plain|avx2|avx512 forces one.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(__x86_64__) && defined(__GNUC__)
#define NAIT_X86 1
#define NAIT_AVX2 __attribute__((target("avx2,fma,bmi2,popcnt"), flatten))
#define NAIT_AVX512 __attribute__((target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni"), flatten))
#else
#define NAIT_X86 0
#endif

namespace nait {

enum class Simd { plain, avx2, avx512 };

inline const char* simd_name(Simd level) {
    return level == Simd::avx512 ? "avx512" : level == Simd::avx2 ? "avx2" : "plain";
}

inline Simd supported_simd() {
#if NAIT_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
            return Simd::avx512;
        return Simd::avx2;
    }
#endif
    return Simd::plain;
}

inline Simd choose_simd() {
    const Simd best = supported_simd();
    const char* forced = std::getenv("NAIT_SIMD");
    if (forced == nullptr || *forced == '\0') return best;
    const std::string name = forced;
    for (const Simd level : {Simd::plain, Simd::avx2, Simd::avx512}) {
        if (name != simd_name(level)) continue;
        if (level > best)
            throw std::invalid_argument("NAIT_SIMD=" + name + ": this CPU supports no more than " + simd_name(best));
        return level;
    }
    throw std::invalid_argument("NAIT_SIMD=" + name + ": choose plain, avx2 or avx512");
}

inline Simd simd() {
    static const Simd level = choose_simd();
    return level;
}

}  // namespace nait
