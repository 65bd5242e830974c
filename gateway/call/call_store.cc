#include "gateway/call/call_store.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::call {

namespace {

__extension__ using Product = unsigned __int128;

// Combines both halves of the product, so that each bit of either factor reaches the low bits.
uint64_t mix(uint64_t a, uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class Word>
uint64_t word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// All bytes of a text of at most eight bytes.
uint64_t short_word(std::string_view text) {
  const size_t size = text.size();
  const char* const at = text.data();
  if (size >= 4) return word_at<uint32_t>(at) << 32 | word_at<uint32_t>(at + size - 4);
  if (size == 0) return 0;
  const auto byte = [at](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

}  // namespace

uint64_t CallIndex::hash(session::Caller caller, std::string_view id) const {
  uint64_t hash = key_ ^ (uint64_t{caller.generation} << 32 | caller.index);
  const uint64_t size = id.size();
  for (; id.size() > 8; id.remove_prefix(8)) {
    hash = mix(word_at<uint64_t>(id.data()) ^ more_key_, hash);
  }
  return mix(short_word(id) ^ more_key_, hash ^ size);
}

void CallIndex::add(Call& call) {
  if (call.link != nullptr) return;
  if (size_ == buckets_.size()) grow();
  ++size_;
  call.hash = hash(call.caller, call.id);
  put(call);
}

void CallIndex::put(Call& call) {
  Call** const bucket = &buckets_[call.hash & (buckets_.size() - 1)];
  call.next = *bucket;
  call.link = bucket;
  if (call.next != nullptr) call.next->link = &call.next;
  *bucket = &call;
}

void CallIndex::remove(Call& call) {
  if (call.link == nullptr) return;
  *call.link = call.next;
  if (call.next != nullptr) call.next->link = call.link;
  call.link = nullptr;
  --size_;
}

Call* CallIndex::find(session::Caller caller, std::string_view id) const {
  const uint64_t wanted = hash(caller, id);
  Call* call = buckets_[wanted & (buckets_.size() - 1)];
  for (; call != nullptr; call = call->next) {
    const bool is_it = call->hash == wanted && call->caller == caller && call->id == id;
    if (is_it && call->place != CallPlace::nowhere) return call;
  }
  return nullptr;
}

void CallIndex::grow() {
  const std::vector<Call*> old = std::exchange(buckets_, std::vector<Call*>(2 * buckets_.size()));
  for (Call* first : old) {
    while (first != nullptr) put(*std::exchange(first, first->next));
  }
}

void CallDeadlines::add(Call& call) {
  if (call.deadline == TimePoint::max()) return;
  call.admitted = ++admitted_;
  push(call);
}

void CallDeadlines::push(Call& call) {
  const size_t place = heap_.size();
  call.heap_place = static_cast<uint32_t>(place);
  heap_.push_back({call.deadline, &call});
  if (place > 0 && call.deadline < heap_[(place - 1) / 2].deadline) {
    sift_up(place, heap_[place]);
  }
}

std::optional<TimePoint> CallDeadlines::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().deadline;
}

std::vector<Call*> CallDeadlines::take_due(TimePoint now) {
  std::vector<Call*> due;
  while (!heap_.empty() && heap_.front().deadline <= now) {
    due.push_back(heap_.front().call);
    erase(*due.back());
  }
  // The heap does not keep the order of calls with the same deadline.
  std::sort(due.begin(), due.end(),
            [](const Call* a, const Call* b) { return a->admitted < b->admitted; });
  return due;
}

void CallDeadlines::erase(Call& call) {
  const size_t place = call.heap_place;
  STDGATE_CHECK(place < heap_.size() && heap_[place].call == &call);
  call.heap_place = Call::kNoPlace;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (place > 0 && last.deadline < heap_[(place - 1) / 2].deadline) {
    sift_up(place, last);
  } else {
    sift_down(place, last);
  }
}

void CallDeadlines::sift_up(size_t place, Entry entry) {
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (heap_[parent].deadline <= entry.deadline) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void CallDeadlines::sift_down(size_t place, Entry entry) {
  const size_t size = heap_.size();
  for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && heap_[child + 1].deadline < heap_[child].deadline) ++child;
    if (entry.deadline <= heap_[child].deadline) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

void CallDeadlines::put(size_t place, Entry entry) {
  heap_[place] = entry;
  entry.call->heap_place = static_cast<uint32_t>(place);
}

void CallDeadlines::check_invariants() const {
  for (size_t place = 0; place < heap_.size(); ++place) {
    const Entry& entry = heap_[place];
    STDGATE_CHECK(entry.call->heap_place == place && entry.call->deadline == entry.deadline);
    STDGATE_CHECK(place == 0 || heap_[(place - 1) / 2].deadline <= entry.deadline);
  }
}

namespace {

constexpr size_t kMaxKeptLength = 256;
// Copied as a whole: quicker than one member after another.
constexpr CallFacts kNoFacts;
static_assert(std::is_trivially_copyable_v<CallFacts>);

}  // namespace

void clear_text(std::string& text) {
  if (text.empty()) return;
  if (text.capacity() > kMaxKeptLength) {
    std::string().swap(text);  // an assignment would keep the storage
  } else {
    text.clear();
  }
}

void ReturnCall::operator()(Call* call) const {
  call->store->give_back(std::unique_ptr<Call>(call));
}

CallPtr CallStore::take() {
  if (kept_.empty()) return CallPtr(new Call(*this, layout_));
  CallPtr call(kept_.back().release());
  kept_.pop_back();
  return call;
}

void CallStore::give_back(std::unique_ptr<Call> call) {
  index_.remove(*call);
  deadlines_.remove(*call);
  if (kept_.size() == kMaxKept) return;
  static_cast<CallFacts&>(*call) = kNoFacts;
  if (call->held.account() != nullptr) call->held = {};
  for (std::string* text : {&call->id, &call->principal, &call->progress_token, &call->greeting,
                            &call->request, &call->identity}) {
    clear_text(*text);
  }
  call->slots.clear();
  kept_.push_back(std::move(call));
}

}  // namespace stdgate::call
