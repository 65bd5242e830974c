// Pages in a real browser (Chromium). A page of another site must have no effect, whatever it sends. Pages of an
// allowed origin and of this machine work.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

import { Stdgate } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const recorder = new URL('recording_server.mjs', import.meta.url).pathname;
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
  '--host-resolver-rules=MAP *.example 127.0.0.1',
];

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', arguments: {} } };
const initialize = {
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'p', version: '1' } },
};
const query = `method=tools/call&params=${encodeURIComponent(JSON.stringify(call.params))}`;

// Requests that a page can make, by name. Each function runs in the page, waits for the browser's answer, and returns
// what the page can see of the answer.
const attempts = {
  'fetch, no-cors': (target) => fetch(target.stream, {
    mode: 'no-cors', headers: { Accept: 'text/event-stream' },
  }).then((answer) => answer.type),
  'fetch of /sse, no-cors': (target) => fetch(target.sse, {
    mode: 'no-cors', headers: { Accept: 'text/event-stream' },
  }).then((answer) => answer.type),
  'POST of text, no-cors': (target) => fetch(target.rpc, {
    mode: 'no-cors', method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: target.call,
  }).then((answer) => answer.type),
  'POST of text to /mcp, no-cors': (target) => fetch(target.mcp, {
    mode: 'no-cors', method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: target.initialize,
  }).then((answer) => answer.type),
  'POST of JSON': (target) => fetch(target.rpc, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: target.call,
  }).then((answer) => answer.text(), () => 'refused'),
  beacon: async (target) => String(navigator.sendBeacon(target.rpc, target.call)),
  img: (target) => new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve('loaded');
    image.onerror = () => resolve('refused');
    image.src = target.stream;
  }),
  script: (target) => new Promise((resolve) => {
    const script = document.createElement('script');
    script.onload = () => resolve('loaded');
    script.onerror = () => resolve('refused');
    script.src = target.stream;
    document.body.append(script);
  }),
  'form, GET': (target) => new Promise((resolve) => {
    document.body.innerHTML = '<iframe name="frame"></iframe><form target="frame"></form>';
    const form = document.querySelector('form');
    for (const [name, value] of new URL(target.stream).searchParams) {
      const input = document.createElement('input');
      Object.assign(input, { name, value });
      form.append(input);
    }
    form.action = target.stream;
    document.querySelector('iframe').onload = () => resolve('loaded');
    form.submit();
  }),
  'form, POST of text': (target) => new Promise((resolve) => {
    document.body.innerHTML = '<iframe name="frame"></iframe>' +
      '<form target="frame" method="post" enctype="text/plain"><input></form>';
    const form = document.querySelector('form');
    form.action = target.rpc;
    document.querySelector('input').name = target.call;
    document.querySelector('iframe').onload = () => resolve('loaded');
    form.submit();
  }),
  EventSource: (target) => new Promise((resolve) => {
    const source = new EventSource(target.stream);
    const end = (text) => { source.close(); resolve(text); };
    source.onmessage = (event) => end(event.data);
    source.onerror = () => end('refused');
  }),
  WebSocket: (target) => new Promise((resolve) => {
    const socket = new WebSocket(target.socket);
    const end = (text) => { socket.close(); resolve(text); };
    socket.onopen = () => socket.send(target.initialize);
    socket.onmessage = (event) => end(event.data);
    socket.onclose = () => end('refused');
  }),
};
// Requests that browsers send without Origin. They are refused to all pages of other origins.
const unmarked = ['fetch, no-cors', 'fetch of /sse, no-cors', 'img', 'script', 'form, GET'];
// Requests of an allowed page.
const allowed = ['POST of JSON', 'EventSource', 'WebSocket'];

const serve = (address, more = '') => Stdgate.serve([
  `listen: "${address}:0"`, 'admin: "off"', more, 'backends:', '  main:',
  `    command: ["${process.execPath}", "${recorder}", "@DIR@/record"]`,
  '    pool: { grace: 1s }', '',
].join('\n'));

describe('pages in a browser', { timeout: 120_000 }, () => {
  let gate, record, target, pages, pagePort, browser, wire;

  before(async () => {
    pages = createServer((_, answer) => {
      answer.setHeader('Content-Type', 'text/html');
      answer.end('<!doctype html><body></body>');
    });
    await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
    pagePort = pages.address().port;
    gate = await serve('127.0.0.1', `allowed_origins: ["http://app.example:${pagePort}"]`);
    record = join(gate.folder, 'record');
    wire = await TcpProxy.to(gate.url);
    target = targetAt(wire.url);
    browser = await chromium.launch({ executablePath: browserPath, headless: true, args: flags });
  });
  after(async () => {
    await browser?.close();
    wire?.close();
    pages.closeAllConnections?.();
    await new Promise((resolve) => pages.close(resolve));
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  const targetAt = (url) => ({
    rpc: `${url}/rpc`, mcp: `${url}/mcp`, sse: `${url}/sse`,
    stream: `${url}/rpc/stream?${query}`, socket: `${url.replace('http', 'ws')}/ws`,
    call: JSON.stringify(call), initialize: JSON.stringify(initialize),
  });

  // Runs an attempt in a new page at `origin`, and returns what the page got.
  async function attempt(origin, name, at = target) {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(`${origin}/`);
      return await page.evaluate(attempts[name], at);
    } finally {
      await context.close();
    }
  }
  const recorded = () => (existsSync(record) ? readFileSync(record, 'utf8') : '');

  // These tests come first, so no child has been started before.
  for (const name of Object.keys(attempts)) {
    it(`another site: ${name} makes nothing happen`, async () => {
      const seen = wire.requests.length;
      const got = await attempt(`http://attacker.example:${pagePort}`, name);
      assert.doesNotMatch(got, /done|recorder/);
      assert.ok(wire.requests.length > seen, 'nothing was sent');
      assert.equal(recorded(), '');
      assert.deepEqual(gate.children(), []);
    });
  }

  it('20 fetches of /sse start no child', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://attacker.example:${pagePort}/`);
    await page.evaluate(({ sse }) => Promise.all(
      Array.from({ length: 20 }, (_, i) => fetch(`${sse}?${i}`, { mode: 'no-cors' }))), target);
    assert.equal(recorded(), '');
    assert.deepEqual(gate.children(), []);
    await context.close();
  });

  // For such an address, browsers do not send fields that tell the page's site.
  const network = Object.values(networkInterfaces()).flat()
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  it('an address of the network: unmarked requests make nothing happen', {
    skip: network === undefined && 'this machine has no address but loopback ones',
  }, async () => {
    const open = await serve(network, 'anonymous: true');
    try {
      for (const name of unmarked) {
        await attempt(`http://attacker.example:${pagePort}`, name, targetAt(open.url));
      }
      assert.equal(existsSync(join(open.folder, 'record')), false);
      assert.deepEqual(open.children(), []);
    } finally {
      assert.deepEqual(await open.stop(), cleanExit);
    }
  });

  for (const host of ['127.0.0.1', 'localhost']) {
    for (const name of unmarked) {
      it(`http://${host}, another port: ${name} makes nothing happen`, async () => {
        await attempt(`http://${host}:${pagePort}`, name);
        assert.equal(recorded(), '');
        assert.deepEqual(gate.children(), []);
      });
    }
  }

  // After DNS rebinding, the page has the same origin as the address at which it asks the gateway.
  it('a page that rebinds its name gets nothing', async () => {
    const port = new URL(gate.url).port;
    const rebound = `http://attacker.example:${port}`;
    const context = await browser.newContext();
    const page = await context.newPage();
    const answer = await page.goto(`${rebound}/`);
    assert.equal(answer.status(), 403);
    assert.match(await answer.text(), /allowed_hosts/);
    for (const path of ['/rpc/stream', '/sse', '/']) {
      const status = await page.evaluate(
        (url) => fetch(url, { headers: { Accept: 'text/event-stream' } }).then(({ status }) => status),
        `${rebound}${path}?${query}`);
      assert.equal(status, 403, path);
    }
    assert.equal(await page.evaluate(attempts.WebSocket, targetAt(rebound)), 'refused');
    assert.match(await page.evaluate(attempts['POST of JSON'], targetAt(rebound)), /403|forbidden/);
    assert.equal(recorded(), '');
    await context.close();
  });

  for (const site of ['http://app.example', 'http://localhost', 'http://127.0.0.1']) {
    for (const name of allowed) {
      it(`${site}: ${name} works`, async () => {
        assert.match(await attempt(`${site}:${pagePort}`, name), /done|recorder/);
      });
    }
  }

  it('a page of the gateway itself works', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    assert.equal((await page.goto(gate.url)).status(), 200);
    for (const name of allowed) {
      assert.match(await page.evaluate(attempts[name], targetAt(gate.url)), /done|recorder/, name);
    }
    await context.close();
  });

  it('a link from another site is refused, an address that is typed is not', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://attacker.example:${pagePort}/`);
    const [answer] = await Promise.all([
      page.waitForNavigation(),
      page.evaluate((url) => { location.href = url; }, gate.url),
    ]);
    assert.equal(answer.status(), 403);
    assert.equal((await page.goto(gate.url)).status(), 200);
    await context.close();
  });
});
