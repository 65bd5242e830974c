// Two tools of the conformance suite, as a legacy server without a library might have them. The ids of their requests
// to the client are names. They send requests even if the client has not declared the capability. If the client answers
// with an error, the call ends with that error.
const tools = {
  test_input_required_result_elicitation: async (ask) => {
    const { content } = await ask('user_name', 'elicitation/create', {
      message: 'What is your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    });
    return { content: [{ type: 'text', text: `Hello, ${content.name}!` }] };
  },
  test_missing_capability: async (ask) => {
    const messages = [{ role: 'user', content: { type: 'text', text: 'Generate a greeting' } }];
    return { content: [(await ask('greeting', 'sampling/createMessage', { messages, maxTokens: 50 })).content] };
  },
};

// Handles calls of these tools and the client's answers to them, before the library of `transport` gets the messages.
export function answerPlainly(transport) {
  const asked = new Map();
  const others = transport.onmessage;
  const send = (message) => transport.send({ jsonrpc: '2.0', ...message });
  const ask = (id, method, params) => new Promise((resolve, reject) => {
    asked.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(error)));
    send({ id, method, params });
  });
  transport.onmessage = (message, ...more) => {
    const tool = message.method === 'tools/call' ? tools[message.params.name] : undefined;
    const take = message.method === undefined ? asked.get(message.id) : undefined;
    if (tool !== undefined) {
      tool(ask).then((result) => send({ id: message.id, result }), (error) => send({ id: message.id, error }));
    } else if (take !== undefined) {
      asked.delete(message.id);
      take(message);
    } else {
      others(message, ...more);
    }
  };
}
