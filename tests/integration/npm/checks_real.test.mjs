// Checks of real servers from npm: each of their schemas is compiled, and their answers fit.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Peer } from './mcp_clients.mjs';
import { Stdgate, server } from './stdgate_process.mjs';

const folder = mkdtempSync(join(tmpdir(), 'stdgate-checks-real-'));
const file = (name) => join(folder, name);
const entities = [{ name: 'ada', entityType: 'person', observations: ['counts'] },
  { name: 'gate', entityType: 'program', observations: [] }];
const relation = { from: 'ada', to: 'gate', relationType: 'uses' };

// For each server: its command, and calls of all tools with a schema of results, in this order.
const servers = {
  everything: {
    command: [server('mcp-server-everything')],
    calls: [['echo', { message: 'hi' }], ['get-sum', { a: 1, b: 2 }],
      ['get-structured-content', { location: 'Chicago' }], ['get-resource-links', { count: 2 }]],
  },
  filesystem: {
    command: [server('mcp-server-filesystem'), folder],
    calls: [['create_directory', { path: file('d') }],
      ['write_file', { path: file('a.txt'), content: 'one\ntwo\n' }],
      ['read_file', { path: file('a.txt') }], ['read_text_file', { path: file('a.txt'), head: 1 }],
      ['read_media_file', { path: file('b.png') }], ['read_multiple_files', { paths: [file('a.txt')] }],
      ['edit_file', { path: file('a.txt'), edits: [{ oldText: 'one', newText: 'three' }], dryRun: true }],
      ['list_directory', { path: folder }], ['list_directory_with_sizes', { path: folder, sortBy: 'size' }],
      ['directory_tree', { path: folder }], ['search_files', { path: folder, pattern: '*.txt' }],
      ['get_file_info', { path: file('a.txt') }], ['list_allowed_directories', {}],
      ['move_file', { source: file('a.txt'), destination: file('d/a.txt') }]],
  },
  memory: {
    command: [server('mcp-server-memory')], env: { MEMORY_FILE_PATH: file('memory.json') },
    calls: [['create_entities', { entities }], ['create_relations', { relations: [relation] }],
      ['add_observations', { observations: [{ entityName: 'ada', contents: ['reads'] }] }],
      ['read_graph', {}], ['search_nodes', { query: 'ada' }], ['open_nodes', { names: ['ada'] }],
      ['delete_observations', { deletions: [{ entityName: 'ada', observations: ['reads'] }] }],
      ['delete_relations', { relations: [relation] }], ['delete_entities', { entityNames: ['gate'] }]],
  },
};

after(() => rmSync(folder, { recursive: true }));

for (const [name, { command, env = {}, calls }] of Object.entries(servers)) {
  for (const [transport, isolation] of [['sdk 1 at /mcp', 'session'], ['client 2 at /mcp', 'shared']]) {
    describe(`${name}, ${transport}, isolation ${isolation}`, { timeout: 120_000 }, () => {
      let gate;
      let peer;
      before(async () => {
        writeFileSync(file('b.png'), '');
        rmSync(file('d'), { recursive: true, force: true });
        gate = await Stdgate.serve([
          'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:', `  ${name}:`,
          `    command: ${JSON.stringify(command)}`, `    env: ${JSON.stringify(env)}`,
          `    isolation: ${isolation}`, '    default: true', '    check: { arguments: true, results: true }', '',
        ].join('\n'));
        peer = await Peer.connect(transport, gate.url);
      });
      after(async () => {
        await peer?.close();
        assert.equal((await gate.stop()).code, 0);
      });

      it('refuses arguments of each tool that are none', async () => {
        const { tools } = await peer.client.listTools();
        assert.ok(tools.length > 3);
        // The client refuses to call tools that must run as tasks.
        for (const tool of tools.filter(({ execution }) => execution?.taskSupport !== 'required')) {
          const { isError, content } = await peer.call(tool.name, ['none']);
          assert.equal(isError, true, tool.name);
          assert.equal(content[0].text, 'Invalid arguments. arguments: expected object, not array');
        }
      });

      it('lets what its tools take and give pass', async () => {
        const { tools } = await peer.client.listTools();
        const called = new Set(calls.map(([tool]) => tool));
        assert.deepEqual(tools.filter((tool) => tool.outputSchema && !called.has(tool.name)).map((t) => t.name), []);
        for (const [tool, args] of calls) {
          const result = await peer.call(tool, args);
          assert.ok(!result.isError, `${tool}: ${JSON.stringify(result.content)}`);
        }
        const metrics = await (await fetch(`${gate.adminUrl}/metrics`)).text();
        const failures = [...metrics.matchAll(/^stdgate_check_failures_total\{.*of="(\w+)"\} [1-9].*$/gm)];
        assert.deepEqual(failures.map(([, of]) => of), ['arguments']);
      });
    });
  }
}
