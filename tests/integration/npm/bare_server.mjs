// A JSON-RPC server on stdin and stdout whose messages have no "jsonrpc". Each request is answered
// with the request itself. At "ask" the server first asks its client, at "tell" it first notifies
// its client.
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
