// CodecDouble: a codec without a socket, a parser or a wire format. Heads are made of their parts,
// and what an exchange sends is recorded.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transports/http/exchange.h"
#include "transports/http/server.h"

namespace stdgate::test {

using Fields = std::vector<std::pair<std::string, std::string>>;

class MadeHead final : public http::RequestHead {
 public:
  // False if a codec would refuse the head.
  bool make(std::string method, std::string target, Fields fields, bool has_body) {
    clear();
    method_name_ = std::move(method);
    target_ = std::move(target);
    made_fields_ = std::move(fields);
    made_fields_.insert(made_fields_.begin(), {"host", "localhost"});
    for (const auto& [name, value] : made_fields_) {
      fields_.push_back({name, value});
      note_field(fields_.back());
    }
    method_text_ = method_name_;
    if (method_name_ == "GET") method_ = http::Method::get;
    if (method_name_ == "HEAD") method_ = http::Method::head;
    if (method_name_ == "POST") method_ = http::Method::post;
    if (method_name_ == "DELETE") method_ = http::Method::del;
    authority_ = "localhost";
    has_body_ = has_body;
    return take_target(target_).has_value();
  }

 private:
  std::string method_name_;
  std::string target_;
  Fields made_fields_;
};

class CodecDouble final : public http::Codec {
 public:
  explicit CodecDouble(http::Server& server, const http::Peer& peer = {})
      : exchange(server, *this, head), peer_(peer) {}

  // Whether the request is admitted.
  bool admit(const std::string& method, const std::string& target, const Fields& fields = {},
             bool has_body = false) {
    sent = {};
    exchange.begin();
    exchange.forget_judgement();
    return head.make(method, target, fields, has_body) && exchange.admit();
  }
  void get(const std::string& target, const Fields& fields = {}) {
    if (admit("GET", target, fields)) exchange.serve({});
  }
  void post(const std::string& target, std::string body, Fields fields = {}) {
    fields.emplace_back("content-type", "application/json");
    if (admit("POST", target, fields, true)) exchange.serve({body.data(), body.size()});
  }

  // The response that the exchange has sent.
  struct Sent {
    int status = 0;
    std::string content_type;
    std::string fields;
    std::string body;
    bool has_ended = false;
    bool is_last = false;
    bool is_aborted = false;
    std::unique_ptr<http::UpgradedConnection> successor;
  };

  MadeHead head;
  http::Exchange exchange;
  Sent sent;
  size_t unsent_bytes = 0;
  bool backed_up = false;
  bool upgrades = true;

 private:
  void note_head(const http::Response& response) {
    sent.status = response.status;
    sent.content_type = response.content_type;
    sent.fields = std::string(response.type_fields) + std::string(response.more_fields);
  }
  // --- Codec
  void send(http::Exchange& of, const http::Response& response) override {
    note_head(response);
    if (!of.is_head_request()) append(response.body);
    end(of, false);
  }
  void send_head(http::Exchange& /*of*/, const http::Response& response) override {
    note_head(response);
  }
  void send_piece(http::Exchange& /*of*/, std::span<const std::string_view> parts) override {
    append(parts);
  }
  void end(http::Exchange& of, bool is_last) override {
    sent.has_ended = true;
    sent.is_last = is_last;
    of.rest();
  }
  void abort(http::Exchange& /*of*/) override { sent.is_aborted = true; }
  [[nodiscard]] size_t unsent(const http::Exchange& /*of*/) const override { return unsent_bytes; }
  [[nodiscard]] bool is_backed_up(const http::Exchange& /*of*/) const override { return backed_up; }
  [[nodiscard]] bool can_upgrade(const http::Exchange& /*of*/) const override { return upgrades; }
  void upgrade(http::Exchange& /*of*/, std::string_view fields,
               std::unique_ptr<http::UpgradedConnection> successor) override {
    sent.status = 101;
    sent.fields = fields;
    sent.successor = std::move(successor);
  }
  [[nodiscard]] const http::Peer& peer() const override { return peer_; }
  [[nodiscard]] const auth::Identity& certificate_identity() override { return nobody_; }
  [[nodiscard]] Payer payer(const http::Exchange& /*of*/) const override { return {}; }
  void charge(http::Exchange& /*of*/, HeldBytes* /*held*/) override {}

  void append(std::span<const std::string_view> parts) {
    for (const std::string_view part : parts) sent.body += part;
  }

  const http::Peer peer_;
  const auth::Identity nobody_;
};

}  // namespace stdgate::test
