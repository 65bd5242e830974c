// Clients of both eras whose backend gets other rules or is replaced. They are told that the lists have changed, and
// find what the new rules allow. Listening clients are told to ask again.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { Stdgate, eventually } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const packages = new URL('node_modules/', import.meta.url).pathname;
const node = `${packages}/node-linux-${process.arch}/bin/node`;
const fixture = new URL('conformance_server.mjs', import.meta.url).pathname;
const modern = { pin: '2026-07-28' };
const changed = 'notifications/tools/list_changed';

const config = (kind, isolation, tools, more = '') => [
  'listen: ["127.0.0.1:0"]',
  'admin: off',
  'backends:',
  '  main:',
  `    command: ["${node}", "${fixture}", "${kind}", "@DIR@"]`,
  `    isolation: ${isolation}`,
  '    bridge: true',
  '    rules:',
  `      - { allow: ["*"], tools: [${tools}] }`,
  '      - { allow: ["*"], methods: ["subscriptions/listen"] }',
  more,
  '',
].join('\n');

function reload(gate, text) {
  writeFileSync(join(gate.folder, 'gateway.yaml'), text.replaceAll('@DIR@', gate.folder));
  gate.process.kill('SIGHUP');
}

async function connect(gate, mode) {
  const client = new Client({ name: 'ada', version: '1' }, { capabilities: {}, versionNegotiation: { mode } });
  client.changes = 0;
  client.setNotificationHandler(changed, () => (client.changes += 1));
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gate.url}/mcp`)));
  return client;
}

const toolsOf = async (client) => (await client.listTools()).tools.map(({ name }) => name).sort();

describe('a reload of rules', { timeout: 120_000 }, () => {
  for (const kind of ['asking', 'modern']) {
    for (const isolation of ['session', 'shared']) {
      it(`is told to clients of both eras: server ${kind}, isolation ${isolation}`, async (t) => {
        const gate = await Stdgate.serve(config(kind, isolation, 'test_simple_text'));
        t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
        const legacy = await connect(gate, 'legacy');
        const other = await connect(gate, modern);
        await other.listen({ toolsListChanged: true });
        for (const client of [legacy, other]) assert.deepEqual(await toolsOf(client), ['test_simple_text']);
        reload(gate, config(kind, isolation, 'test_simple_text, test_image_content'));
        for (const client of [legacy, other]) {
          await eventually(() => client.changes > 0, 'a change');
          assert.deepEqual(await toolsOf(client), ['test_image_content', 'test_simple_text']);
        }
        // Clients are not told of a reload that leaves the rules unchanged.
        const before = legacy.changes;
        reload(gate, config(kind, isolation, 'test_simple_text, test_image_content', 'allowed_origins: ["https://app.example"]'));
        await eventually(() => /changed=allowed_origins/.test(gate.log), 'the reload');
        await legacy.ping();
        assert.equal(legacy.changes, before);
        await legacy.close();
        await other.close();
      });
    }
  }
});

describe('a reload that replaces a backend', { timeout: 120_000 }, () => {
  for (const kind of ['asking', 'modern']) {
    it(`ends what clients listen to, at once: server ${kind}`, async (t) => {
      const gate = await Stdgate.serve(config(kind, 'shared', 'test_simple_text'));
      t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
      const response = await fetch(`${gate.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json', accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen',
        },
        body: JSON.stringify({
          jsonrpc: '2.0', id: 'ears', method: 'subscriptions/listen',
          params: {
            notifications: { toolsListChanged: true },
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        }),
      });
      assert.equal(response.status, 200);
      let heard = '';
      const reading = (async () => {
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) heard += piece;
      })();
      await eventually(() => heard.includes('notifications/subscriptions/acknowledged'), 'the acknowledgement');
      const begun = Date.now();
      reload(gate, config(kind, 'shared', 'test_simple_text', '    timeout: 55s'));
      await reading;
      assert.match(heard, /"id":"ears","result":\{/);
      assert.ok(Date.now() - begun < 10_000, 'before the drain is over');
    });
  }
});
