// An MCP server on stdin and stdout that records its start and the method of every message in a
// file (its argument). So the file shows every effect of a page.
import { appendFileSync } from 'node:fs';
import readline from 'node:readline';

const file = process.argv[2];
const record = (text) => appendFileSync(file, `${text}\n`);

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'recorder', version: '1' },
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
};

record('started');
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  record(method);
  if (id === undefined) continue;
  const result = results[method]?.(params) ?? {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
