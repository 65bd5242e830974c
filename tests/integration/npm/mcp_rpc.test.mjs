// MCP servers from npm behind POST /rpc: plain requests, without a handshake of the caller.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Stdgate, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };

describe('server-everything', () => {
  let gate;
  before(async () => {
    gate = await Stdgate.start(server('mcp-server-everything'), 'stdio');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('lists its tools', async () => {
    const answer = await gate.call('list', 'tools/list', {});
    assert.equal(answer.id, 'list');
    const names = answer.result.tools.map((tool) => tool.name);
    for (const name of ['echo', 'get-sum', 'trigger-long-running-operation']) {
      assert.ok(names.includes(name), `${name} in ${names}`);
    }
  });

  it('calls tools, and gives the id back', async () => {
    const echo = await gate.tool(1, 'echo', { message: 'caf\u00e9 \u{1F600}' });
    assert.deepEqual(echo.content, [{ type: 'text', text: 'Echo: caf\u00e9 \u{1F600}' }]);
    const sum = await gate.tool('two', 'get-sum', { a: 2, b: 40 });
    assert.equal(sum.content[0].text, 'The sum of 2 and 40 is 42.');
  });

  it('answers callers that use the same id at once', async () => {
    const numbers = Array.from({ length: 50 }, (_, index) => index);
    const sums = await Promise.all(numbers.map((a) => gate.tool(7, 'get-sum', { a, b: 1 })));
    numbers.forEach((a, index) =>
      assert.equal(sums[index].content[0].text, `The sum of ${a} and 1 is ${a + 1}.`));
  });

  it('passes on the errors of the server', async () => {
    const unknown = await gate.call(3, 'no/such/method', {});
    assert.equal(unknown.error.code, -32601);
    const failed = await gate.tool(4, 'no-such-tool', {});
    assert.equal(failed.isError, true);
  });

  it('streams progress, then the result, then [DONE]', async () => {
    const response = await gate.post({
      id: 5,
      method: 'tools/call',
      params: {
        name: 'trigger-long-running-operation',
        arguments: { duration: 1, steps: 4 },
        _meta: { progressToken: 'mine' },
      },
    }, 'text/event-stream');
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type'), /^text\/event-stream\b/);
    const data = (await response.text()).split('\n')
      .filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim());
    assert.equal(data.pop(), '[DONE]');
    const messages = data.map((text) => JSON.parse(text));
    const result = messages.pop();
    assert.equal(result.id, 5);
    assert.match(result.result.content[0].text, /completed/);
    const progress = messages.filter(({ method }) => method === 'notifications/progress');
    assert.deepEqual(progress.map(({ params }) => params.progress), [1, 2, 3, 4]);
    for (const { params } of progress) assert.equal(params.progressToken, 'mine');
  });
});

describe('server-filesystem', () => {
  let gate;
  before(async () => {
    gate = await Stdgate.start(server('mcp-server-filesystem'), '@DIR@');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('writes and reads a file', async () => {
    const path = join(gate.folder, 'note.txt');
    const content = 'first line\nsecond \u00e9\n';
    const written = await gate.tool(1, 'write_file', { path, content });
    assert.ok(!written.isError, JSON.stringify(written));
    assert.equal(readFileSync(path, 'utf8'), content);
    const read = await gate.tool(2, 'read_text_file', { path });
    assert.equal(read.content[0].text, content);
  });

  it('stays within its folder', async () => {
    const refused = await gate.tool(3, 'read_text_file', { path: '/etc/hostname' });
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /Access denied/);
  });
});
