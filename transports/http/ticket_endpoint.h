// TicketEndpoint: POST /ticket?path=/NAME/ws: gives who shows a credential a ticket for one request
// to that path (Tickets), for pages that cannot send header fields with it. Owner: the router.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "transports/auth/tickets.h"
#include "transports/http/endpoint.h"
#include "transports/http/router.h"

namespace stdgate::http {

inline constexpr std::string_view kTicketPath = "/ticket";

// The router knows at which paths tickets are taken (Guards::takes_tickets). `tickets` outlives it.
void add_ticket_route(Router& router, auth::Tickets& tickets);

// The path that a ticket is asked for, decoded; empty: none.
std::string ticket_path(const RequestHead& head);

}  // namespace stdgate::http
