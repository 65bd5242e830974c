// Virtual servers: one endpoint for servers from npm, with official clients of both eras on every transport.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import * as successor from '@modelcontextprotocol/client';

import { Peer, streamable } from './mcp_clients.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const node = new URL(`node_modules/node-linux-${process.arch}/bin/node`, import.meta.url).pathname;
const fixture = new URL('conformance_server.mjs', import.meta.url).pathname;
const everything = [server('mcp-server-everything'), 'stdio'];

const serve = (isolation, ...more) => Stdgate.serve([
  'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"',
  'backends:',
  `  everything: { command: ${JSON.stringify(everything)}, isolation: ${isolation} }`,
  `  files: { command: ${JSON.stringify([server('mcp-server-filesystem'), '@DIR@'])}, isolation: ${isolation} }`,
  `  memory: { command: ${JSON.stringify([server('mcp-server-memory')])}, isolation: ${isolation},`,
  '            env: { MEMORY_FILE_PATH: "@DIR@/memory.json" } }',
  `  modern: { command: ${JSON.stringify([node, fixture, 'modern'])} }`,
  'servers:',
  '  team:',
  '    default: true',
  '    instructions: "All of it."',
  '    members:',
  '      - everything',
  '      - backend: files',
  '        tools:',
  '          include: ["read_*", "write_file"]',
  '          exclude: ["*_multiple_*"]',
  '          rename: { read_text_file: read }',
  '          describe: { read: "Reads a text file." }',
  '      - memory',
  '      - modern',
  ...more, '',
].join('\n'));

const names = async (client) => (await client.listTools()).tools.map(({ name }) => name);

for (const transport of ['sdk 1 at /mcp', 'client 2 at /mcp', 'sdk 1 at /sse', 'sdk 1 at /ws']) {
  describe(`a session of ${transport} at a virtual server`, { timeout: 60_000 }, () => {
    let gate;
    let ada;
    before(async () => {
      gate = await serve('session');
      writeFileSync(join(gate.folder, 'note.txt'), 'a note');
      ada = await Peer.connect(transport, gate.url);
    });
    after(async () => {
      await ada.close();
      assert.deepEqual(await gate.stop(), cleanExit);
    });

    it('sees the tools of all members, in their order, under the names of the configuration', async () => {
      const all = await names(ada.client);
      assert.equal(ada.client.getInstructions(), 'All of it.');
      const first = (prefix) => all.findIndex((name) => name.startsWith(prefix));
      assert.ok(first('everything_') < first('files_') && first('files_') < first('memory_'));
      assert.ok(first('memory_') < first('modern_'));
      assert.deepEqual(all.filter((name) => name.startsWith('files_')),
        ['files_read_file', 'files_read', 'files_read_media_file', 'files_write_file']);
      assert.deepEqual(all, await names(ada.client));
    });

    it('calls tools of each', async () => {
      assert.equal(await ada.text('everything_echo', { message: 'hello' }), 'Echo: hello');
      assert.equal(await ada.text('files_read', { path: join(gate.folder, 'note.txt') }), 'a note');
      assert.match(await ada.text('memory_read_graph'), /entities/);
      assert.match(await ada.text('modern_test_simple_text'), /simple text response/);
    });

    it('is asked by a member, which it then sees as that knows it', async () => {
      await ada.text('everything_echo', { message: 'begin' });
      await ada.offered('everything_trigger-sampling-request');
      const text = await ada.text('everything_trigger-sampling-request', { prompt: 'who?', maxTokens: 10 });
      assert.match(text, /ada: .*who\?/s);
    });

    it('hears the progress of its own call', async () => {
      const before = ada.received.length;
      await ada.call('everything_trigger-long-running-operation', { duration: 0.3, steps: 3 }, { onprogress: () => {} });
      assert.ok(ada.received.slice(before).some(({ method }) => method === 'notifications/progress'));
    });

    it('cannot use what is left out', async () => {
      for (const name of ['files_move_file', 'files_read_text_file', 'read_text_file', 'files_read_multiple_files', 'echo']) {
        const answer = ada.call(name, {});
        await assert.rejects(answer, (error) => error.code === -32602 && error.message.includes(`Unknown tool: ${name}`));
      }
    });

    it('reads resources and prompts of the member that has them', async () => {
      const { resources } = await ada.client.listResources();
      const { contents } = await ada.client.readResource({ uri: resources[0].uri });
      assert.equal(contents[0].uri, resources[0].uri);
      const dynamic = await ada.client.readResource({ uri: 'demo://resource/dynamic/text/1' });
      assert.equal(dynamic.contents[0].uri, 'demo://resource/dynamic/text/1');
      const prompt = await ada.client.getPrompt({ name: 'everything_simple-prompt' });
      assert.equal(prompt.messages.length, 1);
      await assert.rejects(ada.client.readResource({ uri: 'nobody://has/it' }));
    });

    it('loses a member and nothing else when its child is killed', async () => {
      const state = async () => (await fetch(`${gate.adminUrl}/debug/state`)).json();
      const { backends } = await state();
      const everythings = backends.find(({ name }) => name === 'everything').children;
      const slow = ada.call('everything_trigger-long-running-operation', { duration: 20, steps: 2 });
      const failed = assert.rejects(slow);
      await eventually(async () => (await state()).backends.find(({ name }) => name === 'everything')
        .children.some(({ in_flight }) => in_flight > 0), 'a call in flight');
      for (const { pid } of everythings) process.kill(pid, 'SIGKILL');
      await failed;
      assert.equal(await ada.text('files_read', { path: join(gate.folder, 'note.txt') }), 'a note');
      assert.equal(await ada.text('everything_echo', { message: 'again' }), 'Echo: again');
    });
  });
}

describe('a modern client at a virtual server', { timeout: 60_000 }, () => {
  let gate;
  let client;
  before(async () => {
    gate = await serve('shared');
    writeFileSync(join(gate.folder, 'note.txt'), 'a note');
    client = new successor.Client({ name: 'eve', version: '1' }, {
      capabilities: { elicitation: {}, sampling: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    await client.connect(new successor.StreamableHTTPClientTransport(new URL(`${gate.url}/mcp`)));
  });
  after(async () => {
    await client.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('uses members of both eras', async () => {
    const all = await names(client);
    assert.ok(all.includes('everything_echo') && all.includes('modern_test_simple_text'));
    const text = async (name, args) =>
      (await client.callTool({ name, arguments: args })).content[0].text;
    assert.equal(await text('everything_echo', { message: 'hello' }), 'Echo: hello');
    assert.equal(await text('files_read', { path: join(gate.folder, 'note.txt') }), 'a note');
    assert.match(await text('modern_test_simple_text', {}), /simple text response/);
  });

  it('is asked by a modern member in round trips', async () => {
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'eve' } }));
    const { content } = await client.callTool({ name: 'modern_test_input_required_result_elicitation', arguments: {} });
    assert.match(content[0].text, /eve/);
  });
});

const modern = async (gate) => {
  const client = new successor.Client({ name: 'eve', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new successor.StreamableHTTPClientTransport(new URL(`${gate.url}/mcp`)));
  return client;
};

describe('a modern client at a virtual server whose legacy members have a process for each session', { timeout: 60_000 }, () => {
  let gate;
  let client;
  before(async () => {
    gate = await serve('session');
    writeFileSync(join(gate.folder, 'note.txt'), 'a note');
    client = await modern(gate);
  });
  after(async () => {
    await client.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('sees and uses all of them', async () => {
    const { tools, _meta } = await client.listTools();
    assert.equal(_meta?.['stdgate/missing'], undefined);
    const first = (prefix) => tools.findIndex(({ name }) => name.startsWith(prefix));
    assert.ok(first('everything_') === 0 && first('files_') > 0 && first('memory_') > 0 && first('modern_') > 0);
    const text = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
    assert.equal(await text('everything_echo', { message: 'hello' }), 'Echo: hello');
    assert.equal(await text('files_read', { path: join(gate.folder, 'note.txt') }), 'a note');
    assert.match(await text('modern_test_simple_text', {}), /simple text response/);
  });

  it('makes the log say once what that costs, and what to write', async () => {
    await eventually(() => /has its own process.*backend=everything.*isolation: principal/.test(gate.log), 'the log names it');
    assert.equal(gate.log.match(/has its own process.*backend=everything/g).length, 1);
    assert.doesNotMatch(gate.log, /has its own process.*backend=modern/);
  });

  it('is told at the member itself to open a session', async () => {
    const answer = await fetch(`${gate.url}/everything/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json', accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo',
      },
      body: JSON.stringify({
        jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: {
          name: 'echo', arguments: { message: 'x' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'eve', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    assert.match(await answer.text(), /-32022/);
  });
});

describe('a modern client at a virtual server, some of whose members refuse it', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await serve('session, bridge: false');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('sees the others, and is told who is missing', async () => {
    const client = await modern(gate);
    const { tools, _meta } = await client.listTools();
    assert.deepEqual(_meta['stdgate/missing'], ['everything', 'files', 'memory']);
    assert.ok(tools.length > 0 && tools.every(({ name }) => name.startsWith('modern_')));
    await client.close();
    await eventually(() => /modern clients do without a member.*backend=everything/.test(gate.log), 'the log names it');
  });
});

describe('a virtual server with search', { timeout: 60_000 }, () => {
  let gate;
  let ada;
  before(async () => {
    gate = await serve('shared', '    expose: { search: { pin: [everything_echo] } }');
    ada = await Peer.connect(streamable[0], gate.url);
  });
  after(async () => {
    await ada.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('lists two tools and the pinned ones, finds all, and calls what it has found', async () => {
    assert.deepEqual(await names(ada.client), ['find_tool', 'call_tool', 'everything_echo']);
    const { structuredContent } = await ada.call('find_tool', { query: 'sum of two numbers', limit: 3 });
    assert.equal(structuredContent.tools[0].name, 'everything_get-sum');
    const text = await ada.text('call_tool', { name: 'everything_get-sum', arguments: { a: 2, b: 3 } });
    assert.match(text, /5/);
    await assert.rejects(ada.call('call_tool', { name: 'files_move_file', arguments: {} }), /Unknown tool: files_move_file/);
    await assert.rejects(ada.call('call_tool', { name: 'call_tool', arguments: { name: 'files_move_file' } }), /call_tool calls another tool/);
  });
});
