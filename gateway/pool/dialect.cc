#include "gateway/pool/dialect.h"

#include "gateway/pool/call_filter.h"

namespace stdgate::pool {

std::string_view cancel_reason_text(CancelReason reason) {
  switch (reason) {
    case CancelReason::client_cancelled:
      return "cancelled by the client";
    case CancelReason::client_left:
      return "the client has left";
    case CancelReason::deadline:
      return "deadline exceeded";
  }
  return "";
}

std::unique_ptr<CallFilter> Dialect::make_filter(const FilterServices& /*services*/) const {
  return nullptr;
}

}  // namespace stdgate::pool
