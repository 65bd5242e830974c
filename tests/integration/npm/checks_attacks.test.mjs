// Attacks on checks and pins, on each transport: texts that different readers could take for different calls. Whatever
// the answer is, no process may get a call of an unpinned tool, or a call with arguments that do not fit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import WebSocket from 'ws';

import { Stdgate, program } from './stdgate_process.mjs';

const fixture = new URL('turning_server.mjs', import.meta.url).pathname;
const key = (name) => `io.modelcontextprotocol/${name}`;
const stamp = `"_meta":{"${key('protocolVersion')}":"2026-07-28","${key('clientCapabilities')}":{}}`;

// `evil` is listed but not pinned. 666 is not a valid path.
const bad = '{"path":666}';
const good = '{"path":"x"}';
const deep = (levels) => `${'['.repeat(levels)}666${']'.repeat(levels)}`;

// The part of a message after `"jsonrpc":"2.0",`. @ stands for members that the transport adds to params.
const texts = {
  'an unpinned tool': '"id":1,"method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'bad arguments': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${bad}}`,
  'no arguments': '"id":1,"method":"tools/call","params":{@"name":"read","x":666}',
  'an escaped method': `"id":1,"method":"tools\\u002fcall","params":{@"name":"read","arguments":${bad}}`,
  'a method with an escaped slash': `"id":1,"method":"tools\\/call","params":{@"name":"read","arguments":${bad}}`,
  'an escaped name': '"id":1,"method":"tools/call","params":{@"name":"ev\\u0069l","arguments":{}}',
  'an escaped name, bad arguments': `"id":1,"method":"tools/call","params":{@"name":"re\\u0061d","arguments":${bad}}`,
  'an escaped key of the name': '"id":1,"method":"tools/call","params":{@"n\\u0061me":"evil","arguments":{}}',
  'an escaped key of the arguments': `"id":1,"method":"tools/call","params":{@"name":"read","\\u0061rguments":${bad}}`,
  'an escaped key of the params': '"id":1,"method":"tools/call","p\\u0061rams":{@"name":"evil","arguments":{}}',
  'an escaped key of the method': `"id":1,"m\\u0065thod":"tools/call","params":{@"name":"read","arguments":${bad}}`,
  'two names, good first': '"id":1,"method":"tools/call","params":{@"name":"free","name":"evil","arguments":{}}',
  'two names, bad first': '"id":1,"method":"tools/call","params":{@"name":"evil","name":"free","arguments":{}}',
  'two names, one escaped': '"id":1,"method":"tools/call","params":{@"name":"free","n\\u0061me":"evil","arguments":{}}',
  'two arguments, good first': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${good},"arguments":${bad}}`,
  'two arguments, bad first': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${bad},"arguments":${good}}`,
  'two params': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${good}},"params":{@"name":"evil"}`,
  'two methods': '"id":1,"method":"ping","method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'two methods, the call first': '"id":1,"method":"tools/call","method":"ping","params":{@"name":"evil","arguments":{}}',
  'two keys in the arguments': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":"x","path":666}}',
  'two keys in the arguments, bad first': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":666,"path":"x"}}',
  'another case of the name': '"id":1,"method":"tools/call","params":{@"name":"free","Name":"evil","arguments":{}}',
  'another case alone': '"id":1,"method":"tools/call","params":{@"NAME":"evil","arguments":{}}',
  'another case of the arguments': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${good},"ARGUMENTS":${bad}}`,
  'another case of params': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${good}},"Params":{"name":"evil"}`,
  'another case of the method': '"id":1,"method":"ping","Method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'a long s, which some readers fold': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${good},"argumentſ":${bad}}`,
  'params that are an array': '"id":1,"method":"tools/call","params":["evil",{}]',
  'params in an array': '"id":1,"method":"tools/call","params":[{@"name":"evil","arguments":{}}]',
  'a name in an array': '"id":1,"method":"tools/call","params":{@"name":["evil"],"arguments":{}}',
  'a name in an object': '"id":1,"method":"tools/call","params":{@"name":{"name":"evil"},"arguments":{}}',
  'a name that ends early': '"id":1,"method":"tools/call","params":{@"name":"evil\\u0000","arguments":{}}',
  'a name with half a character': '"id":1,"method":"tools/call","params":{@"name":"evil\\ud800","arguments":{}}',
  'a name with spaces': '"id":1,"method":"tools/call","params":{@"name":" evil","arguments":{}}',
  'arguments that are a text': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":"{\\"path\\":666}"}',
  'arguments that are an array': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":[{"path":666}]}',
  'a number beyond the bound': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":"x","n":9007199254740993666}}',
  'a number beyond all doubles': '"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":"x","n":666e99999}}',
  'deep arguments': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":${deep(900)}}}`,
  'very deep arguments': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":{"path":${deep(100_000)}}}`,
  'a task': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${bad},"task":{"ttl":1000}}`,
  'an invented state': `"id":1,"method":"tools/call","params":{@"name":"read","arguments":${bad},"requestState":"x","inputResponses":{}}`,
  'a notification': '"method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'a notification with bad arguments': `"method":"tools/call","params":{@"name":"read","arguments":${bad}}`,
  'an id that is null': '"id":null,"method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'two ids': '"id":1,"id":2,"method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'a result beside the method': `"id":1,"result":{},"method":"tools/call","params":{@"name":"read","arguments":${bad}}`,
  'an error beside the method': '"id":1,"error":{},"method":"tools/call","params":{@"name":"evil","arguments":{}}',
  'a line in a line': `"id":1,"method":"ping","params":{@"x":\n{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"evil"}}\n}`,
  'a line in a line, by a return': `"id":1,"method":"ping","params":{@"x":\r{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"evil"}}\r}`,
};
// Attacks that concern the whole body.
const message = (text, more) => `{"jsonrpc":"2.0",${text.replaceAll('@', more)}}`;
const bodies = (more) => {
  const all = Object.entries(texts).map(([what, text]) => [what, message(text, more)]);
  const [one, two] = [message(texts['bad arguments'], more), message(texts['an unpinned tool'], more)];
  return [...all,
    ['a batch', `[${one},${two.replace('"id":1', '"id":2')}]`],
    ['a batch of notifications', `[${all.filter(([what]) => /^a notif/.test(what)).map(([, text]) => text).join()}]`],
    ['a batch in a batch', `[[${one}]]`],
    ['two messages', `${one}${two}`],
    ['two lines', `${message('"id":3,"method":"ping"', more)}\n${one}\n${two}`],
    ['a byte order mark', `\ufeff${one}`],
    ['a comment', `/* */${one}`],
    ['no version', one.replace('"jsonrpc":"2.0",', '')],
    ['another version', one.replace('"2.0"', '"1.0"')],
  ];
};

const latin = (text) => Buffer.concat([Buffer.from(text.slice(0, -1), 'utf8'), Buffer.from([0xc0, 0xaf]), Buffer.from('}')]);

async function post(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST', body, signal: AbortSignal.timeout(20_000),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  });
  // The stream may stay open, so only its first part is read.
  const reader = response.body?.getReader();
  const part = await Promise.race([reader?.read(), new Promise((resolve) => setTimeout(resolve, 500).unref())]);
  await reader?.cancel();
  return { status: response.status, headers: response.headers, text: part?.value ? Buffer.from(part.value).toString() : '' };
}

// Whether a reader may take the line for a call of a tool. A ping whose params look like a call is not a call.
function isCall(line) {
  if (line.slice(0, line.indexOf('"params"')).includes('tools/call')) return true;
  return Object.entries(JSON.parse(line)).some(([name, value]) => /^method$/i.test(name) && value === 'tools/call');
}

const greeting = '{"jsonrpc":"2.0","id":"g","method":"initialize","params":{"protocolVersion":"2025-06-18",'
  + '"capabilities":{},"clientInfo":{"name":"attacker","version":"1"}}}';

async function openSocket(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  socket.send(greeting);
  await new Promise((resolve) => socket.once('message', resolve));
  socket.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return socket;
}

// Opens a new connection when a body has ended the previous connection.
async function attackSocket(url, list) {
  let socket = await openSocket(url);
  for (const [index, [, body]] of list.entries()) {
    if (socket.readyState !== WebSocket.OPEN) socket = await openSocket(url);
    const end = new Promise((resolve) => {
      socket.once('close', resolve);
      socket.on('message', (text) => String(text).includes(`"last ${index}"`) && resolve());
    });
    socket.send(body);
    socket.send(`{"jsonrpc":"2.0","id":"last ${index}","method":"ping"}`);
    await end;
    socket.removeAllListeners('message');
  }
  socket.terminate();
}

// Each way to send bodies: the members that it adds to params, and its function.
const ways = {
  'POST /rpc': ['', async (gate, list) => {
    for (const [, body] of list) await post(`${gate.url}/rpc`, body);
    await post(`${gate.url}/rpc`, latin(list[1][1]));
  }],
  'a session at /mcp': ['', async (gate, list) => {
    const begun = await post(`${gate.url}/mcp`, greeting);
    const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-06-18' };
    await post(`${gate.url}/mcp`, '{"jsonrpc":"2.0","method":"notifications/initialized"}', headers);
    for (const [, body] of list) await post(`${gate.url}/mcp`, body, headers);
  }],
  'modern requests at /mcp': [`${stamp},`, async (gate, list) => {
    for (const name of ['free', 'read', 'evil']) {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
      for (const [, body] of list) await post(`${gate.url}/mcp`, body, headers);
    }
  }],
  'a WebSocket': ['', (gate, list) => attackSocket(gate.socketUrl, list)],
  'modern requests at a WebSocket': [`${stamp},`, (gate, list) => attackSocket(gate.socketUrl, list)],
};

for (const isolation of ['shared', 'session']) {
  describe(`attacks on a backend with isolation ${isolation}`, { timeout: 300_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'stdgate-attacks-'));
    const [turned, heard, all] = ['turned', 'heard', 'all'].map((name) => join(folder, name));
    let gate;
    before(async () => {
      const run = `tee -a ${all} | exec ${process.execPath} ${fixture} ${turned} ${heard} whole`;
      const config = [
        'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:', '  files:',
        `    command: ["sh", "-c", ${JSON.stringify(run)}]`, `    isolation: ${isolation}`, '    default: true',
        `    lock: ${join(folder, 'stdgate.lock')}`, '    pins: enforce',
        '    check: { arguments: true, results: true }', '    pool: { max: 8 }', '',
      ].join('\n');
      writeFileSync(join(folder, 'gateway.yaml'), config);
      execFileSync(program, ['pin', '--config', join(folder, 'gateway.yaml')], { stdio: 'ignore' });

      gate = await Stdgate.serve(config);
    });
    after(async () => {
      assert.equal((await gate.stop()).code, 0);
      rmSync(folder, { recursive: true });
    });

    for (const [way, [more, attack]] of Object.entries(ways)) {
      it(`let nothing through by ${way}`, async () => {
        writeFileSync(all, '');
        await attack(gate, bodies(more));
        assert.equal((await gate.call(1, 'tools/call', { name: 'read', arguments: { path: 'still there' } })).result.isError, undefined);
        const lines = (existsSync(all) ? readFileSync(all, 'utf8') : '').split(/[\r\n]+/)
          .map((line) => line.replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16))).replaceAll('\\/', '/'));
        const through = lines.filter((line) => /evil|666/.test(line) && isCall(line));
        assert.deepEqual(through.map((line) => line.slice(0, 300)), []);
        const called = existsSync(heard) ? readFileSync(heard, 'utf8').trim().split('\n') : [];
        for (const line of called) assert.match(line, /"path":"(x|still there)"/);
      });
    }
  });
}
