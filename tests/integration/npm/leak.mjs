// Servers that leak under load, behind one stdgate that replaces them by age, by calls and by memory. leak.test.mjs
// runs it for a moment. By hand, with STDGATE naming the program:
//
//   STDGATE=$PWD/build/release/bin/stdgate node tests/integration/npm/leak.mjs [SECONDS]
//
// The default is 600 seconds. The clients of three backends call, and return with the state of a round of input, which
// only their server's process knows. The sessions of a fourth backend have a server each, which is replaced between
// their calls. A table shows the gateway's memory and descriptors, the largest server so far, and the replacements. The
// exit code is 1 if
// - a call fails, or a limit replaces nothing,
// - a server uses more than twice its limit,
// - memory or descriptors of the gateway are higher in the last third of the time than in the first,
// - a process is left.
import http from 'node:http';

import { adminText, isFlat, sample, stateOf } from './soak_figures.mjs';
import { Stdgate } from './stdgate_process.mjs';

const seconds = Number(process.argv[2] ?? 600);
const clientsOfEach = 4;
const maxMemory = 32; // MiB
const leak = 200_000; // bytes per call

const server = `
import json, os, sys
hoard, states = [], set()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params, error = message["method"], message.get("params", {}), None
    result = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
    if method == "server/discover":
        if sys.argv[1] == "legacy":
            error = -32601
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "leaks", "version": "1"}}
    elif method == "tools/call":
        hoard.append(b"x" * ${leak})
        if params["name"] == "ask" and "requestState" not in params:
            state = os.urandom(8).hex()
            states.add(state)
            result = {"resultType": "input_required", "requestState": state, "inputRequests": {"q": {
                "method": "elicitation/create",
                "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}}
        elif params["name"] == "ask" and params["requestState"] not in states:
            error = -32602
    said = {"error": {"code": error, "message": "no"}} if error else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
`;
const backend = (name, era, pool, more = '') =>
  `  ${name}: { command: ["python3", "@DIR@/leaks.py", ${era}], protocol: mcp, revision: ${era}, timeout: 10s,
       pool: { ${pool} }${more} }`;
const config = `
listen: ["127.0.0.1:0"]
admin: "unix:@DIR@/admin"
backends:
${backend('age', 'modern', 'min: 1, max: 4, max_age: 5s')}
${backend('calls', 'modern', 'min: 1, max: 4, max_calls: 150')}
${backend('memory', 'modern', `min: 1, max: 4, max_memory: ${maxMemory}MiB`)}
${backend('sessions', 'legacy', 'min: 0, max: 8, max_calls: 50', ', isolation: session')}
log: { level: error }
`;

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const failures = new Map(); // reason -> count
let calls = 0;
let ending = false;

function fail(what) {
  failures.set(what, (failures.get(what) ?? 0) + 1);
}

// Sends one request, and returns the answer and its headers.
async function ask(agent, path, headers, method, params, id = 1) {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const fields = {
    accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers,
  };
  const response = await new Promise((resolve, reject) => {
    http.request(`${gate.url}${path}`, { agent, method: 'POST', headers: fields }, resolve)
      .on('error', reject)
      .end(body);
  });
  const text = (await response.toArray()).join('');
  calls += 1;
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode} ${text}`);
  const json = text.startsWith('{') ? text
    : text.split('\n').filter((line) => line.startsWith('data: {')).at(-1).slice('data: '.length);
  const answer = JSON.parse(json);
  if (!answer.result) throw new Error(json);
  return { result: answer.result, headers: response.headers };
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};
async function callModern(agent, path, name, more = {}) {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  const params = { name, arguments: {}, ...more, _meta: meta };
  return (await ask(agent, path, headers, 'tools/call', params)).result;
}

// Runs one client, which counts its failures and continues.
async function live(step) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  while (!ending) {
    await step(agent).catch((error) => fail(error.message.slice(0, 200)));
    await wait(20);
  }
  agent.destroy();
}

const callAndComeBack = (name) => async (agent) => {
  const path = `/${name}/mcp`;
  if ((await callModern(agent, path, 'plain')).resultType !== 'complete') fail('a call');
  const { requestState } = await callModern(agent, path, 'ask');
  await wait(Math.random() * 200); // the time that a user takes to answer
  const inputResponses = { q: { action: 'accept', content: {} } };
  const done = await callModern(agent, path, 'ask', { requestState, inputResponses });
  if (done.resultType !== 'complete') fail(`a round: ${JSON.stringify(done)}`);
};

async function holdSession(agent) {
  const path = '/sessions/mcp';
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const { headers } = await ask(agent, path, {}, 'initialize', hello);
  const session = {
    'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': '2025-11-25',
  };
  const left = () => new Promise((resolve) => {
    http.request(`${gate.url}${path}`, { agent, method: 'DELETE', headers: session }, (response) => {
      response.resume().on('end', resolve);
    }).on('error', resolve).end();
  });
  try {
    for (let id = 2; id < 200 && !ending; id += 1) {
      await ask(agent, path, session, 'tools/call', { name: 'plain', arguments: {} }, id);
      await wait(50);
    }
  } finally {
    await left();
  }
}

// --- Figures of the gateway -----------------------------------------------------------------

const names = ['age', 'calls', 'memory', 'sessions'];
let largest = 0; // MiB

async function watchMemory() {
  const { backends } = await stateOf(gate);
  const children = backends.find(({ name }) => name === 'memory').children ?? [];
  largest = Math.max(largest, ...children.map((child) => (child.memory_bytes ?? 0) / (1 << 20)));
}

async function replaced() {
  const text = await adminText(gate, '/metrics');
  return names.map((name) => {
    const family = new RegExp(`^stdgate_children_replaced_total\\{backend="${name}",.* (\\d+)$`, 'gm');
    return [...text.matchAll(family)].reduce((sum, [, count]) => sum + Number(count), 0);
  });
}

const columns = ['seconds', 'rss MiB', 'files', 'children', 'largest', 'calls', 'failed', ...names];
const line = (values) => values.map((value) => `${value}`.padStart(10)).join('');
async function row(elapsed) {
  const { rss, files, children } = sample(gate);
  const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
  console.log(line([elapsed, rss.toFixed(1), files, children, largest.toFixed(1), calls, failed,
    ...await replaced()]));
  return { rss, files };
}

// --- The run -------------------------------------------------------------------------------------

const gate = await Stdgate.serve(config, { 'leaks.py': server });
const begin = Date.now();
const elapsed = () => Math.round((Date.now() - begin) / 1000);
const clients = names.flatMap((name) =>
  Array.from({ length: clientsOfEach }, () => live(name === 'sessions' ? holdSession : callAndComeBack(name))));
const everySecond = setInterval(() => watchMemory().catch((error) => fail(error.message)), 1000);

console.log(line(columns));
await wait(Math.min(10_000, seconds * 200)); // until all clients have started
const rows = [];
while (elapsed() < seconds) {
  rows.push(await row(elapsed()));
  await wait(Math.min(10_000, (seconds * 1000) / 12));
}
ending = true;
await Promise.all(clients);
clearInterval(everySecond);
await row(elapsed());
(await replaced()).forEach((count, i) => count > 0 || fail(`${names[i]}: nothing was replaced`));
// The gateway looks at a server's memory once a second, and a server serves until its successor is ready.
if (largest > 4 * maxMemory) fail(`a server has grown to ${largest.toFixed(1)} MiB`);
if (!isFlat(rows, 'rss', 8)) fail('memory has grown');
if (!isFlat(rows, 'files', 20)) fail('descriptors have grown');
const { code, left } = await gate.stop();
if (code !== 0) fail(`the gateway ended with ${code}: ${gate.log.slice(-2000)}`);
if (left.length > 0) fail(`left behind: ${JSON.stringify(left)}`);
for (const [what, times] of failures) console.error(`FAILED ${times} times: ${what}`);
console.log(failures.size === 0 ? 'passed' : 'failed');
process.exit(failures.size === 0 ? 0 : 1);
