# The tests of a program. CTest reads this file before it runs them, with `program` and `timeout` set. Each suite is one
# test, because starting a process takes longer than most cases, with sanitizers ten times as long.
if(EXISTS "${program}")
  execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  # A suite is listed as "Suite." or "Instance/Suite.  # TypeParam = …". Cases are indented.
  string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}")
  foreach(suite IN LISTS suites)
    string(REGEX MATCH "[^\n]+[^.]" suite "${suite}")
    add_test("${suite}" "${program}" "--gtest_filter=${suite}.*" --gtest_brief=1)
    set_tests_properties("${suite}" PROPERTIES TIMEOUT "${timeout}")
  endforeach()
else()
  add_test("${program}" "${program}")
endif()
