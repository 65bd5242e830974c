// A soak test: hundreds of clients come and go at random at one stdgate, while its children are
// killed. soak.test.mjs runs a minute of it. By hand, with STDGATE naming the program:
//
//   STDGATE=$PWD/build/release/bin/stdgate node tests/integration/npm/soak.mjs [SECONDS [OPEN]]
//
// The defaults are 600 seconds and 500 WebSockets. Three in five use a backend with shared
// children. The others use a backend with a child per session, which may have half of all places.
// The clients call, cancel, subscribe to notifications, make the child ask them, and stop reading
// for a while. They leave with a close frame or without. For every ten of them, there is an HTTP
// client that posts to the shared children, and there are a tenth as many MCP sessions. Each second
// a random child is killed. A table shows the gateway's memory and descriptors, and the latency of
// calls that are answered at once, since the previous line.
//
// The exit code is 1 if
// - a call was neither answered nor lost with its connection,
// - an answer was wrong,
// - a connection ended without a reason,
// - memory or descriptors are higher in the last third of the time than in the first,
// - a process is left.
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';

import { isFlat, sample, stateOf } from './soak_figures.mjs';
import { Stdgate, eventually, program } from './stdgate_process.mjs';

const seconds = Number(process.argv[2] ?? 600);
const connections = Number(process.argv[3] ?? 500);
const owners = Math.floor((connections * 2) / 5);
const overdue = 45_000; // in milliseconds, more than `timeout`
const faults = [-32003, -32004, -32005];
const mcpFaults = [-31502, -31503, -31504];
const mcpServer = fileURLToPath(new URL('soak_mcp_server.mjs', import.meta.url));

const config = `
listen: ["127.0.0.1:0"]
admin: "unix:@DIR@/admin"
backends:
  shared:
    command: ["${program}", demo-server]
    protocol: jsonrpc
    timeout: 30s
    default: true
    pool: { min: 2, max: 4, backoff_min: 10ms, backoff_max: 1s }
  own:
    command: ["${program}", demo-server]
    protocol: jsonrpc
    isolation: session
    timeout: 30s
    pool: { max: ${Math.ceil(connections / 2)}, warm: 4, backoff_min: 10ms, backoff_max: 1s }
  tools:
    command: ["${process.execPath}", "${mcpServer}"]
    protocol: mcp
    isolation: shared
    timeout: 30s
    pool: { min: 1, max: 2, backoff_min: 10ms, backoff_max: 1s, idle_timeout: 10s }
limits: { outbox: 1MiB }
log: { level: error }
`;

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const upTo = (limit) => Math.floor(Math.random() * limit);

const counts = { opened: 0, refused: 0, calls: 0, answers: 0, faults: 0, cancels: 0, closed: 0 };
Object.assign(counts, { pushes: 0, questions: 0, posts: 0, mcp: 0, killed: 0 });
let latencies = []; // in milliseconds, of calls that are answered at once
const closeCodes = {};
const failures = new Map(); // reason -> count
let ending = false;

function fail(what) {
  failures.set(what, (failures.get(what) ?? 0) + 1);
}

// --- One connection ------------------------------------------------------------------------------

class Client {
  // All open connections.
  static all = new Set();

  constructor(url, ownsChild) {
    this.url = url;
    this.ownsChild = ownsChild;
    this.pending = new Map(); // id -> { accepts(answer), since }
    this.nextId = 0;
    this.leaving = false; // messages of the gateway may be cut off
    this.slow = false;
  }

  // The life of a connection, from its opening to its end.
  async live() {
    if (!(await this.#open())) return;
    Client.all.add(this);
    const end = Date.now() + 500 + upTo(this.ownsChild ? 20_000 : 10_000);
    while (!ending && Date.now() < end && this.socket.readyState === WebSocket.OPEN) {
      this.#act();
      await wait(upTo(500));
    }
    if (this.slow) await wait(2000);
    this.#leave();
    await this.closed;
  }

  #open() {
    this.socket = new WebSocket(this.url, { perMessageDeflate: false });
    this.socket.on('message', (data) => this.#receive(data.toString()));
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code) => resolve(this.#end(code)));
    });
    return new Promise((resolve) => {
      this.socket.once('open', () => {
        counts.opened += 1;
        resolve(true);
      });
      this.socket.on('unexpected-response', (request, response) => {
        if (response.statusCode === 503 && response.headers['retry-after']) counts.refused += 1;
        else fail(`the handshake was answered with ${response.statusCode}`);
        request.destroy();
        resolve(false);
      });
      this.socket.on('error', (error) => {
        if (this.socket.readyState === WebSocket.CONNECTING) fail(`error: ${error.message}`);
        resolve(false);
      });
    });
  }

  #leave() {
    this.leaving = true;
    if (this.slow) this.socket.resume();
    if (upTo(2) === 0) this.socket.close(1000);
    else this.socket.terminate();
  }

  #end(code) {
    if (!Client.all.delete(this)) return; // it was never open
    counts.closed += this.pending.size;
    closeCodes[code] = (closeCodes[code] ?? 0) + 1;
    const expected = this.leaving || ending || (code === 1011 && this.ownsChild) ||
      (this.slow && [1006, 1013].includes(code));
    if (!expected) fail(`closed with ${code}`);
  }

  // --- Calls

  #act() {
    const dice = upTo(100);
    if (dice < 50) this.#echo(upTo(10) === 0 ? upTo(20_000) : upTo(200));
    else if (dice < 65) this.#sleep();
    else if (dice < 85) this.#cancel();
    else if (dice < 90) this.#ask();
    else if (dice < 92) this.#batch();
    else if (dice === 99) this.#stopReading();
    else if (this.ownsChild) this.#subscribe();
    else if (dice < 93) this.#stream(); // each step goes to all sessions of the backend
  }

  #call(method, params, accepts) {
    const id = upTo(2) === 0 ? this.nextId : `${this.nextId}`;
    this.nextId += 1;
    this.pending.set(id, { method, accepts, since: Date.now(), begin: performance.now() });
    counts.calls += 1;
    return { jsonrpc: '2.0', id, method, params };
  }

  #send(message) {
    this.socket.send(JSON.stringify(message));
  }

  #echoCall(size) {
    const text = `${Math.random()} é ${'x'.repeat(size)}`;
    return this.#call('echo', [text], ({ result }) => result?.[0] === text);
  }

  #echo(size) {
    this.#send(this.#echoCall(size));
  }

  #batch() {
    this.#send([this.#echoCall(10), this.#echoCall(1000), this.#echoCall(100)]);
  }

  #sleep() {
    const ms = upTo(1000);
    this.#send(this.#call('sleep', { ms }, ({ result }) => result?.slept_ms === ms));
  }

  #cancel() {
    const call = this.#call('sleep', { ms: 60_000 }, ({ error }) => error?.code === -32800);
    this.#send(call);
    this.#send({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: call.id } });
    counts.cancels += 1;
  }

  // A shared child has calls of several sessions, so it may have no session to ask.
  #ask() {
    const params = { number: Math.random() };
    const accepts = ({ result, error }) =>
      result?.number === params.number || (!this.ownsChild && error?.code === -32601);
    this.#send(this.#call('ask', { method: 'soak/question', params }, accepts));
  }

  #subscribe() {
    const params = { interval_ms: 100 + upTo(1000) };
    this.#send(this.#call('tick/subscribe', params, ({ result }) => result > 0));
  }

  #stream() {
    const params = { count: 2, interval_ms: 10 };
    this.#send(this.#call('stream', params, ({ result }) => result?.steps === 2));
  }

  #stopReading() {
    this.slow = true;
    this.socket.pause();
    for (let i = 0; i < 60; i += 1) this.#echo(100_000);
    setTimeout(() => this.socket.resume(), upTo(2000));
  }

  // --- Messages of the gateway

  #receive(text) {
    const message = JSON.parse(text);
    for (const each of Array.isArray(message) ? message : [message]) this.#take(each);
  }

  #take(message) {
    if (message.method !== undefined && message.id === undefined) {
      counts.pushes += 1;
    } else if (message.method === 'soak/question') {
      counts.questions += 1;
      this.#send({ jsonrpc: '2.0', id: message.id, result: message.params });
    } else {
      this.#answer(message);
    }
  }

  #answer(message) {
    const call = this.pending.get(message.id);
    if (!call) return fail('an answer to no call');
    this.pending.delete(message.id);
    counts.answers += 1;
    if (call.method === 'echo' && !this.slow) latencies.push(performance.now() - call.begin);
    if (faults.includes(message.error?.code)) counts.faults += 1;
    else if (!call.accepts(message)) {
      fail(`${call.method} was answered with ${JSON.stringify(message).slice(0, 200)}`);
    }
  }
}

// --- HTTP ----------------------------------------------------------------------------------------

// Sends one request, and returns the status, the headers and the text.
function request(agent, method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const options = { agent, method, headers: { 'content-type': 'application/json', ...headers } };
    const outgoing = http.request(`${gate.url}${path}`, options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status, headers: fields } = response;
        resolve({ status, headers: fields, text: Buffer.concat(chunks).toString() });
      });
    });
    outgoing.setTimeout(overdue, () => outgoing.destroy(new Error(`${path} was not answered`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function postCalls() {
  await wait(upTo(5000));
  while (!ending) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let calls = 1 + upTo(20); calls > 0 && !ending; calls -= 1) {
      const text = `${Math.random()}${'x'.repeat(upTo(2000))}`;
      const id = `${calls}`;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'echo', params: [text] });
      const begin = performance.now();
      try {
        const answer = JSON.parse((await request(agent, 'POST', '/shared/rpc', {}, body)).text);
        counts.posts += 1;
        latencies.push(performance.now() - begin);
        const isFault = faults.includes(answer.error?.code);
        if (answer.id !== id || (!isFault && answer.result?.[0] !== text)) {
          fail(`a POST was answered with ${JSON.stringify(answer).slice(0, 200)}`);
        }
      } catch (error) {
        fail(`a POST: ${error.message}`);
      }
      await wait(upTo(200));
    }
    agent.destroy();
  }
}

// The answer in a response, which is JSON or an event stream.
function messageOf({ headers, text }) {
  if (!headers['content-type']?.startsWith('text/event-stream')) return JSON.parse(text);
  const data = text.split('\n').filter((each) => each.startsWith('data: {'));
  return JSON.parse(data.at(-1).slice('data: '.length));
}

async function callTools(agent, session) {
  for (let calls = upTo(30); calls > 0 && !ending; calls -= 1) {
    const message = `${Math.random()}`;
    const params = { name: 'echo', arguments: { message } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'tools/call', params });
    const response = await request(agent, 'POST', '/tools/mcp', session, body);
    if (response.status === 404) return; // the session has ended with its child
    const answer = messageOf(response);
    counts.mcp += 1;
    const isFault = mcpFaults.includes(answer.error?.code);
    if (answer.id !== calls || (!isFault && answer.result?.content[0].text !== message)) {
      fail(`a tool was answered with ${response.status} ${response.text.slice(0, 200)}`);
    }
    await wait(upTo(200));
  }
}

// Sessions of one MCP client, one after the other. Half of them are left without a DELETE.
async function holdMcpSessions() {
  await wait(upTo(5000));
  const both = { accept: 'application/json, text/event-stream' };
  const params = { protocolVersion: '2025-06-18', capabilities: {} };
  params.clientInfo = { name: 'soak', version: '0' };
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  while (!ending) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const opened = await request(agent, 'POST', '/tools/mcp', both, hello);
      if (opened.status === 200) {
        const session = { ...both, 'mcp-session-id': opened.headers['mcp-session-id'] };
        session['mcp-protocol-version'] = '2025-06-18';
        await callTools(agent, session);
        if (upTo(2) === 0) await request(agent, 'DELETE', '/tools/mcp', session);
      } else if (![502, 503].includes(opened.status)) {
        fail(`initialize was answered with ${opened.status} ${opened.text.slice(0, 200)}`);
      }
    } catch (error) {
      fail(`MCP: ${error.message}`);
    }
    agent.destroy();
    await wait(upTo(1000));
  }
}

// --- Killing children, and figures of the gateway ----------------------------------------

function killOneChild(gate) {
  const children = gate.children();
  if (children.length === 0) return;
  try {
    process.kill(children[upTo(children.length)], 'SIGKILL');
    counts.killed += 1;
  } catch {
    // The process has ended meanwhile.
  }
}

function failOverdueCalls() {
  const limit = Date.now() - overdue;
  for (const { pending } of Client.all) {
    for (const [id, call] of pending) {
      if (call.since > limit) continue;
      fail(`${call.method} was not answered`);
      pending.delete(id);
    }
  }
}

const columns = ['seconds', 'rss MiB', 'files', 'children', 'open', 'p50 ms', 'p99 ms',
  ...Object.keys(counts)];
const line = (values) =>
  values.map((value, i) => `${value}`.padStart(Math.max(columns[i].length, 6) + 2)).join('');

function row(gate, elapsed) {
  const { rss, files, children } = sample(gate);
  const open = Client.all.size;
  latencies.sort((a, b) => a - b);
  const quantile = (q) => (latencies[Math.floor(latencies.length * q)] ?? 0).toFixed(1);
  console.log(line([elapsed, rss.toFixed(1), files, children, open, quantile(0.5), quantile(0.99),
    ...Object.values(counts)]));
  latencies = [];
  return { rss, files };
}

// --- The soak ------------------------------------------------------------------------------------

const gate = await Stdgate.serve(config);
const begin = Date.now();
const elapsed = () => Math.round((Date.now() - begin) / 1000);

async function keepOneOpen(url, ownsChild) {
  await wait(upTo(5000)); // not all at once
  while (!ending) {
    await new Client(url, ownsChild).live();
    await wait(upTo(300));
  }
}

const base = gate.url.replace('http', 'ws');
const clients = Array.from({ length: connections }, (_, i) =>
  keepOneOpen(`${base}/${i < owners ? 'own' : 'shared'}/ws`, i < owners));
clients.push(...Array.from({ length: Math.ceil(connections / 10) }, postCalls));
clients.push(...Array.from({ length: Math.ceil(connections / 100) }, holdMcpSessions));
const everySecond = setInterval(() => {
  killOneChild(gate);
  failOverdueCalls();
}, 1000);

console.log(line(columns));
await wait(Math.min(10_000, seconds * 200)); // until all clients have started
const rows = [];
const interval = Math.min(10_000, (seconds * 1000) / 12);
while (elapsed() < seconds) {
  rows.push(row(gate, elapsed()));
  await wait(interval);
}
clearInterval(everySecond);
ending = true;
await Promise.all(clients);
await eventually(async () => {
  const { backends } = await stateOf(gate);
  // Some MCP sessions were left without a DELETE. They are parked once they are idle.
  return backends.every(({ sessions, parked_sessions, in_flight, queued }) =>
    sessions - parked_sessions + in_flight + queued === 0);
}, 'nothing is under way').catch((error) => fail(error.message));
row(gate, elapsed());
if (counts.calls !== counts.answers + counts.closed) fail('calls are missing');
// Only the time after all clients have connected counts.
if (!isFlat(rows, 'rss', 8)) fail('memory has grown');
if (!isFlat(rows, 'files', 50)) fail('descriptors have grown');
console.log('close codes:', closeCodes);
const { code, left } = await gate.stop();
if (code !== 0) fail(`the gateway ended with ${code}: ${gate.log.slice(-2000)}`);
if (left.length > 0) fail(`left behind: ${JSON.stringify(left)}`);
for (const [what, times] of failures) console.error(`FAILED ${times} times: ${what}`);
console.log(failures.size === 0 ? 'passed' : 'failed');
process.exit(failures.size === 0 ? 0 : 1);
