// ClearList: whether an answer to a request for a list shows all readers the same one.
//
// What cannot be cut must not be shown whole: a list that is no array of its name in an object
// passes every cut. So each filter that cuts a list, or judges by one, asks this first. Owner:
// none; no state.
#pragma once

#include <string_view>

#include "gateway/call/filter.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// Whether the result is an object with one array `member`, and no key resembles that of another
// member or one of the envelope. Some servers write null for an empty array. An error has no list;
// its envelope is looked at all the same.
bool has_clear_list(const Answer& answer, std::string_view member);

// The fault of an answer that has not.
rpc::FaultReport unclear_list();

}  // namespace stdgate::call
