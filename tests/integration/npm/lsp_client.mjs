// An editor from a language server's point of view: vscode-ws-jsonrpc over a WebSocket, its own
// folder, and a record of the server's messages.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  ApplyWorkspaceEditRequest, ConfigurationRequest, DidOpenTextDocumentNotification,
  ExitNotification, InitializeRequest, InitializedNotification, PublishDiagnosticsNotification,
  RegistrationRequest, ShutdownRequest, TextDocument, WorkDoneProgressCreateRequest,
} from 'vscode-languageserver-protocol';
import { createWebSocketConnection, toSocket } from 'vscode-ws-jsonrpc';
import WebSocket from 'ws';

import { eventually } from './stdgate_process.mjs';

const capabilities = {
  workspace: { applyEdit: true, configuration: true, workspaceFolders: true },
  window: { workDoneProgress: true },
  textDocument: {
    publishDiagnostics: { versionSupport: true },
    hover: { contentFormat: ['plaintext'] },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['refactor'] } } },
  },
};

// The text after the edits to one document.
export function edited(uri, text, workspaceEdit) {
  return TextDocument.applyEdits(TextDocument.create(uri, '', 1, text), workspaceEdit.changes[uri]);
}

export class LspClient {
  // Connects, but does not greet the server. The client's folder is created in `folder`.
  static async connect(url, folder) {
    const client = new LspClient();
    client.folder = mkdtempSync(join(folder, 'workspace-'));
    client.socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      client.socket.once('open', resolve);
      client.socket.once('error', reject);
    });
    client.closed = new Promise((resolve) => {
      client.socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
    client.connection = createWebSocketConnection(toSocket(client.socket), {
      error: (text) => client.errors.push(text),
      warn() {}, info() {}, log() {},
    });
    client.connection.onError(([error]) => client.errors.push(error));
    client.#listen();
    return client;
  }

  errors = []; // reported by vscode-jsonrpc
  diagnostics = new Map(); // the latest, by uri
  edits = []; // requested by the server
  tokens = []; // announced by the server
  progress = []; // { token, value }
  editAnswer = { applied: true };

  #listen() {
    const { connection } = this;
    connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.diagnostics.set(uri, diagnostics);
    });
    connection.onUnhandledProgress((progress) => this.progress.push(progress));
    connection.onNotification(() => {}); // ignored, such as logs
    connection.onRequest(ApplyWorkspaceEditRequest.type, ({ edit }) => {
      this.edits.push(edit);
      return this.editAnswer;
    });
    connection.onRequest(ConfigurationRequest.type, ({ items }) =>
      items.map(({ section }) => ({ asked: section })));
    connection.onRequest(RegistrationRequest.type, () => {});
    connection.onRequest(WorkDoneProgressCreateRequest.type, ({ token }) => {
      this.tokens.push(token);
    });
    connection.listen();
  }

  // `rest`: params, and optionally a token that can cancel the request.
  send(type, ...rest) {
    return this.connection.sendRequest(type, ...rest);
  }

  async initialize(processId = process.pid) {
    const uri = pathToFileURL(this.folder).href;
    const answer = await this.send(InitializeRequest.type, {
      processId, rootUri: uri, workspaceFolders: [{ uri, name: 'test' }], capabilities,
    });
    await this.connection.sendNotification(InitializedNotification.type, {});
    return answer;
  }

  // Writes a file without opening it, and returns its uri.
  write(name, text) {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return pathToFileURL(path).href;
  }

  async open(name, languageId, text) {
    const uri = this.write(name, text);
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, {
      textDocument: { uri, languageId, version: 1, text },
    });
    return uri;
  }

  // Waits for diagnostics of a document, and returns their messages.
  async complaints(uri) {
    const list = await eventually(
      () => this.diagnostics.get(uri)?.length && this.diagnostics.get(uri),
      `diagnostics of ${uri}`);
    return list.map(({ message }) => message);
  }

  // Ends the server as the protocol demands, and returns how the gateway closed the connection.
  async shutdown() {
    const answer = await this.send(ShutdownRequest.type);
    if (answer !== null) throw new Error(`shutdown: ${JSON.stringify(answer)}`);
    await this.connection.sendNotification(ExitNotification.type);
    return this.closed;
  }

  // Ends the connection without a close frame.
  vanish() {
    this.socket.terminate();
    return this.closed;
  }
}
