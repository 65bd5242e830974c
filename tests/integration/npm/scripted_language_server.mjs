// A language server whose actions tests choose, for situations that real servers do not get into.
// Its argument names a file. For each message of its lifecycle and each cancel, it adds a line with
// its pid and the message's name.
import { appendFileSync } from 'node:fs';
import {
  CancellationTokenSource, ErrorCodes, LSPErrorCodes, ResponseError, StreamMessageReader,
  StreamMessageWriter, createMessageConnection,
} from 'vscode-languageserver-protocol/node.js';

import { cancelled } from './cancelled.mjs';

const record = (what) => appendFileSync(process.argv[2], `${process.pid} ${what}\n`);
const connection = createMessageConnection(new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout));

connection.onRequest('initialize', (params) => {
  record('initialize');
  return { capabilities: {}, params, pid: process.pid, gateway: process.ppid };
});
connection.onRequest('shutdown', () => {
  record('shutdown');
  return null;
});
connection.onNotification('exit', () => {
  record('exit');
  process.exit(0);
});

connection.onRequest('test/echo', (params) => params);
connection.onRequest('test/wait', async (_, token) => {
  await cancelled(token);
  record('cancelled');
  return new ResponseError(LSPErrorCodes.RequestCancelled, 'as you wish');
});
// Asks the client, and returns the client's answer.
connection.onRequest('test/ask', async ({ method, params, cancel }) => {
  const source = new CancellationTokenSource();
  const answer = connection.sendRequest(method, params, source.token);
  if (cancel) source.cancel();
  try {
    return { result: await answer };
  } catch (error) {
    return { code: error.code ?? ErrorCodes.InternalError };
  }
});
// Sends as many notifications as requested on the client's tokens, and then answers.
connection.onRequest('test/progress', async ({ workDoneToken, partialResultToken, count }) => {
  for (let number = 0; number < count; number += 1) {
    const token = number % 2 === 0 ? workDoneToken : partialResultToken;
    await connection.sendNotification('$/progress', { token, value: { number } });
  }
  return { workDoneToken, partialResultToken };
});
connection.onNotification('test/die', ({ code }) => process.exit(code));
connection.listen();
