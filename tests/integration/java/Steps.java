// A client on the official SDK for Java. Connects to a URL, its only argument, or starts a server, if there are several
// arguments. Each input line is a call of a tool of server-everything: NAME KEY=VALUE…, where a value of digits is a
// number. Prints the text of each answer and each progress notification in its own line. Answers "by ada" when the
// server asks for a completion or a form.

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import reactor.core.publisher.Mono;

public class Steps {
  private static final McpSchema.ClientCapabilities CAPABILITIES =
      McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build();

  private static McpSchema.CallToolRequest request(String line) {
    String[] words = line.split(" ");
    Map<String, Object> arguments = new HashMap<>();
    for (int i = 1; i < words.length; ++i) {
      String[] pair = words[i].split("=", 2);
      arguments.put(pair[0], pair[1].matches("[0-9.]+") ? (Object) Double.valueOf(pair[1]) : pair[1]);
    }
    return new McpSchema.CallToolRequest(words[0], arguments, Map.of("progressToken", words[0]));
  }

  // The server offers some tools only a while after a session has begun.
  private static void awaitTool(McpSyncClient client, String name) throws InterruptedException {
    for (int patience = 1500; patience > 0; --patience) {
      if (client.listTools().tools().stream().anyMatch(tool -> tool.name().equals(name))) return;
      Thread.sleep(20);
    }
    throw new IllegalStateException("no tool " + name);
  }

  private static String text(McpSchema.CallToolResult result) {
    return result.content().stream()
        .filter(part -> part instanceof McpSchema.TextContent)
        .map(part -> ((McpSchema.TextContent) part).text().replaceAll("\\s+", " "))
        .collect(Collectors.joining(" "));
  }

  // This transport of the SDK fails with "Failed to enqueue message" if two threads send at once (java-sdk 304). That
  // happens if the SDK requests changed lists during a call.
  private static class OneAtATime extends StdioClientTransport {
    OneAtATime(ServerParameters server) {
      super(server, McpJsonDefaults.getMapper());
    }

    @Override
    public synchronized Mono<Void> sendMessage(McpSchema.JSONRPCMessage message) {
      return super.sendMessage(message);
    }
  }

  private static McpClientTransport transport(String[] arguments) {
    if (arguments.length > 1) {
      List<String> words = Arrays.asList(arguments);
      var server = ServerParameters.builder(words.get(0)).args(words.subList(1, words.size())).build();
      return new OneAtATime(server);
    }
    URI server = URI.create(arguments[0]);
    return HttpClientStreamableHttpTransport.builder(server.resolve("/").toString()).endpoint(server.getPath()).build();
  }

  public static void main(String[] arguments) throws Exception {
    McpClientTransport transport = transport(arguments);
    var sampled = new McpSchema.CreateMessageResult(McpSchema.Role.ASSISTANT, new McpSchema.TextContent("by ada"),
        "none", McpSchema.CreateMessageResult.StopReason.END_TURN);
    var filled = new McpSchema.ElicitResult(McpSchema.ElicitResult.Action.ACCEPT, Map.of("name", "by ada"));
    var root = new McpSchema.Root("file:///ada", "of ada");
    var client = McpClient.sync(transport).capabilities(CAPABILITIES).requestTimeout(Duration.ofSeconds(60))
        .roots(List.of(root)).sampling(asked -> sampled).elicitation(asked -> filled)
        .progressConsumer(progress -> System.out.println("progress " + progress.progress()))
        .build();
    client.initialize();
    var input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        awaitTool(client, line.split(" ")[0]);
        System.out.println(text(client.callTool(request(line))));
      } catch (RuntimeException error) {
        System.out.println("error: " + error);
      }
    }
    client.closeGracefully();
  }
}
