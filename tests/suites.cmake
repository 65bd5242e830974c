# Which tests a program has: read by CTest before it runs, with `program` and `timeout`. One test a suite: to start a process
# takes longer than most cases, with sanitizers ten times as long.
if(EXISTS "${program}")
  execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  # "Suite." or "Instance/Suite.  # TypeParam = …"; cases are indented.
  string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}")
  foreach(suite IN LISTS suites)
    string(REGEX MATCH "[^\n]+[^.]" suite "${suite}")
    add_test("${suite}" "${program}" "--gtest_filter=${suite}.*" --gtest_brief=1)
    set_tests_properties("${suite}" PROPERTIES TIMEOUT "${timeout}")
  endforeach()
else()
  add_test("${program}" "${program}")
endif()
