// Asks: the requests of children that the client of one session has not answered yet, under the ids
// that the client sees. AskIndex has the asks of all sessions of a backend by the ids of their
// children, so that a child's cancel finds its request by one look-up.
//
// Owner: the session, and the session router. Limits: kMaxAsks of a session; the account of its
// client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::session {

struct Session;
class Asks;

// Facts about a request that the audit records. Texts are decoded.
struct AskNotes {
  std::string method;
  SessionName session;
  policy::PrincipalRef principal;  // of the client; null: anonymous
  ClientAddress client;
  std::string of_session{};  // see call::Particulars
  std::string title{};
  std::string option{};
};

// A request of a child that the client has received. The ask ends with that child at the latest.
struct Ask {
  uint64_t child = 0;  // number of the child; 0: none
  std::string id;      // raw JSON, as the child wrote it
  uint64_t round = 0;  // not 0: a question of InputRounds, without a child; `id` is its key there
  TimePoint expires = TimePoint::max();  // max(): the ask ends with its round or trip
  TimePoint asked{};
  MethodId method = kOtherMethod;
  std::unique_ptr<AskNotes> notes{};  // null: the audit says nothing
  size_t bytes = 0;                   // of memory, while it is open

  [[nodiscard]] bool has_time() const { return expires != TimePoint::max(); }
};

class AskIndex {
 public:
  struct Place {
    Asks* asks = nullptr;
    rpc::WireId id = 0;  // as the client sees it
  };

  AskIndex() = default;
  // `on_ended` hears of the end of each request of a child. It must not call back.
  explicit AskIndex(std::function<void(const Ask&, QuestionEnd)> on_ended)
      : on_ended_(std::move(on_ended)) {}
  AskIndex(const AskIndex&) = delete;
  AskIndex& operator=(const AskIndex&) = delete;

  // The request that this child has sent with this id; nothing: none.
  [[nodiscard]] std::optional<Place> find(uint64_t child, std::string_view id) const;
  // Whether `is_it(Place)` holds for one of this child's requests.
  template <class Predicate>
  [[nodiscard]] bool any_of(uint64_t child, Predicate&& is_it) const {
    auto each = entries_.lower_bound(Key{child, {}, 0, nullptr});
    while (each != entries_.end() && each->ask->child == child && !is_it(each->place)) ++each;
    return each != entries_.end() && each->ask->child == child;
  }
  // The child has gone: its requests end.
  void lose_child(uint64_t child);
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  friend class Asks;
  using Key = std::tuple<uint64_t, std::string_view, rpc::WireId, Asks*>;
  struct Entry {
    const Ask* ask;  // does not move
    Place place;
    [[nodiscard]] Key key() const { return {ask->child, ask->id, place.id, place.asks}; }
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.key() < b.key(); }
    bool operator()(const Entry& a, const Key& b) const { return a.key() < b; }
    bool operator()(const Key& a, const Entry& b) const { return a < b.key(); }
  };

  std::set<Entry, Less> entries_;
  const std::function<void(const Ask&, QuestionEnd)> on_ended_;  // null: nobody
};

class Asks {
 public:
  static constexpr size_t kMaxAsks = 256;

  // `index` and `session` outlive this.
  Asks(AskIndex& index, Session& session);
  ~Asks();
  Asks(const Asks&) = delete;
  Asks& operator=(const Asks&) = delete;

  // Nothing: too many asks are open, or the memory of the client does not suffice.
  std::optional<rpc::WireId> open(Ask ask);
  // `id` must be live.
  Ask close(rpc::WireId id, QuestionEnd end);

  // See the functions of the same names in Correlator.
  Ask* find(rpc::WireId id) { return asks_.find(id); }
  Ask& at(rpc::WireId id) { return asks_.at(id); }
  std::optional<rpc::WireId> oldest() { return asks_.oldest(); }
  std::optional<rpc::WireId> next(rpc::WireId id) { return asks_.next(id); }
  [[nodiscard]] size_t size() const { return asks_.size(); }
  [[nodiscard]] Session& session() const { return session_; }

 private:
  AskIndex& index_;
  Session& session_;
  rpc::Correlator<Ask> asks_;
  Share held_;
};

}  // namespace stdgate::session
