// MemberView, MemberList: what is known of a member for those who see it alike: its lists, and how
// far the questions for them have come. Owner: Member, or the part of a session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/policy/principal.h"
#include "gateway/servers/element_list.h"

namespace stdgate::servers {

class Part;

// One list of a view.
struct MemberList {
  enum class State : uint8_t { unknown, known, failed };

  State state = State::unknown;
  std::shared_ptr<const ElementList> elements =
      ElementList::none();  // as received last, even if a later request failed
  std::string greeting;     // the result, of ListKind::greeting
  bool is_stale = false;    // the member has changed it
  bool is_told = false;     // clients have been told of the change
  bool is_asked = false;    // the member was asked and has not answered
  bool is_missed = false;   // clients have got a list without it
  bool is_late = false;     // clients do not wait for it until it has come
  TimePoint asked{};
  TimePoint waited{};  // since when clients wait for it
  TimePoint answered{};
  TimePoint until{};  // when the member is asked again
  std::string failure;
  ElementList incoming;  // pages so far
  size_t pages = 0;
};

struct MemberView {
  Part* part = nullptr;  // whose session at the member it is of; null: it is of no session
  std::optional<policy::Principal> principal;
  std::string identity;  // of the principal
  bool is_modern = false;
  bool is_refused = false;  // the backend does not serve clients of the modern era
  TimePoint used{};
  std::array<MemberList, kListKinds> lists;
  Share held;

  MemberList& list(ListKind kind) { return lists[static_cast<size_t>(kind)]; }
};

}  // namespace stdgate::servers
