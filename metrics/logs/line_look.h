// How lines of text look to who reads them: a terminal, the journal of systemd, or anybody else.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stdgate::logs {

enum class LineLook : uint8_t { plain, coloured, journal };

// Of lines that are written to `fd`.
LineLook look_of(int fd, const std::map<std::string, std::string>& environment);

// It leads to the journal, as JOURNAL_STREAM says (systemd.exec(5)).
bool is_journal(int fd, const std::map<std::string, std::string>& environment);

// It is a terminal that knows them (TERM), and NO_COLOR is not set, or empty (no-color.org).
bool takes_colour(int fd, const std::map<std::string, std::string>& environment);

}  // namespace stdgate::logs
