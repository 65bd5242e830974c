#include "gateway/servers/virtual_sessions.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/member_calls.h"
#include "gateway/servers/server_messages.h"

namespace stdgate::servers {

tl::expected<session::SessionId, rpc::FaultReport> VirtualSessions::add(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  const auto id = sessions_.acquire();
  if (!id) return tl::unexpected(rpc::faults::overloaded("too many sessions"));
  VirtualSession& session = *sessions_.find(*id);
  session.id = *id;
  session.caller = caller;
  session.sink = &sink;
  session.client = client;
  session.greeting = beginning.greeting;
  session.revision = beginning.revision;
  session.is_adopted = !session.greeting.empty();
  session.age = beginning.age;
  session.held = Share({client.account.get(), held_}, Holding::sessions);
  session.charge();
  session.identity = policy::identity_of(client.principal.get());
  clients_.come(session.identity, Presence::As::session);
  return *id;
}

void VirtualSessions::close(session::SessionId id) {
  VirtualSession& session = *sessions_.find(id);
  session.has_ended = true;
  for (const auto& [member, part] : session.parts) close(*part);
  for (const auto& part : session.leaving) close(*part);
  session.parts.clear();
  session.leaving.clear();
  clients_.go(session.identity, Presence::As::session);
  static_cast<void>(std::exchange(session, VirtualSession()));
  sessions_.release(id);
}

void VirtualSessions::close(Part& part) {
  members_[part.member()]->forget(part.view());
  part.close();
}

MemberView* VirtualSessions::own_view(session::SessionId id, size_t member) {
  VirtualSession* const session = sessions_.find(id);
  if (session == nullptr) return nullptr;
  const auto part = session->parts.find(member);
  const bool has_own = part != session->parts.end() && part->second->has_own_view();
  return has_own ? &part->second->view() : nullptr;
}

void VirtualSessions::forget_lists(size_t member) {
  sessions_.for_each([member](session::SessionId, VirtualSession& session) {
    const auto part = session.parts.find(member);
    if (part != session.parts.end()) part->second->forget_lists();
  });
}

// A part without its child ends alone. Its next call opens another part.
session::Parking VirtualSessions::park(VirtualSession& session) {
  session::Parking parking = session::Parking::parked;
  for (const auto& [member, part] : session.parts) {
    if (!part->is_open()) continue;
    switch (part->upstream().park_session(part->id())) {
      case session::Parking::parked:
        break;
      case session::Parking::at_work:
        parking = session::Parking::at_work;
        break;
      case session::Parking::refused:
        part->give_up();
        settle();
        break;
    }
  }
  return parking;
}

void VirtualSessions::give_up_asks(VirtualSession& session) {
  for (const auto& [member, part] : session.parts) {
    if (part->is_open()) part->upstream().give_up_asks(part->id());
  }
}

void VirtualSessions::hold(VirtualSession& session, bool held) {
  for (const auto& [member, part] : session.parts) {
    if (part->is_open()) part->upstream().hold_child(part->id(), held);
  }
}

void VirtualSessions::end_if(const std::function<bool(const VirtualSession&)>& fits,
                             session::SessionEnd end, std::string_view message) {
  sessions_.for_each([&](session::SessionId, VirtualSession& session) {
    if (!fits(session) || std::exchange(session.has_ended, true)) return;
    session.sink->on_session_end(end, message);
  });
}

// --- Parts ---------------------------------------------------------------------------------------

Part* VirtualSessions::part_for(VirtualSession& session, size_t member, rpc::FaultReport& why) {
  backend::Upstream& upstream = *members_[member]->upstream();
  const auto found = session.parts.find(member);
  if (found != session.parts.end()) {
    if (!found->second->is_over() && &found->second->upstream() == &upstream) {
      return found->second.get();
    }
    session.leaving.push_back(std::move(found->second));
    session.parts.erase(found);
    settle();
  }
  auto made = std::make_unique<Part>(services_, *this, session, member, upstream);
  Part* const part = made.get();
  session.parts[member] = std::move(made);
  if (const auto open = part->open(); !open) {
    why = open.error();
    close(*part);
    session.parts.erase(member);
    return nullptr;
  }
  return part;
}

void VirtualSessions::on_part_reply(session::Tag tag, const session::Reply& reply) {
  calls_.on_member_reply(tag, reply);
  if (has_leaving_) settle();
}

void VirtualSessions::on_part_greeted(Part& part) {
  const VirtualSession& session = part.session();
  // The lists that the client has seen so far are the shared ones.
  Member& member_of_it = *members_[part.member()];
  if (MemberView* const common = part.has_own_view() ? member_of_it.common_view() : nullptr) {
    for (const ListKind kind : {ListKind::tools, ListKind::prompts, ListKind::resources}) {
      if (common->list(kind).state == MemberList::State::known) {
        member_of_it.want(part.view(), kind, services_.clock.now());
      }
    }
  }
  if (!session.level.empty()) part.tell(level_request(session.level));
  for (const auto& [uri, member] : session.subscriptions) {
    if (member == part.member()) part.tell(subscribe_request(uri));
  }
}

void VirtualSessions::on_part_over(Part& part) {
  std::erase_if(part.session().questions,
                [&part](const auto& one) { return one.second.member == part.member(); });
  settle();
}

void VirtualSessions::close_parts() {
  has_leaving_ = false;
  sessions_.for_each([this](session::SessionId, VirtualSession& session) { close_parts(session); });
}

void VirtualSessions::close_parts(VirtualSession& session) {
  for (auto part = session.parts.begin(); part != session.parts.end();) {
    const bool is_elsewhere = members_[part->first]->upstream() != &part->second->upstream();
    if (!part->second->is_over() && !is_elsewhere) {
      ++part;
      continue;
    }
    calls_.on_part_lists_changed(*part->second, kAllLists);  // it has promised other ones
    session.leaving.push_back(std::move(part->second));
    part = session.parts.erase(part);
  }
  // A call that fails with its part may go on to another member, whose former part leaves then.
  std::vector<std::unique_ptr<Part>> leaving = std::exchange(session.leaving, {});
  for (std::unique_ptr<Part>& part : leaving) {
    if (calls_.has_calls(*part)) {
      session.leaving.push_back(std::move(part));
    } else {
      close(*part);
    }
  }
  has_leaving_ = has_leaving_ || !session.leaving.empty();
}

// --- What members say ----------------------------------------------------------------------------

void VirtualSessions::tell(VirtualSession& session, std::optional<session::Tag> call,
                           std::string_view text) {
  if (!session.has_ended) session.sink->on_message(call, {&text, 1});
}

void VirtualSessions::tell_changed(const ListNews& news) {
  sessions_.for_each([&](session::SessionId id, VirtualSession& session) {
    if (session.greeting.empty()) return;
    const uint8_t lists = news.of(session.identity, id);
    for (const mcp::McpList& list : mcp::kMcpLists) {
      if ((list.bit & lists) == 0) continue;
      tell(session, {}, rpc::notification_text(list.changed));
    }
  });
}

void VirtualSessions::on_part_fault(session::Tag tag, const rpc::FaultReport& report) {
  calls_.on_member_fault(tag, report);
}

void VirtualSessions::on_part_cancelled(session::Tag tag) { calls_.on_member_cancelled(tag); }

void VirtualSessions::on_part_message(Part& part, std::optional<session::Tag> call,
                                      std::string text) {
  const rpc::KnownMessage known(text);
  const TaskGiver giver{part.member(), members_[part.member()]->name()};
  std::string shown =
      TaskNames::may_name(text)
          ? tasks_.shown(known.envelope(), giver, TaskNames::owner_of(part.session().id))
          : std::string();
  if (shown.empty()) return tell_of(part, call, known.envelope());
  const rpc::KnownMessage renamed(shown);
  tell_of(part, call, renamed.envelope());
}

void VirtualSessions::tell_of(Part& part, std::optional<session::Tag> call,
                              const rpc::Envelope& message) {
  if (message.kind == rpc::MessageKind::request) return ask_client(part, message);
  std::string scratch;
  const std::string_view method = message.decoded_method(scratch);
  const auto* const list = std::ranges::find(mcp::kMcpLists, method, &mcp::McpList::changed);
  if (list != mcp::kMcpLists.end()) {
    for (size_t i = 0; i < kListKinds; ++i) {
      MemberList& own = part.view().lists[i];
      const bool is_meant = (facts_of(static_cast<ListKind>(i)).change & list->bit) != 0;
      if (is_meant) own.is_stale = own.is_told = true;
    }
    return calls_.on_part_lists_changed(part, list->bit);
  }
  if (method == "notifications/cancelled") {
    const std::string_view id = rpc::member_or_empty(message.params, "requestId");
    const auto question = question_of(part, id);
    if (!question) return;
    std::string cancelled(message.text);
    cancelled.replace(static_cast<size_t>(id.data() - message.text.data()), id.size(),
                      std::to_string(*question));
    part.session().questions.erase(*question);
    return tell(part.session(), {}, cancelled);
  }
  if (call) call = calls_.client_tag(*call);
  tell(part.session(), call, with_logger(message, members_[part.member()]->name()));
}

std::optional<uint64_t> VirtualSessions::question_of(const Part& part, std::string_view id) {
  for (const auto& [number, question] : part.session().questions) {
    if (question.member == part.member() && question.id == id) return number;
  }
  return std::nullopt;
}

void VirtualSessions::ask_client(Part& part, const rpc::Envelope& question) {
  VirtualSession& session = part.session();
  if (session.questions.size() >= VirtualSession::kMaxQuestions || session.has_ended) {
    return part.tell(rpc::error_text(question.id,
                                     rpc::rpc_error_code(rpc::RpcError::internal_error),
                                     "the client has too many questions to answer"));
  }
  const uint64_t id = ++session.last_question;
  session.questions[id] = {part.member(), std::string(question.id)};
  tell(session, {}, question_for_client(question, id, members_[part.member()]->name()));
}

bool VirtualSessions::pass_answer(VirtualSession& session, const rpc::Envelope& answer) {
  uint64_t id = 0;
  const char* const end = answer.id.data() + answer.id.size();
  const auto [rest, error] = std::from_chars(answer.id.data(), end, id);
  const auto found = session.questions.find(id);
  if (error != std::errc() || rest != end || found == session.questions.end()) return false;
  const VirtualSession::Question question = std::move(found->second);
  session.questions.erase(found);
  const auto part = session.parts.find(question.member);
  if (part == session.parts.end()) return false;
  part->second->tell(with_id(answer, question.id));
  return true;
}

void VirtualSessions::set_level(VirtualSession& session, std::string_view level) {
  session.level = level;
  tell_parts(session, level_request(level));
}

void VirtualSessions::tell_parts(VirtualSession& session, std::string_view text) {
  for (const auto& [member, part] : session.parts) part->tell(std::string(text));
}

}  // namespace stdgate::servers
