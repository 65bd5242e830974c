#include "gateway/call/message_trace.h"

#include "gateway/base/encodings.h"

namespace stdgate::call {

LogValue traced(std::string_view text) { return if_any(cut_utf8(text, kMaxTraced)); }

void trace_arrived(Log& log, std::string_view backend, const Call& call, std::string_view method) {
  log.write(LogLevel::debug, "call arrived",
            {{"backend", backend},
             {"id", traced(call.id)},
             {"connection", call.connection},
             {"session", if_any(call.session_name.view())},
             {"method", traced(method)},
             {"transport", transport_name(call.transport)},
             {"bytes", uint64_t{call.bytes_in}}});
}

void trace_dropped(Log& log, std::string_view backend, DropReason reason) {
  log.write(LogLevel::debug, "message dropped",
            {{"backend", backend}, {"reason", drop_reason_name(reason)}});
}

}  // namespace stdgate::call
