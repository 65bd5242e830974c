// `stdgate doctor`, `tools` and `call` on real servers, and `stdgate add` with a client's
// configuration of them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { program, server } from './stdgate_process.mjs';

const packages = new URL('node_modules/', import.meta.url).pathname;
const node = `${packages}/node-linux-${process.arch}/bin/node`;
const fixture = new URL('conformance_server.mjs', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'stdgate-doctor-'));
after(() => rmSync(folder, { recursive: true }));

function run(...words) {
  const { status, stdout, stderr } =
    spawnSync(program, words, { cwd: folder, encoding: 'utf8', timeout: 120_000 });
  return { status, stdout, stderr };
}
const doctor = (...words) => {
  const { status, stdout, stderr } = run('doctor', '--json', ...words);
  assert.equal(stderr, '');
  return { status, report: JSON.parse(stdout) };
};
const severe = (report) => report.findings.filter(({ weight }) => weight === 'error');

describe('doctor', () => {
  it('finds nothing wrong with servers that are in use', () => {
    for (const [name, ...words] of [
      ['mcp-server-everything', 'stdio'], ['mcp-server-memory'], ['mcp-server-filesystem', folder],
    ]) {
      const { status, report } = doctor('--', server(name), ...words);
      assert.deepEqual(severe(report), [], name);
      assert.equal(status, 0);
      assert.equal(report.server.legacy, true);
      assert.ok(report.offers.tools.length > 3, name);
    }
  });

  it('asks a server of both eras in both', () => {
    const { status, report } = doctor('--', node, fixture, 'both');
    assert.deepEqual(severe(report), []);
    assert.equal(status, 0);
    assert.equal(report.server.legacy, true);
    assert.equal(report.server.modern, true);
    assert.ok(report.offers.tools.length > 3);
  });

  it('greets a language server, and ends it', () => {
    const path = server('typescript-language-server');
    const { status, report } = doctor('--protocol', 'lsp', '--', path, '--stdio');
    assert.deepEqual(severe(report), []);
    assert.equal(status, 0);
    assert.ok(report.steps.some(({ name, ok }) => name === 'initialize' && ok));
  });

  it('says of a language server that it is no MCP server', () => {
    const path = server('typescript-language-server');
    const { status, report } = doctor('--timeout', '5s', '--', path, '--stdio');
    assert.equal(status, 1);
    assert.ok(severe(report).some(({ code }) => code === 'length-headers'), JSON.stringify(report));
  });
});

describe('tools and call', () => {
  it('use a command without a gateway', () => {
    const command = ['--', server('mcp-server-everything'), 'stdio'];
    const tools = run('tools', '--json', ...command);
    assert.equal(tools.status, 0, tools.stderr);
    assert.ok(JSON.parse(tools.stdout).some(({ name }) => name === 'echo'));
    const call =
      run('call', 'tools/call', '{"name":"echo","arguments":{"message":"hi"}}', ...command);
    assert.equal(call.stdout, '{"content":[{"type":"text","text":"Echo: hi"}]}\n');
  });
});

describe('add', () => {
  it('imports what a client has, and it is healthy', () => {
    const command = server('mcp-server-memory');
    writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { memory: { command } } }));
    assert.equal(run('add', '--import', '.mcp.json').status, 0);
    const { status, report } = doctor('memory');
    assert.deepEqual(severe(report), []);
    assert.equal(status, 0);
  });
});
