// visit_type(), visit_member(): std::visit() for rows of options, compiled for no more than the
// tables use.
//
// For each section std::visit() would compile every type of option with every member it may have,
// nearly all of which no row has: that took minutes. All calls of a visitor give the same type.
#pragma once

#include <bit>
#include <cstdint>
#include <variant>

#include "gateway/base/check.h"
#include "gateway/config/options/option.h"

namespace stdgate::config {
namespace detail {

// A bit for each alternative of a variant that occurs.
using Used = uint32_t;

template <Used kUsed, class Variant, class Visitor>
auto visit_used(const Variant& variant, Visitor& visitor) {
  static_assert(kUsed != 0 && std::variant_size_v<Variant> <= 32);
  constexpr Used kOthers = kUsed & (kUsed - 1);
  constexpr size_t kIndex = std::countr_zero(kUsed);
  if constexpr (kOthers != 0) {
    if (variant.index() != kIndex) return visit_used<kOthers>(variant, visitor);
  }
  const auto* const alternative = std::get_if<kIndex>(&variant);
  STDGATE_CHECK(alternative != nullptr);
  return visitor(*alternative);
}

template <class S>
constexpr Used used_types() {
  Used used = 0;
  for (const Option<S>& option : OptionsOf<S>::kRows) used |= Used{1} << option.type.index();
  return used;
}

template <class S, class Type>
constexpr Used used_members() {
  Used used = 0;
  for (const Option<S>& option : OptionsOf<S>::kRows) {
    // Not std::get_if(): g++ 12 takes it for no constant expression under its sanitizers (GCC bug
    // 71962).
    if (!std::holds_alternative<Type>(option.type)) continue;
    used |= Used{1} << std::get<Type>(option.type).member.index();
  }
  return used;
}

}  // namespace detail

// Calls `visitor` with the type of a row of OptionsOf<S>::kRows.
template <class S, class Visitor>
auto visit_type(const Option<S>& option, Visitor&& visitor) {
  return detail::visit_used<detail::used_types<S>()>(option.type, visitor);
}

// Calls `visitor` with the member pointer that the type of a row holds, one with several kinds of
// members: Count, Word, Part, …
template <template <class> class Type, class S, class Visitor>
auto visit_member(const Type<S>& type, Visitor&& visitor) {
  return detail::visit_used<detail::used_members<S, Type<S>>()>(type.member, visitor);
}

}  // namespace stdgate::config
