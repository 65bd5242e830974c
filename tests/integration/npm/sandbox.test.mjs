// Real MCP servers from npm in a sandbox: they work, but reach nothing outside.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Stdgate, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const modules = realpathSync(new URL('node_modules', import.meta.url).pathname);
const quoted = (words) => JSON.stringify(words);
// The Node of these tests may be installed anywhere.
const node = realpathSync(process.execPath);

function config(sandbox, directories) {
  const command = [node, server('mcp-server-filesystem'), ...directories];
  return `listen: "127.0.0.1:0"\nadmin: off\nbackends:\n  files:\n    command: ${quoted(command)}\n` +
    `    sandbox: { ${sandbox} }\n`;
}

describe('server-filesystem in a sandbox', () => {
  let gate;
  let folder;
  let open;
  let shut;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'stdgate-sandbox-')));
    open = join(folder, 'open');
    shut = join(folder, 'shut');
    for (const each of [open, shut]) mkdirSync(each);
    for (const each of [open, shut]) writeFileSync(join(each, 'old.txt'), 'old');
    // The server itself would allow access to both folders.
    gate = await Stdgate.serve(config(
      `filesystem: { read: ${quoted([modules, node])}, write: ${quoted([open])} }, network: none`,
      [open, shut]));
  });
  after(async () => {
    assert.deepEqual(await gate.stop(), cleanExit);
    rmSync(folder, { recursive: true });
  });

  it('reads and writes where it may', async () => {
    const written = await gate.tool(1, 'write_file', { path: join(open, 'new.txt'), content: 'new' });
    assert.ok(!written.isError, JSON.stringify(written));
    assert.equal(readFileSync(join(open, 'new.txt'), 'utf8'), 'new');
    const read = await gate.tool(2, 'read_text_file', { path: join(open, 'old.txt') });
    assert.equal(read.content[0].text, 'old');
    const moved = await gate.tool(3, 'move_file',
      { source: join(open, 'new.txt'), destination: join(open, 'moved.txt') });
    assert.ok(!moved.isError, JSON.stringify(moved));
  });

  it('reaches no other directory', async () => {
    const read = await gate.tool(4, 'read_text_file', { path: join(shut, 'old.txt') });
    assert.equal(read.isError, true);
    assert.match(read.content[0].text, /EACCES/);
    const written = await gate.tool(5, 'write_file', { path: join(shut, 'new.txt'), content: 'x' });
    assert.equal(written.isError, true);
    assert.ok(!existsSync(join(shut, 'new.txt')));
    assert.equal(readFileSync(join(shut, 'old.txt'), 'utf8'), 'old');
  });
});

describe('server-everything in a strict sandbox', () => {
  it('works', async () => {
    const gate = await Stdgate.serve(
      'listen: "127.0.0.1:0"\nadmin: off\nbackends:\n  all:\n' +
      `    command: ${quoted([node, server('mcp-server-everything'), 'stdio'])}\n` +
      `    cwd: ${quoted(join(modules, '..'))}\n    sandbox: strict\n`);
    const sum = await gate.tool('two', 'get-sum', { a: 2, b: 40 });
    assert.equal(sum.content[0].text, 'The sum of 2 and 40 is 42.');
    assert.deepEqual(await gate.stop(), cleanExit);
  });
});
