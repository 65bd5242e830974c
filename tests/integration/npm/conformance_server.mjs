// An MCP server on stdio with the tools, resources and prompts that the official conformance suite expects. The gateway
// is responsible for transports. Its argument chooses the eras: "both", or "modern". With "asking" it serves the legacy
// era with the tools of the modern era, which then ask by requests.
import {
  McpServer, ResourceTemplate, completable, fromJsonSchema, inputRequired, inputResponse,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

import { addModernTools, requestState } from './conformance_modern_tools.mjs';
import { answerPlainly } from './conformance_plain_tools.mjs';

const what = process.argv[2];
const isModern = what === 'both' || what === 'modern';
const hasModernTools = isModern || what === 'asking';

const redPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
// The header of a WAV file (PCM, mono, 8 kHz, 8 bit), and two samples.
const twoSamples = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==';

const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', data: redPixel, mimeType: 'image/png' };
const answer = (...content) => ({ content });
const embedded = (uri, mimeType, words) => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
});
const asked = (...content) => ({ messages: content.map((part) => ({ role: 'user', content: part })) });

const server = new McpServer({ name: 'conformance-server', version: '1.0.0' }, {
  capabilities: {
    completions: {},
    logging: {},
    prompts: hasModernTools ? { listChanged: true } : {},
    resources: { subscribe: true },
    tools: hasModernTools ? { listChanged: true } : {},
  },
  ...(hasModernTools && { requestState }),
});

function tool(name, description, handler, inputSchema) {
  const described = { description, ...(inputSchema && { inputSchema: fromJsonSchema(inputSchema) }) };
  server.registerTool(name, described, inputSchema ? handler : (context) => handler({}, context));
}

const one = (name) => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

tool('test_simple_text', 'Answers a text',
  () => answer(text('This is a simple text response for testing.')));
tool('test_image_content', 'Answers an image', () => answer(image));
tool('test_audio_content', 'Answers a sound',
  () => answer({ type: 'audio', data: twoSamples, mimeType: 'audio/wav' }));
tool('test_embedded_resource', 'Answers a resource', () => answer(
  embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')));
tool('test_multiple_content_types', 'Answers a text, an image and a resource', () => answer(
  text('Multiple content types test:'), image,
  embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')));
tool('test_error_handling', 'Always fails', () => {
  throw new Error('This tool intentionally returns an error for testing');
});

tool('test_tool_with_logging', 'Logs three messages', async (_, { mcpReq }) => {
  await mcpReq.log('info', 'Tool execution started');
  await sleep(50);
  await mcpReq.log('info', 'Tool processing data');
  await sleep(50);
  await mcpReq.log('info', 'Tool execution completed');
  return answer(text('logged'));
});

tool('test_tool_with_progress', 'Reports progress to a caller that asks for it', async (_, { mcpReq }) => {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await sleep(50);
    if (progressToken === undefined) continue;
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress, total: 100 },
    });
  }
  return answer(text('done'));
});

tool('test_reconnection', 'Logs, and answers later', async (_, { mcpReq }) => {
  await mcpReq.log('info', 'Still at it');
  await sleep(50);
  return answer(text('done'));
});

// Asks the client and passes its answer to `finish`. A legacy server asks by a request. A modern server asks by its
// result, which the tool must return.
async function asking({ mcpReq }, request, question, finish) {
  if (mcpReq.envelope === undefined) return finish(await request());
  const given = inputResponse(mcpReq.inputResponses, 'question');
  return given.kind === 'missing' ? inputRequired({ inputRequests: { question } }) : finish(given.result ?? given);
}

tool('test_sampling', "Asks the client's model", ({ prompt }, context) => {
  const wish = { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 };
  return asking(context, () => context.mcpReq.requestSampling(wish), inputRequired.createMessage(wish),
    ({ content }) => answer(text(`LLM response: ${content.text}`)));
}, one('prompt'));

// Asks the client's user for `properties`. Answers with `introduction` and the user's answer.
function elicit(context, introduction, message, properties, required = []) {
  const wish = { message, requestedSchema: { type: 'object', properties, required } };
  return asking(context, () => context.mcpReq.elicitInput(wish), inputRequired.elicit(wish),
    ({ action, content }) => answer(text(`${introduction}: action=${action}, content=${JSON.stringify(content)}`)));
}

tool('test_elicitation', "Asks the client's user", ({ message }, context) => elicit(
  context, 'User response', message, {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  }, ['username', 'email']), one('message'));

tool('test_elicitation_sep1034_defaults', 'Asks with defaults', (_, context) => elicit(
  context, 'Elicitation completed', 'Please correct what is wrong', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }));

const choices = (noun) => ['First', 'Second', 'Third'].map((ordinal, index) => ({
  const: `value${index + 1}`,
  title: `${ordinal} ${noun}`,
}));

tool('test_elicitation_sep1330_enums', 'Asks for choices', (_, context) => elicit(
  context, 'Elicitation completed', 'Please choose', {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: choices('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: choices('Choice') } },
  }));

tool('json_schema_2020_12_tool', 'Has an input schema with much vocabulary',
  (input) => answer(text(JSON.stringify(input))), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  });

function resource(uri, name, mimeType, content) {
  server.registerResource(name, uri, { description: name, mimeType },
    () => ({ contents: [{ uri, mimeType, ...content }] }));
}

resource('test://static-text', 'A text', 'text/plain',
  { text: 'This is the content of the static text resource.' });
resource('test://static-binary', 'An image', 'image/png', { blob: redPixel });
resource('test://watched-resource', 'A resource to subscribe to', 'text/plain', { text: 'watched' });
server.registerResource('A template', new ResourceTemplate('test://template/{id}/data', { list: undefined }),
  { description: 'Data by id', mimeType: 'application/json' },
  (uri, { id }) => ({
    contents: [{
      uri: uri.href,
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }],
  }));

const subscribed = new Set();
server.server.setRequestHandler('resources/subscribe', ({ params }) => {
  subscribed.add(params.uri);
  return {};
});
server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
  subscribed.delete(params.uri);
  return {};
});

server.registerPrompt('test_simple_prompt', { description: 'Without arguments' },
  () => asked(text('This is a simple prompt for testing.')));
server.registerPrompt('test_prompt_with_arguments', {
  description: 'With two arguments',
  argsSchema: z.object({
    arg1: completable(z.string(),
      (start) => ['paris', 'park', 'party', 'test'].filter((word) => word.startsWith(start))),
    arg2: z.string(),
  }),
}, ({ arg1, arg2 }) => asked(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)));
server.registerPrompt('test_prompt_with_embedded_resource', {
  description: 'With a resource',
  argsSchema: z.object({ resourceUri: z.string() }),
}, ({ resourceUri }) => asked(
  embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
  text('Please process the embedded resource above.')));
server.registerPrompt('test_prompt_with_image', { description: 'With an image' },
  () => asked(image, text('Please analyze the image above.')));

if (hasModernTools) addModernTools(server, !isModern);
if (isModern) {
  serveStdio(() => server, { legacy: what === 'both' ? 'serve' : 'reject' });
} else {
  const transport = new StdioServerTransport();
  await server.connect(transport);
  if (hasModernTools) answerPlainly(transport);
}
