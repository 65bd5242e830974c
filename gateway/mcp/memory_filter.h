// MemoryFilter: answers for an MCP server that sleeps, from its ServerMemory.
//
// Job: while no child runs, answer `initialize`, `server/discover`, `ping` and the lists as the
// server answered them last. Learn from the answers of children. When a child runs again, ask it
// for the lists that clients have been told meanwhile, and tell clients which lists have changed.
// Answers from memory are the words of the child; the filters above cut and translate them for each
// client. A list of several pages is kept, and given, as one page. Owner: the backend. Limits: the
// limits of ServerMemory, kMaxPages of a list; one check at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/backend/sleeping_server.h"
#include "gateway/base/time.h"
#include "gateway/mcp/server_memory.h"

namespace stdgate::mcp {

class MemoryFilter final : public backend::SleepingServer {
 public:
  static constexpr size_t kMaxPages = 64;
  // While the server sleeps its program may become another one, and with it the memory.
  static constexpr Duration kLookEvery = std::chrono::seconds(1);
  using FindMemory = std::function<std::shared_ptr<ServerMemory>()>;

  // `find`: the memory of the program that would run now.
  MemoryFilter(FindMemory find, const Parts& parts);

  // SleepingServer
  void add_to(call::Chain& chain) override { chain.add("memory", *this); }
  [[nodiscard]] std::optional<PeerKind> peer_kind() const override {
    return memory_->peer_kind({});
  }
  [[nodiscard]] bool may_greet_sessions() const override {
    return memory_->greets_sessions() && pool().is_asleep();
  }
  [[nodiscard]] bool has_no_sessions() const override { return memory_->has_no_sessions(); }
  void note_sessions(bool has_none) override { memory_->note_sessions(has_none); }
  void note_greeting(std::string_view params, const rpc::Envelope& answer) override;
  void describe(pool::BackendStatus& status) const override;

  // Filter
  void on_request(call::CallPtr& call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override;
  void on_end(const call::Call& call, call::End& end) override;
  bool on_child_message(call::ChildMessage& message) override;
  void drop_kept() override { drop_pages(); }

 private:
  [[nodiscard]] bool keeps_lists() const override { return !memory_->lists_differ(); }
  void note_heard(session::SessionId session) override;

  // State of a call that asks for a list.
  struct Page {
    bool is_whole = false;  // the request asks for a page and nothing else
    std::string cursor;     // raw; empty: the first page
    void clear() {
      is_whole = false;
      cursor.clear();
    }
  };
  // The pages of a list that have come so far, all from the same child.
  struct Pages {
    std::string variant;
    uint64_t child = 0;
    std::string first;     // the whole result
    std::string elements;  // elements of the pages after the first one
    std::string next;      // cursor of the next page
    size_t count = 1;
  };
  // The questions for a child that runs again.
  struct Check {
    session::SessionId session;        // none: for all clients that share children
    uint64_t child = 0;                // the child that is asked; it has to run
    uint8_t kinds = 0;                 // lists that are still to be asked for
    bool greets = false;               // the greeting is still to be asked for
    std::optional<McpListKind> asked;  // the list that has been asked for
  };

  void look_again();
  bool answer_list(call::CallPtr& call, const call::Request& request, McpListKind kind);
  bool answer_greeting(call::CallPtr& call, const call::Request& request);
  bool answer_ping(call::CallPtr& call, const call::Request& request);
  [[nodiscard]] bool is_served(const call::Request& request, PeerKind peer_kind) const;
  void give(call::CallPtr& call, std::string_view payload);
  [[nodiscard]] std::optional<std::string> variant_of(session::SessionId session) const;

  // A child, of the session or (none) a shared one, reports that these lists have changed.
  void note_change(session::SessionId of, uint8_t lists);
  void learn_list(const call::Call& call, McpListKind kind, std::string_view payload);
  std::optional<std::string> take_page(const Page& page, const call::Call& call,
                                       const std::string& variant, McpListKind kind,
                                       std::string_view payload);
  void charge_pages();
  void drop_pages();
  void settle_told(const call::Call& call, const std::string& variant, McpListKind kind,
                   uint64_t digest, Learned learned);
  void tell_all_that_share(uint8_t lists);
  [[nodiscard]] MemorySource source_of(const call::Call& call) const;

  void note_awake(const call::Call& call);
  void begin_check(const call::Call& call);
  void put_off_check();
  void check_next();
  void give_up_told(const Check& check, McpListKind kind);
  void ask_for(std::string_view method, std::string_view cursor);
  [[nodiscard]] TimePoint now() const { return services().core.clock.now(); }

  const FindMemory find_;
  std::shared_ptr<ServerMemory> memory_;
  TimePoint looked_;
  uint64_t holder_;
  const call::Slot<Page> pages_of_calls_;
  std::array<std::optional<Pages>, kMcpListings.size()> pages_;
  Share held_;                    // by them
  session::ToldLists told_;       // clients without children of their own
  bool has_told_shared_ = false;  // something, since a shared child has answered last
  bool has_told_session_ = false;
  std::deque<Check> checks_;  // the first one is under way
  bool is_asking_ = false;
  Timer timer_;
};

}  // namespace stdgate::mcp
