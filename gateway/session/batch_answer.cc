#include "gateway/session/batch_answer.h"

namespace stdgate::session {

namespace {
constexpr size_t kMaxKept = 16 << 10;
}

void BatchAnswer::begin_messages(rpc::CodeSet codes, size_t limit) {
  codes_ = codes;
  limit_ = limit;
  handing_over_ = true;
}

void BatchAnswer::add(const Reply& reply) {
  STDGATE_CHECK(due_ > 0);
  --due_;
  text_ += text_.empty() ? '[' : ',';
  // A fault of the gateway is small already, and it has its id in its text.
  if (!reply.fault && reply.size() + text_.size() + 1 > limit_) {
    constexpr std::string_view kReason = "the answers of a batch are larger than limits.message";
    const auto report = rpc::faults::because(rpc::Fault::too_large, kReason);
    rpc::append_fault_response(text_, reply.id, report, codes_, false);
  } else if (!reply.fault && held_.lack() != MemoryLack::none) {
    rpc::append_fault_response(text_, reply.id, rpc::faults::holds_too_much(held_.lack()), codes_,
                               false);
  } else {
    text_.append(reply.head).append(reply.id).append(reply.tail);
  }
  held_.set(text_.capacity());
}

std::string_view BatchAnswer::close() {
  text_ += ']';
  return text_;
}

void BatchAnswer::clear() {
  text_.clear();
  if (text_.capacity() > kMaxKept) std::string().swap(text_);  // an assignment would keep it
  held_.set(0);
  due_ = 0;
  handing_over_ = false;
}

}  // namespace stdgate::session
