// What a member of a virtual server offers: its lists, who may see their elements, and whether the
// member is up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"
#include "gateway/policy/client.h"
#include "gateway/policy/rules.h"

namespace stdgate::servers {

class Part;

// The lists that members are asked for. The greeting tells what a member can do.
enum class ListKind : uint8_t { tools, prompts, resources, templates, greeting };
inline constexpr std::array kListed = {ListKind::tools, ListKind::prompts, ListKind::resources,
                                       ListKind::templates};
inline constexpr size_t kListKinds = static_cast<size_t>(ListKind::greeting) + 1;

// The method that asks for a list, and the notice of its changes.
struct ListFacts {
  std::string_view method;
  uint8_t change;  // bit of mcp::kMcpLists that tells of changes
};
const ListFacts& facts_of(ListKind kind);
// Whether a greeting says that the server has no such list. False: no greeting.
bool greeting_lacks(std::string_view greeting, ListKind kind);
// The places of elements and their names in a result. The greeting has none.
const call::ListShape& shape_of(ListKind kind);

// Whether a member's patterns let clients have a resource. As in rules, they fit only URIs in
// normal form (policy::is_plain_uri()): another spelling could be read as what is left out.
bool selects_uri(const config::SelectionConfig& selection, std::string_view uri);
// Whether `exclude` hides a linked URI. `include` need not name linked URIs.
bool excludes_uri(const config::SelectionConfig& selection, std::string_view uri);

// An element of a member's list, under both of its names.
struct Element {
  std::string own;    // its name or URI at the member, decoded
  std::string shown;  // the same as clients see it
  std::string text;   // raw JSON, as clients see it
};

// A remark on an element, for the log.
struct Finding {
  std::string element;
  std::string what;
};

// ElementList: what a member offers of one kind (tools, prompts, resources, templates), as a
// virtual server shows it.
//
// Made from the pages of the member's own list: elements are cut out of the received bytes, and get
// other names where the configuration says so. Owner: a view of a member. Limits: kMaxElements,
// kMaxBytes; further elements are left out, with a finding.
class ElementList {
 public:
  static constexpr size_t kMaxElements = 10000;
  static constexpr size_t kMaxBytes = 32 << 20;

  // One page of the member's answers, the result as raw JSON.
  void add_page(ListKind kind, std::string_view result, const config::MemberConfig& member,
                std::vector<Finding>& findings);

  [[nodiscard]] const std::vector<Element>& all() const { return elements_; }
  // The element that clients see under this name; null: none.
  [[nodiscard]] const Element* find(std::string_view shown) const;
  // URIs that elements name besides their own: of user interfaces (MCP Apps).
  [[nodiscard]] bool names_uri(std::string_view uri) const;
  // Tells whether two lists show the same.
  [[nodiscard]] uint64_t digest() const { return digest_; }
  // An estimate of the memory that the list takes.
  [[nodiscard]] size_t bytes() const { return bytes_ + elements_.size() * kOfElement; }
  // The list without elements.
  static const std::shared_ptr<const ElementList>& none();

 private:
  static constexpr size_t kOfElement = 3 * sizeof(std::string) + 64;  // and its place by name

  void add(ListKind kind, std::string_view element, const config::MemberConfig& member,
           std::vector<Finding>& findings);
  void note_uris(std::string_view element);

  std::vector<Element> elements_;
  // Finds texts by views of them.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  // Keys are the names that clients see.
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places_;
  std::unordered_map<std::string, bool> uris_;
  uint64_t digest_ = 0;
  size_t bytes_ = 0;
};

// MemberList: one list of a view, and whether it has to be asked for again.
struct MemberList {
  enum class State : uint8_t { unknown, known, failed };

  State state = State::unknown;
  std::shared_ptr<const ElementList> elements =
      ElementList::none();  // as received last, even if a later request failed
  std::string greeting;     // the result, of ListKind::greeting
  bool is_stale = false;    // the member has changed it
  bool is_told = false;     // clients have been told of the change
  bool is_asked = false;    // the member was asked and has not answered
  bool is_missed = false;   // clients have got a list without it
  bool is_late = false;     // clients do not wait for it until it has come
  TimePoint asked{};
  TimePoint waited{};  // since when clients wait for it
  TimePoint answered{};
  TimePoint until{};  // when the member is asked again
  std::string failure;
  ElementList incoming;  // pages so far
  size_t pages = 0;
};

// MemberView: the lists of a member for clients that see the same, and the progress of the
// questions for them. Owner: Member, or the part of a session.
struct MemberView {
  Part* part = nullptr;  // whose session at the member it is of; null: it is of no session
  std::optional<policy::Principal> principal;
  std::string identity;  // of the principal
  bool is_modern = false;
  bool is_refused = false;  // the backend does not serve clients of the modern era
  TimePoint used{};
  std::array<MemberList, kListKinds> lists;
  Share held;

  MemberList& list(ListKind kind) { return lists[static_cast<size_t>(kind)]; }
};

// Sight: whether the rules of a backend, or of a virtual server, let a client see, and so use, an
// element.
class Sight {
 public:
  static Sight by(const policy::Rules& rules, const policy::Principal* principal);
  // `name`: as the rules have it.
  [[nodiscard]] bool shows(ListKind kind, std::string_view name) const;

 private:
  const policy::Rules* rules_ = nullptr;
  policy::RuleSet set_;
};

// MemberState: whether a member of a virtual server is up, why not, and when it is asked again.
//
// Job: judge by the answers to the gateway's own questions; write a line when the state changes.
// Each failure doubles the time until the member is asked again, as its server may have to be
// started for it. Owner: the member.
class MemberState {
 public:
  // Pause before a member that is down is asked again though no client asks; doubled each time.
  static constexpr Duration kRetry = std::chrono::seconds(5);
  static constexpr Duration kMaxRetry = std::chrono::minutes(10);

  // `server`, `member`: their names, which outlive it.
  MemberState(const Clock& clock, Log& log, const std::string& server, const std::string& member)
      : clock_(clock), log_(log), server_(server), member_(member) {}

  // The member has another backend from now on.
  void begin();
  void note_answer();
  void note_failure(const std::string& cause);
  // The member is late, or its backend does not exist. No pause follows.
  void note_absence(const std::string& cause) { set(false, cause); }
  // The member is starting, and lists are made without it. Logged once.
  void note_start();

  // Whether the last answer shows the member up; false before the first one.
  [[nodiscard]] bool is_up() const { return is_up_.value_or(false); }
  // The last question to the present backend has failed.
  [[nodiscard]] bool is_down() const { return is_down_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] TimePoint retry_due() const { return retry_due_; }

 private:
  void set(bool is_up, const std::string& cause);

  const Clock& clock_;
  Log& log_;
  const std::string& server_;
  const std::string& member_;
  std::optional<bool> is_up_;  // nothing: not asked yet
  bool is_down_ = false;
  bool has_told_start_ = false;
  std::string failure_;
  Duration retry_wait_{};
  TimePoint retry_due_{};
};

}  // namespace stdgate::servers
