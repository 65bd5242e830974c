// Endpoints for clients that have to say who they are: metadata of the resource, and tickets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "transports/auth/tickets.h"
#include "transports/http/router.h"

namespace stdgate::http {

// Where clients read who gives out tokens for this gateway (RFC 9728, and MCP's authorization).
inline constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";

// Adds kResourceMetadata, and the same with the path of each endpoint of MCP behind it, which say
// what the policy announces. After the endpoints' own routes.
void add_resource_metadata(Router& router);

// TicketEndpoint: POST /ticket?path=/NAME/ws: gives who shows a credential a ticket for one request
// to that path (Tickets), for pages that cannot send header fields with it. Owner: the router.
inline constexpr std::string_view kTicketPath = "/ticket";

// The router knows at which paths tickets are taken (Guards::takes_tickets). `tickets` outlives it.
void add_ticket_route(Router& router, auth::Tickets& tickets);

// The path that a ticket is asked for, decoded; empty: none.
std::string ticket_path(const RequestHead& head);

}  // namespace stdgate::http
