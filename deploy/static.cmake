# The libraries of a static build, under the names that find_package() and pkg_check_modules() give them in other
# builds. They are Debian's archives and the archives of deploy/static-libraries. spdlog and fmt are used as headers,
# because Debian has no archives of them.
find_package(Threads REQUIRED)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
# The libraries of deploy/static-libraries. For another architecture they are in the root of the toolchain.
set(own_libraries ${PROJECT_SOURCE_DIR}/build/static-libraries)
if(CMAKE_CROSSCOMPILING)
  set(own_libraries ${STDGATE_CROSS_ROOT}/usr/local)
endif()

find_package(simdjson REQUIRED PATHS ${own_libraries} NO_DEFAULT_PATH)
find_package(prometheus-cpp REQUIRED PATHS ${own_libraries} NO_DEFAULT_PATH)

# static_library(TARGET ARCHIVE [LIBRARY…]): an archive, and the libraries that must follow it on the command line.
function(static_library target archive)
  find_library(${archive}_ARCHIVE ${archive} REQUIRED HINTS ${own_libraries}/lib)
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
target_include_directories(PkgConfig::libcurl INTERFACE ${own_libraries}/include)
target_compile_definitions(PkgConfig::libcurl INTERFACE CURL_STATICLIB)

add_library(spdlog::spdlog INTERFACE IMPORTED GLOBAL)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
target_link_libraries(spdlog::spdlog INTERFACE Threads::Threads)
