// The example of docs/authentication.md in a real browser (Chromium). A page of another origin authenticates itself,
// over a WebSocket and over an event stream. A page without a credential is refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

import { program, Stdgate } from './stdgate_process.mjs';

const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
];
const key = 'a-key-for-pages-+/=-1234';

// The example in the page: the code block that begins with the function for both ways.
const page = readFileSync(new URL('../../../docs/authentication.md', import.meta.url), 'utf8');
const example = page.match(/```js\n(const inUrl[\s\S]*?)```/)[1];

describe('a page that says who it is', { timeout: 60_000 }, () => {
  let gate, browser, tab, site;

  before(async () => {
    gate = await Stdgate.serve([
      'listen: "127.0.0.1:0"', 'admin: "off"', 'log: { level: debug }',
      `auth: { api_keys: [ { name: page, file: "@DIR@/key" } ] }`,
      'backends:', `  demo: { command: ["${program}", demo-server], protocol: jsonrpc }`, '',
    ].join('\n'), { key: `${key}\n` });
    site = createServer((_, answer) => {
      answer.setHeader('Content-Type', 'text/html');
      answer.end('<!doctype html><title>page</title><link rel="icon" href="data:,">');
    });
    await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
    browser = await chromium.launch({ executablePath: browserPath, headless: true, args: flags });
    tab = await (await browser.newContext()).newPage();
    await tab.goto(`http://127.0.0.1:${site.address().port}/`);
  });
  after(async () => {
    await browser?.close();
    site?.close();
    assert.deepEqual((await gate.stop()).left, []);
  });

  // Runs the example with this credential, and returns what arrived over both ways.
  const run = (credential) => tab.evaluate(async ([text, gateway, shown]) => {
    const body = `${text.replaceAll('http://127.0.0.1:8080', gateway)}\nreturn { socket, events };`;
    const make = new (Object.getPrototypeOf(async () => {}).constructor)('credential', body);
    const { socket, events } = await make(shown);
    const seen = [];
    const atEnd = new Promise((resolve) => {
      events.onmessage = ({ data }) => (data === '[DONE]' ? resolve('done') : seen.push(data));
      events.onerror = () => resolve('error');
    });
    const overSocket = await new Promise((resolve) => {
      const ask = () => socket.send('{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3]}');
      if (socket.readyState === WebSocket.OPEN) ask();
      else socket.onopen = ask;
      socket.onmessage = ({ data }) => {
        if (JSON.parse(data).id === 1) resolve(`${socket.protocol} ${data}`);
      };
      socket.onclose = ({ code }) => resolve(`closed ${code}`);
    });
    socket.close();
    const over = await atEnd;
    events.close();
    return { overSocket, over, seen };
  }, [example, gate.url, credential]);

  it('gets answers over a WebSocket and an event stream', async () => {
    const { overSocket, over, seen } = await run(key);
    assert.equal(overSocket, 'jsonrpc {"jsonrpc":"2.0","id":1,"result":5}');
    assert.equal(over, 'done');
    assert.equal(seen.length, 3);
    assert.match(seen[2], /"result":\{"steps":2\}/);
  });

  it('gets nothing with a wrong credential', async () => {
    await assert.rejects(run(`${key}x`), /no ticket: .*this credential is not known/);
  });

  it('leaves neither credential nor ticket in the log', async () => {
    const encoded = Buffer.from(key).toString('base64url');
    assert.match(gate.log, /path=\/ticket/);
    assert.ok(!gate.log.includes(key) && !gate.log.includes(encoded) && !gate.log.includes('ticket='));
  });
});
