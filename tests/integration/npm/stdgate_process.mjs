// A real stdgate for the tests of this folder: started in a folder of its own, asked over HTTP,
// ended with SIGTERM; and the count of what it leaves behind.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import readline from 'node:readline';

const program = process.env.STDGATE;
if (!program) throw new Error('STDGATE must name the stdgate to test');

export const server = (name) => new URL(`node_modules/.bin/${name}`, import.meta.url).pathname;

// The processes that were started in `folder` or name it in their arguments.
function processesIn(folder) {
  const ofProcess = (read) => {
    try {
      return read();
    } catch {
      return ''; // gone meanwhile
    }
  };
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map((pid) => ({
    pid,
    cwd: ofProcess(() => readlinkSync(`/proc/${pid}/cwd`)),
    command: ofProcess(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
  })).filter(({ cwd, command }) => cwd.includes(folder) || command.includes(folder));
}

export class Stdgate {
  // Serves `command`, in which '@DIR@' stands for the folder, once it says where it listens.
  static async start(...command) {
    const gate = new Stdgate();
    gate.folder = mkdtempSync(join(tmpdir(), 'stdgate-npm-'));
    gate.log = '';
    const words = command.map((word) => word.replaceAll('@DIR@', gate.folder));
    gate.process = spawn(program, ['--listen', '127.0.0.1:0', '--admin', 'off', '--', ...words], {
      cwd: gate.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    gate.exited = new Promise((resolve, reject) => {
      gate.process.on('exit', (code, signal) => resolve({ code, signal }));
      gate.process.on('error', reject);
    });
    gate.process.stderr.on('data', (bytes) => (gate.log += bytes));
    gate.url = await gate.#address();
    return gate;
  }

  async #address() {
    for await (const line of readline.createInterface({ input: this.process.stdout })) {
      const found = /^listening on (http:\/\/\S+)/.exec(line);
      if (found) return found[1].replace(/\/$/, '');
    }
    throw new Error(`stdgate did not start: ${this.log}`);
  }

  post(message, accept = 'application/json') {
    return fetch(`${this.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(60_000),
    });
  }

  // The whole answer to one call, for which the status must be 200.
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

  // Ends it; answers how it ended, and what was there two seconds later.
  async stop() {
    this.process.kill('SIGTERM');
    const overdue = setTimeout(() => this.process.kill('SIGKILL'), 30_000);
    const exit = await this.exited;
    clearTimeout(overdue);
    const deadline = Date.now() + 2000;
    let left = processesIn(this.folder);
    while (left.length > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      left = processesIn(this.folder);
    }
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    rmSync(this.folder, { recursive: true });
    return { ...exit, left };
  }
}
