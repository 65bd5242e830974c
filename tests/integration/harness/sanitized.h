// kSanitized: whether the gateway under test has been built with the address sanitizer. It keeps
// memory that is freed, so that figures of memory say nothing, and brings libraries of its own.
#pragma once

namespace stdgate::harness {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace stdgate::harness
