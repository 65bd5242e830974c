// An MCP server whose texts are markup wherever the gateway shows them: its name, names of tools, lines on stderr. The
// tool "wait" answers after the given milliseconds. "die" ends the process.
import readline from 'node:readline';

const markup = (where) => `<img src=x onerror="window.hacked='${where}'"><script>window.hacked='${where}'</script>`;

const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
const tools = {
  [markup('tool')]: () => [],
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  die: () => {
    process.stderr.write(`${markup('stderr')}\nit holds ${process.env.API_TOKEN}\n`, () => process.exit(3));
    return new Promise(() => {});
  },
};

process.stderr.write(`${markup('start')}\n`);
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'initialize') {
    answer(id, {
      protocolVersion: params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: markup('server'), version: '<b>1</b>' },
    });
  } else if (method === 'tools/list') {
    answer(id, { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) });
  } else if (method === 'tools/call' && tools[params.name]) {
    Promise.resolve(tools[params.name](params.arguments ?? {})).then(() => answer(id, { content: [] }));
  } else {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })}\n`);
  }
}
