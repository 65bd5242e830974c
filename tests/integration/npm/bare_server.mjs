// A JSON-RPC server on stdin and stdout whose messages lack "jsonrpc". It answers each request with
// the message as it has come; "ask" has it ask its client first, "tell" has it notify it.
import readline from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const waiting = new Map();
let lastId = 0;

for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  const { id, method } = message;
  if (method === 'tell') send({ method: 'told', params: {} });
  if (method === 'ask') {
    waiting.set(++lastId, id);
    send({ id: lastId, method: 'question', params: {} });
  } else if (method === undefined) {
    send({ id: waiting.get(id), result: { got: message } });
  } else if (id !== undefined) {
    send({ id, result: { got: message } });
  }
}
