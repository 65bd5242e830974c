// The tools and prompts that the conformance suite expects from servers of revision 2026-07-28, in addition to
// conformance_server.mjs. Most of them need input from the client before they answer.
import {
  acceptedContent, createRequestStateCodec, fromJsonSchema, inputRequired, inputResponse,
} from '@modelcontextprotocol/server';
import { randomBytes } from 'node:crypto';

const codec = createRequestStateCodec({ key: randomBytes(32) });
export const requestState = { verify: codec.verify };

const text = (words) => ({ content: [{ type: 'text', text: words }] });
const one = (name, type) => ({ type: 'object', properties: { [name]: { type } }, required: [name] });
const ask = (message, name, type = 'string') => inputRequired.elicit({ message, requestedSchema: one(name, type) });
const sample = (words, maxTokens) => inputRequired.createMessage({
  messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens,
});
const answers = ({ mcpReq }) => mcpReq.inputResponses;
const given = (context, key) => acceptedContent(answers(context), key);

// Returns `finish()` when every key has been answered. Before that, asks for all of them.
async function gather(context, inputRequests, state, finish) {
  const missing = Object.keys(inputRequests)
    .filter((key) => inputResponse(answers(context), key).kind === 'missing');
  if (missing.length === 0 && (state === undefined || context.mcpReq.requestState() !== undefined)) return finish();
  return inputRequired({
    inputRequests,
    ...(state !== undefined && { requestState: await codec.mint(state, context) }),
  });
}

// `atOnce`: requests to the client are sent together.
export function addModernTools(server, atOnce) {
  const tool = (name, handler) => server.registerTool(name, { description: name }, handler);
  const name = ask('What is your name?', 'name');
  const confirm = ask('Please confirm', 'ok', 'boolean');

  tool('test_input_required_result_elicitation', (context) => gather(context, { user_name: name }, undefined,
    () => text(`Hello, ${given(context, 'user_name')?.name}!`)));
  tool('test_streaming_elicitation', (context) => gather(context, { user_name: name }, undefined, () => text('done')));
  tool('test_input_required_result_sampling', (context) => gather(
    context, { capital_question: sample('What is the capital of France?', 100) }, undefined,
    () => text(inputResponse(answers(context), 'capital_question').result.content.text)));
  tool('test_input_required_result_list_roots', (context) => gather(
    context, { client_roots: inputRequired.listRoots() }, undefined,
    () => text(JSON.stringify(inputResponse(answers(context), 'client_roots').roots))));
  tool('test_input_required_result_request_state', (context) => gather(context, { confirm }, 'one',
    () => text('state-ok')));
  tool('test_input_required_result_tampered_state', (context) => gather(context, { confirm }, 'one',
    () => text('state-ok')));
  tool('test_input_required_result_multiple_inputs', atOnce ? async ({ mcpReq }) => {
    // All requests are written at once. The gateway combines requests that arrive within 50 ms into one round, and a
    // busy machine could delay separate writes.
    process.stdout.cork();
    setImmediate(() => process.stdout.uncork());
    await Promise.all([
      mcpReq.elicitInput({ message: 'What is your name?', requestedSchema: one('name', 'string') }),
      mcpReq.requestSampling({ messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 50 }),
      server.server.listRoots(),
    ]);
    return text('all there');
  } : (context) => gather(context, {
    user_name: name,
    greeting: sample('Generate a greeting', 50),
    client_roots: inputRequired.listRoots(),
  }, 'all', () => text('all there')));
  tool('test_input_required_result_multi_round', async (context) => {
    const state = context.mcpReq.requestState();
    if (state === 'two' && given(context, 'step2')) return text('Both steps are done');
    const has_name = given(context, 'step1') !== undefined;
    return inputRequired({
      inputRequests: has_name ? { step2: ask('Step 2: What is your favorite color?', 'color') }
        : { step1: ask('Step 1: What is your name?', 'name') },
      requestState: await codec.mint(has_name ? 'two' : 'one', context),
    });
  });
  tool('test_input_required_result_capabilities', (context) => {
    const can = context.mcpReq._meta?.['io.modelcontextprotocol/clientCapabilities']
      ?? context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities']
      ?? server.server.getClientCapabilities() ?? {};
    return gather(context, {
      ...(can.elicitation && { user_name: name }),
      ...(can.sampling && { greeting: sample('Generate a greeting', 50) }),
    }, undefined, () => text('done'));
  });
  tool('test_missing_capability', (context) => gather(
    context, { greeting: sample('Generate a greeting', 50) }, undefined, () => text('done')));
  tool('test_logging_tool', async ({ mcpReq }) => {
    await mcpReq.log('info', 'logged');
    return text('done');
  });
  // Changes of the lists, made while a client listens.
  for (const [kind, add] of [
    ['tool', (key) => tool(key, () => text('new'))],
    ['prompt', (key) => server.registerPrompt(key, { description: key }, () => ({ messages: [] }))],
  ]) {
    let made = 0;
    tool(`test_trigger_${kind}_change`, () => {
      made += 1;
      add(`made_${made}_${kind}`);
      return text('changed');
    });
  }
  server.registerPrompt('test_input_required_result_prompt', { description: 'Wants a context' },
    (context) => gather(context, { user_context: ask('What context should the prompt use?', 'context') }, undefined,
      () => ({
        messages: [{ role: 'user', content: { type: 'text', text: given(context, 'user_context')?.context ?? '' } }],
      })));
  server.registerTool('test_custom_headers', {
    description: 'Has arguments that are repeated in header fields',
    inputSchema: fromJsonSchema({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
    }),
  }, ({ region }) => text(region ?? ''));
}
