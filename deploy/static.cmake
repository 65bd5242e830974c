# The libraries of a static build, by the names that find_package() and pkg_check_modules() give them in
# any other: Debian's archives, those of deploy/static-libraries, and spdlog and fmt as headers, which
# Debian has no archives of.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)

find_package(simdjson REQUIRED PATHS ${PROJECT_SOURCE_DIR}/build/static-libraries NO_DEFAULT_PATH)
find_package(prometheus-cpp REQUIRED PATHS ${PROJECT_SOURCE_DIR}/build/static-libraries NO_DEFAULT_PATH)

# static_library(TARGET ARCHIVE [LIBRARY…]): an archive, and what has to stand behind it on the command line.
function(static_library target archive)
  find_library(${archive}_ARCHIVE ${archive} REQUIRED HINTS ${PROJECT_SOURCE_DIR}/build/static-libraries/lib)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${${archive}_ARCHIVE} INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

static_library(PkgConfig::libuv uv_a Threads::Threads)
static_library(yaml-cpp yaml-cpp)
static_library(PkgConfig::re2 re2 Threads::Threads)
static_library(stdgate_libcrypto crypto Threads::Threads)
static_library(PkgConfig::openssl ssl stdgate_libcrypto)
static_library(PkgConfig::libcurl curl PkgConfig::openssl)
target_include_directories(PkgConfig::libcurl INTERFACE ${PROJECT_SOURCE_DIR}/build/static-libraries/include)
target_compile_definitions(PkgConfig::libcurl INTERFACE CURL_STATICLIB)

add_library(spdlog::spdlog INTERFACE IMPORTED GLOBAL)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt-header-only Threads::Threads)
