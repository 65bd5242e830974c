// Official clients that do not know of parked sessions. Between two calls their server dies, is idle, or gives its
// place to another session. The next call is answered nevertheless.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Peer, streamable, transports } from './mcp_clients.mjs';
import { Stdgate, eventually } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const small = ['node', new URL('soak_mcp_server.mjs', import.meta.url).pathname, '@DIR@'];

async function startFor(test, ...flags) {
  const gate = await Stdgate.startWith(['--grace', '1s', ...flags], ...small);
  test.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
  return gate;
}

const restarted = (peer) => peer.told('message').filter(({ logger }) => logger === 'stdgate').length;

for (const transport of Object.keys(transports)) {
  describe(`parked sessions, ${transport}`, { timeout: 120_000 }, () => {
    it('go on when their server has been killed', async (test) => {
      const gate = await startFor(test);
      const peer = await Peer.connect(transport, gate.url);
      assert.equal(await peer.text('echo', { message: 'one' }), 'one');
      process.kill(gate.children()[0], 'SIGKILL');
      await eventually(() => gate.log.includes('reason=child_ended'), 'its end');
      assert.equal(await peer.text('echo', { message: 'two' }), 'two');
      assert.equal(restarted(peer), 1);
      assert.equal(await peer.text('echo', { message: 'three' }), 'three');
      assert.equal(restarted(peer), 1);
      await peer.close();
    });

    it('take turns where there is one place', async (test) => {
      const gate = await startFor(test, '--max', '1');
      const ada = await Peer.connect(transport, gate.url, 'ada');
      assert.equal(await ada.text('echo', { message: 'ada 1' }), 'ada 1');
      const bob = await Peer.connect(transport, gate.url, 'bob');
      assert.equal(await bob.text('echo', { message: 'bob 1' }), 'bob 1');
      assert.equal(await ada.text('echo', { message: 'ada 2' }), 'ada 2');
      assert.equal(await bob.text('echo', { message: 'bob 2' }), 'bob 2');
      assert.deepEqual([restarted(ada), restarted(bob)], [1, 1]);
      assert.equal(gate.children().length, 1);
      await Promise.all([ada.close(), bob.close()]);
    });
  });
}

for (const transport of streamable) {
  it(`an idle session is parked and comes back (${transport})`, { timeout: 60_000 }, async (test) => {
    const gate = await startFor(test, '--idle-timeout', '500ms');
    const first = await Peer.connect(transport, gate.url);
    assert.equal(await first.text('echo', { message: 'one' }), 'one');
    const { sessionId } = first.transport;
    await first.close(); // no DELETE
    await eventually(() => gate.children().length === 0, 'the end of its server');
    const response = await fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': sessionId,
      },
      body: JSON.stringify({
        jsonrpc: '2.0', id: 'late', method: 'tools/call',
        params: { name: 'echo', arguments: { message: 'two' } },
      }),
    });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /restarted[^]*"text":"two"/);
  });
}

// At most two users act at a time, as real users do. The others keep their sessions open.
async function inTwoLanes(count, act) {
  let next = 0;
  await Promise.all([0, 1].map(async () => {
    while (next < count) await act(next++);
  }));
}

it('40 users whose 72 clients never say goodbye are all served', { timeout: 300_000 }, async (test) => {
  const gate = await startFor(test, '--max', '4');
  const peers = new Map(); // the latest peer of each user
  await inTwoLanes(72, async (index) => {
    const user = `user ${index % 40}`;
    await peers.get(user)?.close(); // no DELETE
    const peer = await Peer.connect(streamable[index % 2], gate.url, user);
    peers.set(user, peer);
    for (const message of ['one', 'two']) assert.equal(await peer.text('echo', { message }), message);
  });
  const users = [...peers.values()];
  await inTwoLanes(users.length, async (index) => {
    assert.equal(await users[index].text('echo', { message: 'again' }), 'again');
    await users[index].close();
  });
});
