// Agents at three replicas behind nginx and HAProxy, each with its example. A client returns to its agent by the id of
// its connection, and to the same replica by its cookie.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import * as acp from '@agentclientprotocol/sdk';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';

import { AcpHttp, AcpSocket } from './acp_client.mjs';
import { Stdgate, eventually } from './stdgate_process.mjs';

const agent = new URL('acp_agent.mjs', import.meta.url).pathname;
const examples = new URL('../../../deploy/examples/', import.meta.url).pathname;
const names = ['gate-0', 'gate-1', 'gate-2'];
const isAsk = ({ method }) => method === 'session/request_permission';
const replicaOf = (id) => id.slice(0, id.indexOf('.'));

const startReplica = (name) => Stdgate.serve(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
replica: ${name}
sessions: { key_file: "@DIR@/keys" }
limits: { session_starts: 0 }
backends:
  agent:
    command: ["${process.execPath}", "${agent}"]
    protocol: acp
`, { keys: `${'7'.repeat(64)}\n` });

// An address for this process alone, so that the port is free.
const host = `127.${16 + ((process.pid >> 8) % 200)}.${process.pid & 255}.1`;

class Balancer {
  static programOf = (name) => [`/usr/sbin/${name}`, `/usr/local/sbin/${name}`, `/usr/bin/${name}`].find(existsSync);

  static async start(name, gates) {
    const balancer = new Balancer();
    const probe = net.createServer().listen(0, host);
    await new Promise((resolve) => probe.on('listening', resolve));
    const address = `${host}:${probe.address().port}`;
    await new Promise((resolve) => probe.close(resolve));
    balancer.url = `http://${address}`;
    balancer.folder = mkdtempSync(join(tmpdir(), 'stdgate-balancer-'));
    let text = readFileSync(join(examples, `replicas.${name === 'nginx' ? 'nginx.conf' : 'haproxy.cfg'}`), 'utf8')
      .replace('listen 80;', `listen ${address};`).replace('bind :80\n', `bind ${address}\n`);
    gates.forEach((gate, i) => {
      text = text.replaceAll(`127.0.0.1:808${i + 1}`, new URL(gate.url).host)
        .replaceAll(`port 908${i + 1}`, `port ${new URL(gate.adminUrl).port}`);
    });
    if (name === 'nginx') {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
        mkdirSync(join(balancer.folder, kind));
        return `${kind}_temp_path ${join(balancer.folder, kind)};`;
      }).join('\n');
      text = `daemon off; master_process off; pid nginx.pid; error_log stderr warn;
events { worker_connections 512; }
http { access_log off; ${paths}
${text}
}`;
    }
    const config = join(balancer.folder, 'config');
    writeFileSync(config, text);
    const words = name === 'nginx' ? ['-p', balancer.folder, '-c', config] : ['-db', '-f', config];
    balancer.process = spawn(Balancer.programOf(name), words, { stdio: ['ignore', 'ignore', 'pipe'] });
    balancer.log = '';
    balancer.process.stderr.on('data', (bytes) => (balancer.log += bytes));
    balancer.ended = new Promise((resolve) => balancer.process.on('exit', resolve));
    process.on('exit', () => balancer.process.kill('SIGKILL'));
    await eventually(() => fetch(balancer.url).then((response) => response.text(), () => false), `${name} is up: ${balancer.log}`);
    return balancer;
  }

  async stop() {
    this.process.kill('SIGTERM');
    await this.ended;
    rmSync(this.folder, { recursive: true });
  }
}

for (const name of ['nginx', 'haproxy']) {
  describe(`agents behind ${name}`, { timeout: 120_000, skip: !Balancer.programOf(name) }, () => {
    let gates, balancer;
    before(async () => {
      gates = await Promise.all(names.map(startReplica));
      balancer = await Balancer.start(name, gates);
    });
    after(async () => {
      await balancer.stop();
      for (const gate of gates) await gate.stop();
    });

    it('are found by the official client, at every replica', async () => {
      const used = new Set();
      await Promise.all(Array.from({ length: 9 }, async () => {
        const watch = (url, init) => fetch(url, init).then((response) => {
          const id = response.headers.get('acp-connection-id');
          if (id) used.add(replicaOf(id));
          return response;
        });
        const app = acp.client({ name: 'test' }).onRequest(acp.methods.client.session.requestPermission,
          () => ({ outcome: { outcome: 'selected', optionId: 'yes' } }));
        await app.connectWith(createHttpStream(`${balancer.url}/acp`, { fetch: watch }), async (context) => {
          await context.request('initialize', { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
          const { sessionId } = await context.request('session/new', { cwd: '/', mcpServers: [] });
          const { stopReason } = await context.request('session/prompt',
            { sessionId, prompt: [{ type: 'text', text: 'ask' }] });
          assert.equal(stopReason, 'end_turn');
        });
      }));
      assert.deepEqual([...used].sort(), names);
    });

    it('are found again by whoever comes back', async () => {
      await Promise.all(Array.from({ length: 6 }, async () => {
        const client = await AcpSocket.connect(balancer.url);
        const session = await client.begin();
        const prompt = client.prompt(session, 'ask');
        await client.heard(isAsk, 'the permission request');
        await client.cut();
        const again = await AcpSocket.connect(balancer.url, { headers: { 'acp-connection-id': client.id } });
        const asked = await again.heard(isAsk, 'the permission request');
        again.send({ id: asked.id, result: { outcome: { outcome: 'selected', optionId: 'yes' } } });
        assert.equal((await again.answer(prompt)).result.stopReason, 'end_turn');
        await again.cut();
      }));
    });

    it('begin where the cookie says', async () => {
      for (const replica of [...names, ...names]) {
        const client = new AcpHttp(balancer.url, { cookie: `other=1; stdgate-replica=${replica}` });
        const response = await client.initialize();
        assert.match(response.headers.get('set-cookie'), new RegExp(`^stdgate-replica=${replica};`));
        assert.equal(replicaOf(client.id), replica);
        // The id of a connection takes precedence over a cookie.
        client.headers.cookie = 'stdgate-replica=gate-0';
        assert.equal((await client.fetch('DELETE', { 'acp-connection-id': client.id })).status, 202);
      }
    });

    it('are gone with their replica, and the client may begin again', async () => {
      const client = new AcpHttp(balancer.url, { cookie: 'stdgate-replica=gate-2' });
      await client.initialize();
      assert.equal(replicaOf(client.id), 'gate-2');
      await gates.pop().stop();
      await eventually(async () => (await client.post({ method: 'x' })).status === 404, 'the refusal of another replica');
      await eventually(async () => {
        delete client.id;
        return (await client.initialize()).status === 200;
      }, 'an agent at another replica');
      assert.notEqual(replicaOf(client.id), 'gate-2');
    });
  });
}
