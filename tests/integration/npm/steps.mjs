// The official client in its default mode, for tests that talk to it as to a program: connects to its argument, and does
// what each line of its input says, a JSON array of {"tool", "args"}, all of a line at a time; prints the texts of the
// answers, an array a line.
import { createInterface } from 'node:readline';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'steps', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
for await (const line of createInterface({ input: process.stdin })) {
  const results = await Promise.all(JSON.parse(line).map(({ tool, args }) => (
    client.callTool({ name: tool, arguments: args }))));
  console.log(JSON.stringify(results.map(({ content }) => content[0].text)));
}
await client.close();
