// ChildName: how the lines of the log name a child, and whose it is. A value; owner: the child, and
// its link, which writes lines of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/base/session_name.h"

namespace stdgate::pool {

struct ChildName {
  uint64_t number = 0;  // the ordinal within the backend, from 1; 0: it has none
  int pid = 0;          // 0: not yet
  // Of the session that has it to itself, or had it last. Empty: there was none.
  SessionName session{};
  std::string client{};     // its address
  std::string principal{};  // its name
  // The method of a question of the gateway that the child may complain about now, a constant;
  // empty: none.
  std::string_view probe{};
};

}  // namespace stdgate::pool
