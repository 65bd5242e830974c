#include "gateway/pool/message_log.h"

namespace stdgate::pool {

using call::logged;

void log_queued(const PoolServices& services, const call::Call& call, size_t waiting) {
  services.core.log.write(LogLevel::debug, "call queued",
                          {{"backend", services.config.name},
                           {"id", logged(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"waiting", uint64_t{waiting}}});
}

void log_sent(const PoolServices& services, const call::Call& call, const ChildName& child,
              rpc::WireId wire_id) {
  services.core.log.write(LogLevel::debug, "call sent",
                          {{"backend", services.config.name},
                           {"id", logged(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"wire_id", uint64_t{wire_id}}});
}

void log_ended(const PoolServices& services, const call::Call& call, const ChildName& child,
               rpc::WireId wire_id, std::string_view event, size_t bytes) {
  services.core.log.write(LogLevel::debug, event,
                          {{"backend", services.config.name},
                           {"id", logged(call.id)},
                           {"connection", call.connection},
                           {"session", if_any(call.session_name.view())},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"wire_id", uint64_t{wire_id}},
                           {"bytes", uint64_t{bytes}}});
}

void log_message(const PoolServices& services, const ChildName& child, std::string_view event,
                 std::string_view method, size_t bytes) {
  services.core.log.write(LogLevel::debug, event,
                          {{"backend", services.config.name},
                           {"child", child.number},
                           {"pid", int64_t{child.pid}},
                           {"session", if_any(child.session.view())},
                           {"method", logged(method)},
                           {"bytes", uint64_t{bytes}}});
}

}  // namespace stdgate::pool
