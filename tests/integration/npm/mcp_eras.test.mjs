// The official client of both eras of MCP, in each of its modes, with servers of either era: with default settings, and
// with shared children.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { Stdgate, eventually, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const packages = new URL('node_modules/', import.meta.url).pathname;
const node = `${packages}/node-linux-${process.arch}/bin/node`;
const fixture = new URL('conformance_server.mjs', import.meta.url).pathname;
const both = [node, fixture, 'both'];
const modernOnly = [node, fixture, 'modern'];
const legacy = [node, fixture];
const modern = { pin: '2026-07-28' };

async function connect(gate, mode, capabilities = {}) {
  const client = new Client({ name: 'ada', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(`${gate.url}/mcp`));
  await client.connect(transport);
  client.session = transport.sessionId;
  return client;
}

async function start(t, flags, command) {
  const gate = await Stdgate.startWith(flags, ...command);
  t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
  return gate;
}

const textOf = async (client, name, args = {}, options = undefined) =>
  (await client.callTool({ name, arguments: args }, options)).content[0].text;

describe('a server of both eras', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await Stdgate.startWith([], ...both);
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  for (const [name, mode, hasSession] of [
    ['legacy', 'legacy', true], ['auto', 'auto', false], ['modern', modern, false],
  ]) {
    it(`serves a client in mode ${name}`, async () => {
      const client = await connect(gate, mode);
      assert.equal(client.session !== undefined, hasSession);
      assert.equal(client.getServerVersion().name, 'conformance-server');
      assert.notDeepEqual((await client.listTools()).tools, []);
      assert.match(await textOf(client, 'test_simple_text'), /simple text/);
      const steps = [];
      await textOf(client, 'test_tool_with_progress', {}, { onprogress: ({ progress }) => steps.push(progress) });
      assert.deepEqual(steps, [0, 50, 100]);
      await assert.rejects(client.readResource({ uri: 'test://nothing' }), /not found/i);
      await client.close();
    });
  }

  it('asks a modern client by input_required', async () => {
    const client = await connect(gate, modern, { elicitation: {} });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'ada' } }));
    assert.equal(await textOf(client, 'test_input_required_result_elicitation'), 'Hello, ada!');
    await client.close();
  });

  it('tells a modern client of changes, also after a child has been lost', async () => {
    const client = await connect(gate, modern);
    let changes = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => (changes += 1));
    const stream = await client.listen({ toolsListChanged: true });
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
    await eventually(() => changes > 0, 'a change');
    for (const child of gate.children()) process.kill(child, 'SIGKILL');
    const before = changes;
    await eventually(async () => {
      await client.callTool({ name: 'test_trigger_tool_change', arguments: {} }).catch(() => {});
      return changes > before;
    }, 'a change at the next child');
    await stream.close();
    await client.close();
  });
});

describe('a server of the modern era alone', { timeout: 60_000 }, () => {
  for (const first of ['legacy', 'modern']) {
    it(`serves clients of every mode, ${first} ones first`, async (t) => {
      const gate = await start(t, [], modernOnly);
      const modes = first === 'legacy' ? ['legacy', 'auto', modern] : [modern, 'auto', 'legacy'];
      for (const mode of [...modes, 'legacy']) {
        const client = await connect(gate, mode, { elicitation: {} });
        assert.equal(client.session !== undefined, mode === 'legacy');
        client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'ada' } }));
        assert.equal(await textOf(client, 'test_input_required_result_elicitation'), 'Hello, ada!');
        await client.close();
      }
      // The process that refused a session takes a while to end.
      await eventually(() => gate.children().length === 1, 'all share it');
      assert.equal(gate.log.split('child started').length, 3, 'it, and the one that has refused the first session');
    });
  }

  it('serves more legacy clients that begin together than there may be processes', async (t) => {
    const gate = await start(t, [], modernOnly);
    await Promise.all(Array.from({ length: 20 }, async () => {
      const client = await connect(gate, 'legacy');
      assert.match(await textOf(client, 'test_simple_text'), /simple text/);
      await client.close();
    }));
    await eventually(() => gate.children().length === 1, 'one child for all');
  });

  it('refuses sessions that must not share a process', async (t) => {
    const gate = await Stdgate.serve([
      'listen: "127.0.0.1:0"', 'admin: "off"', 'backends:', '  main:',
      `    command: ${JSON.stringify(modernOnly)}`, '    share_modern: false', '',
    ].join('\n'));
    t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
    await assert.rejects(connect(gate, 'legacy'), /version|initialize/i);
    const client = await connect(gate, 'auto');
    assert.match(await textOf(client, 'test_simple_text'), /simple text/);
    await client.close();
  });
});

describe('a server that is run as a modern one', { timeout: 60_000 }, () => {
  it('asks a client in mode legacy', async (t) => {
    const gate = await start(t, ['--isolation', 'shared', '--revision', 'modern'], both);
    const client = await connect(gate, 'legacy', { elicitation: {} });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'ada' } }));
    assert.notEqual(client.session, undefined);
    assert.equal(await textOf(client, 'test_input_required_result_elicitation'), 'Hello, ada!');
    for (const child of gate.children()) process.kill(child, 'SIGKILL');
    await eventually(async () => {
      const answer = await textOf(client, 'test_input_required_result_elicitation').catch(() => '');
      return answer === 'Hello, ada!';
    }, 'an answer of the next server');
    await client.close();
  });
});

describe('a legacy server', { timeout: 120_000 }, () => {
  for (const flags of [[], ['--bridge', 'true'], ['--isolation', 'shared']]) {
    for (const mode of ['auto', modern]) {
      const isBridged = flags.length > 0;
      if (!isBridged && mode === modern) continue; // refused, see below
      it(`asks a client in mode ${mode.pin ?? mode}, with ${flags.join(' ') || 'default settings'}`, async (t) => {
        const gate = await start(t, flags, legacy);
        const client = await connect(gate, mode, { elicitation: {}, sampling: {} });
        assert.equal(client.session === undefined, isBridged);
        client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { username: 'ada', email: 'ada@example.org' } }));
        client.setRequestHandler('sampling/createMessage', () => (
          { role: 'assistant', model: 'm', content: { type: 'text', text: 'from the model' } }));
        assert.match(await textOf(client, 'test_elicitation', { message: 'who?' }), /ada/);
        assert.match(await textOf(client, 'test_sampling', { prompt: 'say' }), /from the model/);
        assert.match(await textOf(client, 'test_simple_text'), /simple text/);
        await client.close();
      });
    }
  }

  for (const flags of [[], ['--bridge', 'false'], ['--bridge', 'false', '--isolation', 'shared']]) {
    it(`has sessions alone with ${flags.join(' ') || 'default settings'}`, async (t) => {
      const gate = await start(t, flags, legacy);
      // The first two clients come together, before the gateway knows the server's era.
      const clients = await Promise.all([0, 1].map(() => connect(gate, 'auto', { elicitation: {} })));
      await Promise.all(clients.map(async (client) => {
        assert.notEqual(client.session, undefined);
        assert.match(await textOf(client, 'test_simple_text'), /simple text/);
        await client.close();
      }));
      await assert.rejects(connect(gate, modern), /unsupported protocol version/);
      await eventually(() => gate.log.includes('modern client told to open a session'), 'a line of the log');
      assert.equal(gate.log.split('modern client told to open a session').length, 2, 'once');
    });
  }

  it('asks server-everything\'s clients in round trips', async (t) => {
    const gate = await start(t, ['--bridge', 'true'], [server('mcp-server-everything'), 'stdio']);
    const client = await connect(gate, modern, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
    assert.equal(client.session, undefined);
    const asked = [];
    const answers = [];
    client.setRequestHandler('sampling/createMessage', () => (
      { role: 'assistant', model: 'm', content: { type: 'text', text: 'from the model' } }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///ada', name: 'of ada' }] }));
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return answers.shift();
    });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('trigger-sampling-request') && names.includes('trigger-elicitation-request'), names.join());
    assert.match(await textOf(client, 'trigger-sampling-request', { prompt: 'say', maxTokens: 9 }), /from the model/);
    answers.push({ action: 'decline' });
    assert.match(await textOf(client, 'trigger-elicitation-request'), /declined/i);
    answers.push({ action: 'accept', content: { name: 'Ada' } });
    const { content } = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    assert.match(content.map(({ text }) => text).join(), /"name": "Ada"/);
    assert.match(await textOf(client, 'get-roots-list'), /of ada/);
    const url = 'https://example.org/form';
    answers.push({ action: 'accept' });
    assert.match(await textOf(client, 'trigger-url-elicitation', { url }), /completed/);
    assert.equal(asked.at(-1).mode, 'url');
    assert.equal(asked.at(-1).url, url);
    // First an error that demands another URL (-32042), then the question.
    answers.push({ action: 'accept' }, { action: 'accept' });
    assert.match(await textOf(client, 'trigger-url-elicitation', { url, errorPath: true }), /completed/);
    assert.deepEqual(asked.slice(-2).map((params) => params.url), ['https://modelcontextprotocol.io', url]);
    assert.deepEqual(asked.map(({ elicitationId }) => elicitationId).filter(Boolean), [], 'the modern era has none');
    await client.close();
  });

  it('is server-memory, which keeps what it is told', async (t) => {
    const gate = await start(t, ['--bridge', 'true', '--env', 'MEMORY_FILE_PATH=@DIR@/memory.json'], [server('mcp-server-memory')]);
    const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] };
    for (const capabilities of [{}, { elicitation: {}, sampling: {}, roots: {} }]) {
      const client = await connect(gate, modern, capabilities);
      assert.equal(client.session, undefined);
      await client.callTool({ name: 'create_entities', arguments: { entities: [entity] } });
      await client.close();
      const other = await connect(gate, 'auto', capabilities);
      const { structuredContent } = await other.callTool({ name: 'open_nodes', arguments: { names: ['Ada'] } });
      assert.deepEqual(structuredContent.entities, [entity]);
      await other.callTool({ name: 'delete_entities', arguments: { entityNames: ['Ada'] } });
      await other.close();
    }
  });

  it('lets server-filesystem ask for roots', async (t) => {
    const gate = await start(t, ['--bridge', 'true', '--warm', '2'], [server('mcp-server-filesystem')]);
    const folder = join(gate.folder, 'root');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'in the root');
    const client = await connect(gate, modern, { roots: {} });
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file://${folder}` }] }));
    // The server refuses calls until it knows its roots, and a call may overtake the roots request of a new process.
    let text;
    for (let left = 8; left > 0 && !/in the root/.test(text); --left) {
      text = await textOf(client, 'read_text_file', { path: join(folder, 'a.txt') });
    }
    assert.match(text, /in the root/);
    await client.close();
  });

  it('serves modern clients where children are shared', async (t) => {
    const gate = await start(t, ['--isolation', 'shared'], [server('mcp-server-everything'), 'stdio']);
    for (const mode of ['auto', modern]) {
      const client = await connect(gate, mode);
      assert.equal(client.session, undefined);
      assert.match(client.getServerVersion().name, /everything/);
      assert.notDeepEqual((await client.listTools()).tools, []);
      assert.equal(await textOf(client, 'echo', { message: 'hi' }), 'Echo: hi');
      const steps = [];
      const slow = { duration: 0.4, steps: 4 };
      await textOf(client, 'trigger-long-running-operation', slow, { onprogress: ({ progress }) => steps.push(progress) });
      assert.deepEqual(steps, [1, 2, 3, 4]);
      await client.close();
    }
    const old = await connect(gate, 'legacy');
    assert.equal(await textOf(old, 'echo', { message: 'hi' }), 'Echo: hi');
    await old.close();
  });
});

// `mode`: of the clients. Each client fills a form and gives a completion, both with its own name.
describe('twenty clients at once', { timeout: 180_000 }, () => {
  const fixtureTools = [['test_elicitation', { message: 'who?' }], ['test_sampling', { prompt: 'say' }]];
  const everything = [server('mcp-server-everything'), 'stdio'];
  const everythingTools = [['trigger-elicitation-request', {}], ['trigger-sampling-request', { prompt: 'say' }]];
  for (const [title, mode, command, tools, options] of [
    ['modern, at a legacy server', modern, legacy, fixtureTools, ['bridge: true', 'pool: { max: 24 }']],
    ['modern, at server-everything with fewer places', modern, everything, everythingTools, ['bridge: true', 'pool: { max: 6 }']],
    ['modern, at a legacy server that is shared', modern, legacy, fixtureTools, ['isolation: shared', 'pool: { max: 6 }']],
    ['modern, at a server of both eras', modern, both, fixtureTools, []],
    ['with sessions, at a modern server', 'legacy', modernOnly, fixtureTools, []],
    ['with sessions, at a legacy server', 'legacy', legacy, fixtureTools, ['pool: { max: 24 }']],
  ]) {
    it(`${title}, are asked what concerns each`, async (t) => {
      const gate = await Stdgate.serve([
        'listen: "127.0.0.1:0"', 'admin: "off"', 'limits: { session_starts: 0 }', 'backends:', '  main:',
        `    command: ${JSON.stringify(command)}`, ...options.map((option) => `    ${option}`), '',
      ].join('\n'));
      t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
      // Until the gateway knows that the server is modern, each session takes its own process.
      await (await connect(gate, mode)).close();
      await Promise.all(Array.from({ length: 20 }, async (_, number) => {
        const name = `user ${number};`;
        const client = await connect(gate, mode, { elicitation: {}, sampling: {} });
        client.setRequestHandler('elicitation/create', () => (
          { action: 'accept', content: { username: name, name, email: 'a@example.org' } }));
        client.setRequestHandler('sampling/createMessage', () => (
          { role: 'assistant', model: 'm', content: { type: 'text', text: name } }));
        for (const [tool, args] of tools) {
          const answer = JSON.stringify(await client.callTool({ name: tool, arguments: args }));
          assert.deepEqual([...new Set(answer.match(/user \d+;/g))], [name], answer);
        }
        await client.close();
      }));
    });
  }
});
