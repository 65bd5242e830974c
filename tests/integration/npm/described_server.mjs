// A JSON-RPC server for openrpc.test.mjs, which answers with the params of the request. Each message is written into a
// file, a line each.
import { appendFileSync } from 'node:fs';
import readline from 'node:readline';

const [, , heard] = process.argv;
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  appendFileSync(heard, `${line}\n`);
  if (id === undefined) continue;
  if (method === 'rpc.discover') {
    say({ id, result: { openrpc: '1.3.2', info: { title: 'own', version: '1' }, methods: [{ name: 'own', params: [] }, { name: 'secret', params: [] }] } });
  } else if (method === 'lie') {
    say({ id, result: 'no number' });
  } else {
    say({ id, result: params ?? null });
  }
}
