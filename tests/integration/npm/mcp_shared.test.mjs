// MCP clients whose sessions share one server: its messages reach the sessions that they concern.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { Peer, streamable } from './mcp_clients.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';

const resource = (number) => `demo://resource/dynamic/text/${number}`;

describe('a shared server-everything', { timeout: 60_000 }, () => {
  let gate;
  let ada;
  let bob;
  let carol; // only makes the marks for settle()
  let marks = 0;
  before(async () => {
    gate = await Stdgate.startWith(['--isolation', 'shared', '--max', '1'],
      server('mcp-server-everything'), 'stdio');
    ada = await Peer.connect(streamable[0], gate.url, 'ada');
    bob = await Peer.connect(streamable[1], gate.url, 'bob');
    carol = await Peer.connect(streamable[0], gate.url, 'carol');
  });
  after(async () => {
    await Promise.all([ada, bob, carol].map((peer) => peer.close()));
    assert.deepEqual(await gate.stop(), { code: 0, signal: null, left: [] });
  });

  // Waits until ada and bob have received all earlier messages of the server. The call by carol makes the server send a
  // last notification to all sessions, on the same stream as the earlier messages.
  async function settle() {
    const both = [ada, bob];
    const heard = both.map((peer) => peer.told('resources/list_changed').length);
    marks += 1;
    await carol.call('gzip-file-as-resource',
      { name: `mark${marks}`, data: 'data:text/plain,mark', outputType: 'resourceLink' });
    await Promise.all(both.map((peer, index) => peer.hears('resources/list_changed', heard[index])));
  }

  // The resources of whose updates ada and bob are told, when the server announces its updates once.
  async function updates() {
    const both = [ada, bob];
    const heard = both.map((peer) => peer.told('resources/updated').length);
    await ada.text('toggle-subscriber-updates');
    await ada.text('toggle-subscriber-updates');
    await settle();
    return both.map((peer, index) =>
      peer.told('resources/updated').slice(heard[index]).map(({ uri }) => uri).sort());
  }

  // This test is the first. The server never answers a cancelled call, and after such a call the gateway cannot tell
  // which session a message is for.
  it('logs to the session that it is at work for', async () => {
    const heard = [ada, bob].map((peer) => peer.told('message').length);
    await bob.client.subscribeResource({ uri: resource(7) });
    const said = () => bob.told('message').slice(heard[1]).map(({ data }) => data);
    await eventually(() => said().some((data) => data.includes(resource(7))), 'a log message');
    await settle();
    assert.deepEqual(ada.told('message').slice(heard[0]).filter(({ data }) => data.includes(resource(7))), []);
    await bob.client.unsubscribeResource({ uri: resource(7) });
    await settle();
  });

  it('is one process', async () => {
    assert.equal(gate.children().length, 1);
    assert.notEqual(ada.transport.sessionId, bob.transport.sessionId);
    assert.equal(bob.client.getServerVersion().name, ada.client.getServerVersion().name);
  });

  it('answers each, with equal ids', async () => {
    await Promise.all([ada, bob].flatMap((peer) => Array.from({ length: 50 }, async (_, index) => {
      const message = `${peer.name} ${index}`;
      assert.equal(await peer.text('echo', { message }), `Echo: ${message}`);
    })));
    assert.ok(!JSON.stringify(ada.received).includes('bob'));
    assert.ok(!JSON.stringify(bob.received).includes('ada'));
  });

  it('tells both of changed lists', async () => {
    await settle();
  });

  it('tells progress to the caller', async () => {
    const heard = [ada, bob].map((peer) => peer.told('progress').length);
    const steps = await Promise.all([ada.steps(0.4, 4), bob.steps(0.6, 6)]);
    assert.deepEqual(steps, [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]);
    await settle();
    assert.deepEqual([ada, bob].map((peer, index) => peer.told('progress').length - heard[index]), [4, 6]);
  });

  it('says no more of a call that was cancelled', async () => {
    const abort = new AbortController();
    const cancelled = ada.steps(5, 100, { signal: abort.signal });
    await ada.hears('progress', ada.told('progress').length);
    abort.abort('enough');
    await assert.rejects(cancelled, /enough/);
    assert.equal(await ada.text('echo', { message: 'on' }), 'Echo: on');
    const heard = [ada, bob].map((peer) => peer.told('progress').length);
    assert.deepEqual(await bob.steps(0.3, 3), [1, 2, 3]);
    await settle();
    assert.deepEqual([ada, bob].map((peer, index) => peer.told('progress').length - heard[index]), [0, 3]);
  });

  it('updates those who subscribe, and as long as they do', async () => {
    await ada.client.subscribeResource({ uri: resource(1) });
    await bob.client.subscribeResource({ uri: resource(1) });
    await bob.client.subscribeResource({ uri: resource(2) });
    assert.deepEqual(await updates(), [[resource(1)], [resource(1), resource(2)]]);
    await ada.client.unsubscribeResource({ uri: resource(1) });
    assert.deepEqual(await updates(), [[], [resource(1), resource(2)]]);
    await bob.client.unsubscribeResource({ uri: resource(1) });
    assert.deepEqual(await updates(), [[], [resource(2)]]);
  });

  it('ends the subscriptions of a session with it', async () => {
    const eve = await Peer.connect(streamable[0], gate.url, 'eve');
    await eve.client.subscribeResource({ uri: resource(3) });
    await ada.client.subscribeResource({ uri: resource(3) });
    await eve.transport.terminateSession();
    await eve.close();
    assert.deepEqual(await updates(), [[resource(3)], [resource(2)]]);
  });

  it('goes on when one of them leaves', async () => {
    const [pid] = gate.children();
    await bob.transport.terminateSession();
    assert.equal(await ada.text('echo', { message: 'on' }), 'Echo: on');
    assert.deepEqual(gate.children(), [pid]);
  });
});
