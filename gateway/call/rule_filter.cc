#include "gateway/call/rule_filter.h"

#include <utility>

#include "gateway/call/name_filter.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/openrpc_cut.h"
#include "gateway/schema/openrpc_document.h"

namespace stdgate::call {

namespace {

using policy::ElementKind;
using policy::Verdict;

// Larger storage, which only a rare answer needs, is freed.
constexpr size_t kMaxKeptCut = 256 << 10;

void clear(std::string& text) {
  text.clear();
  if (text.capacity() > kMaxKeptCut) std::string().swap(text);
}

template <class Keeps>
class ShownElements final : public rpc::ElementFilter {
 public:
  explicit ShownElements(Keeps keeps) : keeps_(std::move(keeps)) {}
  bool keeps(std::string_view element) override { return keeps_(element); }

 private:
  const Keeps keeps_;
};

}  // namespace

policy::Subject CallRules::subject_of(std::string_view method, ElementKind kind,
                                      std::string_view spelled, std::string& scratch) const {
  policy::Subject subject;
  subject.method = method;
  subject.element = kind;
  subject.name = rpc::decode_string(spelled, scratch);
  subject.is_plain = kind == ElementKind::resource ? policy::is_plain_uri(subject.name)
                                                   : policy::is_plain_name(subject.name);
  return subject;
}

CallRuling CallRules::judge(const rpc::Envelope& message, std::string_view method,
                            const policy::Principal* principal) {
  if (message.has_lookalikes) {
    return {.verdict = Verdict::denied, .rejection = "a member resembles one of the envelope"};
  }
  if (protocol_.is_lifecycle(method)) {
    return {.verdict = admits(principal) ? Verdict::allowed : Verdict::denied};
  }
  // The answer has what the client may use, and no child is asked.
  if (document_ != nullptr && method == kDiscover) {
    return {.verdict = admits(principal) ? Verdict::allowed : Verdict::denied};
  }
  if (!rules_->takes_method(method)) return {.verdict = Verdict::denied};
  const auto element = protocol_.used_element(message, method);
  if (!element) return {.verdict = Verdict::denied, .rejection = element.error()};
  policy::Subject subject;
  if (element->kind == ElementKind::none) {
    subject.method = method;
    if (const ListShape* const list = protocol_.list_shape(method)) {
      subject.lists = list->kind;
    }
  } else {
    const policy::Ruling use = judge_use(*element, principal, subject);
    if (use.verdict != Verdict::allowed || element->use == method) {
      return {use.verdict, element->kind, subject.name, use.scopes};
    }
    subject.method = method;
  }
  const policy::Ruling ruling = rules_->judge(principal, subject);
  return {.verdict = ruling.verdict, .scopes = ruling.scopes};
}

// If there are several elements, all have to be allowed. `subject` becomes the denied one, or the
// last one.
policy::Ruling CallRules::judge_use(const UsedElement& element, const policy::Principal* principal,
                                    policy::Subject& subject) {
  const auto judge = [&](std::string_view spelled) {
    subject = subject_of(element.use, element.kind, spelled, name_);
    return rules_->judge(principal, subject);
  };
  if (element.names.empty()) return judge(element.name);
  policy::Ruling ruling{.verdict = Verdict::allowed};
  rpc::JsonCursor cursor(element.names);
  // A value that is no array of strings is judged as an element without a name.
  if (!cursor.take('[')) return judge({});
  if (cursor.take(']')) return ruling;
  do {
    const std::string_view name = cursor.take_value();
    ruling = judge(name.starts_with('"') ? name.substr(1, name.size() - 2) : std::string_view());
  } while (ruling.verdict == Verdict::allowed && cursor.take(','));
  return ruling;
}

std::string_view CallRules::seen_methods(const ListCut& cut, std::string_view payload) {
  clear(cut_);
  const bool is_kept =
      document_ != nullptr && payload.data() == document_->text().data() && cut.judged_by == rules_;
  if (is_kept) {
    const auto view = views_.find(cut.rules);
    if (view != views_.end()) return view->second;
  }
  auto shown = schema::cut_openrpc(payload, [&](std::string_view name) {
    policy::Subject subject;
    subject.method = name;
    return protocol_.is_lifecycle(name) ||
           (cut.judged_by->takes_method(name) && cut.judged_by->shows(cut.rules, subject));
  });
  if (!shown) return payload;
  if (is_kept) return keep_view(cut.rules, *std::move(shown));
  cut_ = *std::move(shown);
  return cut_;
}

std::string_view CallRules::keep_view(const policy::RuleSet& rules, std::string view) {
  view.shrink_to_fit();
  if (views_.size() >= kMaxViews || view_bytes_ + view.capacity() > kMaxViewBytes) drop_views();
  view_bytes_ += view.capacity();
  held_.set(view_bytes_);
  if (view_bytes_ <= kMaxViewBytes && held_.lack() == MemoryLack::none) {
    return views_.emplace(rules, std::move(view)).first->second;
  }
  drop_views();
  cut_ = std::move(view);
  return cut_;
}

std::string_view CallRules::seen(const ListCut& cut, std::string_view payload) {
  const ListShape& list = *cut.list;
  if (list.kind == ElementKind::none) return seen_methods(cut, payload);
  ShownElements filter([&](std::string_view element) {
    const auto name = rpc::find_clear_member(element, list.name);
    const bool is_string = name && name->front() == '"';
    return cut.judged_by->shows(
        cut.rules, subject_of(list.use, list.kind,
                              is_string ? name->substr(1, name->size() - 2) : "", cut_name_));
  });
  clear(cut_);
  const rpc::MemberReplacement scope{list.scope, list.private_scope};
  return rpc::cut_elements(payload, list.member, filter, scope, cut_) ? cut_ : payload;
}

bool CallRules::replace(const config::BackendConfig& backend,
                        const std::vector<config::RoleConfig>& roles) {
  auto rules = std::make_shared<const policy::Rules>(backend, roles);
  if (*rules == *rules_) return false;
  rules_ = std::move(rules);
  drop_views();
  return true;
}

void RuleFilter::judge(CallPtr& call, const Request& request) {
  const policy::Principal* const principal = request.context.principal;
  const CallRuling ruling = rules_.judge(request.message, request.method, principal);
  if (ruling.rejection != nullptr) {
    return chain_.on_fault(std::move(call),
                           rpc::faults::because(rpc::Fault::invalid_request, ruling.rejection));
  }
  switch (ruling.verdict) {
    case policy::Verdict::allowed:
      if (const ListShape* const list = services_.protocol.list_shape(request.method)) {
        cuts_.of(call->slots) = rules_.cut_of(*list, principal);
      }
      return;
    case policy::Verdict::needs_scope:
      services_.observer.on_rejected(services_.backend, Rejection::insufficient_scope);
      return chain_.on_fault(std::move(call), rpc::faults::insufficient_scope(ruling.scopes));
    case policy::Verdict::denied:
      break;
  }
  services_.observer.on_rejected(services_.backend, Rejection::denied);
  const std::string_view name = ruling.name.substr(0, NameTable::kMaxName);
  const PeerKind peer_kind = call->client_kind.value_or(PeerKind::stateful);
  const CallPtr refused = std::move(call);
  chain_.answer_error(*refused,
                      services_.protocol.absence(request.method, ruling.element, name, peer_kind),
                      Outcome::of(rpc::Fault::denied), "no rule allows it");
}

// A list is not shown if readers could see more in it than the elements that a cut leaves.
void RuleFilter::show(CallPtr& call, Answer& answer, const ListCut& cut) {
  if (!has_clear_list(answer, cut.list->member)) {
    return chain_.on_fault(std::move(call), unclear_list());
  }
  answer.payload = rules_.seen(cut, answer.payload);
}

Passage RuleFilter::on_notification(const Notification& notification) {
  if (!rules_.any() ||
      rules_.judge(notification.message, notification.method, notification.context.principal)
              .verdict == policy::Verdict::allowed) {
    return Passage::open;
  }
  services_.observer.on_rejected(services_.backend, Rejection::denied);
  return Passage::denied;
}

bool has_clear_list(const Answer& answer, std::string_view member) {
  if (answer.message.has_lookalikes) return false;
  if (answer.message.kind != rpc::MessageKind::result) return true;
  const auto list = rpc::find_clear_member(answer.payload, member);
  return list && (list->starts_with('[') || *list == "null");
}

rpc::FaultReport unclear_list() {
  return rpc::faults::child_failed("readers could see different lists",
                                   "the server has given two, or none that is an array");
}

}  // namespace stdgate::call
