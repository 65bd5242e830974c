// BatchAnswer: the answers of one batch, collected to one array in the order of their arrival
// (JSON-RPC 2.0 section 6).
//
// Job: count the answers that are due, hold the ones that came, say when all are there. Owner: the
// object that handed the batch over (an exchange, a connection, a stream), reused. Limits:
// `limit` bytes of answers, and what the client may hold in memory; beyond it a fault for each
// answer that does not fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/check.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::session {

class BatchAnswer {
 public:
  // The messages of a batch are handed over from here to end_messages().
  void begin_messages(rpc::CodeSet codes, size_t limit);
  // Sets the account of the answers; to be called before the first one.
  void set_payer(const Payer& payer) { held_ = Share(payer, Holding::unsent); }
  // Before a message is handed over: its answer may come at once.
  void expect() { ++due_; }
  // The message needs no answer after all: it is no request, its client has cancelled it, or the
  // answer has been given elsewhere.
  void leave_out() {
    STDGATE_CHECK(due_ > 0);
    --due_;
  }
  void end_messages() { handing_over_ = false; }

  void add(const Reply& reply);

  [[nodiscard]] bool handing_over() const { return handing_over_; }
  [[nodiscard]] bool complete() const { return due_ == 0 && !handing_over_; }
  [[nodiscard]] size_t due() const { return due_; }
  // Only while complete. True: there is nothing to answer.
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] size_t size() const { return text_.size(); }
  // The array, once it is complete and not empty. To be called once.
  std::string_view close();

  // Keeps little memory for the next batch.
  void clear();

 private:
  std::string text_;  // "[…" without its end
  Share held_;        // of text_
  size_t due_ = 0;
  size_t limit_ = 0;
  rpc::CodeSet codes_ = rpc::CodeSet::plain;
  bool handing_over_ = false;
};

}  // namespace stdgate::session
