// The official client in its default mode, as a program for tests. Connects to the URL in its argument. Each input line
// is a JSON array of calls {"tool", "args"}. Makes the calls of a line at the same time, and prints the texts of their
// answers as a JSON array in a line.
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
