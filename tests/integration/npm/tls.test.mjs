// TLS from Node's point of view: https with resumed sessions, wss by npm's `ws`, client certificates, and Node's errors
// if it does not trust the gateway.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import WebSocket from 'ws';

import { Stdgate, program } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const folder = mkdtempSync(join(tmpdir(), 'stdgate-tls-'));
const file = (name) => join(folder, name);

// A self-signed certificate.
function makeCertificate(name) {
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout', file(`${name}.key`), '-out', file(`${name}.crt`),
  ], { stdio: 'ignore' });
}
const read = (name) => readFileSync(file(name));

// The answer to one call over https.
function ask(gate, options, message) {
  return new Promise((resolve, reject) => {
    const request = https.request(`${gate.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...options,
    }, async (response) => {
      let text = '';
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode, answer: JSON.parse(text), socket: request.socket });
    });
    request.on('error', reject);
    request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
  });
}
const add = { method: 'math/add', params: [1, 2] };

describe('TLS', { timeout: 60_000 }, () => {
  let gate;
  let ca;
  before(async () => {
    makeCertificate('server');
    makeCertificate('other');
    makeCertificate('client');
    ca = read('server.crt');
    gate = await Stdgate.startWith([
      '--tls-certificate', file('server.crt'), '--tls-key', file('server.key'), '--protocol', 'jsonrpc',
    ], program, 'demo-server');
  });
  after(async () => {
    assert.deepEqual(await gate.stop(), cleanExit);
    rmSync(folder, { recursive: true });
  });

  it('is https', async () => {
    assert.match(gate.url, /^https:/);
    const agent = new https.Agent({ keepAlive: true, ca });
    for (let i = 0; i < 20; ++i) {
      const { status, answer } = await ask(gate, { agent }, add);
      assert.equal(status, 200);
      assert.equal(answer.result, 3);
    }
    agent.destroy();
  });

  it('resumes sessions', async () => {
    const agent = new https.Agent({ keepAlive: false, ca });
    const first = await ask(gate, { agent }, add);
    assert.equal(first.socket.isSessionReused(), false);
    const second = await ask(gate, { agent }, add);
    assert.equal(second.socket.isSessionReused(), true);
  });

  it('is not trusted by whom does not know it', async () => {
    await assert.rejects(ask(gate, {}, add), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    await assert.rejects(ask(gate, { ca: read('other.crt') }, add));
    await assert.rejects(ask(gate, { ca, servername: 'elsewhere.example' }, add),
      { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    assert.equal((await ask(gate, { ca }, add)).answer.result, 3);
  });

  it('is wss, for many messages and large ones', async () => {
    const socket = new WebSocket(gate.socketUrl, { ca });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const answers = [];
    const count = 2000;
    const done = new Promise((resolve) => socket.on('message', (data) => {
      if (answers.push(JSON.parse(data)) === count) resolve();
    }));
    for (let id = 0; id < count; ++id) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'math/add', params: [id, 1] }));
    }
    await done;
    for (const { id, result } of answers) assert.equal(result, id + 1);
    socket.removeAllListeners('message');
    const text = 'x'.repeat(15_000_000);
    const large = new Promise((resolve) => socket.once('message', (data) => resolve(JSON.parse(data))));
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'echo', params: [text] }));
    assert.deepEqual((await large).result, [text]);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(1000);
    assert.equal(await closed, 1000);
  });

  it('asks for certificates of clients', async (test) => {
    const strict = await Stdgate.startWith([
      '--tls-certificate', file('server.crt'), '--tls-key', file('server.key'),
      '--client-ca', file('client.crt'), '--protocol', 'jsonrpc',
    ], program, 'demo-server');
    test.after(async () => assert.deepEqual(await strict.stop(), cleanExit));
    const good = { ca, cert: read('client.crt'), key: read('client.key') };
    assert.equal((await ask(strict, good, add)).answer.result, 3);
    await assert.rejects(ask(strict, { ca }, add), /certificate required|ECONNRESET|EPIPE/);
    await assert.rejects(ask(strict, { ca, cert: read('other.crt'), key: read('other.key') }, add),
      /unknown ca|ECONNRESET|EPIPE/);
  });

  it('ends by close_notify', async () => {
    const { port } = new URL(gate.url);
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca });
    let text = '';
    socket.on('data', (data) => (text += data));
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await new Promise((resolve, reject) => socket.once('end', resolve).once('error', reject));
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.match(text, /wss:\/\/localhost/);
  });
});
