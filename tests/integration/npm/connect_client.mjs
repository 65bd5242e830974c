// Shared by tests of `stdgate connect`: a client that speaks line by line, and a gateway on a fixed port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import readline from 'node:readline';

import { Stdgate, eventually, program } from './stdgate_process.mjs';

// A client that records the output of connect, line by line. Each line must be JSON.
export class Connect {
  constructor(...words) {
    this.told = [];
    this.err = '';
    this.process = spawn(program, ['connect', ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.process.stdin.on('error', () => {});
    this.process.stderr.on('data', (bytes) => (this.err += bytes));
    readline.createInterface({ input: this.process.stdout })
      .on('line', (line) => this.told.push(JSON.parse(line)));
    this.exited = once(this.process, 'close').then(([code]) => code);
  }

  say(message) {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  answer(id, milliseconds) {
    return eventually(() => this.told.find((message) => message.id === id && !message.method),
      `answer ${id}; ${this.err}`, milliseconds);
  }

  async ask(id, method, params = {}) {
    this.say({ id, method, params });
    return this.answer(id);
  }

  async greet() {
    const answer = await this.ask('hello', 'initialize',
      { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'by hand', version: '1' } });
    if (answer.result) this.say({ method: 'notifications/initialized' });
    return answer;
  }

  end() {
    this.process.stdin.end();
    return this.exited;
  }
}

// A server that records its calls in a file, so that a repeated call is noticed. `wait`: the seconds before the answer.
const countingServer = `
import json, sys, threading, time
lock = threading.Lock()
def send(message):
    with lock:
        print(json.dumps(message), flush=True)
def call(message):
    args = message["params"]["arguments"]
    with open(sys.argv[1], "a") as file:
        file.write(str(args["mark"]) + "\\n")
    time.sleep(args.get("wait", 0))
    send({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": str(args["mark"])}]}})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "tools/call":
        threading.Thread(target=call, args=(message,), daemon=True).start()
    elif message["method"] == "initialize":
        send({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25",
              "capabilities": {"tools": {}}, "serverInfo": {"name": "counts", "version": "1"}}})
    else:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
`;

export function folderFor(test) {
  const folder = mkdtempSync(join(tmpdir(), 'stdgate-connect-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'counts.py'), countingServer);
  return folder;
}
export const marks = (folder) => {
  const file = join(folder, 'marks');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
};

// A port for a gateway whose successor must have the same address.
export async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
export const configAt = (port, folder, more = '', ofBackend = '') => `listen: ["127.0.0.1:${port}"]
admin: "127.0.0.1:0"
${more}
backends:
  counts: { command: ["python3", "${folder}/counts.py", "${folder}/marks"], protocol: mcp, revision: legacy${ofBackend} }
`;
export const gatewayAt = (port, folder, more) => Stdgate.serve(configAt(port, folder, more));
