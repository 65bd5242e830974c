// A real stdgate for the tests in this folder. Each has its own folder, is used over HTTP or a WebSocket, and ends by
// SIGTERM. The remaining processes are counted.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import readline from 'node:readline';

export const program = process.env.STDGATE;
if (!program) throw new Error('STDGATE must name the stdgate to test');

export const server = (name) => new URL(`node_modules/.bin/${name}`, import.meta.url).pathname;

// Waits until `condition()` is truthy, and returns its value.
export async function eventually(condition, what, milliseconds = 20_000) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${milliseconds} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// The processes that were started in `folder`, or name it in their arguments.
function processesIn(folder) {
  const ofProcess = (read) => {
    try {
      return read();
    } catch {
      return ''; // the process has ended
    }
  };
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map((pid) => ({
    pid: Number(pid),
    cwd: ofProcess(() => readlinkSync(`/proc/${pid}/cwd`)),
    command: ofProcess(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
  })).filter(({ cwd, command }) => cwd.includes(folder) || command.includes(folder));
}

// A failed test may leave its gateways running. They are killed when the test's process exits.
const running = new Set();
process.on('exit', () => running.forEach((gateway) => gateway.kill('SIGKILL')));

export class Stdgate {
  // Serves `command`; '@DIR@' in it stands for the folder. Resolves when the gateway has announced its address.
  static start(...command) {
    return Stdgate.startWith([], ...command);
  }

  static startWith(flags, ...command) {
    const listen = ['--listen', '127.0.0.1:0', '--admin', 'off'];
    return new Stdgate().#launch([...listen, ...flags, '--', ...command]);
  }

  // Serves a configuration with this text, which has one TCP listener. `files`: further files in the folder, by name.
  static serve(config, files = {}) {
    const gate = new Stdgate();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(gate.folder, name), text);
    writeFileSync(join(gate.folder, 'gateway.yaml'), gate.#inFolder(config));
    gate.#hasAdmin = /^admin: "?127/m.test(config);
    return gate.#launch(['--config', '@DIR@/gateway.yaml']);
  }

  folder = mkdtempSync(join(tmpdir(), 'stdgate-npm-'));
  log = '';
  #hasAdmin = false;

  #inFolder(text) {
    return text.replaceAll('@DIR@', this.folder);
  }

  async #launch(words) {
    this.process = spawn(program, words.map((word) => this.#inFolder(word)), {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = new Promise((resolve, reject) => {
      this.process.on('exit', (code, signal) => resolve({ code, signal }));
      this.process.on('error', reject);
    });
    this.process.stderr.on('data', (bytes) => (this.log += bytes));
    [this.url, this.adminUrl] = await this.#addresses();
    running.add(this.process);
    for (const part of [this.process, this.process.stdout, this.process.stderr]) part.unref();
    return this;
  }

  // Reads the address of the first listener, and the admin address if it is a TCP address.
  async #addresses() {
    let clients;
    for await (const line of readline.createInterface({ input: this.process.stdout })) {
      const found = /^(listening|admin) on (https?:\/\/\S+)/.exec(line);
      if (!found) continue;
      const url = found[2].replace(/\/$/, '');
      if (found[1] === 'admin') return [clients, url];
      clients ??= url;
      if (!this.#hasAdmin) return [clients];
    }
    throw new Error(`stdgate did not start: ${this.log}`);
  }

  get socketUrl() {
    return `${this.url.replace('http', 'ws')}/ws`;
  }

  // The process ids of its children and of their descendants, without guards. A process that was forked, but does not
  // run its own program yet, still has its parent's command line.
  children() {
    const processes = processesIn(this.folder);
    const own = processes.find(({ pid }) => pid === this.process.pid)?.command;
    return processes
      .filter(({ command }) => command !== own && command.split('\0')[0] !== 'child-guard')
      .map(({ pid }) => pid);
  }

  post(message, accept = 'application/json') {
    return fetch(`${this.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(60_000),
    });
  }

  // The whole answer to one call. The status must be 200.
  async call(id, method, params) {
    const response = await this.post({ id, method, params });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}\n${this.log}`);
    return JSON.parse(text);
  }

  // The result of a tool call.
  async tool(id, name, args) {
    const answer = await this.call(id, 'tools/call', { name, arguments: args });
    if (!answer.result || answer.id !== id) throw new Error(JSON.stringify(answer));
    return answer.result;
  }

  // Ends the gateway. Returns its exit, and the processes that are left two seconds later.
  async stop() {
    this.process.kill('SIGTERM');
    const overdue = setTimeout(() => this.process.kill('SIGKILL'), 30_000);
    const exit = await this.exited;
    clearTimeout(overdue);
    running.delete(this.process);
    let left = [];
    await eventually(() => (left = processesIn(this.folder)).length === 0, 'an end', 2000)
      .catch(() => {});
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    rmSync(this.folder, { recursive: true });
    return { ...exit, left };
  }
}
