#include "gateway/state_report.h"

#include "gateway/rpc/envelope.h"

namespace stdgate {

namespace {

// The members of one JSON object, in the order in which they are added.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(out_, value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
  }
  void number(std::string_view name, uint64_t value) {
    key(name);
    out_ += std::to_string(value);
  }
  void seconds(std::string_view name, Duration value) {
    key(name);
    out_ += std::to_string(to_seconds(value));
  }
  // An array with one object per item, written by `write(ObjectWriter&, item)`.
  template <class Items, class Write>
  void objects(std::string_view name, const Items& items, Write&& write) {
    key(name);
    out_ += '[';
    const size_t start = out_.size();
    for (const auto& item : items) {
      if (out_.size() > start) out_ += ',';
      ObjectWriter object(out_);
      write(object, item);
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void write_child(ObjectWriter& object, const ChildStatus& child) {
  object.number("number", child.number);
  object.number("pid", static_cast<uint64_t>(child.pid));
  object.text("state", child_state_name(child.state));
  object.number("in_flight", child.in_flight);
  object.number("unsent_bytes", child.unsent_bytes);
  object.number("calls", child.calls);
  if (child.leased) object.boolean("leased", true);
  object.seconds("age_seconds", child.age);
}

void write_backend(ObjectWriter& object, const BackendStatus& backend) {
  object.text("name", backend.name);
  object.boolean("ready", backend.ready);
  if (!backend.ready) object.text("reason", backend.reason);
  object.number("in_flight", backend.in_flight);
  object.number("sessions", backend.sessions);
  object.number("queued", backend.queued);
  object.number("queued_bytes", backend.queued_bytes);
  object.number("failures_in_a_row", backend.failures);
  object.boolean("breaker_open", backend.breaker_open);
  object.seconds("retry_after_seconds", backend.retry_after);
  object.objects("children", backend.children, write_child);
}

}  // namespace

std::string state_report(const GatewayFacts& facts, const BackendSet& backends) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("version", facts.version);
    object.seconds("uptime_seconds", facts.uptime);
    object.boolean("draining", facts.draining);
    object.number("connections", facts.connections);
    object.objects("backends", backends.all(),
                   [](ObjectWriter& item, const std::unique_ptr<Backend>& backend) {
                     write_backend(item, backend->status());
                   });
  }
  out += '\n';
  return out;
}

}  // namespace stdgate
