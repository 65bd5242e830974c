#include "gateway/pool/call_trace.h"

namespace stdgate::pool {

using call::traced;

void trace_queued(const PoolServices& services, const call::Call& call, size_t waiting) {
  services.core.log.write(LogLevel::debug, "call queued",
                          {{"backend", services.config.name},
                           {"id", traced(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"waiting", uint64_t{waiting}}});
}

void trace_sent(const PoolServices& services, const call::Call& call, const ChildName& child,
                rpc::WireId wire_id) {
  services.core.log.write(LogLevel::debug, "call sent",
                          {{"backend", services.config.name},
                           {"id", traced(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"wire_id", uint64_t{wire_id}}});
}

void trace_ended(const PoolServices& services, const call::Call& call, const ChildName& child,
                 rpc::WireId wire_id, std::string_view event, size_t bytes) {
  services.core.log.write(LogLevel::debug, event,
                          {{"backend", services.config.name},
                           {"id", traced(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"wire_id", uint64_t{wire_id}},
                           {"bytes", uint64_t{bytes}}});
}

void trace_message(const PoolServices& services, const ChildName& child, std::string_view event,
                   std::string_view method, size_t bytes) {
  services.core.log.write(LogLevel::debug, event,
                          {{"backend", services.config.name},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"session", if_any(child.session.view())},
                           {"method", traced(method)},
                           {"bytes", uint64_t{bytes}}});
}

}  // namespace stdgate::pool
