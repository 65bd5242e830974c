// Language servers behind a WebSocket, as an editor in a browser uses them. Each client has its own
// server, requests go in both directions, and no server is left without a client.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  CancellationTokenSource, CodeActionRequest, CompletionRequest, DocumentSymbolRequest,
  ExecuteCommandRequest, HoverRequest, RenameRequest, ShutdownRequest,
} from 'vscode-languageserver-protocol';

import { cancelled } from './cancelled.mjs';
import { LspClient, edited } from './lsp_client.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const graceMs = 1000;
const flags = ['--protocol', 'lsp', '--grace', `${graceMs}ms`];
const requestCancelled = -32800;

const at = (uri, line, character) => ({ textDocument: { uri }, position: { line, character } });
const span = (line, from, to) =>
  ({ start: { line, character: from }, end: { line, character: to } });
// Waits until none of these processes runs. A server must be gone soon after its client: within the
// grace period and a second.
const gone = (gate, pids) => eventually(
  () => !gate.children().some((pid) => pids.includes(pid)), `the end of ${pids}`, graceMs + 1000);

// Connects a client, and finds the processes that were started for it.
async function clientOf(gate, greet = (client) => client.initialize()) {
  const before = gate.children();
  const client = await LspClient.connect(gate.socketUrl, gate.folder);
  client.greeting = await greet(client);
  await eventually(() => {
    client.processes = gate.children().filter((pid) => !before.includes(pid));
    return client.processes.length > 0;
  }, 'a server');
  return client;
}

describe('clangd', { timeout: 60_000 }, () => {
  const text = [
    'int twice(int number) { return 2 * number; }',
    'int main() { auto result = twice(21); return result + missing; }',
    '',
  ].join('\n');
  let gate, client, uri;
  before(async () => {
    gate = await Stdgate.startWith(flags, 'clangd', '--log=error');
    client = await clientOf(gate);
    uri = await client.open('main.cc', 'cpp', text);
  });
  after(async () => {
    assert.deepEqual(client.errors, []);
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('publishes diagnostics', async () => {
    assert.match((await client.complaints(uri)).join(), /undeclared identifier 'missing'/);
  });

  it('answers hover, completion and rename', async () => {
    const hover = await client.send(HoverRequest.type, at(uri, 1, 28));
    assert.match(hover.contents.value, /int twice\(int number\)/);
    const { items } = await client.send(CompletionRequest.type, at(uri, 1, 30));
    assert.ok(items.some(({ insertText }) => insertText === 'twice'), JSON.stringify(items));
    const rename = await client.send(RenameRequest.type,
      { ...at(uri, 0, 5), newName: 'doubled' });
    assert.equal(edited(uri, text, rename), text.replaceAll('twice', 'doubled'));
  });

  it('has the client apply an edit, and hears whether it did', async () => {
    const [action] = await client.send(CodeActionRequest.type, {
      textDocument: { uri }, range: span(1, 13, 17), context: { diagnostics: [] },
    });
    assert.equal(action.command.command, 'clangd.applyTweak');
    const { command } = action;
    assert.equal(await client.send(ExecuteCommandRequest.type, command), 'Tweak applied.');
    const [edit] = client.edits.splice(0);
    assert.match(edited(uri, text, edit), /int\s+result\s*=\s*twice\(21\)/);

    client.editAnswer = { applied: false, failureReason: 'caf\u00e9 closed' };
    await assert.rejects(client.send(ExecuteCommandRequest.type, command), /caf\u00e9 closed/);
  });

  it('answers a cancelled request', async () => {
    // The server answers with symbols only after it has compiled the document.
    const slow = await client.open('slow.cc', 'cpp',
      `#include <regex>\n${'int f(int);\n'.repeat(20_000)}`);
    const source = new CancellationTokenSource();
    const symbols = client.send(DocumentSymbolRequest.type, { textDocument: { uri: slow } },
      source.token);
    source.cancel();
    await assert.rejects(symbols, { code: requestCancelled });
    assert.ok(await client.send(HoverRequest.type, at(uri, 1, 28)));
  });

  it('asks for progress, and makes it', async () => {
    const indexer = await clientOf(gate, (it) => {
      const file = it.write('indexed.cc', 'int indexed() { return 1; }\n');
      const entry = { directory: it.folder, file, arguments: ['c++', '-c', 'indexed.cc'] };
      it.write('compile_commands.json', JSON.stringify([{ ...entry, file: 'indexed.cc' }]));
      return it.initialize();
    });
    await indexer.open('indexed.cc', 'cpp', 'int indexed() { return 1; }\n');
    const { token } = await eventually(
      () => indexer.progress.find(({ value }) => value.kind === 'end'), 'progress');
    assert.deepEqual(indexer.tokens, [token]);
    assert.equal((await indexer.shutdown()).code, 1000);
  });

  it('serves each client with a server of its own', async () => {
    const other = await clientOf(gate);
    assert.equal(other.processes.length, 1);
    assert.notDeepEqual(other.processes, client.processes);
    const same = await other.open('main.cc', 'cpp', 'double half(double);\ndouble d = half(1);\n');
    const [mine, theirs] = await Promise.all([
      client.send(HoverRequest.type, at(uri, 1, 28)),
      other.send(HoverRequest.type, at(same, 1, 12)),
    ]);
    assert.match(mine.contents.value, /twice/);
    assert.match(theirs.contents.value, /half/);
    assert.equal(other.diagnostics.has(uri), false);

    assert.equal((await other.shutdown()).code, 1000);
    await gone(gate, other.processes);
    assert.ok(await client.send(HoverRequest.type, at(uri, 1, 28)));
  });

  it('is gone soon after its client', async () => {
    const fleeting = await clientOf(gate);
    await fleeting.open('main.cc', 'cpp', '#include <regex>\nint x = missing;\n');
    await fleeting.vanish();
    await gone(gate, fleeting.processes);
    const silent = await clientOf(gate, () => {});
    await silent.vanish();
    await gone(gate, silent.processes);
    assert.ok(await client.send(HoverRequest.type, at(uri, 1, 28)));
  });
});

describe('typescript-language-server', { timeout: 60_000 }, () => {
  const text = [
    'function twice(number: number): number { return 2 * number; }',
    'const result = twice(21);',
    'export const sum = result + missing;',
    '',
  ].join('\n');
  let gate, client, uri, greeted;
  before(async () => {
    gate = await Stdgate.startWith(flags, server('typescript-language-server'), '--stdio');
    // The id of an ended process, as if the client ran on another machine.
    client = await clientOf(gate, (it) => it.initialize(spawnSync('true').pid));
    greeted = Date.now();
    uri = await client.open('main.ts', 'typescript', text);
  });
  after(async () => {
    assert.deepEqual(client.errors, []);
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('publishes diagnostics', async () => {
    assert.match((await client.complaints(uri)).join(), /Cannot find name 'missing'/);
  });

  it('answers hover, completion and rename', async () => {
    const hover = await client.send(HoverRequest.type, at(uri, 1, 16));
    assert.match(JSON.stringify(hover.contents), /function twice\(number: number\): number/);
    const { items } = await client.send(CompletionRequest.type, at(uri, 1, 17));
    assert.ok(items.some(({ label }) => label === 'twice'));
    const rename = await client.send(RenameRequest.type,
      { ...at(uri, 0, 10), newName: 'doubled' });
    assert.equal(edited(uri, text, rename), text.replaceAll('twice', 'doubled'));
  });

  it('has the client apply an edit', async () => {
    const actions = await client.send(CodeActionRequest.type, {
      textDocument: { uri }, range: span(1, 15, 24), context: { diagnostics: [] },
    });
    const { command } = actions.find(({ title }) => /^Extract to function/.test(title));
    // The server then makes the client ask the user for a name.
    const renames = [];
    client.connection.onRequest('_typescript.rename', (params) => void renames.push(params));
    await client.send(ExecuteCommandRequest.type, command);
    assert.deepEqual(renames.map(({ textDocument }) => textDocument.uri), [uri]);
    const [edit] = client.edits.splice(0);
    assert.match(edited(uri, text, edit), /function newFunction\(\) \{\s+return twice\(21\);/);
  });

  it('makes progress on the token of the client', async () => {
    await client.send(ExecuteCommandRequest.type, {
      command: '_typescript.goToSourceDefinition',
      arguments: [uri, { line: 1, character: 16 }],
      workDoneToken: 'my "token"',
    });
    const kinds = client.progress.filter(({ token }) => token === 'my "token"')
      .map(({ value }) => value.kind);
    assert.equal(kinds[0], 'begin');
    assert.equal(kinds.at(-1), 'end');
  });

  it('answers a cancelled request', async () => {
    const source = new CancellationTokenSource();
    const answer = client.send(CompletionRequest.type, at(uri, 1, 17), source.token)
      .catch(({ code }) => assert.equal(code, requestCancelled));
    source.cancel();
    await answer;
  });

  it('is gone soon after its client, with all that it started', async () => {
    const fleeting = await clientOf(gate, async (it) => {
      const answer = await it.initialize();
      await it.complaints(await it.open('main.ts', 'typescript', 'const x: string = 1;\n'));
      return answer;
    });
    assert.ok(fleeting.processes.length > 1, `${fleeting.processes}`);
    await fleeting.vanish();
    await gone(gate, fleeting.processes);
  });

  it('does not miss the process of a client elsewhere', async () => {
    // The server checks every three seconds whether its client's process runs.
    await eventually(() => Date.now() > greeted + 4000, 'the time');
    assert.ok(await client.send(HoverRequest.type, at(uri, 1, 16)));
    assert.equal((await client.shutdown()).code, 1000);
    await gone(gate, client.processes);
  });
});

describe('a scripted language server', { timeout: 60_000 }, () => {
  const script = new URL('scripted_language_server.mjs', import.meta.url).pathname;
  let gate;
  before(async () => {
    gate = await Stdgate.startWith(flags, process.execPath, script, '@DIR@/record');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  // Messages about the lifecycle, and cancels, that a client's server has got.
  const life = ({ greeting }) => readFileSync(join(gate.folder, 'record'), 'utf8').split('\n')
    .filter((line) => line.startsWith(`${greeting.pid} `)).map((line) => line.split(' ')[1]);

  it('gets the greeting of the client, without a process id to watch', async () => {
    const client = await clientOf(gate);
    const { params } = client.greeting;
    assert.equal(params.processId, null);
    assert.equal(params.workspaceFolders[0].name, 'test');
    assert.equal((await client.shutdown()).code, 1000);
    assert.deepEqual(life(client), ['initialize', 'shutdown', 'exit']);

    const anonymous = await clientOf(gate, (it) => it.initialize(null));
    assert.equal(anonymous.greeting.params.processId, null);
    anonymous.socket.close(1000);
    await anonymous.closed;
    await gone(gate, anonymous.processes);
  });

  it('is asked to end when its client does not do it', async () => {
    for (const leave of [(it) => it.vanish(), (it) => (it.socket.close(1000), it.closed)]) {
      const client = await clientOf(gate);
      await leave(client);
      await gone(gate, client.processes);
      assert.deepEqual(life(client), ['initialize', 'shutdown', 'exit']);
    }
    const halfway = await clientOf(gate);
    await halfway.send(ShutdownRequest.type);
    await halfway.vanish();
    await gone(gate, halfway.processes);
    assert.equal(life(halfway).at(-1), 'exit');
  });

  it('cancels the right one of several requests, and answers it', async () => {
    const client = await clientOf(gate);
    const source = new CancellationTokenSource();
    const echo = client.send('test/echo', { a: [1, null] });
    const waiting = client.send('test/wait', {}, source.token);
    const other = client.send('test/wait', {});
    other.catch(() => {});
    assert.deepEqual(await echo, { a: [1, null] });
    source.cancel();
    await assert.rejects(waiting, { code: requestCancelled, message: 'as you wish' });
    assert.deepEqual(life(client), ['initialize', 'cancelled']);
    await client.vanish();
    await gone(gate, client.processes);
  });

  it('asks its client, and may change its mind', async () => {
    const client = await clientOf(gate);
    client.connection.onRequest('test/slow', async (_, token) => {
      await cancelled(token);
      return 'cancelled';
    });
    const ask = (method, params, cancel) => client.send('test/ask', { method, params, cancel });
    assert.deepEqual(await ask('workspace/configuration', { items: [{ section: 'a.b' }] }),
      { result: [{ asked: 'a.b' }] });
    assert.deepEqual(await ask('test/unknown', {}), { code: -32601 });
    assert.deepEqual(await ask('test/slow', {}, true), { result: 'cancelled' });
    await client.vanish();
  });

  it('keeps tokens and the order of messages', async () => {
    const client = await clientOf(gate);
    const tokens = { workDoneToken: 'w', partialResultToken: 7 };
    assert.deepEqual(await client.send('test/progress', { ...tokens, count: 100 }), tokens);
    // All notifications arrived before the answer.
    const got = client.progress.map(({ token, value }) => [token, value.number]);
    assert.deepEqual(got, Array.from({ length: 100 }, (_, number) =>
      [number % 2 === 0 ? 'w' : 7, number]));
    await client.vanish();
  });

  it('passes on large messages', async () => {
    const client = await clientOf(gate);
    const large = { text: '\u{1F600}\u00e9"\\\r\n'.repeat(400_000) };
    assert.deepEqual(await client.send('test/echo', large), large);
    await client.vanish();
  });

  it('tells its client when it dies', async () => {
    const client = await clientOf(gate);
    const waiting = client.send('test/wait', {});
    const failed = assert.rejects(waiting, { code: -32004 });
    await client.connection.sendNotification('test/die', { code: 3 });
    await failed;
    assert.equal((await client.closed).code, 1011);
    assert.deepEqual(gate.children().filter((pid) => client.processes.includes(pid)), []);
  });
});
