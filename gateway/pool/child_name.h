// ChildName: how log lines name a child and its client. A value; owner: the child, and its link,
// which writes log lines of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/base/session_name.h"

namespace stdgate::pool {

struct ChildName {
  uint64_t number = 0;  // the ordinal within the backend, from 1; 0: it has none
  int pid = 0;          // 0: not yet
  // The session that has the child alone, or had it last. Empty: none.
  SessionName session{};
  std::string client{};     // its address
  std::string principal{};  // its name
  // The method of a request of the gateway that the child may complain about now, a constant;
  // empty: none.
  std::string_view probe{};
};

}  // namespace stdgate::pool
