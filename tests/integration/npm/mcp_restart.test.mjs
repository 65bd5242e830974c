// Official MCP clients whose gateway is restarted or dies between two calls. The clients notice nothing, and their next
// call is answered: ids contain their session, and the next process has the same key.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Peer, streamable } from './mcp_clients.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const everything = [server('mcp-server-everything'), 'stdio'];

for (const transport of streamable) {
  describe(`a gateway that is restarted, ${transport}`, { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'stdgate-keys-'));
    const keys = join(folder, 'sessions.key');
    const start = () => Stdgate.startWith(['--grace', '1s', '--session-key-file', keys], ...everything);
    let gate;
    let proxy;
    let ada;
    before(async () => {
      writeFileSync(keys, `${'42'.repeat(32)}\n`, { mode: 0o600 });
      gate = await start();
      proxy = await TcpProxy.to(gate.url);
      ada = await Peer.connect(transport, proxy.url);
    });
    after(async () => {
      await ada.close();
      proxy.close();
      await gate.stop();
      rmSync(folder, { recursive: true });
    });
    const echo = (message) => ada.text('echo', { message });

    it('answers the next call after a restart', async () => {
      assert.equal(await echo('one'), 'Echo: one');
      assert.deepEqual(await gate.stop(), { code: 0, signal: null, left: [] });
      gate = await start();
      proxy.leadTo(gate.url);
      assert.equal(await echo('two'), 'Echo: two');
      assert.equal(await echo('three'), 'Echo: three');
    });

    it('answers the next call after it was killed', async () => {
      gate.process.kill('SIGKILL');
      await gate.exited;
      const killed = gate;
      gate = await start();
      proxy.leadTo(gate.url);
      assert.equal(await echo('four'), 'Echo: four');
      assert.deepEqual((await killed.stop()).left, []);
    });

    it('tells its client, and asks it again', async () => {
      await eventually(() => ada.told('message').some(({ logger }) => logger === 'stdgate'), 'what it is told');
      await ada.offered('trigger-sampling-request');
      assert.match(await ada.text('trigger-sampling-request', { prompt: 'still there?' }), /ada: .*still there\?/);
    });
  });
}
